/* SPDX-License-Identifier: Apache-2.0 */
/* Slots and containers; the module's header is private to src/dialect. */
#include "support/builders.h"
#include "support/test.h"

#include "../../src/dialect/hami_slots.h"

#define LINE(id) id ",NVIDIA,1000,0:"

/* A word per container: kind (i init, s sidecar, a app) and devices asked for. */
static struct request request_like(const char *containers)
{
    struct request request;

    request_init(&request);
    for (const char *at = containers; *at != '\0'; at += 2) {
        enum container_kind kind = at[0] == 'i'   ? CONTAINER_INIT
                                   : at[0] == 's' ? CONTAINER_SIDECAR
                                                  : CONTAINER_APP;

        request_wish(&request, (struct wish){.kind = kind,
                                             .count = (unsigned)(at[1] - '0'),
                                             .mib = at[1] == '0' ? 0 : 1000});
    }
    return request;
}

struct placing {
    const char *containers, *list;
    size_t positions[4]; /* of the slots with devices, in order */
};

static void expect(const struct placing *placing)
{
    AUTO(request_clear) struct request request = request_like(placing->containers);
    AUTO(hami_list_clear) struct hami_list list = {0};
    size_t positions[8], found = 0;
    struct error err = {0};

    assert_ok(hami_list_read(placing->list, &list, &err), &err);
    assert_ok(hami_slots_place(&list, &request, &test_class, positions, &err), &err);
    for (size_t i = 0; i < list.count; i++) {
        if (list.slots[i].count > 0)
            assert_int_equal(positions[i], placing->positions[found++]);
    }
}

static void test_hami_slots_place__padded_lists_go_by_position(void **state)
{
    static const struct placing cases[] = {
        {"a1", LINE("a") ";", {0}},
        {"i0a1", ";" LINE("a") ";", {1}},
        {"a1a0a2", LINE("a") ";;" LINE("b") LINE("c") ";", {0, 2}},
        {"a1", LINE("a") ";;", {0}}, /* as HAMi writes what it has read */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        expect(&cases[i]);
}

static void test_hami_slots_place__lost_slots_are_found_by_what_containers_ask(void **state)
{
    static const struct placing cases[] = {
        {"i0a1", LINE("a") ";", {1}},                            /* 2.10 with an init container */
        {"i0i0a1a1", LINE("a") ";" LINE("b") ";", {2, 3}},       /* the same, two apps */
        {"a0a1a0", LINE("a") ";", {1}},                          /* before and behind */
        {"i1a0a1", LINE("a") ";" LINE("b") ";", {0, 2}},         /* in between */
        {"i1a2", LINE("a") ";" LINE("b") LINE("c") ";", {0, 1}}, /* counts tell them apart */
        {"a0a1", LINE("a") ";;", {1}},                           /* padded at the wrong end */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        expect(&cases[i]);
}

static void test_hami_slots_place__what_is_doubtful_goes_to_who_runs_later(void **state)
{
    static const struct placing cases[] = {
        {"i1a1", LINE("a") ";", {1}},       /* one of them, nobody can tell which */
        {"i0a0", LINE("a") ";", {1}},       /* nobody asks for what there is */
        {"i1a0a1", ";" LINE("a") ";", {2}}, /* one slot, one set of devices short */
        {"i0a2", LINE("a") ";;", {0}},      /* as many slots as containers: by position */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        expect(&cases[i]);
}

static void test_hami_slots_place__more_slots_than_containers_are_refused(void **state)
{
    AUTO(request_clear) struct request request = request_like("a1");
    AUTO(hami_list_clear) struct hami_list list = {0};
    struct error err = {0};
    size_t positions[2];

    (void)state;
    assert_ok(hami_list_read(";" LINE("a") ";", &list, &err), &err);
    assert_int_equal(hami_slots_place(&list, &request, &test_class, positions, &err), -ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hami_slots_place__padded_lists_go_by_position),
        cmocka_unit_test(test_hami_slots_place__lost_slots_are_found_by_what_containers_ask),
        cmocka_unit_test(test_hami_slots_place__what_is_doubtful_goes_to_who_runs_later),
        cmocka_unit_test(test_hami_slots_place__more_slots_than_containers_are_refused),
    };

    return cmocka_run_group_tests_name("hami_slots", tests, NULL, NULL);
}
