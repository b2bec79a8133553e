/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/node_lock.h"

#define EPOCH_MS 1754459502000u /* 2025-08-06T05:51:42Z */

static void test_write__is_the_text_that_the_device_plugin_takes_apart(void **state)
{
    char text[NODE_LOCK_TEXT_BYTES];

    (void)state;
    node_lock_write(NODE_LOCK_NAMED, EPOCH_MS, "default", "gpu-workload-short", text);
    assert_string_equal(text, "2025-08-06T05:51:42Z,default,gpu-workload-short");
    node_lock_write(NODE_LOCK_BARE, EPOCH_MS, "default", "p", text);
    assert_string_equal(text, "2025-08-06T05:51:42Z");
}

static void test_write__has_room_for_the_longest_names(void **state)
{
    char namespace[64], name[254], text[NODE_LOCK_TEXT_BYTES];

    (void)state;
    memset(namespace, 'n', sizeof namespace - 1);
    memset(name, 'p', sizeof name - 1);
    namespace[sizeof namespace - 1] = name[sizeof name - 1] = '\0';
    node_lock_write(NODE_LOCK_NAMED, EPOCH_MS, namespace, name, text);
    assert_string_equal(strrchr(text, ',') + 1, name);
}

static void test_holder__is_the_pod_whatever_the_time_looks_like(void **state)
{
    static const char *const texts[] = {
        "2025-08-06T05:51:42Z,default,p1",
        "2025-08-06T13:51:42+08:00,default,p1", /* as Go prints local time */
        "nonsense,default,p1",
        ",default,p1",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct lock_holder holder = node_lock_holder(texts[i]);

        assert_non_null(holder.name);
        assert_int_equal(holder.namespace_length, strlen("default"));
        assert_memory_equal(holder.namespace, "default", holder.namespace_length);
        assert_int_equal(holder.name_length, strlen("p1"));
        assert_memory_equal(holder.name, "p1", holder.name_length);
    }
}

static void test_holder__is_nobody_in_old_and_in_malformed_locks(void **state)
{
    static const char *const texts[] = {
        "2025-08-06T05:51:42Z", "", ",", ",,", "t,ns", "t,ns,", "t,,p", "t,ns,p,more",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_null(node_lock_holder(texts[i]).name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write__is_the_text_that_the_device_plugin_takes_apart),
        cmocka_unit_test(test_write__has_room_for_the_longest_names),
        cmocka_unit_test(test_holder__is_the_pod_whatever_the_time_looks_like),
        cmocka_unit_test(test_holder__is_nobody_in_old_and_in_malformed_locks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
