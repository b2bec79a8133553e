/* SPDX-License-Identifier: Apache-2.0 */
/* pod_mix_file - the mix of pods from a file instead of from what arrives. */
#ifndef TOPOFIT_POD_MIX_FILE_H
#define TOPOFIT_POD_MIX_FILE_H

#include "topofit/device_class.h"
#include "topofit/error.h"
#include "topofit/pod_mix.h"

/*
 * Read a list of jobs, as simulations take them; each counts once, whenever it arrives.
 *
 * out     receives one reference.
 * errors  those of file_read() and arrivals_csv_read_jobs(), with the file; ERR_INVALID when no job
 *         wants a GPU. out is left alone.
 * source  docs/reference/simulate.md#jobs
 */
int pod_mix_file_read(const char *path, const struct class_table *classes, struct pod_mix **out,
                      struct error *err);

#endif
