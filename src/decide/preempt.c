/* SPDX-License-Identifier: Apache-2.0 */
/* preempt - whom to evict from one node so that a pod fits there. */
#include "topofit/preempt.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#define VISITS_PER_TRIAL 32        /* steps of the search that lead to no trial are cheap */
#define STEPS_PER_TRIAL 64         /* of topology, that take as long as a trial without any */
#define SEVERAL_ASKS_COST 8        /* a trial of a pod with several asks is a search by itself */
#define PRIORITY_SHIFT (1LL << 31) /* source: kube-scheduler, pickOneNodeForPreemption */

/* --- sets ------------------------------------------------------------------------------------ */

#define WORDS (sizeof((struct tenant_set *)0)->words / sizeof(uint64_t))

bool tenant_set_has(const struct tenant_set *set, size_t tenant)
{
    return (set->words[tenant / 64] >> (tenant % 64) & 1) != 0;
}

void tenant_set_add(struct tenant_set *set, size_t tenant)
{
    assert(tenant < PREEMPT_TENANTS_MAX);
    set->words[tenant / 64] |= UINT64_C(1) << (tenant % 64);
}

static void take_out(struct tenant_set *set, size_t tenant)
{
    set->words[tenant / 64] &= ~(UINT64_C(1) << (tenant % 64));
}

/* Of two sets: whose first tenant that the other lacks stands earlier? */
static bool comes_first(const struct tenant_set *a, const struct tenant_set *b)
{
    for (size_t w = 0; w < WORDS; w++) {
        uint64_t differ = a->words[w] ^ b->words[w];

        if (differ != 0)
            return (a->words[w] & (differ & -differ)) != 0;
    }
    return false;
}

/* --- one set --------------------------------------------------------------------------------- */

static void add_grants(const struct preempt_question *question, const struct placed_grant *grants,
                       size_t count, struct node_use *out)
{
    for (size_t g = 0; g < count; g++)
        node_use_add_at(out, question->node, grants[g].position, &grants[g].grant);
}

/* What is left in use; of those who leave, only who has at least that priority. */
static void sum_without(const struct preempt_question *question, const struct tenant_set *gone,
                        int leaving_from, struct node_use *out)
{
    *out = (struct node_use){.device_count = question->node->device_count};
    for (size_t t = 0; t < question->tenant_count; t++) {
        const struct tenant *tenant = &question->tenants[t];

        if (tenant_set_has(gone, t) || (tenant->is_leaving && tenant->priority < leaving_from))
            continue;
        add_grants(question, tenant->grants, tenant->grant_count, out);
        out->unattributed += tenant->unattributed;
    }
}

/* What is left now, joined with what is left when the nominated pods are there. */
static void sum_beside_held(const struct preempt_question *question, const struct tenant_set *gone,
                            struct node_use *out)
{
    const struct held_devices *held = question->held;
    struct node_use later;

    sum_without(question, gone, INT_MIN, out);
    if (held == NULL)
        return;
    sum_without(question, gone, held->priority, &later);
    add_grants(question, held->grants, held->count, &later);
    node_use_join(out, &later);
}

/* Devices whose records contradict each other. Nobody is evicted to find out who is right. */
static device_mask conflicted_now(const struct preempt_question *question)
{
    const struct tenant_set nobody = {{0}};
    device_mask conflicted = 0;
    struct node_use use;

    sum_without(question, &nobody, INT_MIN, &use);
    for (unsigned i = 0; i < use.device_count; i++)
        conflicted |= use.devices[i].conflicted ? mask_of(i) : 0;
    return conflicted;
}

/* The quota once the tenants of a set are gone. */
static void quota_without(const struct preempt_question *question, const struct tenant_set *gone,
                          struct quota_room *out)
{
    *out = *question->policy->quota;
    for (size_t t = 0; t < question->tenant_count; t++) {
        if (tenant_set_has(gone, t))
            quota_room_give_back(out, question->tenants[t].charges,
                                 question->tenants[t].charge_count, question->tenants[t].is_alike);
    }
}

/*
 * care       how hard to look for links
 * out_steps  of topology; NULL: nobody counts them
 */
