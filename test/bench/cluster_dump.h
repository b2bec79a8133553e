/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_dump - a large cluster as a dump, and the calls kube-scheduler would make about it.
 *
 * Nodes of 8 GPUs wired like a DGX-1V. The GPUs in use follow DUMP_PATTERNS distinct patterns, one
 * whole-GPU pod on each: half of all GPUs over 200 nodes. A mixed cluster has GPUs of several
 * sizes, one size to a node, in turns, and as many pods wait, of DUMP_POD_KINDS kinds. Nothing is
 * random: the same arguments give the same bytes. Inventories and records are our own, or as HAMi's
 * plugin and scheduler write them.
 */
#ifndef TOPOFIT_BENCH_CLUSTER_DUMP_H
#define TOPOFIT_BENCH_CLUSTER_DUMP_H

#include "topofit/buf.h"

#include <stdbool.h>
#include <stddef.h>

#define DUMP_PATTERNS 200
#define DUMP_DEVICES 8
#define DUMP_NAME_MAX 64

struct dump_size {
    unsigned nodes;
    unsigned plain_pods;   /* without GPUs, on each node */
    unsigned device_kinds; /* sizes of GPUs; 0: all are alike, and no pod waits */
    enum dump_records { DUMP_NATIVE = 0, DUMP_HAMI } records;
};

/* "native" or "hami"; false for any other name. */
bool dump_records_of(const char *name, enum dump_records *out);

/* Write nodes and pods as one JSON list to a file. return the number of GPU pods, or -1. */
long dump_write(const char *path, const struct dump_size *size);

/* The name of a node, and which of its GPUs are in use. */
void dump_node_name(unsigned node, char name[DUMP_NAME_MAX]);
unsigned dump_pattern(unsigned node);

/*
 * The body of a filter or prioritize call: a pod of `gpus` whole GPUs, and `count` names.
 *
 * number  of the pod: name and uid differ by it, the length of the body does not.
 * nodes   [count] in the order to name them.
 */
void dump_question(struct buf *out, unsigned number, unsigned gpus, const unsigned *nodes,
                   size_t count);

/* The same for a pod of one of DUMP_POD_KINDS kinds: whole GPUs, percent, and MiB. */
#define DUMP_POD_KINDS 20
void dump_mixed_question(struct buf *out, unsigned number, unsigned kind, const unsigned *nodes,
                         size_t count);

/* Make it the question of another pod of the kind. */
void dump_renumber(struct buf *question, unsigned number);

/* The body of the bind call for the pod of that number. */
void dump_binding(struct buf *out, unsigned number, unsigned node);

#endif
