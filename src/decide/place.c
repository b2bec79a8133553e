/* SPDX-License-Identifier: Apache-2.0 */
/* place - one ask on a node: its candidates, the rule of its class, and the best set. */
#include "place.h"

#include "arrange.h"
#include "set_places.h"
#include "spend.h"
#include "topofit/packing.h"

#include <string.h>

/* An ask being placed. */
struct placing {
    const struct problem *problem;
    size_t ask;
    const struct ask *wanted;
    const struct set_rule *rule; /* NULL: none */
    struct plan *plan;
    struct verdict *verdict;
    struct fit_question question;
    struct own_use own[DEVICE_MAX];
    uint16_t preference[DEVICE_MAX];
    struct fit fit;
};

/* --- what is preferred ----------------------------------------------------------------------- */

static bool spreads_fractions(const struct placing *placing)
{
    return decide_spreads_devices(placing->problem->policy, placing->problem->request) &&
           !ask_is_whole(placing->problem->request, placing->wanted);
}

/* What large partitions lose on a divided device by the ask. */
static unsigned loss_on(const struct placing *placing, unsigned position)
{
    struct arrange_question question = {
        .request = placing->problem->request,
        .device = &placing->problem->node->devices[position],
        .taken = placing->problem->use->devices[position].partitions,
        .asks = placing->own[position].asks,
    };
    struct arrangement before = {.after = question.taken}, after;

    if (question.asks != 0 && !arrange_best(&question, &before))
        return ARRANGE_LOSS_MAX;
    question.asks |= UINT32_C(1) << placing->ask;
    if (!arrange_best(&question, &after))
        return ARRANGE_LOSS_MAX;
    return arrange_loss(question.device->partitions, before.after, after.after);
}

#define LOAD_MAX 1000

/* Divided devices come first, those where the least is lost. return whether there are any. */
static bool prefer_partitions(struct placing *placing)
{
    bool any = false;

    for (device_mask left = placing->fit.candidates; left != 0; left &= left - 1) {
        unsigned i = mask_first(left);

        if (placing->problem->node->devices[i].partitions == NULL)
            continue;
        placing->preference[i] = (uint16_t)(LOAD_MAX + 1 + ARRANGE_LOSS_MAX - loss_on(placing, i));
        any = true;
    }
    return any;
}

/* --- what is asked of gputopo ---------------------------------------------------------------- */

static device_mask idle_devices(const struct problem *problem, const struct plan *plan)
{
    device_mask idle = 0;

    for (unsigned i = 0; i < problem->node->device_count; i++) {
        if (problem->use->devices[i].slots == 0)
            idle |= mask_of(i);
    }
    for (size_t a = 0; a < problem->request->ask_count; a++)
        idle &= ~plan->sets[a];
    return idle;
}

static void ask_question(struct placing *placing, struct topology_question *out)
{
    const struct problem *problem = placing->problem;
    device_mask candidates = placing->fit.candidates;
    device_mask reuse = draft_reusable(problem, placing->plan, placing->ask) & candidates;
    bool enough = mask_count(reuse) >= placing->wanted->count;
    bool spreads = spreads_fractions(placing);

    packing_preferences(problem->node, problem->use,
                        decide_spreads_devices(problem->policy, problem->request),
                        placing->preference);
    *out = (struct topology_question){
        .graph = problem->node->graph,
        .candidates = enough ? reuse : candidates,
        .required = enough ? 0 : reuse,
        /* Who spreads fractions wants idle devices: keeping those for later groups is no aim. */
        .idle = spreads && placing->wanted->count > 1 ? 0 : idle_devices(problem, placing->plan),
        .count = placing->wanted->count,
        .preference = placing->preference,
        .preference_first = spreads,
    };
    if (problem->is_divided && !spreads)
        out->preference_first = prefer_partitions(placing);
}

/* Without topology: what is required, then the preferred devices, the first ones on ties. */
static device_mask choose_preferred(const struct topology_question *question)
{
    device_mask within = question->within != 0 ? question->within : question->candidates;
    device_mask set = question->required;

    while (mask_count(set) < question->count) {
        device_mask left = within & ~set;
        unsigned best = mask_first(left);

        for (left &= left - 1; left != 0; left &= left - 1) {
            if (question->preference[mask_first(left)] > question->preference[best])
                best = mask_first(left);
        }
        set |= mask_of(best);
    }
    return set;
}

