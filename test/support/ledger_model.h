/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger_model - who holds what, in plain arrays: what property_ledger compares the ledger with.
 *
 * It is told what the cluster is told. A pod that was seen bound and has not ended holds what it
 * says itself; before that it holds what was booked for it. Shares no code with the program.
 */
#ifndef TOPOFIT_TEST_LEDGER_MODEL_H
#define TOPOFIT_TEST_LEDGER_MODEL_H

#include "support/pod_server.h"

#include "topofit/cluster.h"

#define CLAIMS_MAX 64

/* What was booked for a pod that has not said itself what it holds. */
struct claim {
    unsigned number;
    enum holding_state state;
    int node;
    const struct allocation *record;
    bool init_done;
    unsigned list_number;  /* lists announced when it was booked */
    uint64_t last, before; /* tokens of its Bindings that may still be told of, or 0 */
};

struct ledger_model {
    struct pod_version seen[SERVER_NAMES];
    struct claim claims[CLAIMS_MAX];
    size_t claim_count;
    unsigned list_number; /* lists announced so far */
};

/* A pod was shown; it is gone; a list is complete ([SERVER_NAMES], number 0 = no pod). */
void model_pod(struct ledger_model *model, const struct pod_version *pod);
void model_gone(struct ledger_model *model, unsigned name, unsigned number);
void model_list(struct ledger_model *model, const struct pod_version *listed);

/* What is told of a Binding by its token; nothing happens when the claim has no such Binding. */
void model_confirm(struct ledger_model *model, unsigned number, uint64_t token);
void model_release(struct ledger_model *model, unsigned number, uint64_t token);
void model_mark_unknown(struct ledger_model *model, unsigned number, uint64_t token);
void model_abandon(struct ledger_model *model, unsigned number, uint64_t token);

/* What is unknown is sent again under a new token. */
void model_resume(struct ledger_model *model, unsigned number, uint64_t token);

struct claim *model_claim(struct ledger_model *model, unsigned number);

/* Fail the test unless the cluster says the same. nodes: those it should know, else NULL. */
void model_check(const struct ledger_model *model, struct cluster *cluster,
                 struct node *const nodes[SERVER_NODES]);

#endif
