/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field cases at the webhook: F01 units, F32 init containers, F34 privileged containers, F35
 * visible devices.
 */
#include "support/admitting.h"
#include "support/small_cluster.h"
#include "support/test.h"

#include "topofit/class.h"
#include "topofit/extender.h"

#define POD(spec) "{'metadata':{'name':'p'},'spec':{" spec "}}"
#define ASK(amounts) "'resources':{'limits':{" amounts "}}"
#define GPU ASK("'nvidia.com/gpu':'1'")
#define VISIBLE "NVIDIA_VISIBLE_DEVICES"

/* --- F01: memory written with a unit suffix books nothing ------------------------------------ */

static struct admitted ask_memory(const char *amount)
{
    struct admit_policy policy = admitting_policy();
    AUTO_FREE char *pod =
        xasprintf(POD("'containers':[{'name':'main'," ASK("'nvidia.com/gpu':'1',"
                                                          "'nvidia.com/gpumem':'%s'") "}]"),
                  amount);

    return admitting_ask_text(pod, &policy);
}

static void
test_f01__an_amount_is_refused_with_its_resource_and_the_unit_or_read_right(void **state)
{
    static const struct {
        const char *amount, *mib; /* NULL: refused */
    } cases[] = {
        {"16Gi", "16384"},
        {"17179869184", "17179869184"},
        {"20k", "20k"},
        {"16384M", "15625"},
        {"4294967296", "4294967296"},
        {"-1", NULL},
        {"1.5", NULL},
        {"500m", NULL},
        {"0", NULL},
        {"", NULL},
        {"16GB", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(admitted_clear) struct admitted admitted = ask_memory(cases[i].amount);

        if (cases[i].mib == NULL) {
            assert_contains(admitted.message, "nvidia.com/gpumem of container main");
            assert_contains(admitted.message, "expected MiB");
            continue;
        }
        assert_true(admitted.allowed);
        assert_string_equal(
            admitting_text(admitted.pod, "/spec/containers/0/resources/limits/nvidia.com~1gpumem"),
            cases[i].mib);
    }
}

/* --- F32: card only in an init container ----------------------------------------------------- */

static void test_f32__a_pod_is_known_by_a_request_in_an_init_container_alone(void **state)
{
    static const char *const pods[] = {
        POD("'initContainers':[{'name':'i'," ASK(
            "'nvidia.com/gpu':'1','nvidia.com/gpumem':'4000'") "}],'containers':[{'name':'main'"
                                                               "," ASK("'cpu':'1'") "}]"),
        POD("'initContainers':[{'name':'i','resources':{'requests':{'nvidia.com/gpu':'1'}}}],"
            "'containers':[{'name':'main'}]"),
    };
    struct admit_policy policy = admitting_policy();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
        AUTO(admitted_clear) struct admitted admitted = admitting_ask_text(pods[i], &policy);

        assert_string_equal(admitting_text(admitted.pod, "/spec/schedulerName"),
                            "topofit-scheduler");
        assert_string_equal(
            admitting_text(admitted.pod, "/spec/initContainers/0/resources/limits/nvidia.com~1gpu"),
            "1");
    }
}

static void test_f32__other_schedulers_pods_and_cpu_pods_get_no_patch(void **state)
{
    static const char *const pods[] = {
        POD("'schedulerName':'mine','initContainers':[{'name':'i'," GPU
            "}],'containers':[{'name':'main'}]"),
        POD("'containers':[{'name':'main'," ASK("'cpu':'1'") "}]"),
        /* Ephemeral containers cannot have devices, and are added without being asked about. */
        POD("'containers':[{'name':'main'}],'ephemeralContainers':[{'name':'debug'," GPU "}]"),
    };
    struct admit_policy policy = admitting_policy();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
        AUTO(admitted_clear) struct admitted admitted = admitting_ask_text(pods[i], &policy);

        assert_true(admitted.allowed);
        assert_int_equal(json_array_size(admitted.operations), 0);
    }
}

