/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extender_json - the bodies of kube-scheduler's extender calls (extender/v1).
 *
 * No I/O. Keys are Go field names, read without regard to case and written in exactly that form;
 * null and missing are the same. source: kube-scheduler extender/v1/types.go.
 */
#ifndef TOPOFIT_EXTENDER_JSON_H
#define TOPOFIT_EXTENDER_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "topofit/buf.h"
#include "topofit/error.h"
#include "topofit/json.h"
#include "topofit/kube_json.h"

#define EXTENDER_NODES_MAX 20000 /* nodes of one call */
#define EXTENDER_NAME_MAX 253    /* bytes of a name. source: RFC 1123, Kubernetes object names */

/* ExtenderArgs: filter and prioritize. kube-scheduler sends exactly one of names and nodes. */
struct extender_args {
    bool has_pod;
    struct kube_pod pod;
    bool has_names;
    const char **names; /* they stand in name_text */
    char *name_text;    /* one block for all */
    size_t name_count, name_capacity;
    bool has_nodes;
    struct kube_node *nodes;
    char **node_bytes; /* [node_count] the item as it was sent; owned, ends with a NUL */
    size_t node_count, node_capacity;
};
void extender_args_init(struct extender_args *args);
void extender_args_clear(struct extender_args *args);

/*
 * out     initialised or zeroed; what it held is freed on success. A body of `{}` has nothing.
 * errors  ERR_INVALID for what is not JSON, not an object or of wrong types, with the byte offset;
 *         ERR_LIMIT for more than EXTENDER_NODES_MAX nodes or a longer name.
 */
int extender_json_read_args(const char *bytes, size_t length, struct extender_args *out,
                            struct error *err);

/* ExtenderBindingArgs. Strings are "" when absent. */
struct extender_binding_args {
    char *pod_name, *pod_namespace, *pod_uid, *node;
};
void extender_binding_args_clear(struct extender_binding_args *args);
int extender_json_read_binding_args(const char *bytes, size_t length,
                                    struct extender_binding_args *out, struct error *err);

/* What is answered for one node. */
struct filtered_node {
    const char *name;   /* borrowed */
    const char *reason; /* NULL = kept; else the text shown to people */
    bool curable;       /* FailedNodes, else FailedAndUnresolvableNodes */
};

/*
 * ExtenderFilterResult. Kept nodes go back in the form they came in: the objects, byte for byte,
 * when objects were sent, else the names.
 *
 * nodes   in the order of args: nodes[i] answers for args->nodes[i] or else args->names[i]; the
 *         count is that of args.
 */
void extender_json_write_filter_result(struct buf *out, const struct extender_args *args,
                                       const struct filtered_node *nodes, size_t count);

/*
 * The same result as a failed call: only Error is set, to a text that is not empty. A '%' in it
 * becomes " percent": kube-scheduler takes the text for a format.
 * source: kube-scheduler pkg/scheduler/extender.go
 */
void extender_json_write_filter_error(struct buf *out, const char *text);

/* HostPriorityList; "[]" for none. */
struct scored_node {
    const char *name;
    int score_0_10;
};
void extender_json_write_scores(struct buf *out, const struct scored_node *nodes, size_t count);

/* ExtenderBindingResult; text "" = success. '%' is replaced as above. */
void extender_json_write_binding_result(struct buf *out, const char *text);

#endif
