/* SPDX-License-Identifier: Apache-2.0 */
/* combine - is there any way to place all asks of a pod together? */
#include "combine.h"

#include "bound.h"
#include "place.h"

#include <string.h>

struct search {
    const struct problem *problem;
    struct plan *plan;
    unsigned trials_left;
    bool only_single; /* no ask wants more than one device */
    bool has_rules;   /* indices and zones of devices matter to one of its classes */
    device_mask may[REQUEST_ASKS_MAX]; /* devices that could serve the ask if it were alone */
    device_mask peers[DEVICE_MAX];     /* devices that the topology allows in a set with it */
    unsigned kind[DEVICE_MAX];         /* the first device that is like it when no ask is placed */
};

/* --- before the search ----------------------------------------------------------------------- */

/* return false when an ask has not enough devices even alone. */
static bool fill_may(struct search *search)
{
    const struct problem *problem = search->problem;
    const struct request *request = problem->request;

    for (size_t a = 0; a < request->ask_count; a++) {
        const struct fit_question question = draft_question(problem, NULL, a);

        for (unsigned i = 0; i < problem->node->device_count; i++) {
            if (gpufit_device(&question, i, NULL) == REASON_OK)
                search->may[a] |= mask_of(i);
        }
        if (mask_count(search->may[a]) < request->asks[a].count + problem->use->unattributed)
            return false;
        search->only_single = search->only_single && request->asks[a].count == 1;
        search->has_rules = search->has_rules || problem->rules[a] != NULL;
    }
    return true;
}

/* A set is allowed exactly when each pair of it is: its tier is that of its worst pair. */
static void fill_peers(struct search *search)
{
    const struct problem *problem = search->problem;
    unsigned n = problem->node->device_count;

    for (unsigned i = 0; i < n; i++)
        search->peers[i] = mask_below(n);
    if (problem->rule.mode != TOPOLOGY_HARD || search->only_single)
        return;
    for (unsigned i = 0; i < n; i++) {
        for (unsigned k = 0; k < i; k++) {
            const struct topology_question question = {
                .graph = problem->node->graph, .candidates = mask_of(i) | mask_of(k), .count = 2};
            struct topology_choice choice;

            gputopo_choose(&question, &problem->rule, NULL, &choice);
            if (choice.satisfied)
                continue;
            search->peers[i] &= ~mask_of(k);
            search->peers[k] &= ~mask_of(i);
        }
    }
}

static bool is_same_kind(const struct search *search, unsigned i, unsigned k)
{
    const struct device *x = &search->problem->node->devices[i];
    const struct device *y = &search->problem->node->devices[k];
    const struct device_use *p = &search->problem->use->devices[i];
    const struct device_use *q = &search->problem->use->devices[k];

    /* Devices with different peers are not the same, and comparing graphs is not worth it. */
    if (search->problem->rule.mode == TOPOLOGY_HARD && !search->only_single)
        return false;
    if (search->has_rules)
        return false;
    for (size_t a = 0; a < search->problem->request->ask_count; a++) {
        if (mask_has(search->may[a], i) != mask_has(search->may[a], k))
            return false;
    }
    return x->memory_mib == y->memory_mib && x->cores == y->cores && x->slots == y->slots &&
           p->memory_mib == q->memory_mib && p->cores == q->cores && p->slots == q->slots &&
           p->mode == q->mode && p->exclusive == q->exclusive &&
           p->partitions.slices == q->partitions.slices &&
           p->partitions.compute == q->partitions.compute &&
           partition_table_equal(x->partitions, y->partitions);
}

static void fill_kinds(struct search *search)
{
    for (unsigned i = 0; i < search->problem->node->device_count; i++) {
        search->kind[i] = i;
        for (unsigned k = 0; k < i && search->kind[i] == i; k++) {
            if (search->kind[k] == k && is_same_kind(search, i, k))
                search->kind[i] = k;
        }
    }
}

/* --- what need not be tried twice ------------------------------------------------------------ */

static bool is_same_own(const struct own_use *x, const struct own_use *y)
{
    return x->memory_mib == y->memory_mib && x->cores == y->cores && x->slots == y->slots &&
           x->exclusive == y->exclusive;
}

