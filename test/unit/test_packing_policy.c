/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/packing_policy.h"

static void test_packing_policy_find__knows_each_policy_by_its_name(void **state)
{
    static const struct {
        const char *name;
        enum packing_policy policy;
    } cases[] = {{"pack", PACKING_PACK},
                 {"spread", PACKING_SPREAD},
                 {"topology-first", PACKING_TOPOLOGY_FIRST},
                 {"Topology-First", PACKING_TOPOLOGY_FIRST}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        enum packing_policy found = PACKING_POLICY_COUNT;

        assert_true(packing_policy_find(cases[i].name, &found));
        assert_int_equal(found, cases[i].policy);
    }
}

static void test_packing_policy_find__guesses_nothing(void **state)
{
    static const char *const names[] = {"",         "pac",         "packs",
                                        "pack ",    "binpack",     "topology",
                                        "topology", "spread,pack", "topology_first"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        enum packing_policy found = PACKING_SPREAD;

        assert_false(packing_policy_find(names[i], &found));
        assert_int_equal(found, PACKING_SPREAD);
    }
}

static void test_packing_policy_name__is_the_name_it_is_found_by(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PACKING_POLICY_COUNT; i++) {
        enum packing_policy found;

        assert_true(packing_policy_find(packing_policy_name((enum packing_policy)i), &found));
        assert_int_equal(found, i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packing_policy_find__knows_each_policy_by_its_name),
        cmocka_unit_test(test_packing_policy_find__guesses_nothing),
        cmocka_unit_test(test_packing_policy_name__is_the_name_it_is_found_by),
    };

    return cmocka_run_group_tests_name("packing_policy", tests, NULL, NULL);
}