/* The answer about a pod with the request of the case, in a namespace with a limit of so many MiB.
 */
static char *ask_with_quota(uint64_t limit_mib)
{
    static const char review[] =
        "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/"
        "v1\",\"request\":{\"uid\":\"u\","
        "\"resource\":{\"group\":\"\",\"version\":\"v1\",\"resource\":\"pods\"},"
        "\"operation\":\"CREATE\",\"namespace\":\"team\",\"object\":{\"spec\":{\"initContainers\":["
        "{"
        "\"name\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\","
        "\"nvidia.com/gpumem\":\"4000\"}}}],\"containers\":[{\"name\":\"main\"}]}}}}";
    AUTO(class_table_clear) struct class_table classes = {0};
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    struct quota *quota = quota_new("team", "q", "q");
    struct buf out = buf_with_max(100000);
    struct error err = {0};
    struct extender extender = {
        .cluster = cluster, .classes = &classes, .options = {.admit = admitting_policy()}};

    classes_builtin(&classes);
    quota_add_limit(quota,
                    &(struct quota_limit){class_find(&classes, "nvidia"), QUOTA_MEMORY, limit_mib});
    cluster_put_quota(cluster, quota);
    assert_ok(extender_admit(&extender, review, strlen(review), (struct moment){0}, &out, &err),
              &err);
    return buf_steal(&out);
}

static void test_f32__the_quota_of_the_namespace_counts_the_init_container(void **state)
{
    AUTO_FREE char *tight = ask_with_quota(3000);
    AUTO_FREE char *wide = ask_with_quota(5000);

    (void)state;
    assert_contains(tight, "\"allowed\":false");
    assert_contains(tight, "\"code\":403");
    assert_contains(tight, "limits.nvidia.com/gpumem of the namespace");
    assert_contains(wide, "\"allowed\":true");
}

/* --- F34: privileged containers see every card ----------------------------------------------- */

#define PRIVILEGED "'securityContext':{'privileged':true}"

static const struct {
    const char *pod;
    const char *refused_for; /* the container; NULL: allowed */
    bool ours;
} privileged[] = {
    {POD("'containers':[{'name':'one'," PRIVILEGED "},{'name':'two'," GPU "}]"), "one", true},
    {POD("'containers':[{'name':'both'," PRIVILEGED "," GPU "}]"), "both", true},
    {POD("'initContainers':[{'name':'init'," PRIVILEGED "}],'containers':[{'name':'app'," GPU "}]"),
     "init", true},
    {POD("'containers':[{'name':'plain'," PRIVILEGED "}]"), NULL, false},
    {POD("'containers':[{'name':'safe','securityContext':{'privileged':false}," GPU "}]"), NULL,
     true},
};

static void test_f34__privileged_containers_beside_devices_are_denied(void **state)
{
    struct admit_policy policy = admitting_policy();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(privileged); i++) {
        AUTO(admitted_clear)
        struct admitted admitted = admitting_ask_text(privileged[i].pod, &policy);

        if (privileged[i].refused_for != NULL) {
            assert_int_equal(admitted.code, 403);
            assert_contains(admitted.message, privileged[i].refused_for);
            continue;
        }
        assert_true(admitted.allowed);
        assert_string_equal(admitting_text(admitted.pod, "/spec/schedulerName"),
                            privileged[i].ours ? "topofit-scheduler" : "");
    }
}

static void test_f34__ignored_privileged_pods_never_come_to_our_scheduler(void **state)
{
    struct admit_policy policy = admitting_policy();

    (void)state;
    policy.privileged = PRIVILEGED_IGNORE;
    for (size_t i = 0; i < ARRAY_LEN(privileged); i++) {
        AUTO(admitted_clear)
        struct admitted admitted = admitting_ask_text(privileged[i].pod, &policy);

        assert_true(admitted.allowed);
        assert_int_equal(admitted.warning[0] != '\0', privileged[i].refused_for != NULL);
        if (privileged[i].refused_for != NULL)
            assert_int_equal(json_array_size(admitted.operations), 0);
    }
}