/* What a choice says goes into the plan. */
static void note_choice(const struct problem *problem, const struct topology_choice *choice,
                        unsigned count, struct plan *plan)
{
    uint8_t quality =
        gputopo_quality(problem->node->graph, &problem->rule, choice, count, problem->memo);

    if (choice->tier > plan->tier)
        plan->tier = choice->tier;
    if (quality < plan->quality_0_100)
        plan->quality_0_100 = quality;
}

static void note_refusal(const struct problem *problem, const struct topology_choice *best,
                         enum reason reason, struct verdict *verdict)
{
    verdict->reason = reason;
    verdict->best_tier = best->tier;
    verdict->allowed_tier = problem->rule.max_tier;
}

/* The best set under the rule; 0 and the verdict's reason when the rule allows none. */
static device_mask choose_by_topology(const struct problem *problem,
                                      const struct topology_question *question, struct plan *plan,
                                      struct verdict *verdict)
{
    struct topology_choice choice;

    gputopo_choose(question, &problem->rule, problem->memo, &choice);
    plan->degraded = plan->degraded || choice.degraded;
    if (!choice.satisfied) {
        note_refusal(problem, &choice, REASON_TOPOLOGY, verdict);
        return 0;
    }
    note_choice(problem, &choice, question->count, plan);
    return choice.set;
}

static enum reason never(const struct topology_choice *best)
{
    return best->tier == TIER_UNKNOWN ? REASON_TOPOLOGY_UNKNOWN : REASON_TOPOLOGY_NEVER;
}

/*
 * An ask cannot be placed now. The verdict stays as it is when evicting pods could free a set that
 * meets the demand, or may free one; else it says that the node never can, so that nobody is
 * evicted for nothing.
 */
static void judge_topology(const struct placing *placing)
{
    const struct problem *problem = placing->problem;
    const struct topology_question question = {.graph = problem->node->graph,
                                               .candidates = placing->fit.hopeful,
                                               .count = placing->wanted->count};
    struct topology_choice best;

    gputopo_choose(&question, &problem->rule, problem->memo, &best);
    if (!best.satisfied && !best.degraded)
        note_refusal(problem, &best, never(&best), placing->verdict);
}

void place_note_links(const struct problem *problem, size_t ask, device_mask set, struct plan *plan)
{
    const struct topology_question question = {.graph = problem->node->graph,
                                               .candidates = set,
                                               .count = problem->request->asks[ask].count};
    struct verdict verdict;

    if (problem->rule.mode != TOPOLOGY_OFF)
        choose_by_topology(problem, &question, plan, &verdict);
}

/* --- beside the pod's other asks ------------------------------------------------------------- */

/* What the other asks of the class have, where all must have the same. */
static device_mask shared_devices(const struct problem *problem, const struct plan *plan,
                                  size_t ask)
{
    const struct request *request = problem->request;
    device_mask shared = 0;

    for (size_t a = 0; a < request->ask_count; a++) {
        if (a != ask && request->asks[a].class == request->asks[ask].class)
            shared |= plan->sets[a];
    }
    return shared;
}

device_mask place_beside(const struct problem *problem, const struct plan *plan, size_t ask,
                         device_mask candidates)
{
    device_mask shared;

    if (problem->rules[ask] == NULL || !problem->rules[ask]->same_devices)
        return candidates;
    shared = shared_devices(problem, plan, ask);
    return mask_count(shared) >= problem->request->asks[ask].count ? candidates & shared
                                                                   : candidates;
}

static bool takes_all_cores(const struct problem *problem, size_t ask)
{
    const struct ask *wanted = &problem->request->asks[ask];

    for (unsigned i = 0; i < problem->node->device_count; i++) {
        const struct device *device = &problem->node->devices[i];

        if (device->class == wanted->class)
            return ask_cores(problem->request, wanted, device->cores) == device->cores;
    }
    return false;
}

static struct set_question set_question(const struct problem *problem, size_t ask,
                                        device_mask candidates)
{
    const struct ask *wanted = &problem->request->asks[ask];

    return (struct set_question){.node = problem->node,
                                 .class = wanted->class,
                                 .rule = problem->rules[ask],
                                 .candidates = candidates,
                                 .count = wanted->count,
                                 .is_whole = takes_all_cores(problem, ask)};
}

