/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random histories of pods, Bindings and quotas against a model that knows what each kind of pod
 * comes to by hand: what is used is the sum over who holds something, filter and bind let in
 * exactly who fits into what is left, and nobody is thrown out.
 */
#include "support/builders.h"
#include "support/harness.h"

#include <stdlib.h>

#define HISTORIES 40
#define STEPS 150
#define DEVICE_MIB 16000
#define PODS_MAX 200
#define GPUMEM "nvidia.com/gpumem"
#define GPUCORES "nvidia.com/gpucores"

/* What a pod asks for, and what that is by hand. */
static const struct kind {
    const char *wants;
    uint64_t mib, mib_after_init, cores, cores_after_init;
} kinds[] = {
    {"gpu 1, mem 1000", 1000, 1000, 0, 0},
    {"gpu 2, mem 1500, cores 10", 3000, 3000, 20, 20},
    {"gpu 1, pct 10", 1600, 1600, 0, 0},
    {"gpu 2, pct 7", 2240, 2240, 0, 0},
    {"gpu 1", DEVICE_MIB, DEVICE_MIB, 100, 100},
    {"gpu 1, mem 700; gpu 1, mem 300, cores 5", 1000, 1000, 5, 5},
    {"init gpu 2, mem 3000; gpu 1, mem 1000, cores 30", 6000, 1000, 30, 30},
    {"init gpu 1, mem 500, cores 40; sidecar gpu 1, mem 200; init gpu 1, mem 600; gpu 1, mem 300",
     800, 500, 40, 0},
};

struct model_pod {
    char name[12];
    const struct kind *kind;
    bool exists, holds, init_done;
};

struct history {
    struct harness *harness;
    uint64_t chance;
    struct model_pod pods[PODS_MAX];
    unsigned count;
    uint64_t limits_mib[2], limits_cores; /* of quotas "one" and "two"; UINT64_MAX: none */
    int sending;                          /* the pod whose Binding is held, or -1 */
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t mib_of(const struct model_pod *pod)
{
    return pod->init_done ? pod->kind->mib_after_init : pod->kind->mib;
}

static uint64_t cores_of(const struct model_pod *pod)
{
    return pod->init_done ? pod->kind->cores_after_init : pod->kind->cores;
}

static void sum_up(const struct history *h, uint64_t *mib, uint64_t *cores)
{
    *mib = *cores = 0;
    for (unsigned i = 0; i < h->count; i++) {
        if (!h->pods[i].holds)
            continue;
        *mib += mib_of(&h->pods[i]);
        *cores += cores_of(&h->pods[i]);
    }
}

static bool fits_quota(const struct history *h, const struct model_pod *pod)
{
    uint64_t mib, cores;

    sum_up(h, &mib, &cores);
    mib += pod->kind->mib;
    cores += pod->kind->cores;
    /* What is nothing is never too much. */
    return (pod->kind->mib == 0 || mib <= least(h->limits_mib[0], h->limits_mib[1])) &&
           (pod->kind->cores == 0 || cores <= h->limits_cores);
}

/* --- what happens ---------------------------------------------------------------------------- */

static struct model_pod *some_pod(struct history *h)
{
    return h->count > 0 ? &h->pods[chance_below(&h->chance, h->count)] : NULL;
}

static struct model_pod *new_pod(struct history *h)
{
    struct model_pod *pod = &h->pods[h->count++];

