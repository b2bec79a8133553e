/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/annotation_budget.h"
#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

static struct kube_pairs of_bytes(size_t bytes)
{
    struct kube_pairs pairs = {0};
    char *value = xmalloc(bytes);

    memset(value, 'x', bytes - 1);
    value[bytes - 1] = '\0';
    kube_pairs_add(&pairs, "k", value);
    free(value);
    return pairs;
}

static void test_annotations_bytes__counts_keys_and_values(void **state)
{
    AUTO(kube_pairs_clear) struct kube_pairs pairs = {0};

    (void)state;
    assert_int_equal(annotations_bytes(&pairs), 0);
    kube_pairs_add(&pairs, "abc", "de");
    kube_pairs_add(&pairs, "f", "");
    assert_int_equal(annotations_bytes(&pairs), 6);
}

static void test_annotation_budget__the_shares_are_all_there_is(void **state)
{
    (void)state;
    assert_int_equal(ANNOTATIONS_OWN_BYTES_MAX + ANNOTATIONS_RECORD_BYTES_MAX +
                         ANNOTATIONS_LOCK_BYTES_MAX,
                     256 * 1024);
}

static void test_annotations_check__takes_a_share_to_the_last_byte_and_tells_of_more(void **state)
{
    static const struct {
        int (*check)(const struct kube_pairs *, struct error *);
        size_t share;
        const char *what;
    } cases[] = {
        {annotations_check_own, ANNOTATIONS_OWN_BYTES_MAX, "no room for the record"},
        {annotations_check_record, ANNOTATIONS_RECORD_BYTES_MAX, "ask for fewer devices"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(kube_pairs_clear) struct kube_pairs full = of_bytes(cases[i].share);
        AUTO(kube_pairs_clear) struct kube_pairs more = of_bytes(cases[i].share + 1);
        struct error none = {0}, err = {0};

        assert_ok(cases[i].check(&full, &none), &none);
        assert_int_equal(cases[i].check(&more, &err), -ERR_LIMIT);
        assert_contains(err.text, cases[i].what);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_annotations_bytes__counts_keys_and_values),
        cmocka_unit_test(test_annotation_budget__the_shares_are_all_there_is),
        cmocka_unit_test(test_annotations_check__takes_a_share_to_the_last_byte_and_tells_of_more),
    };

    return cmocka_run_group_tests_name("annotation_budget", tests, NULL, NULL);
}
