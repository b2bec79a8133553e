/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions that containers ask for by name, and the demands of pods beside them. */
#include "support/builtin_classes.h"
#include "support/kube_words.h"
#include "support/test.h"

#include "topofit/class.h"
#include "topofit/dialect.h"

static struct request read_pod(const char *amounts, const char *key, const char *value)
{
    AUTO(kube_pod_clear) struct kube_pod pod;
    struct request request;

    kube_pod_init(&pod);
    kube_pod_ask(&pod, CONTAINER_APP, amounts);
    if (key != NULL)
        kube_pod_annotate(&pod, key, value);
    dialect_request(&pod, builtin_classes(), &request);
    return request;
}

static void test_profiles__each_partition_is_an_ask_of_its_own(void **state)
{
    AUTO(request_clear)
    struct request request =
        read_pod("nvidia.com/mig-1g.10gb=2 nvidia.com/mig-3g.40gb=1", NULL, NULL);
    unsigned small = 0;

    (void)state;
    assert_null(request.problem);
    assert_int_equal(request.ask_count, 3);
    for (size_t i = 0; i < request.ask_count; i++) {
        const struct ask *ask = &request.asks[i];

        assert_int_equal(ask->count, 1);
        assert_int_equal(ask->memory_kind, MEMORY_PROFILE);
        small += strcmp(ask->profile, "1g.10gb") == 0;
        assert_int_equal(ask->memory, strcmp(ask->profile, "1g.10gb") == 0 ? 10240 : 40960);
    }
    assert_int_equal(small, 2);
}

static void test_profiles__what_cannot_be_read_is_a_problem(void **state)
{
    static const struct {
        const char *amounts, *problem;
    } cases[] = {
        {"nvidia.com/mig-1g.10gb=1500m", "nvidia.com/mig-1g.10gb"},
        {"nvidia.com/mig-1g.10gb=-1", "expected a whole number"},
        {"nvidia.com/mig-=1", "no name of a partition profile"},
        {"nvidia.com/mig-0123456789012345678901234567890123=1", "no name of a partition profile"},
        {"nvidia.com/mig-1g.10gb=33", "more than 32"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(request_clear) struct request request = read_pod(cases[i].amounts, NULL, NULL);

        assert_non_null(request.problem);
        assert_contains(request.problem, cases[i].problem);
    }
}

static void test_profiles__none_asked_is_no_ask(void **state)
{
    AUTO(request_clear) struct request request = read_pod("nvidia.com/mig-1g.10gb=0", NULL, NULL);

    (void)state;
    assert_null(request.problem);
    assert_int_equal(request.ask_count, 0);
}

static void test_demands__service_and_application_classes(void **state)
{
    AUTO(request_clear)
    struct request service =
        read_pod("metax-tech.com/sgpu=1", "topofit.io/service-class", "Burst-Share");
    AUTO(request_clear)
    struct request application =
        read_pod("metax-tech.com/sgpu=1", "topofit.io/application-class", "offline");
    AUTO(request_clear)
    struct request wrong = read_pod("metax-tech.com/sgpu=1", "topofit.io/service-class", "burst");

    (void)state;
    assert_int_equal(service.service, SERVICE_BURST_SHARE);
    assert_int_equal(application.application, APPLICATION_OFFLINE);
    assert_contains(wrong.problem, "expected best-effort, fixed-share or burst-share");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_profiles__each_partition_is_an_ask_of_its_own),
        cmocka_unit_test(test_profiles__what_cannot_be_read_is_a_problem),
        cmocka_unit_test(test_profiles__none_asked_is_no_ask),
        cmocka_unit_test(test_demands__service_and_application_classes),
    };

    return cmocka_run_group_tests_name("profiles", tests, builtin_classes_set_up,
                                       builtin_classes_tear_down);
}