static bool fits_beside(const struct preempt_question *question, device_mask conflicted,
                        const struct tenant_set *gone, enum decide_care care, uint64_t *out_steps)
{
    struct decide_effort own = {.trials_left = DECIDE_CALL_TRIALS_MAX};
    struct decide_policy policy = *question->policy;
    struct quota_room quota;
    struct verdict verdict;
    struct node_use use;
    struct plan plan;

    if (policy.quota != NULL) {
        quota_without(question, gone, &quota);
        policy.quota = &quota;
    }
    if (policy.effort == NULL)
        policy.effort = &own;
    policy.effort->topology_steps = 0;
    policy.care = care;
    sum_beside_held(question, gone, &use);
    for (device_mask left = conflicted; left != 0; left &= left - 1)
        use.devices[mask_first(left)].conflicted = true;
    decide_node(question->node, &use, question->request, &policy, question->memo, &plan, &verdict);
    if (out_steps != NULL)
        *out_steps = policy.effort->topology_steps;
    return verdict.reason == REASON_OK;
}

bool preempt_fits_devices(const struct preempt_question *question, const struct tenant_set *gone)
{
    return fits_beside(question, conflicted_now(question), gone, DECIDE_VERDICT, NULL);
}

bool preempt_fits_host(const struct preempt_question *question, const struct tenant_set *gone)
{
    struct host_amounts is_free = question->host_free;

    for (size_t t = 0; t < question->tenant_count; t++) {
        if (tenant_set_has(gone, t))
            is_free = host_add(is_free, question->tenants[t].host);
    }
    return question->host_wanted.cpu_milli <= is_free.cpu_milli &&
           question->host_wanted.memory_mib <= is_free.memory_mib;
}

/* --- the search ------------------------------------------------------------------------------ */

struct choice {
    struct tenant_set set;
    uint64_t sum; /* of the raised priorities */
    size_t count;
};

struct search {
    const struct preempt_question *question;
    device_mask conflicted;
    struct tenant_set leaving;           /* taken for gone in all trials */
    uint16_t order[PREEMPT_TENANTS_MAX]; /* who else may have to go, the cheapest first */
    size_t count;
    unsigned trials;      /* left */
    unsigned long visits; /* the same, of steps that need not lead to a trial */
    struct choice best;   /* without those leaving */
};

static uint64_t raised(const struct search *search, size_t tenant)
{
    return (uint64_t)(search->question->tenants[tenant].priority + PRIORITY_SHIFT);
}

static void spend(struct search *search, uint64_t cost)
{
    search->trials -= cost < search->trials ? (unsigned)cost : search->trials;
}

/* A trial, and as many more as its links cost. Those who leave are gone as well. */
static bool fits(struct search *search, const struct tenant_set *gone)
{
    enum decide_care care = search->trials > 0 ? DECIDE_VERDICT : DECIDE_HURRIED;
    struct tenant_set all = *gone;
    uint64_t steps;
    bool fitting;

    for (size_t w = 0; w < WORDS; w++)
        all.words[w] |= search->leaving.words[w];
    spend(search, search->question->request->ask_count > 1 ? SEVERAL_ASKS_COST : 1);
    if (!preempt_fits_host(search->question, &all))
        return false;
    fitting = fits_beside(search->question, search->conflicted, &all, care, &steps);
    spend(search, steps / STEPS_PER_TRIAL);
    return fitting;
}

static struct choice choice_of(const struct search *search, const struct tenant_set *set)
{
    struct choice choice = {.set = *set};

    for (size_t i = 0; i < search->count; i++) {
        if (!tenant_set_has(set, search->order[i]))
            continue;
        choice.sum += raised(search, search->order[i]);
        choice.count++;
    }
    return choice;
}

static bool is_better(const struct choice *a, const struct choice *b)
{
    if (a->sum != b->sum)
        return a->sum < b->sum;
    if (a->count != b->count)
        return a->count < b->count;
    return comes_first(&a->set, &b->set);
}

static void take_if_better(struct search *search, const struct tenant_set *set)
{
    struct choice choice = choice_of(search, set);

    if (is_better(&choice, &search->best))
        search->best = choice;
}