/* Are there handles for a set? Without the set the ask is in no set of the plan. */
static bool has_handles(const struct problem *problem, const struct plan *plan, size_t ask,
                        device_mask set)
{
    struct plan without;
    struct fit_question question;
    unsigned added = 0;

    memcpy(without.sets, plan->sets, sizeof without.sets);
    without.sets[ask] = 0;
    question = draft_question(problem, &without, ask);
    for (device_mask left = set; left != 0; left &= left - 1) {
        unsigned i = mask_first(left);
        struct own_use own = draft_own_beside(problem, &without, &ask, i);

        added += gpufit_handles_added(&question, i, &own);
    }
    return added <= gpufit_handles_left(&question);
}

bool place_allows(const struct problem *problem, const struct plan *plan, size_t ask,
                  device_mask set)
{
    const struct set_rule *rule = problem->rules[ask];
    struct set_question question;

    if (rule == NULL)
        return true;
    question = set_question(problem, ask, set);
    if (!set_is_allowed(&question, set))
        return false;
    if (rule->same_devices) {
        device_mask shared = shared_devices(problem, plan, ask);

        if (shared != 0 && (shared & ~set) != 0 && (set & ~shared) != 0)
            return false;
    }
    return rule->handles_max == 0 || has_handles(problem, plan, ask, set);
}

/* --- under a rule ---------------------------------------------------------------------------- */

/* Keep the places that pass, in order. */
static void filter_places(struct set_places *places,
                          bool (*narrow)(const struct placing *placing,
                                         struct topology_place *place),
                          const struct placing *placing)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < places->count; i++) {
        struct topology_place place = places->items[i];

        if (!narrow(placing, &place))
            continue;
        places->items[kept] = place;
        places->keys[kept++] = places->keys[i];
    }
    places->count = kept;
}

/* Of two numbers of tenants the first counts most. */
static unsigned online_load(const struct placing *placing, unsigned position)
{
    const struct device_use *use = &placing->problem->use->devices[position];

    return use->online * (UINT8_MAX + 1u) + use->offline;
}

/* Online pods go where the fewest of them are: those below the threshold, then those at it. */
static bool narrow_online(const struct placing *placing, struct topology_place *place)
{
    device_mask below = place->required, at = 0;

    while (mask_count(below | at) < placing->wanted->count) {
        device_mask left = place->within & ~(below | at);
        unsigned least = UINT32_MAX;

        if (left == 0)
            return false;
        below |= at;
        at = 0;
        for (device_mask m = left; m != 0; m &= m - 1) {
            unsigned load = online_load(placing, mask_first(m));

            if (load < least)
                at = 0;
            if (load <= least)
                at |= mask_of(mask_first(m));
            least = load < least ? load : least;
        }
    }
    *place = (struct topology_place){.within = below | at, .required = below};
    return true;
}

/* At most as many devices are split anew as there are handles for. */
static bool narrow_handles(const struct placing *placing, struct topology_place *place)
{
    unsigned left = gpufit_handles_left(&placing->question), most = 0, may_split;
    device_mask split_already = 0;

    for (device_mask m = place->within; m != 0; m &= m - 1) {
        unsigned i = mask_first(m);
        unsigned added = gpufit_handles_added(&placing->question, i, &placing->own[i]);

        split_already |= added == 0 ? mask_of(i) : 0;
        most = added > most ? added : most;
    }
    may_split = most > 0 ? left / most : DEVICE_MAX;
    if (placing->wanted->count <= may_split)
        return true;
    if (mask_count(split_already) >= placing->wanted->count) {
        place->within = split_already;
        return (place->required & ~split_already) == 0;
    }
    place->required |= split_already;
    return mask_count(split_already) + may_split >= placing->wanted->count;
}

/* Another ask's devices, all of them where the ask wants more than they are. */
static bool narrow_shared(const struct placing *placing, struct topology_place *place)
{
    device_mask shared = shared_devices(placing->problem, placing->plan, placing->ask);

    if (mask_count(shared) >= placing->wanted->count) {
        place->within &= shared;
        return mask_count(place->within) >= placing->wanted->count &&
               (place->required & ~shared) == 0;
    }
    place->required |= shared;
    return (shared & ~place->within) == 0 && mask_count(place->required) <= placing->wanted->count;
}