static bool is_like(const struct search *search, unsigned i, unsigned k)
{
    uint32_t on_i, on_k;

    if (search->kind[i] != search->kind[k])
        return false;
    on_i = draft_asks_on(search->problem, search->plan, i);
    on_k = draft_asks_on(search->problem, search->plan, k);
    /* Which partitions are where matters, not how much they have together. */
    if (search->problem->node->devices[i].partitions != NULL)
        return on_i == on_k;
    for (size_t p = 0; on_i != on_k && p < search->problem->phase_count; p++) {
        struct own_use x = draft_own_in_phase(search->problem, p, on_i, i);
        struct own_use y = draft_own_in_phase(search->problem, p, on_k, k);

        if (!is_same_own(&x, &y))
            return false;
    }
    return true;
}

static bool is_like_any(const struct search *search, unsigned i, device_mask of)
{
    for (; of != 0; of &= of - 1) {
        if (is_like(search, i, mask_first(of)))
            return true;
    }
    return false;
}

/* Do two asks want the same at the same times? */
static bool is_same_ask(const struct problem *problem, size_t a, size_t b)
{
    const struct ask *x = &problem->request->asks[a], *y = &problem->request->asks[b];

    for (size_t p = 0; p < problem->phase_count; p++) {
        if ((problem->phases[p] >> a & 1) != (problem->phases[p] >> b & 1))
            return false;
    }
    return x->class == y->class && x->count == y->count && x->memory_kind == y->memory_kind &&
           x->memory == y->memory && x->cores == y->cores && x->slices == y->slices &&
           strcmp(x->profile, y->profile) == 0;
}

/* --- the search ------------------------------------------------------------------------------ */

/* Devices that could serve an ask beside those placed. 0 when the trials are used up. */
static device_mask find_room(struct search *search, size_t ask)
{
    const struct fit_question question = draft_question(search->problem, search->plan, ask);
    device_mask room = 0;

    for (device_mask left = search->may[ask]; left != 0; left &= left - 1) {
        unsigned i = mask_first(left);
        struct own_use own;

        if (search->trials_left == 0)
            return 0;
        search->trials_left--;
        own = draft_own_beside(search->problem, search->plan, &ask, i);
        if (gpufit_room(&question, i, &own) == REASON_OK)
            room |= mask_of(i);
    }
    return room;
}

static bool place_from(struct search *search, size_t at);

/* Complete the set of an ask from the candidates, then go on to the next ask. */
static bool add_device(struct search *search, size_t at, device_mask candidates)
{
    size_t ask = search->problem->order[at];
    unsigned wanted = search->problem->request->asks[ask].count;
    device_mask set = search->plan->sets[ask], tried = 0;

    if (mask_count(set) == wanted)
        return place_allows(search->problem, search->plan, ask, set) && place_from(search, at + 1);
    while (mask_count(set) + mask_count(candidates) >= wanted && search->trials_left > 0) {
        unsigned i = mask_first(candidates);

        candidates &= candidates - 1;
        search->trials_left--;
        if (is_like_any(search, i, tried))
            continue;
        tried |= mask_of(i);
        search->plan->sets[ask] = set | mask_of(i);
        if (add_device(search, at, candidates & search->peers[i]))
            return true;
        search->plan->sets[ask] = set;
    }
    return false;
}

/* Place the asks from one in the order on; those before it are placed. */
static bool place_from(struct search *search, size_t at)
{
    const struct problem *problem = search->problem;
    device_mask candidates;
    size_t ask;

    if (at == problem->request->ask_count)
        return true;
    ask = problem->order[at];
    candidates = place_beside(problem, search->plan, ask, find_room(search, ask));
    if (mask_count(candidates) < problem->request->asks[ask].count + problem->use->unattributed)
        return false;
    /* Of asks that want the same, the later one never begins in front of the earlier one. */
    if (at > 0 && is_same_ask(problem, problem->order[at - 1], ask))
        candidates &= ~mask_below(mask_first(search->plan->sets[problem->order[at - 1]]));
    return add_device(search, at, candidates);
}

bool combine(const struct problem *problem, struct plan *plan)
{
    struct decide_effort *effort = problem->effort;
    struct search search = {.problem = problem, .plan = plan, .only_single = true};
    unsigned trials =
        effort->trials_left < DECIDE_TRIALS_MAX ? effort->trials_left : DECIDE_TRIALS_MAX;
    bool found;

    memset(plan->sets, 0, sizeof plan->sets);
    if (!fill_may(&search) || !bound_allows(problem, search.may))
        return false;
    fill_peers(&search);
    fill_kinds(&search);
    search.trials_left = trials;
    found = place_from(&search, 0);
    effort->trials_left -= trials - search.trials_left;
    effort->cut_short = effort->cut_short || (!found && search.trials_left == 0);
    return found;
}
