/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matrix - the text that `nvidia-smi topo -m` and its cousins print, as a peer graph.
 *
 * No I/O. Reads the verbatim text: escape codes, tabs or blanks, comment lines, NIC rows and
 * columns, CPU and NUMA affinity in every form seen in the field, wrapped lines, old words (SOC),
 * views of a subset of the devices. A word it does not know is the slowest link and a warning,
 * never a failure. source: docs/concepts/topology.md#matrix
 */
#ifndef TOPOFIT_MATRIX_H
#define TOPOFIT_MATRIX_H

#include <stdbool.h>
#include <stddef.h>

#include "topofit/error.h"
#include "topofit/peers.h"

#define MATRIX_BYTES_MAX (64 * 1024)

struct matrix {
    struct peer_graph *graph;     /* one reference for the caller, finished */
    unsigned indices[DEVICE_MAX]; /* number in each device's row name: "GPU3" -> 3 */
    char warning[160];            /* the first word that was not known, with its place; or "" */
};

/*
 * Read a matrix. Devices get the positions of the header's columns; rows may stand in any order.
 * What stands before the header and behind the last row is not looked at.
 *
 * errors  ERR_INVALID with line and column ("line 3, column 12: ..."): no header of devices, a row
 *         missing or too short, a device twice, more than DEVICE_MAX devices; ERR_LIMIT for size.
 */
int matrix_read(const char *text, size_t length, struct matrix *out, struct error *err);
void matrix_clear(struct matrix *matrix);

/*
 * What a link word means: tier and nominal GB/s. Case counts, as tools print it.
 *
 * out     written only for a known word.
 * return  false for a word that is not known.
 */
bool matrix_link(const char *word, struct link *out);

#endif
