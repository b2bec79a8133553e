/* SPDX-License-Identifier: Apache-2.0 */
/*
 * views (inside) - what the views share. For the views only.
 */
#ifndef TOPOFIT_VIEWS_INSIDE_H
#define TOPOFIT_VIEWS_INSIDE_H

#include "topofit/views.h"

#include <jansson.h>

/* {"kind", "apiVersion", "generatedAt"}, to be filled. New reference. */
json_t *view_document(const char *kind, struct moment now);

/* Write a document with an end of line, and drop the reference. */
void view_write(json_t *steal_document, struct buf *out);

/* A string value that is always valid JSON, whatever the bytes. New reference. */
json_t *view_string(const char *text);

/* What is asked for: class, count, cores, memory. New reference. */
json_t *view_ask(const struct ask *ask);

/* The same, "2 nvidia x 30% memory", behind a "+" when there is something before it. */
void view_describe_ask(const struct ask *ask, struct buf *out);

/* Of a device that is divided which partition, and where: " (1g.10gb at 4)"; else nothing. */
void view_describe_partition(const struct partition_placement *partition, struct buf *out);

/* The same: "partitions" by container in a document, when there are any. */
void view_add_partitions(const struct allocation *allocation, json_t *document);

const char *holding_state_name(enum holding_state state);

#endif
