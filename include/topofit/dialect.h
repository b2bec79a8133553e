/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect - how one system spells the facts on nodes and pods.
 *
 * Each dialect reads kube_objects into the model and writes the model back as annotations. A new
 * system is a new file with one struct dialect and a row in the table; the rest of the program
 * does not learn its keys. Today: native (topofit.io) and hami (hami.io and its vendors). No I/O,
 * no state.
 */
#ifndef TOPOFIT_DIALECT_H
#define TOPOFIT_DIALECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/device_class.h"
#include "topofit/error.h"
#include "topofit/kube_object.h"
#include "topofit/node.h"
#include "topofit/pod.h"
#include "topofit/quota.h"

/* A placement that is about to be written to its pod. All borrowed. */
struct dialect_placement {
    const struct allocation *allocation;
    const struct node *node;       /* of the allocation; NULL when it is not known any more */
    const struct request *request; /* of the pod */
    uint64_t unix_ms;              /* now */
};

struct dialect {
    const char *name;
    const char *const *annotations; /* every key it reads or writes, for people; ends with NULL */

    /*
     * Read what this dialect knows of a node into it (devices, then graph). What cannot be read
     * goes to node_note_problem() with its place; the node stays usable with less knowledge.
     * return  true when the node carries this dialect's inventory.
     */
    bool (*read_node)(const struct kube_node *kube, const struct class_table *classes,
                      struct node *node);

    /* Read demands from a pod's annotations into the request; unreadable ones are its problem. */
    void (*read_demands)(const struct kube_pod *kube, struct request *request);

    /*
     * Read the record of what a pod was given. request: of the same pod.
     * return  1 read, 0 no record of this dialect, negative unreadable (err says where).
     */
    int (*read_record)(const struct kube_pod *kube, const struct class_table *classes,
                       const struct request *request, struct allocation *out, struct error *err);

    /* Is it an annotation of which only who places a pod knows the value: part of a record? */
    bool (*is_record_key)(const struct class_table *classes, const char *key);

    /* Annotation that holds the record, or NULL when this dialect does not write. */
    const char *record_key;

    /* Write the record as annotations of the Binding, where the node's plugins want it so. */
    void (*write_record)(const struct dialect_placement *placement, struct kube_pairs *annotations);
};

/* The dialects in the order in which they are asked. */
extern const struct dialect *const dialects[];
extern const size_t dialect_count;

extern const struct dialect dialect_native, dialect_hami;

/* Model objects from kube objects, asking all dialects. One reference for the caller. */
struct node *dialect_node(const struct kube_node *kube, const struct class_table *classes);
struct pod *dialect_pod(const struct kube_pod *kube, const struct class_table *classes);

/* Has its node's agent given a pod its devices, or failed to? See struct pod. */
bool dialect_is_handed_out(const struct kube_pod *kube);

/*
 * The limits that concern us of a ResourceQuota, and remarks on those that look as if they did and
 * do not: misspelled resources, amounts that cannot be read (nothing may be had then), unknown
 * scopes.
 */
struct quota *dialect_quota(const struct kube_quota *kube, const struct class_table *classes);

/*
 * What looks on a pod as if it concerned us, and does not: resources near one of a class or of its
 * vendor's domain, annotations of ours that nobody reads.
 *
 * tell    called once for each, with a line for people.
 * return  whether there is such a resource.
 */
bool dialect_pod_remarks(const struct kube_pod *kube, const struct class_table *classes,
                         void (*tell)(void *ctx, const char *text), void *ctx);

/*
 * Read a pod's record from its annotations into the model, asking all dialects: the first that has
 * one counts. The pod's request is there already.
 */
void dialect_read_record(const struct kube_pod *kube, const struct class_table *classes,
                         struct pod *pod);

/* The request of a pod: amounts by class, demands by dialect. out is initialised here. */
void dialect_request(const struct kube_pod *kube, const struct class_table *classes,
                     struct request *out);

/* Is that annotation part of a record in any dialect? A pod that is created has none. */
bool dialect_is_record_key(const struct class_table *classes, const char *key);

/* The annotation that tells one allocation of a pod from another. Static storage. */
const char *dialect_record_key(void);

/*
 * The annotations that record a placement, from all dialects that write.
 *
 * annotations  empty; the caller clears them.
 * errors       ERR_LIMIT: they are too big for a pod (annotation_budget.h).
 */
int dialect_write_record(const struct dialect_placement *placement, struct kube_pairs *annotations,
                         struct error *err);

#endif
