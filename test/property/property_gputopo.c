/* SPDX-License-Identifier: Apache-2.0 */
/*
 * property_gputopo - the search against plain enumeration on random machines.
 *
 * The enumeration has its own idea of the order of sets, written from the documentation and
 * sharing no code with the search.
 */
#include "support/peer_graphs.h"
#include "support/test.h"
#include "support/topology_questions.h"

#include "topofit/gputopo.h"

#define KEYS 20

/* --- the order of sets, from the documentation
 * ---------------------------------------------------- */

struct pair_sum {
    unsigned worst, slowest, gbps, close, numa;
};

static struct pair_sum sum_pairs(const struct question *asked, device_mask set)
{
    static const unsigned close[] = {10, 6, 2, 0};
    const struct peer_graph *graph = asked->question.graph;
    enum topology_source source = asked->rule.source;
    struct pair_sum sum = {.slowest = UINT16_MAX};

    for (unsigned a = 0; a < graph->n; a++) {
        for (unsigned b = 0; b < a; b++) {
            unsigned tier, gbps;

            if (!mask_has(set, a) || !mask_has(set, b))
                continue;
            tier = peers_tier(graph, source, a, b);
            gbps = source == SOURCE_NUMA ? 0 : peers_link(graph, a, b)->gbps;
            sum.worst = tier > sum.worst ? tier : sum.worst;
            sum.slowest = gbps < sum.slowest ? gbps : sum.slowest;
            sum.gbps += gbps;
            sum.close += close[tier];
            sum.numa +=
                source != SOURCE_VENDOR && graph->numa[a] >= 0 && graph->numa[a] == graph->numa[b];
        }
    }
    return sum;
}

static bool is_group(const struct question *asked, device_mask set, unsigned tier)
{
    return sum_pairs(asked, set).worst <= tier;
}

/* Most disjoint groups: leave the first device out, or put it into any group with others. */
static unsigned most_groups(const struct question *asked, device_mask rest, unsigned size,
                            unsigned tier)
{
    unsigned most = 0;
    device_mask others;

    if (mask_count(rest) < size)
        return 0;
    others = rest & (rest - 1);
    for (device_mask part = others;; part = (part - 1) & others) {
        device_mask group = part | (rest & -rest);

        if (mask_count(group) == size && is_group(asked, group, tier)) {
            unsigned count = 1 + most_groups(asked, rest & ~group, size, tier);

            most = count > most ? count : most;
        }
        if (part == 0 || most == mask_count(rest) / size)
            break;
    }
    if (most < mask_count(others) / size) {
        unsigned without = most_groups(asked, others, size, tier);

        most = without > most ? without : most;
    }
    return most;
}

static unsigned add_groups(const struct question *asked, device_mask rest, int64_t *keys,
                           unsigned n)
{
    for (unsigned size = 8; size >= 2; size /= 2) {
        for (unsigned tier = 0; tier <= 1; tier++)
            keys[n++] = most_groups(asked, rest, size, tier);
    }
    return n;
}

static int64_t preference_sum(const struct question *asked, device_mask set)
{
    int64_t sum = 0;

    for (unsigned i = 0; i < asked->question.graph->n; i++) {
        if (mask_has(set, i) && asked->question.preference != NULL)
            sum += asked->question.preference[i];
    }
    return sum;
}

/* Greater is better, most important first. The groups are dear: only on demand. */
static void set_keys(const struct question *asked, device_mask set, int64_t keys[KEYS])
{
    device_mask rest = asked->question.candidates & asked->question.idle & ~set;
    struct pair_sum sum = sum_pairs(asked, set), left = sum_pairs(asked, rest);
    unsigned n = 0;

    memset(keys, 0, KEYS * sizeof(*keys));
    keys[n++] = -(int64_t)sum.worst;
    keys[n++] = sum.slowest;
    keys[n++] = sum.gbps;
    keys[n++] = sum.close;
    keys[n++] = sum.numa;
    n = add_groups(asked, rest, keys, n);
    keys[n++] = left.gbps;
    keys[n++] = left.close;
    keys[n++] = left.numa;
    keys[n++] = preference_sum(asked, set);
}

static void link_keys(const struct question *asked, unsigned device, device_mask others,
                      int64_t *keys)
{
    const struct peer_graph *graph = asked->question.graph;

    for (unsigned i = 0; i < graph->n; i++) {
        struct pair_sum pair;

        if (i == device || !mask_has(others, i))
            continue;
        pair = sum_pairs(asked, mask_of(device) | mask_of(i));
        keys[0] -= pair.gbps;
        keys[1] -= pair.close;
        keys[2] -= pair.numa;
    }
}

