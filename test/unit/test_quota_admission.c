/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a pod that is being created can be placed within its namespace's quota. */
#include "support/builders.h"
#include "support/small_cluster.h"
#include "support/test.h"

#include "topofit/quota_admission.h"

/* One node with a device of 16384 MiB, one with a device of 8000, and a quota of so many MiB. */
static struct cluster *limited(uint64_t limit_mib)
{
    struct cluster *cluster = small_cluster(1);
    struct quota *quota = quota_new("default", "q", "q");

    cluster_put_node(cluster, node_plain("n2", 1, 8000, 2));
    quota_add_limit(quota, &(struct quota_limit){&test_class, QUOTA_MEMORY, limit_mib});
    cluster_put_quota(cluster, quota);
    return cluster;
}

static enum quota_answer answer(struct cluster *cluster, const struct request *request)
{
    char text[400] = "";
    enum quota_answer given = quota_admission(cluster, "default", request, text, sizeof text);

    if (given == QUOTA_KEPT || given == QUOTA_DEPENDS)
        assert_string_equal(text, "");
    else
        assert_contains(text, "limits.nvidia.com/gpumem of the namespace");
    return given;
}

static void test_quota_admission__is_exact_for_mib_and_else_as_on_the_smallest_device(void **state)
{
    static const struct {
        struct wish wish;
        uint64_t limit_mib;
        enum quota_answer answer;
    } cases[] = {
        {{.count = 2, .mib = 4000}, 8000, QUOTA_KEPT},
        {{.count = 2, .mib = 4000}, 7999, QUOTA_TOO_BIG},
        {{.count = 2, .percent = 50}, 8000, QUOTA_DEPENDS},
        {{.count = 2, .percent = 50}, 7999, QUOTA_TOO_BIG},
        {{.count = 1}, 8000, QUOTA_DEPENDS},
        {{.count = 1}, 7999, QUOTA_TOO_BIG},
        {{.count = 1}, 16384, QUOTA_KEPT},
        {{.count = 0}, 0, QUOTA_KEPT},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(small_cluster_free) struct cluster *cluster = limited(cases[i].limit_mib);
        AUTO(request_clear) struct request request = request_of(cases[i].wish);

        assert_int_equal(answer(cluster, &request), cases[i].answer);
    }
}

static void test_quota_admission__f32_an_init_container_counts(void **state)
{
    AUTO(small_cluster_free) struct cluster *tight = limited(3000);
    AUTO(small_cluster_free) struct cluster *wide = limited(5000);
    AUTO(request_clear) struct request request;

    (void)state;
    request_init(&request);
    request_wish(&request, (struct wish){.kind = CONTAINER_INIT, .count = 1, .mib = 4000});
    request_wish(&request, (struct wish){.count = 0});
    assert_int_equal(answer(tight, &request), QUOTA_TOO_BIG);
    assert_int_equal(answer(wide, &request), QUOTA_KEPT);
}

static void test_quota_admission__what_others_hold_counts(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = limited(10000);
    AUTO(request_clear) struct request b = request_of((struct wish){.count = 1, .mib = 2001});
    AUTO(request_clear) struct request c = request_of((struct wish){.count = 1, .mib = 2000});
    char text[400];

    (void)state;
    cluster_put_pod(cluster, small_bound_pod("a", "1", "n1", "GPU-0", 8000));
    assert_int_equal(answer(cluster, &b), QUOTA_EXCEEDED);
    assert_int_equal(answer(cluster, &c), QUOTA_KEPT);
    assert_int_equal(quota_admission(cluster, "elsewhere", &b, text, sizeof text), QUOTA_KEPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quota_admission__is_exact_for_mib_and_else_as_on_the_smallest_device),
        cmocka_unit_test(test_quota_admission__f32_an_init_container_counts),
        cmocka_unit_test(test_quota_admission__what_others_hold_counts),
    };

    return cmocka_run_group_tests_name("quota_admission", tests, NULL, NULL);
}
