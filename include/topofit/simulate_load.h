/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulate_load - the files of a simulation: a workload, and nodes from a list or from a dump.
 */
#ifndef TOPOFIT_SIMULATE_LOAD_H
#define TOPOFIT_SIMULATE_LOAD_H

#include "topofit/buf.h"
#include "topofit/simulate.h"

/* A file that was read, with its name for complaints; "-" for stdin. */
struct simulate_file {
    const char *name;
    const struct buf *text;
};

/*
 * Read jobs and nodes.
 *
 * nodes    CSV (docs/reference/simulate.md), or a dump as embedded_read() takes it. Matrices that
 *          a CSV names are read, relative to its folder.
 * cluster  new; holds the nodes, and the pods of a dump, afterwards.
 * out      the caller clears it, also on failure.
 * errors   name the file and the place, and what to do.
 */
int simulate_load(const struct simulate_file *workload, const struct simulate_file *nodes,
                  const struct class_table *classes, struct cluster *cluster,
                  struct simulation *out, struct error *err);

#endif