static void device_keys(const struct question *asked, unsigned device, int64_t keys[KEYS])
{
    const struct peer_graph *graph = asked->question.graph;
    device_mask pool = asked->question.candidates & asked->question.idle;
    device_mask rest = pool & ~mask_of(device);
    int64_t preference = preference_sum(asked, mask_of(device)), *all_links;

    memset(keys, 0, KEYS * sizeof(*keys));
    keys[0] = asked->question.preference_first ? preference : 0;
    keys[KEYS - 1] = preference;
    if (!asked->rule.least_damage)
        return;
    keys[1] = !mask_has(pool, device);
    if (keys[1])
        return;
    add_groups(asked, rest, keys, 2);
    keys[8] = 1;
    for (unsigned i = 0; i < graph->n; i++) {
        if (mask_has(rest, i) && is_group(asked, mask_of(device) | mask_of(i), 1))
            keys[8] = 0;
    }
    link_keys(asked, device, rest, keys + 9);
    all_links = keys + 12;
    link_keys(asked, device, mask_below(graph->n), all_links);
    keys[15] =
        all_links[0] == 0 && all_links[1] == 0 && all_links[2] == 0 && graph->numa[device] < 0;
}

static int compare(const int64_t a[KEYS], const int64_t b[KEYS])
{
    for (unsigned i = 0; i < KEYS; i++) {
        if (a[i] != b[i])
            return a[i] > b[i] ? 1 : -1;
    }
    return 0;
}

static void keys_of(const struct question *asked, device_mask set, int64_t keys[KEYS])
{
    if (asked->question.count == 1)
        device_keys(asked, mask_first(set), keys);
    else
        set_keys(asked, set, keys);
}

/* The score of a set that is given. */
static unsigned score_of(const struct question *asked, device_mask set)
{
    struct topology_question question = asked->question;
    struct topology_choice choice;

    question.required = set;
    gputopo_choose(&question, &asked->rule, NULL, &choice);
    assert_int_equal(choice.set, set);
    return choice.score_0_100;
}

static bool is_before(device_mask a, device_mask b)
{
    device_mask different = a ^ b;

    return a & (different & -different);
}

/* Hold an answer against every set that could have been given. */
static void check_against_all(const struct question *asked, const struct topology_choice *choice)
{
    const struct topology_question *question = &asked->question;
    device_mask candidates = question->candidates;
    int64_t best[KEYS], keys[KEYS];

    keys_of(asked, choice->set, best);
    for (device_mask set = candidates;; set = (set - 1) & candidates) {
        if (mask_count(set) == question->count && (question->required & ~set) == 0) {
            int order;

            keys_of(asked, set, keys);
            order = compare(keys, best);
            if (order == 0 && question->count > 1)
                order = (int)score_of(asked, set) - (int)choice->score_0_100;
            if (order > 0 || (order == 0 && is_before(set, choice->set)))
                fail_msg("%llx is better than %llx (%u of %llx, idle %llx, required %llx)",
                         (unsigned long long)set, (unsigned long long)choice->set, question->count,
                         (unsigned long long)candidates, (unsigned long long)question->idle,
                         (unsigned long long)question->required);
        }
        if (set == 0)
            break;
    }
}

static void check_figures(const struct question *asked, const struct topology_choice *choice)
{
    struct pair_sum sum = sum_pairs(asked, choice->set);

    assert_int_equal(mask_count(choice->set), asked->question.count);
    assert_int_equal(choice->set & ~asked->question.candidates, 0);
    assert_int_equal(asked->question.required & ~choice->set, 0);
    assert_int_equal(choice->tier, sum.worst);
    assert_int_equal(choice->bottleneck_gbps, asked->question.count > 1 ? sum.slowest : 0);
    assert_int_equal(choice->total_gbps, sum.gbps);
    assert_in_range(choice->score_0_100, 25 * (3 - sum.worst), 25 * (3 - sum.worst) + 24);
    assert_false(choice->degraded);
}

static void check_random(uint64_t seed, unsigned n, unsigned count_max)
{
    struct question asked;
    struct topology_choice choice;
    struct peer_graph *graph = random_graph(&seed, n);

    random_question(&seed, graph, count_max, &asked);
    gputopo_choose(&asked.question, &asked.rule, NULL, &choice);
    if (mask_count(asked.question.candidates) < asked.question.count) {
        assert_false(choice.satisfied);
        assert_int_equal(choice.set, 0);
    } else {
        check_figures(&asked, &choice);
        check_against_all(&asked, &choice);
    }
    peers_unref(graph);
}