static void list_places(const struct placing *placing, device_mask candidates,
                        struct set_places *out)
{
    struct set_question question = set_question(placing->problem, placing->ask, candidates);
    const struct set_rule *rule = placing->rule;

    bool is_online =
        rule->match_service && placing->problem->request->application == APPLICATION_ONLINE;

    /* Whoever is waited for goes where there is room, whatever the zone. */
    question.is_whole = question.is_whole && !is_online;
    set_places_list(&question, out);
    if (is_online)
        filter_places(out, narrow_online, placing);
    if (rule->handles_max > 0)
        filter_places(out, narrow_handles, placing);
    if (rule->same_devices)
        filter_places(out, narrow_shared, placing);
}

/* Those of equal key, without what is no candidate of the question. return how many. */
static unsigned take_alike(const struct set_places *places, unsigned from,
                           const struct topology_question *question, unsigned *end,
                           struct topology_place *out)
{
    unsigned count = 0;

    for (*end = from; *end < places->count && places->keys[*end] == places->keys[from]; ++*end) {
        struct topology_place place = places->items[*end];

        place.within &= question->candidates;
        if (mask_count(place.within) >= question->count &&
            ((place.required | question->required) & ~place.within) == 0)
            out[count++] = place;
    }
    return count;
}

static unsigned preference_of(const struct topology_question *question, device_mask set)
{
    unsigned sum = 0;

    for (; set != 0; set &= set - 1)
        sum += question->preference[mask_first(set)];
    return sum;
}

/* Without topology: of the preferred devices in each place the most preferred ones. */
static void choose_preferred_among(const struct topology_question *question,
                                   const struct topology_place *places, unsigned count,
                                   struct topology_choice *out)
{
    *out = (struct topology_choice){.satisfied = true};
    for (unsigned i = 0; i < count; i++) {
        struct topology_question here = *question;
        device_mask set;

        here.within = places[i].within;
        here.required |= places[i].required;
        if (mask_count(here.required) > here.count)
            continue;
        set = choose_preferred(&here);
        if (out->set == 0 || preference_of(question, set) > preference_of(question, out->set))
            out->set = set;
    }
    out->satisfied = out->set != 0;
}

/* The best set of the first places that hold an allowed one; out->satisfied says whether. */
static void choose_in_order(const struct placing *placing, const struct set_places *places,
                            const struct topology_question *question, struct topology_choice *out)
{
    struct topology_place alike[SET_PLACES_MAX];
    unsigned end;

    *out = (struct topology_choice){.tier = TIER_UNKNOWN};
    for (unsigned from = 0; from < places->count && !out->satisfied; from = end) {
        unsigned count = take_alike(places, from, question, &end, alike);
        struct topology_choice choice;

        if (count == 0)
            continue;
        if (placing->problem->rule.mode == TOPOLOGY_OFF)
            choose_preferred_among(question, alike, count, &choice);
        else
            gputopo_choose_among(question, alike, count, &placing->problem->rule,
                                 placing->problem->memo, &choice);
        if (choice.satisfied || choice.tier < out->tier)
            *out = choice;
    }
}

static device_mask choose_by_rule(const struct placing *placing,
                                  const struct topology_question *question)
{
    struct topology_question anywhere = *question;
    struct set_places places;
    struct topology_choice choice;

    list_places(placing, placing->fit.candidates, &places);
    choose_in_order(placing, &places, question, &choice);
    if (!choice.satisfied) {
        /* Not where the pod has others at other times, then. */
        anywhere.candidates = placing->fit.candidates;
        anywhere.required = 0;
        choose_in_order(placing, &places, &anywhere, &choice);
    }
    placing->plan->degraded = placing->plan->degraded || choice.degraded || places.cut_short;
    if (!choice.satisfied) {
        note_refusal(placing->problem, &choice, choice.set != 0 ? REASON_TOPOLOGY : REASON_SETS,
                     placing->verdict);
        return 0;
    }
    if (placing->problem->rule.mode != TOPOLOGY_OFF)
        note_choice(placing->problem, &choice, question->count, placing->plan);
    return choice.set;
}