/* --- F35: a pod that asks for no card and yet sees them all ----------------------------------- */

static const struct {
    const char *container;
    const char *value; /* NULL: the variable is gone */
} guarded[] = {
    {"{'name':'a','env':[{'name':'X','value':'1'},{'name':'" VISIBLE "','value':'all'}]}", "none"},
    {"{'name':'b'}", "none"},
    {"{'name':'b2','env':[]}", "none"},
    {"{'name':'b3','env':null}", "none"},
    {"{'name':'c','env':[{'name':'" VISIBLE "','value':'all'}]," GPU "}", NULL},
    {"{'name':'d','env':[{'name':'" VISIBLE "','value':'GPU-1'}]," ASK("'nvidia.com/gpu':'0'") "}",
     "none"},
    {"{'name':'e','env':[{'name':'" VISIBLE "','valueFrom':{'configMapKeyRef':{'name':'m',"
     "'key':'k'}}}]}",
     "none"},
    {"{'name':'f','env':[{'name':'" VISIBLE "','value':'0'},{'name':'" VISIBLE "','value':'1'}]}",
     "none"},
};

static size_t count_named(const json_t *env, const char **out_value)
{
    size_t index, count = 0;
    json_t *entry;

    json_array_foreach((json_t *)env, index, entry)
    {
        if (strcmp(admitting_text(entry, "/name"), VISIBLE) != 0)
            continue;
        count++;
        *out_value = admitting_text(entry, "/value");
        assert_null(json_object_get(entry, "valueFrom"));
    }
    return count;
}

static void test_f35__each_container_has_the_variable_once_or_not_at_all(void **state)
{
    struct admit_policy policy = admitting_policy();

    (void)state;
    policy.guarded_classes = "nvidia";
    for (size_t i = 0; i < ARRAY_LEN(guarded); i++) {
        AUTO_FREE char *pod = xasprintf(POD("'containers':[%s]"), guarded[i].container);
        AUTO(admitted_clear) struct admitted admitted = admitting_ask_text(pod, &policy);
        const char *value = "";
        size_t count = count_named(admitting_at(admitted.pod, "/spec/containers/0/env"), &value);

        assert_int_equal(count, guarded[i].value != NULL);
        if (guarded[i].value != NULL)
            assert_string_equal(value, guarded[i].value);
    }
}

static void test_f35__nothing_is_changed_without_the_guard(void **state)
{
    struct admit_policy policy = admitting_policy();

    (void)state;
    policy.scheduler_name = "";
    for (size_t i = 0; i < ARRAY_LEN(guarded); i++) {
        AUTO_FREE char *text = xasprintf(POD("'containers':[%s]"), guarded[i].container);
        json_auto_t *pod = admitting_tree(text);
        AUTO(admitted_clear) struct admitted admitted = admitting_ask(pod, &policy);

        assert_true(json_equal(admitting_at(pod, "/spec/containers/0/env"),
                               admitting_at(admitted.pod, "/spec/containers/0/env")) ||
                    admitting_at(pod, "/spec/containers/0/env") == NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_f01__an_amount_is_refused_with_its_resource_and_the_unit_or_read_right),
        cmocka_unit_test(test_f32__a_pod_is_known_by_a_request_in_an_init_container_alone),
        cmocka_unit_test(test_f32__other_schedulers_pods_and_cpu_pods_get_no_patch),
        cmocka_unit_test(test_f32__the_quota_of_the_namespace_counts_the_init_container),
        cmocka_unit_test(test_f34__privileged_containers_beside_devices_are_denied),
        cmocka_unit_test(test_f34__ignored_privileged_pods_never_come_to_our_scheduler),
        cmocka_unit_test(test_f35__each_container_has_the_variable_once_or_not_at_all),
        cmocka_unit_test(test_f35__nothing_is_changed_without_the_guard),
    };

    return cmocka_run_group_tests_name("field_cases_admission", tests, NULL, NULL);
}
