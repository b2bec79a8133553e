/* SPDX-License-Identifier: Apache-2.0 */
/* lock_keeper_claims - the locks that we wrote on a node, or may have written. */
#include "lock_keeper_inside.h"

#include "topofit/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct claim *lock_claim_add(struct lane *lane, const struct claim *claim)
{
    struct claim *added = xmalloc(sizeof *added);

    *added = *claim;
    added->next = lane->claims;
    lane->claims = added;
    return added;
}

void lock_claim_drop(struct lane *lane, struct claim *claim)
{
    struct claim **place = &lane->claims;

    if (claim == NULL)
        return;
    while (*place != claim)
        place = &(*place)->next;
    *place = claim->next;
    free(claim->text);
    free(claim);
}

struct claim *lock_claim_of(const struct lane *lane, const struct turn *turn)
{
    struct claim *claim = lane->claims;

    assert(turn != NULL);
    while (claim != NULL && claim->owner != turn)
        claim = claim->next;
    return claim;
}

struct claim *lock_claim_with(const struct lane *lane, enum node_lock kind, const char *text)
{
    struct claim *claim = lane->claims;

    if (text == NULL)
        return NULL;
    while (claim != NULL && (claim->kind != kind || strcmp(claim->text, text) != 0))
        claim = claim->next;
    return claim;
}

struct claim *lock_claim_shown(const struct lane *lane, enum node_lock kind)
{
    return lock_claim_with(lane, kind, lane->shown[kind].text);
}

/* The node stands at a later version than that on which the lock was sent. */
static void settle(struct lane *lane, struct claim *claim, uint64_t version)
{
    if (lock_claim_shown(lane, claim->kind) == claim) {
        claim->state = CLAIM_HELD;
        claim->version = version;
    } else if (claim->owner == NULL || lane->step != LANE_TAKES) {
        lock_claim_drop(lane, claim);
    }
}

void lock_settle_claims(struct lane *lane, uint64_t version)
{
    struct claim *claim = lane->claims;

    while (claim != NULL) {
        struct claim *next = claim->next;

        if (version > claim->version)
            settle(lane, claim, version);
        claim = next;
    }
}
