/* SPDX-License-Identifier: Apache-2.0 */
/* What makes two requests another kind of pod; the module's header is private to src/extender. */
#include "support/builders.h"
#include "support/byte_map.h"
#include "support/test.h"

#include "../../src/extender/recall_key.h"

#define KEY_BYTES_MAX 4096

/* What there is to ask. One ask, in the first container. */
struct question {
    struct request request;
    struct ask ask;
    struct container_request container;
    struct decide_policy policy;
};

static void write_key(struct buf *out, const struct question *question)
{
    *out = buf_with_max(KEY_BYTES_MAX);
    assert_true(recall_key_write(out, &question->request, &question->policy, false));
}

static bool is_same_kind(const struct question *a, const struct question *b)
{
    AUTO(buf_clear) struct buf x, y;

    write_key(&x, a);
    write_key(&y, b);
    return x.length == y.length && memcmp(x.data, y.data, x.length) == 0;
}

/* The pod states everything, each thing otherwise than the policy. */
static void ask_plainly(struct question *out)
{
    *out = (struct question){.policy = decide_policy_default()};
    out->request.containers = &out->container;
    out->request.container_count = 1;
    out->request.asks = &out->ask;
    out->request.ask_count = 1;
    out->request.topology = (struct topology_demand){.has_mode = true,
                                                     .has_max_tier = true,
                                                     .has_source = true,
                                                     .mode = TOPOLOGY_HARD,
                                                     .max_tier = TIER_UNKNOWN,
                                                     .source = SOURCE_NUMA};
    out->request.has_packing = true;
    out->request.packing = PACKING_TOPOLOGY_FIRST;
    out->request.has_device_order = out->request.devices_spread = true;
}

#define expect_noticed(map, part) \
    do { \
        struct question before, after; \
        for (size_t at = 0;; at++) { \
            ask_plainly(&before); \
            ask_plainly(&after); \
            if (!byte_map_flip(map, &at, &after.part)) \
                break; \
            if (is_same_kind(&before, &after)) \
                fail_msg(#part ": byte %zu is not looked at", at); \
        } \
    } while (0)

static void test_recall_key__has_all_of_an_ask(void **state)
{
    struct byte_map map;

    (void)state;
    byte_map_init(&map, struct ask);
    byte_map_skip(&map, struct ask, by_cores); /* for the record of what was decided */
    byte_map_skip(&map, struct ask, profile);  /* a text: below */
    expect_noticed(&map, ask);
}

/* Lists and texts are looked at in the tests below. */
static void test_recall_key__has_all_of_a_request(void **state)
{
    struct byte_map map;

    (void)state;
    byte_map_init(&map, struct request);
    byte_map_skip(&map, struct request, containers);
    byte_map_skip(&map, struct request, container_count);
    byte_map_skip(&map, struct request, asks);
    byte_map_skip(&map, struct request, ask_count);
    byte_map_skip(&map, struct request, use_devices);
    byte_map_skip(&map, struct request, avoid_devices);
    byte_map_skip(&map, struct request, use_products);
    byte_map_skip(&map, struct request, avoid_products);
    byte_map_skip(&map, struct request, selections);
    byte_map_skip(&map, struct request, traits);  /* with a quota nothing is remembered */
    byte_map_skip(&map, struct request, problem); /* with one nothing is decided */
    expect_noticed(&map, request);
}

static void test_recall_key__has_all_of_the_policy(void **state)
{
    struct question before = {.policy = decide_policy_default()}, after;
    struct byte_map map;

    (void)state;
    before.policy.device_order = DEVICES_SPREAD; /* as the packing does not go */
    byte_map_init(&map, struct decide_policy);
    byte_map_skip(&map, struct decide_policy, scores); /* of an order: only merits are remembered */
    byte_map_skip(&map, struct decide_policy, effort); /* one cut short is not remembered */
    byte_map_skip(&map, struct decide_policy, quota);  /* with one nothing is remembered */
    byte_map_skip(&map, struct decide_policy, care);   /* what is remembered are plans */
    for (size_t at = 0; after = before, byte_map_flip(&map, &at, &after.policy); at++) {
        if (is_same_kind(&before, &after))
            fail_msg("the policy's byte %zu is not looked at", at);
    }
}

static void test_recall_key__has_the_texts_and_kinds(void **state)
{
    struct question before, after;

    (void)state;
    ask_plainly(&before);
    ask_plainly(&after);
    strcpy(after.ask.profile, "1g.5gb");
    assert_false(is_same_kind(&before, &after));
    ask_plainly(&after);
    after.container.kind = CONTAINER_INIT;
    assert_false(is_same_kind(&before, &after));
}

static void test_recall_key__has_the_lists(void **state)
{
    struct question before, after;
    struct word_list *const lists[] = {&after.request.use_devices, &after.request.avoid_devices,
                                       &after.request.use_products, &after.request.avoid_products};

    (void)state;
    ask_plainly(&before);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        ask_plainly(&after);
        word_list_add(lists[i], "word");
        assert_false(is_same_kind(&before, &after));
        word_list_clear(lists[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recall_key__has_all_of_an_ask),
        cmocka_unit_test(test_recall_key__has_all_of_a_request),
        cmocka_unit_test(test_recall_key__has_all_of_the_policy),
        cmocka_unit_test(test_recall_key__has_the_texts_and_kinds),
        cmocka_unit_test(test_recall_key__has_the_lists),
    };

    return cmocka_run_group_tests_name("recall_key", tests, NULL, NULL);
}