/* --- exact: all sets, the small ones first --------------------------------------------------- */

/* The least that `count` more victims from a place in the order on can add up to. */
static uint64_t least_sum(const struct search *search, size_t from, size_t count)
{
    uint64_t sum = 0;

    for (size_t i = from; i < from + count; i++)
        sum += raised(search, search->order[i]);
    return sum;
}

/* Another step. return whether the search must end. */
static bool is_spent(struct search *search)
{
    if (search->visits > 0)
        search->visits--;
    return search->visits == 0 || search->trials == 0;
}

/* Add `left` more from a place in the order on. return false when the trials are used up. */
static bool add_more(struct search *search, const struct choice *so_far, size_t from, size_t left)
{
    if (left == 0) {
        if (is_better(so_far, &search->best) && fits(search, &so_far->set))
            search->best = *so_far;
        return !is_spent(search);
    }
    for (size_t i = from; i + left <= search->count; i++) {
        struct choice more = *so_far;

        if (so_far->sum + least_sum(search, i, left) > search->best.sum)
            return true; /* later ones are dearer still */
        tenant_set_add(&more.set, search->order[i]);
        more.sum += raised(search, search->order[i]);
        more.count++;
        if (!add_more(search, &more, i + 1, left - 1))
            return false;
    }
    return !is_spent(search);
}

/* return whether nothing was left out. */
static bool try_all(struct search *search)
{
    const struct choice nobody = {0};

    for (size_t size = 1; size <= search->count; size++) {
        uint64_t least = least_sum(search, 0, size);

        if (least > search->best.sum || (least == search->best.sum && size > search->best.count))
            return true;
        if (!add_more(search, &nobody, 0, size))
            return false;
    }
    return true;
}

/* --- greedy: spare one after the other ------------------------------------------------------- */

/* Those at the end of the list are spared first. return false when the trials are used up. */
static bool spare(struct search *search, const uint16_t *list, bool to_the_end)
{
    struct tenant_set gone = {{0}};

    for (size_t i = 0; i < search->count; i++)
        tenant_set_add(&gone, list[i]);
    for (size_t i = search->count; i > 0; i--) {
        struct tenant_set less = gone;

        if (!to_the_end && search->trials == 0)
            return false;
        take_out(&less, list[i - 1]);
        if (fits(search, &less))
            gone = less;
    }
    take_if_better(search, &gone);
    return true;
}

/* How far a tenant is from a device: the least of its devices'; devices on their own rank. */
static unsigned distance(const struct search *search, size_t tenant, const uint8_t *rank)
{
    const struct tenant *one = &search->question->tenants[tenant];
    unsigned least = DEVICE_MAX;

    for (size_t g = 0; g < one->grant_count; g++) {
        int position = one->grants[g].position;

        if (position >= 0 && rank[position] < least)
            least = rank[position];
    }
    return least;
}

/* Is device a nearer to a device than device b is? */
static bool is_nearer(const struct peer_graph *graph, enum topology_source source, unsigned from,
                      unsigned a, unsigned b)
{
    enum tier tier_a, tier_b;

    if (a == from || b == from)
        return a == from && b != from;
    tier_a = peers_tier(graph, source, from, a);
    tier_b = peers_tier(graph, source, from, b);
    return tier_a != tier_b ? tier_a < tier_b : a < b;
}

/* The place of each device in the order of links from one of them: itself 0, the best linked 1. */
static void rank_devices(const struct search *search, unsigned from, uint8_t *rank)
{
    const struct node *node = search->question->node;
    struct topology_rule rule =
        decide_topology_rule(search->question->policy, search->question->request);

    for (unsigned i = 0; i < node->device_count; i++) {
        rank[i] = 0;
        for (unsigned k = 0; i != from && k < node->device_count; k++)
            rank[i] = (uint8_t)(rank[i] + is_nearer(node->graph, rule.source, from, k, i));
    }
}

