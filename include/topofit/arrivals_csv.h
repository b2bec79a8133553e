/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrivals_csv - jobs and machines from CSV: the columns of the openb data set and our own.
 *
 * No I/O. Columns stand in any order; docs/reference/simulate.md lists them. An unknown column is
 * refused with the nearest known one, a value outside its range with its line and column.
 * source: github.com/alibaba/clusterdata, cluster-trace-gpu-v2023 (openb)
 */
#ifndef TOPOFIT_ARRIVALS_CSV_H
#define TOPOFIT_ARRIVALS_CSV_H

#include "topofit/error.h"
#include "topofit/arrivals.h"

/*
 * out     zeroed; the caller clears it, also on failure. Jobs are in order of arrival.
 * errors  ERR_INVALID, ERR_LIMIT: with line and column, and what to do.
 */
int arrivals_csv_read_jobs(const char *bytes, size_t length, struct arrivals *out,
                           struct error *err);
int arrivals_csv_read_machines(const char *bytes, size_t length, struct machine_list *out,
                               struct error *err);

#endif