/* Refused for now: could other pods' leaving help, by the rule? */
static void judge_by_rule(struct placing *placing)
{
    static const struct node_use nobody;
    const struct problem *problem = placing->problem;
    const struct topology_question question = {.graph = problem->node->graph,
                                               .candidates = placing->fit.hopeful,
                                               .count = placing->wanted->count,
                                               .preference = placing->preference};
    struct problem alone = *problem;
    struct placing later = *placing;
    struct topology_choice best;
    struct set_places places;

    alone.use = &nobody;
    later.problem = &alone;
    later.question.use = &nobody;
    list_places(&later, placing->fit.hopeful, &places);
    choose_in_order(&later, &places, &question, &best);
    if (best.satisfied || best.degraded || places.cut_short)
        return;
    note_refusal(problem, &best, best.set != 0 ? never(&best) : REASON_SET_NEVER, placing->verdict);
}

/* --- one ask --------------------------------------------------------------------------------- */

static device_mask choose(struct placing *placing)
{
    struct topology_question question;

    ask_question(placing, &question);
    if (placing->rule != NULL)
        return choose_by_rule(placing, &question);
    if (placing->problem->rule.mode == TOPOLOGY_OFF)
        return choose_preferred(&question);
    return choose_by_topology(placing->problem, &question, placing->plan, placing->verdict);
}

/* The best set, if it keeps the quota; else the best of devices of which any set does. */
static device_mask choose_within_quota(struct placing *placing)
{
    const struct problem *problem = placing->problem;
    struct quota_shortage over;
    struct plan before, draft;
    device_mask set;

    plan_copy(placing->plan, &before);
    set = choose(placing);
    plan_copy(placing->plan, &draft);
    draft.sets[placing->ask] = set;
    if (set == 0 || spend_allows(problem, &draft, &over))
        return set;
    plan_copy(&before, placing->plan);
    if (spend_narrow(problem, &before, placing->ask, placing->fit.candidates, &set)) {
        placing->fit.candidates = set;
        return choose(placing);
    }
    draft.sets[placing->ask] = set;
    spend_allows(problem, &draft, &over);
    spend_refuse(&over, placing->verdict);
    return 0;
}

/* Is the number not one of the rule's? Fewer devices than that is the plainer thing to say. */
static bool is_wrong_count(const struct placing *placing)
{
    enum reason reason = placing->verdict->reason;

    return placing->rule != NULL && reason != REASON_NO_INVENTORY && reason != REASON_NO_CLASS &&
           reason != REASON_TOO_FEW_DEVICES &&
           !set_rule_allows_count(placing->rule, placing->wanted->count);
}

/* What the pod's other asks take of each device. Most pods have but one. */
static void list_own(struct placing *placing)
{
    const struct problem *problem = placing->problem;
    unsigned n = problem->node->device_count;

    memset(placing->own, 0, n * sizeof *placing->own);
    for (unsigned i = 0; problem->request->ask_count > 1 && i < n; i++)
        placing->own[i] = draft_own_beside(problem, placing->plan, &placing->ask, i);
}

device_mask place_ask(const struct problem *problem, size_t ask, struct plan *plan,
                      struct verdict *verdict)
{
    struct placing placing;
    device_mask set = 0;

    placing.problem = problem;
    placing.ask = ask;
    placing.wanted = &problem->request->asks[ask];
    placing.rule = problem->rules[ask];
    placing.plan = plan;
    placing.verdict = verdict;
    placing.question = draft_question(problem, plan, ask);
    memset(placing.preference, 0, problem->node->device_count * sizeof *placing.preference);
    list_own(&placing);
    placing.fit = gpufit_candidates(&placing.question, placing.own, verdict);
    if (is_wrong_count(&placing)) {
        verdict->reason = REASON_COUNTS;
        return 0;
    }
    if (verdict->reason == REASON_OK)
        set = problem->policy->quota == NULL ? choose(&placing) : choose_within_quota(&placing);
    if (!reason_is_curable(verdict->reason))
        return set;
    if (placing.rule != NULL)
        judge_by_rule(&placing);
    else if (problem->rule.mode == TOPOLOGY_HARD)
        judge_topology(&placing);
    return set;
}
