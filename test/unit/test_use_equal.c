/* SPDX-License-Identifier: Apache-2.0 */
/* When what is in use has changed; the header is private to src/cluster. */
#include "support/builders.h"
#include "support/byte_map.h"
#include "support/test.h"

#include "../../src/cluster/cluster_inside.h"

static void test_cluster_use_equal__has_all_of_what_is_in_use(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("a", 2, 16384, 2);
    const struct node_use none = use_none(node);
    struct node_use use = none;
    struct byte_map map;

    (void)state;
    assert_true(cluster_use_equal(&none, &use));
    byte_map_init(&map, struct device_use);
    for (size_t at = 0; use = none, byte_map_flip(&map, &at, &use.devices[1]); at++) {
        if (cluster_use_equal(&none, &use))
            fail_msg("byte %zu of what is in use is not looked at", at);
    }
    use.unattributed = 1;
    assert_false(cluster_use_equal(&none, &use));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cluster_use_equal__has_all_of_what_is_in_use),
    };

    return cmocka_run_group_tests_name("use_equal", tests, NULL, NULL);
}