/* Clear the surroundings of a device: who is far from it is spared first. */
static bool spare_around(struct search *search, unsigned device)
{
    uint16_t list[PREEMPT_TENANTS_MAX];
    uint8_t rank[DEVICE_MAX];

    rank_devices(search, device, rank);
    for (size_t i = 0; i < search->count; i++) {
        unsigned away = distance(search, search->order[i], rank);
        size_t at = i;

        for (; at > 0 && away < distance(search, list[at - 1], rank); at--)
            list[at] = list[at - 1];
        list[at] = search->order[i];
    }
    return spare(search, list, false);
}

/* --- choosing -------------------------------------------------------------------------------- */

/* Everybody up to a priority. */
static struct tenant_set up_to(const struct search *search, int priority)
{
    struct tenant_set set = {{0}};

    for (size_t i = 0; i < search->count; i++) {
        if (search->question->tenants[search->order[i]].priority <= priority)
            tenant_set_add(&set, search->order[i]);
    }
    return set;
}

/* Leave out whoever has a higher priority than somebody must have. */
static void cut_priorities(struct search *search)
{
    size_t low = 0, high = search->count - 1; /* the last one suffices */

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct tenant_set set =
            up_to(search, search->question->tenants[search->order[middle]].priority);

        if (fits(search, &set))
            high = middle;
        else
            low = middle + 1;
    }
    while (high + 1 < search->count &&
           search->question->tenants[search->order[high + 1]].priority ==
               search->question->tenants[search->order[high]].priority)
        high++;
    search->count = high + 1;
}

/* The best set of those in the order, which all together suffice. */
static void choose_paid(struct search *search)
{
    unsigned kept_back;
    bool all_tried;

    cut_priorities(search);
    search->best = (struct choice){.sum = UINT64_MAX};
    spare(search, search->order, true);
    /* Half for what is exact; when it comes to no end, the other half for good guesses. */
    kept_back = search->trials / 2;
    search->trials -= kept_back;
    search->visits = (unsigned long)search->trials * VISITS_PER_TRIAL;
    all_tried = try_all(search);
    search->trials += kept_back;
    for (unsigned i = 0; !all_tried && i < search->question->node->device_count; i++) {
        if (!spare_around(search, i))
            return;
    }
}

/* Name those who leave only as far as they are waited for. */
static void add_leaving(struct search *search, struct tenant_set *out)
{
    struct tenant_set leaving = search->leaving;

    search->leaving = (struct tenant_set){{0}};
    for (size_t w = 0; w < WORDS; w++)
        out->words[w] |= leaving.words[w];
    for (size_t t = search->question->tenant_count; t > 0; t--) {
        struct tenant_set less = *out;

        if (!tenant_set_has(&leaving, t - 1))
            continue;
        take_out(&less, t - 1);
        if (fits(search, &less))
            *out = less;
    }
}

/* Sort out who may go. return all of them. */
static struct tenant_set collect(struct search *search, const struct tenant_set *among)
{
    const struct preempt_question *question = search->question;
    struct tenant_set all = {{0}};

    for (size_t t = 0; t < question->tenant_count; t++) {
        const struct tenant *tenant = &question->tenants[t];

        assert(t == 0 || question->tenants[t - 1].priority <= tenant->priority);
        if (!tenant->may_go || !tenant_set_has(among, t))
            continue;
        tenant_set_add(&all, t);
        if (tenant->is_leaving)
            tenant_set_add(&search->leaving, t);
        else
            search->order[search->count++] = (uint16_t)t;
    }
    return all;
}

bool preempt_choose(const struct preempt_question *question, const struct tenant_set *among,
                    unsigned *trials, struct tenant_set *out)
{
    struct search search = {
        .question = question, .conflicted = conflicted_now(question), .trials = *trials};
    const struct tenant_set nobody = {{0}};
    struct tenant_set all;
    bool suffices;

    assert(question->tenant_count <= PREEMPT_TENANTS_MAX);
    all = collect(&search, among);
    suffices = fits(&search, &all);
    if (suffices && !fits(&search, &nobody))
        choose_paid(&search);
    *out = search.best.set;
    if (suffices)
        add_leaving(&search, out);
    *trials = search.trials;
    return suffices;
}
