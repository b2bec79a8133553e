/* SPDX-License-Identifier: Apache-2.0 */
/*
 * views - what people ask: which nodes and pods there are, who holds what and why, what comes.
 *
 * Each view is a JSON document or, for terminals, an aligned table of the same facts. They read a
 * snapshot and copies; nothing here blocks the extender. docs/reference/endpoints.md
 */
#ifndef TOPOFIT_VIEWS_H
#define TOPOFIT_VIEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "topofit/buf.h"
#include "topofit/error.h"
#include "topofit/extender.h"

enum view_format { VIEW_JSON = 0, VIEW_TEXT };

#define VIEW_BYTES_MAX (64u << 20)

/* All nodes: devices by state, products, what is known of their links. */
void view_nodes(struct extender *extender, struct moment now, enum view_format format,
                struct buf *out);

/*
 * One node: its devices, who holds what, and the link matrix. errors: ERR_NOT_FOUND.
 */
int view_node(struct extender *extender, const char *name, struct moment now,
              enum view_format format, struct buf *out, struct error *err);

/* Pods that ask for or hold devices. */
void view_pods(struct extender *extender, struct moment now, enum view_format format,
               struct buf *out);

/*
 * One pod: its request, its placement once it has one, else why nodes refused it at the last
 * attempt. errors: ERR_NOT_FOUND.
 */
int view_pod(struct extender *extender, const char *namespace, const char *name, struct moment now,
             enum view_format format, struct buf *out, struct error *err);

/*
 * The mix of pods: which kinds of pods usually come, and which products some of them insist on.
 */
void view_mix(struct extender *extender, struct moment now, enum view_format format,
              struct buf *out);

/* The limits of namespaces on devices, what counts against them, and what is odd about quotas. */
void view_quota(struct extender *extender, struct moment now, enum view_format format,
                struct buf *out);

#endif
