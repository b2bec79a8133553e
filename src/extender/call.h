/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call - what filter and prioritize have in common: the pod, the nodes asked about, and what comes
 * out for each of them. For the extender only.
 */
#ifndef TOPOFIT_CALL_H
#define TOPOFIT_CALL_H

#include "considered.h"
#include "pod_quota.h"
#include "recall.h"
#include "topofit/decide.h"
#include "topofit/extender.h"
#include "topofit/extender_json.h"
#include "topofit/rank.h"
#include "topofit/waste_memo.h"
#include "topofit/worth.h"

/* One call being answered. */
struct call {
    struct extender_args args;
    struct pod *pod;
    struct holding_view own; /* what the pod holds already, when `holds` */
    bool holds;
    struct snapshot *snapshot;
    size_t count;                /* nodes asked about */
    struct decide_effort effort; /* shared by these */
    struct pod_quota quota;      /* of the pod's namespace */
    struct decide_policy policy; /* points to both: a call stays where it was opened */
    struct error trouble;        /* why the call as a whole cannot be answered; empty when it can */

    uint32_t *positions;                /* [count] of the nodes in the snapshot, or NAME_NOWHERE */
    struct kind *kind;                  /* what is remembered of such pods, or NULL */
    const struct node_answer **answers; /* [count] by call_consider(): see considered_of() */
    const struct node_answer *unknown;  /* for nodes that nobody knows, or NULL: not needed yet */
    struct considered **owned;          /* what no kind remembers */
    size_t owned_count, owned_capacity;
};

/*
 * Read a request and take the picture it is answered from. The caller clears it, also on failure.
 *
 * bytes     borrowed until then.
 * expected  nodes that it is likely to name, in order; borrowed, or NULL.
 * errors    ERR_INVALID, ERR_LIMIT: not a request of kube-scheduler's form.
 */
int call_open(struct extender *extender, const char *bytes, size_t length, struct moment now,
              const struct expected_nodes *expected, struct call *out, struct error *err);
void call_clear(struct call *call);

/*
 * Find call->kind, of what may stand for this pod and these nodes; it stays NULL where something
 * counts that is this pod's or this call's alone.
 */
void call_find_kind(struct extender *extender, struct call *call);

/* Fill call->answers: decide about every node, or recall what was decided. */
void call_consider(struct extender *extender, struct call *call);

/* The same for one node, of a call that has a kind. */
const struct node_answer *call_consider_one(struct extender *extender, struct call *call, size_t i);

/* A node asked about, as it is to be ranked. */
struct called_node {
    const char *name;           /* borrowed from the call */
    struct node *node;          /* a reference, or NULL: not known */
    const struct node_use *use; /* own_use, or borrowed from the picture */
    struct rank_facts rank;
    struct nominees *nominees; /* a reference; NULL: nobody holds anything against the pod */
    struct node_use own_use;
};

/* The node at position i, from the picture or from the request itself. Clear it afterwards. */
void call_node(struct extender *extender, const struct call *call, size_t i,
               struct called_node *out);
void called_node_clear(struct called_node *called);

/* What ranking the nodes of one picture needs beside the nodes. Large: keep it off the stack. */
struct ranking {
    const struct pod *pod;
    enum packing_policy packing;
    bool looks_at_links;         /* topology is not off */
    struct waste_models *models; /* one reference; NULL: the mix is not known */
    struct scarcity scarcity;
    struct node_models node_models; /* of the node judged last */
};

void ranking_begin(struct ranking *ranking, const struct extender *extender,
                   const struct snapshot *snapshot, const struct pod *pod);

void ranking_end(struct ranking *ranking);

/* How good a node is for the pod as it is planned there. */
struct ranked_node ranking_judge(struct ranking *ranking, const struct called_node *called,
                                 const struct plan *plan);

#endif
