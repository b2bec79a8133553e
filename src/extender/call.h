/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call - what filter and prioritize have in common: the pod, the nodes asked about, and what each
 * of them has in use. For the extender only.
 */
#ifndef TOPOFIT_CALL_H
#define TOPOFIT_CALL_H

#include "topofit/decide.h"
#include "topofit/extender.h"
#include "topofit/extender_json.h"
#include "topofit/rank.h"
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
    struct decide_policy policy; /* points to it: a call stays where it was opened */
    struct error trouble;        /* why the call as a whole cannot be answered; empty when it can */
};

/*
 * Read a request and take the picture it is answered from. The caller clears it, also on failure.
 *
 * errors  ERR_INVALID, ERR_LIMIT: not a request of kube-scheduler's form.
 */
int call_open(struct extender *extender, const char *bytes, size_t length, struct call *out,
              struct error *err);
void call_clear(struct call *call);

/* The name at position i. Borrowed from the call. */
const char *call_name(const struct call *call, size_t i);

/* A node asked about. */
struct called_node {
    const char *name;  /* borrowed from the call */
    struct node *node; /* a reference, or NULL: not known */
    struct node_use use;
    struct host_amounts host_used;
    struct nominees *nominees; /* a reference; NULL: nobody holds anything against the pod */
};

/* The node at position i, from the picture or from the request itself. Clear it afterwards. */
void call_node(struct extender *extender, const struct call *call, size_t i,
               struct called_node *out);
void called_node_clear(struct called_node *called);

/* Plan the pod of a call on one of its nodes; the verdict says whether there is a plan. */
void call_decide(struct extender *extender, const struct call *call,
                 const struct called_node *called, struct plan *plan, struct verdict *verdict);

/* What ranking the nodes of one picture needs beside the nodes. Large: keep it off the stack. */
struct ranking {
    const struct pod *pod;
    struct waste_memo *memo;
    enum packing_policy packing;
    struct waste_models models;
    struct scarcity scarcity;
};

void ranking_begin(struct ranking *ranking, const struct extender *extender,
                   const struct snapshot *snapshot, const struct pod *pod);

/* Keep what was learned on the way for the next call. */
void ranking_end(struct ranking *ranking);

/* How good a node is for the pod as it is planned there. */
struct ranked_node ranking_judge(struct ranking *ranking, const struct called_node *called,
                                 const struct plan *plan);

#endif
