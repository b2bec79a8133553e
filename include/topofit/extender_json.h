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
#include <stdint.h>
#include <string.h>

#include "topofit/buf.h"
#include "topofit/error.h"
#include "topofit/json.h"
#include "topofit/kube_json.h"
#include "topofit/text.h"

#define EXTENDER_NODES_MAX 20000 /* nodes of one call */
#define EXTENDER_NAME_MAX 253    /* bytes of a name. source: RFC 1123, Kubernetes object names */

/* ExtenderArgs: filter and prioritize. kube-scheduler sends exactly one of names and nodes. */
struct extender_args {
    bool has_pod;
    struct kube_pod pod;
    bool has_names;
    const struct name_at *names; /* in name_base: own_names, or those of the likely list */
    struct name_at *own_names;
    size_t name_count, name_capacity;
    uint32_t *positions;   /* [name_count] in the list of likely names; NULL: not looked up */
    size_t jumps;          /* names that were not where they were likely */
    const char *name_base; /* the body itself, or name_text */
    size_t name_limit;     /* bytes that may be read of it */
    char *name_text;       /* owned, or NULL */
    /*
     * name_base is the body, and the names stand there as JSON strings without escapes, each behind
     * a comma or the bracket.
     */
    bool names_are_plain;
    bool has_nodes;
    struct kube_node *nodes;
    char **node_bytes; /* [node_count] the item as it was sent; owned, ends with a NUL */
    size_t node_count, node_capacity;
};
void extender_args_init(struct extender_args *args);
void extender_args_clear(struct extender_args *args);

/* A text that need not end with a NUL. Borrowed. */
struct name_slice {
    const char *text;
    size_t length;
};

/* How many nodes the call is about, and the name of one. */
static inline size_t extender_args_count(const struct extender_args *args)
{
    return args->has_nodes ? args->node_count : args->name_count;
}
static inline struct name_slice extender_args_name(const struct extender_args *args, size_t i)
{
    if (!args->has_nodes)
        return (struct name_slice){args->name_base + args->names[i].start, args->names[i].length};
    return (struct name_slice){args->nodes[i].meta.name, strlen(args->nodes[i].meta.name)};
}

/*
 * bytes   borrowed by `out`, which may refer to names in it.
 * likely  names to expect, which are read faster, or NULL; borrowed by `out` as well.
 * out     initialised or zeroed; what it held is freed on success. A body of `{}` has nothing.
 * errors  ERR_INVALID for what is not JSON, not an object or of wrong types, with the byte offset;
 *         ERR_LIMIT for more than EXTENDER_NODES_MAX nodes or a longer name.
 */
int extender_json_read_args(const char *bytes, size_t length, const struct likely_names *likely,
                            struct extender_args *out, struct error *err);

/* ExtenderBindingArgs. Strings are "" when absent. */
struct extender_binding_args {
    char *pod_name, *pod_namespace, *pod_uid, *node;
};
void extender_binding_args_clear(struct extender_binding_args *args);
int extender_json_read_binding_args(const char *bytes, size_t length,
                                    struct extender_binding_args *out, struct error *err);

/* What becomes of a node, and where in the answer it stands. */
enum node_fate {
    NODE_KEPT = 0,
    NODE_REFUSED_FOR_NOW, /* FailedNodes: eviction could cure it */
    NODE_REFUSED,         /* FailedAndUnresolvableNodes */
};
#define NODE_FATES 3

/* What is answered for a node. Nodes with the same answer share one. Zeroed: kept. */
struct node_answer {
    enum node_fate fate;
    char *reason; /* a colon, and the text shown to people as a JSON string; NULL when kept */
    size_t reason_length; /* some bytes more may be read */
};
struct node_answer node_answer_refusal(enum node_fate fate, const char *text);
void node_answer_clear(struct node_answer *answer);

/* How much memory its text takes. */
size_t node_answer_bytes(const struct node_answer *answer);

/* The answers to a call by what becomes of the nodes. */
struct sorted_answers {
    const struct node_answer *const *answers; /* in the order of the call; borrowed */
    uint32_t *positions[NODE_FATES];          /* those of each fate in `answers`, in order */
    size_t counts[NODE_FATES];
    size_t reason_bytes; /* of all reasons */
};

/* answers: [count], borrowed. The caller clears out. */
void sorted_answers_init(struct sorted_answers *out, const struct node_answer *const *answers,
                         size_t count);
void sorted_answers_clear(struct sorted_answers *sorted);

/*
 * ExtenderFilterResult. Kept nodes go back in the form they came in: the objects, byte for byte,
 * when objects were sent, else the names.
 *
 * sorted  answers to all of args, in their order.
 */
void extender_json_write_filter_result(struct buf *out, const struct extender_args *args,
                                       const struct sorted_answers *sorted);

/*
 * The same result as a failed call: only Error is set, to a text that is not empty. A '%' in it
 * becomes " percent": kube-scheduler takes the text for a format.
 * source: kube-scheduler pkg/scheduler/extender.go
 */
void extender_json_write_filter_error(struct buf *out, const char *text);

/* HostPriorityList; "[]" for none. scores_0_10: in the order of args. */
void extender_json_write_scores(struct buf *out, const struct extender_args *args,
                                const uint8_t *scores_0_10);

/* ExtenderBindingResult; text "" = success. '%' is replaced as above. */
void extender_json_write_binding_result(struct buf *out, const char *text);

#endif