/* --- properties
 * ------------------------------------------------------------------------------------ */

static void test_gputopo_choose__equals_brute_force_up_to_ten_devices(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12000; seed++)
        check_random(seed, 2 + (unsigned)(seed % 9), 8);
}

static void test_gputopo_choose__equals_brute_force_on_sixteen_devices(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        check_random(seed * 7919, 16, 8);
}

static struct peer_graph *relabel(const struct peer_graph *graph, const unsigned *to)
{
    struct peer_graph *other = peers_new(graph->n);

    for (unsigned a = 0; a < graph->n; a++) {
        peers_set_numa(other, to[a], graph->numa[a]);
        for (unsigned b = 0; b < graph->n; b++)
            peers_note_link(other, to[a], to[b], peers_link(graph, a, b));
    }
    peers_finish(other);
    return other;
}

static device_mask relabel_mask(device_mask mask, const unsigned *to)
{
    device_mask other = 0;

    for (; mask != 0; mask &= mask - 1)
        other |= mask_of(to[mask_first(mask)]);
    return other;
}

static void check_relabelled(uint64_t seed)
{
    unsigned to[DEVICE_MAX], n = 2 + (unsigned)(seed % 15);
    struct peer_graph *graph = random_graph(&seed, n), *other;
    struct question asked, again;
    struct topology_choice choice, expected;

    random_question(&seed, graph, 8, &asked);
    for (unsigned i = 0; i < n; i++)
        to[i] = i;
    for (unsigned i = n - 1; i > 0; i--) {
        unsigned j = below(&seed, i + 1), was = to[i];

        to[i] = to[j];
        to[j] = was;
    }
    other = relabel(graph, to);
    again = asked;
    again.question.graph = other;
    again.question.candidates = relabel_mask(asked.question.candidates, to);
    again.question.idle = relabel_mask(asked.question.idle, to);
    again.question.required = relabel_mask(asked.question.required, to);
    for (unsigned i = 0; i < n; i++)
        again.preference[to[i]] = asked.preference[i];
    again.question.preference = asked.question.preference ? again.preference : NULL;
    asked.question.preference = asked.question.preference ? asked.preference : NULL;
    gputopo_choose(&asked.question, &asked.rule, NULL, &expected);
    gputopo_choose(&again.question, &again.rule, NULL, &choice);
    assert_int_equal(choice.tier, expected.tier);
    assert_int_equal(choice.bottleneck_gbps, expected.bottleneck_gbps);
    assert_int_equal(choice.total_gbps, expected.total_gbps);
    assert_int_equal(choice.score_0_100, expected.score_0_100);
    assert_int_equal(preference_sum(&again, choice.set), preference_sum(&asked, expected.set));
    peers_unref(graph);
    peers_unref(other);
}

static void test_gputopo_choose__relabelling_changes_no_figure(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20000; seed++)
        check_relabelled(seed);
}

/* F14: 255 sets of free devices of an 8-device node, each asked for 1 to 8: 2040 questions. */
static void test_gputopo_choose__f14_gives_exactly_the_number_asked_for(void **state)
{
    uint64_t seed = 14;
    struct peer_graph *graph = random_graph(&seed, 8);
    struct topology_rule rule = {.least_damage = true};
    unsigned questions = 0;

    (void)state;
    for (device_mask free = 1; free < 256; free++) {
        for (unsigned count = 1; count <= 8; count++, questions++) {
            struct topology_question question = {
                .graph = graph, .candidates = free, .idle = free, .count = count};
            struct topology_choice choice;
            bool enough = count <= mask_count(free);

            gputopo_choose(&question, &rule, NULL, &choice);
            assert_int_equal(choice.satisfied, enough);
            assert_int_equal(mask_count(choice.set), enough ? count : 0);
            assert_int_equal(choice.set & ~free, 0);
        }
    }
    assert_int_equal(questions, 2040);
    peers_unref(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gputopo_choose__equals_brute_force_up_to_ten_devices),
        cmocka_unit_test(test_gputopo_choose__equals_brute_force_on_sixteen_devices),
        cmocka_unit_test(test_gputopo_choose__relabelling_changes_no_figure),
        cmocka_unit_test(test_gputopo_choose__f14_gives_exactly_the_number_asked_for),
    };

    return cmocka_run_group_tests_name("gputopo", tests, NULL, NULL);
}
