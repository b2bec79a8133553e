/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger - which pod holds what, keyed by pod UID.
 *
 * Owned by the cluster and used under its lock. The ledger knows holdings and the names of nodes,
 * not the nodes themselves.
 *
 * Invariants: a uid has at most one holding, and it hangs in the list of exactly its node; what a
 * namespace uses is the sum of the charges of its holdings.
 */
#ifndef TOPOFIT_LEDGER_H
#define TOPOFIT_LEDGER_H

#include "topofit/cluster.h"
#include "topofit/quota.h"

struct holding {
    struct pod *pod;  /* one reference: it, or an earlier version that says the same of it */
    const char *node; /* of `pod` or of `booking` */
    const struct allocation *allocation; /* the same; NULL when it cannot be told which devices */
    struct booking *booking;             /* what the pod does not say itself, or NULL */
    enum holding_state state;
    bool told;            /* by the pod itself */
    struct grant *grants; /* what the allocation comes to; ids borrowed from it */
    size_t grant_count;
    struct charge *charges; /* of its namespace's quota; they never change */
    size_t charge_count;
    unsigned unattributed;           /* devices taken that no record names */
    uint64_t booked_s;               /* when we booked it, or saw it first; 0: not known */
    uint64_t token;                  /* of the Binding whose end decides; 0 when nobody will tell */
    uint64_t earlier;                /* of one before it that is in doubt as well, or 0 */
    uint64_t list_number;            /* lists of pods announced before it was reserved */
    struct holding *previous, *next; /* on the same node */
};

/* What a pod will say of itself once it is bound. */
struct booking {
    char *node;
    struct allocation allocation;
};

struct ledger;
struct ledger *ledger_new(const struct hash_key *key);
void ledger_free(struct ledger *ledger);

/* The holding of a pod, or NULL. */
struct holding *ledger_find(const struct ledger *ledger, const char *uid);

/*
 * Enter a holding of a pod that has none; it takes a reference to the pod.
 *
 * book  what is booked for the pod on a node: copied.
 * tell  what the pod says: it is on its node, with its record if `with_record`, and holds so many
 *       devices besides that nobody can name.
 */
struct holding *ledger_book(struct ledger *ledger, struct pod *pod, const char *node,
                            const struct allocation *allocation);
struct holding *ledger_tell(struct ledger *ledger, struct pod *pod, bool with_record,
                            unsigned unattributed);

/* A new version of a pod says the same of what it holds: the earlier one is let go. */
void ledger_renew(struct ledger *ledger, struct holding *holding, struct pod *pod);

/* Remove a holding and free it. NULL is fine. */
void ledger_remove(struct ledger *ledger, struct holding *holding);

/* Move a holding: take it out of one ledger, add it to another. */
void ledger_take(struct ledger *ledger, struct holding *holding);
void ledger_add(struct ledger *ledger, struct holding *steal_holding);

/* First holding on a node, or NULL; follow `next`. */
struct holding *ledger_on_node(const struct ledger *ledger, const char *node);

/* Add what a holding takes to the use of its node. */
void holding_add_use(const struct holding *holding, const struct node *node, struct node_use *use);

/* Sum what is held on a node, leaving out the pod with the uid `except` (NULL: nobody). */
void ledger_sum(const struct ledger *ledger, const struct node *node, const char *except,
                struct node_use *out);

/*
 * What the holdings of a namespace are charged for one class and kind together.
 *
 * quota  of those that it counts; NULL: of all.
 */
uint64_t ledger_charged(const struct ledger *ledger, const char *namespace,
                        const struct quota *quota, const struct device_class *class,
                        enum quota_kind kind);

/* All holdings, for looking at: step with a map_cursor, whose value is a struct holding. */
bool ledger_next(const struct ledger *ledger, struct map_cursor *at);

/* Abort if an invariant is broken. */
void ledger_check(const struct ledger *ledger);

#endif