    *pod = (struct model_pod){.kind = &kinds[chance_below(&h->chance, ARRAY_LEN(kinds))],
                              .exists = true};
    snprintf(pod->name, sizeof pod->name, "p%u", h->count);
    api_pod(h->harness, pod->name, pod->kind->wants);
    return pod;
}

static bool is_quota_refusal(const char *text)
{
    return text != NULL && (strstr(text, reason_text(REASON_QUOTA)) != NULL ||
                            strstr(text, reason_text(REASON_QUOTA_TOO_SMALL)) != NULL);
}

/* Filter and bind must agree with the model about the quota; the node may be full besides. */
static void come(struct history *h)
{
    struct model_pod *pod;
    bool fits;
    const char *answer;
    char node[8];

    if (h->count == PODS_MAX || h->sending >= 0)
        return;
    pod = new_pod(h);
    fits = fits_quota(h, pod);
    snprintf(node, sizeof node, "n%u", chance_below(&h->chance, 3));
    ask_filter(h->harness, pod->name, node);
    if (refusal_of(h->harness, node) == NULL)
        assert_true(fits);
    if (is_quota_refusal(refusal_of(h->harness, node)))
        assert_false(fits);
    if (chance_one_in(&h->chance, 3))
        h->harness->port = PORT_HOLDS;
    answer = ask_bind(h->harness, pod->name, node);
    h->harness->port = PORT_EXECUTES;
    if (answer == NULL)
        h->sending = (int)(pod - h->pods);
    pod->holds = answer == NULL || answer[0] == '\0';
    assert_true(!pod->holds || fits);
    assert_false(is_quota_refusal(answer) && fits);
}

static void end_sending(struct history *h)
{
    struct model_pod *pod;

    if (h->sending < 0)
        return;
    pod = &h->pods[h->sending];
    h->sending = -1;
    if (chance_one_in(&h->chance, 2)) {
        end_job(h->harness, BIND_FAILED, "it did not go");
        pod->holds = false;
        return;
    }
    api_executes(h->harness);
    end_job(h->harness, BIND_BOUND, "");
    watch_pod(h->harness, pod->name);
}

static bool is_settled(const struct history *h, const struct model_pod *pod)
{
    return pod != NULL && pod->exists && (h->sending < 0 || pod != &h->pods[h->sending]);
}

static void go(struct history *h)
{
    struct model_pod *pod = some_pod(h);

    if (!is_settled(h, pod))
        return;
    if (chance_one_in(&h->chance, 3))
        api_set_phase(h->harness, pod->name, "Succeeded");
    else
        api_delete_pod(h->harness, pod->name);
    pod->exists = pod->holds = false;
}

static void finish_init(struct history *h)
{
    struct model_pod *pod = some_pod(h);

    if (!is_settled(h, pod) || !pod->holds)
        return;
    api_finish_init(h->harness, pod->name);
    pod->init_done = true;
}

static void put_quota(struct history *h, unsigned which)
{
    AUTO_FREE char *hard = NULL;

    h->limits_mib[which] = 1000 * chance_below(&h->chance, 40);
    if (which == 0) {
        h->limits_cores = 50 * chance_below(&h->chance, 8);
        hard = xasprintf(GPUMEM " %u, " GPUCORES " %u", (unsigned)h->limits_mib[0],
                         (unsigned)h->limits_cores);
    } else {
        hard = xasprintf(GPUMEM " %u", (unsigned)h->limits_mib[1]);
    }
    api_quota(h->harness, which == 0 ? "one" : "two", hard);
}

static void change_quota(struct history *h)
{
    unsigned which = chance_below(&h->chance, 2);

    if (!chance_one_in(&h->chance, 3)) {
        put_quota(h, which);
        return;
    }
    api_delete_quota(h->harness, which == 0 ? "one" : "two");
    h->limits_mib[which] = UINT64_MAX;
    if (which == 0)
        h->limits_cores = UINT64_MAX;
}

static void step(struct history *h)
{
    static void (*const happenings[])(struct history *) = {
        come, come, come, come, end_sending, end_sending, go, go, finish_init, change_quota};

    happenings[chance_below(&h->chance, ARRAY_LEN(happenings))](h);
    if (h->sending < 0 && chance_one_in(&h->chance, 20))
        relist_pods(h->harness);
}

static void check(const struct history *h)
{
    uint64_t mib, cores;

    sum_up(h, &mib, &cores);
    if (h->limits_mib[0] != UINT64_MAX || h->limits_mib[1] != UINT64_MAX)
        assert_int_equal(quota_used(h->harness, GPUMEM), mib);
    if (h->limits_cores != UINT64_MAX)
        assert_int_equal(quota_used(h->harness, GPUCORES), cores);
    cluster_check(h->harness->cluster);
}

static void test_quota__what_is_used_and_who_is_let_in_are_as_by_hand(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
        AUTO(harness_free) struct harness *harness = harness_new();
        struct history h = {.harness = harness,
                            .chance = seed,
                            .limits_mib = {UINT64_MAX, UINT64_MAX},
                            .limits_cores = UINT64_MAX,
                            .sending = -1};

        api_node(harness, "n0", 4, DEVICE_MIB);
        api_node(harness, "n1", 4, DEVICE_MIB);
        api_node(harness, "n2", 2, DEVICE_MIB);
        for (unsigned i = 0; i < STEPS; i++) {
            step(&h);
            check(&h);
        }
    }
}

/* --- devices of different size --------------------------------------------------------------- */

/* The least that `count` devices of some sizes come to. */
static uint64_t cheapest(const uint64_t *sizes, unsigned devices, unsigned count)
{
    uint64_t sorted[8], sum = 0;

    for (unsigned i = 0; i < devices; i++) {
        unsigned at = i;

        for (; at > 0 && sorted[at - 1] > sizes[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = sizes[i];
    }
    for (unsigned i = 0; i < count; i++)
        sum += sorted[i];
    return sum;
}

static void test_quota__a_set_that_keeps_it_is_found_exactly_when_there_is_one(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        AUTO(harness_free) struct harness *harness = harness_new();
        uint64_t chance = seed, sizes[8], limit;
        unsigned devices = 1 + chance_below(&chance, 8), count;
        AUTO_FREE char *wants = NULL;
        AUTO_FREE char *hard = NULL;

        for (unsigned i = 0; i < devices; i++)
            sizes[i] = 1000 * (1 + chance_below(&chance, 5));
        count = 1 + chance_below(&chance, devices);
        limit = 500 * (1 + chance_below(&chance, 10 * count));
        wants = xasprintf("gpu %u", count);
        hard = xasprintf(GPUMEM " %u", (unsigned)limit);
        api_node(harness, "n1", devices, 0, .memory_each = sizes,
                 .links = chance_one_in(&chance, 2) ? "0-1" : NULL);
        api_quota(harness, "q", hard);
        api_pod(harness, "a", wants);
        if (cheapest(sizes, devices, count) > limit) {
            assert_true(is_quota_refusal(expect_refused(harness, "a", "n1")));
            continue;
        }
        place(harness, "a", "n1");
        assert_true(quota_used(harness, GPUMEM) <= limit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quota__what_is_used_and_who_is_let_in_are_as_by_hand),
        cmocka_unit_test(test_quota__a_set_that_keeps_it_is_found_exactly_when_there_is_one),
    };

    return cmocka_run_group_tests_name("property_quota_use", tests, NULL, NULL);
}
