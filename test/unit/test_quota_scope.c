/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/quota_scope.h"

static char high[] = "high";

static const struct quota_traits plain = {0};
static const struct quota_traits important = {.priority_class = high};
static const struct quota_traits ending = {.is_terminating = true};
static const struct quota_traits humble = {.is_best_effort = true};

/* Which of plain, important, ending and humble match. */
static const struct {
    const char *scope, *operator;
    const char *values[2];
    const char *matches;
} cases[] = {
    {"Terminating", "Exists", {0}, "..x."},
    {"NotTerminating", "Exists", {0}, "xx.x"},
    {"BestEffort", "Exists", {0}, "...x"},
    {"NotBestEffort", "Exists", {0}, "xxx."},
    {"PriorityClass", "Exists", {0}, ".x.."},
    {"PriorityClass", "DoesNotExist", {0}, "x.xx"},
    {"PriorityClass", "In", {"low", "high"}, ".x.."},
    {"PriorityClass", "In", {"low"}, "...."},
    {"PriorityClass", "NotIn", {"high"}, "x.xx"},
    {"PriorityClass", "NotIn", {"low"}, "xxxx"},
};

static void test_quota_scope_matches__as_kubernetes_has_it(void **state)
{
    static const struct quota_traits *const pods[] = {&plain, &important, &ending, &humble};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(quota_scope_clear) struct quota_scope scope = {0};

        assert_true(quota_scope_kind_parse(cases[i].scope, &scope.kind));
        assert_true(quota_operator_parse(cases[i].operator, & scope.op));
        for (size_t v = 0; v < 2 && cases[i].values[v] != NULL; v++)
            quota_scope_add_value(&scope, cases[i].values[v]);
        quota_scope_finish(&scope);
        for (size_t p = 0; p < ARRAY_LEN(pods); p++) {
            if (quota_scope_matches(&scope, pods[p]) != (cases[i].matches[p] == 'x'))
                fail_msg("%s %s of pod %zu", cases[i].scope, cases[i].operator, p);
        }
    }
}

static void test_quota_scope_parse__knows_no_other_words(void **state)
{
    enum quota_scope_kind kind;
    enum quota_operator op;

    (void)state;
    assert_false(quota_scope_kind_parse("CrossNamespacePodAffinity", &kind));
    assert_false(quota_scope_kind_parse("", &kind));
    assert_false(quota_operator_parse("exists", &op));
}

static void test_quota_traits_equal__sees_every_difference(void **state)
{
    AUTO(quota_traits_clear) struct quota_traits copy = quota_traits_copy(&important);

    (void)state;
    assert_true(quota_traits_equal(&copy, &important));
    assert_false(quota_traits_equal(&plain, &important));
    assert_false(quota_traits_equal(&plain, &ending));
    assert_false(quota_traits_equal(&plain, &humble));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quota_scope_matches__as_kubernetes_has_it),
        cmocka_unit_test(test_quota_scope_parse__knows_no_other_words),
        cmocka_unit_test(test_quota_traits_equal__sees_every_difference),
    };

    return cmocka_run_group_tests_name("quota_scope", tests, NULL, NULL);
}
