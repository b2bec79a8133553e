/* SPDX-License-Identifier: Apache-2.0 */
#include "support/admitting.h"
#include "support/test.h"

#define GPU "'resources':{'limits':{'nvidia.com/gpu':'1'}}"
#define CONTAINER(more) "{'name':'main'" more "}"
#define POD_WITH(spec, container) "{'spec':{" spec "'containers':[" container "]}}"
#define GPU_POD POD_WITH("", CONTAINER("," GPU))
#define CPU_POD POD_WITH("", CONTAINER(""))
#define VISIBLE "NVIDIA_VISIBLE_DEVICES"

#define FIRST "/spec/containers/0"
#define LIMIT(name) FIRST "/resources/limits/nvidia.com~1" name
#define REQUEST(name) FIRST "/resources/requests/nvidia.com~1" name

static struct admitted ask(const char *pod)
{
    struct admit_policy policy = admitting_policy();

    return admitting_ask_text(pod, &policy);
}

static size_t count_edits(const struct admitted *admitted)
{
    return json_array_size(admitted->operations);
}

/* --- who is looked at ------------------------------------------------------------------------ */

static const char *const left_alone[] = {
    CPU_POD,
    POD_WITH("'schedulerName':'default-scheduler',", CONTAINER("")),
    POD_WITH("", CONTAINER(",'resources':{'limits':{'cpu':'1','example.com/gpu':'1'}}")),
    POD_WITH("", CONTAINER(",'resources':{'limits':{'nvidia.com/gpu':'0'},"
                           "'requests':{'nvidia.com/gpu':'0'}}")),
    POD_WITH("'schedulerName':'volcano',", CONTAINER("," GPU)),
    POD_WITH("'nodeName':'n1','schedulerName':'volcano',", CONTAINER("," GPU)),
    "{'metadata':{'labels':{'topofit.io/webhook':'ignore'}},'spec':{'containers':"
    "[{'name':'main','resources':{'limits':{'nvidia.com/gpu':'many'}}}]}}",
    "{'metadata':{'labels':{'hami.io/webhook':'ignore'}},'spec':{'containers':"
    "[{'name':'main'," GPU "}]}}",
    "{'metadata':{'annotations':{'kubernetes.io/config.mirror':'x'}},'spec':{'nodeName':'n1',"
    "'containers':[{'name':'main'," GPU "}]}}",
    "{'spec':{'containers':null}}",
    "{'metadata':{'name':'x'}}",
};

static void test_admit__leaves_pods_alone_that_are_not_ours(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(left_alone); i++) {
        AUTO(admitted_clear) struct admitted admitted = ask(left_alone[i]);

        if (!admitted.allowed || count_edits(&admitted) > 0)
            fail_msg("%s: %s", left_alone[i], admitted.message);
    }
}

/* Of whomever the pod is: copied, or forged. */
static void test_admit__takes_away_what_says_that_a_pod_was_given_devices(void **state)
{
    static const char *const keys[] = {
        "topofit.io/allocation",
        "devices.topofit.io/main",
        "hami.io/vgpu-node",
        "hami.io/bind-phase",
        "hami.io/vgpu-devices-allocated",
        "hami.io/vgpu-devices-to-allocate",
        "hami.io/vgpu-mig-allocations",
        "hami.io/metax-sgpu-devices-allocated",
        "AWS_NEURON_IDS",
    };
    static const char *const pods[] = {"'topofit.io/topology':'hard'", "'a':'b'"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        for (size_t k = 0; k < ARRAY_LEN(pods); k++) {
            AUTO_FREE char *pod =
                xasprintf("{'metadata':{'labels':{'topofit.io/webhook':'%s'},"
                          "'annotations':{%s,'%s':'x'}},'spec':{'containers':"
                          "[{'name':'main'%s}]}}",
                          k == 0 ? "no" : "ignore", pods[k], keys[i], k == 0 ? "," GPU : "");
            AUTO(admitted_clear) struct admitted admitted = ask(pod);
            const json_t *left = admitting_at(admitted.pod, "/metadata/annotations");

            assert_true(admitted.allowed);
            assert_int_equal(json_object_size(left), 1);
            assert_contains(admitted.warning, keys[i]);
        }
    }
}

/* Wherever the request stands, and whatever kind of container has it. */
static const char *const ours[] = {
    GPU_POD,
    POD_WITH("'schedulerName':'',", CONTAINER("," GPU)),
    POD_WITH("'schedulerName':'default-scheduler',", CONTAINER("," GPU)),
    POD_WITH("", CONTAINER(",'resources':{'requests':{'nvidia.com/gpu':'1'}}")),
    POD_WITH("", CONTAINER(",'resources':{'limits':{'nvidia.com/gpumem':'4000'}}")),
    POD_WITH("", CONTAINER(",'resources':{'limits':{'nvidia.com/gpucores':'10'}}")),
    POD_WITH("'initContainers':[{'name':'init'," GPU "}],", CONTAINER("")),
    POD_WITH("'initContainers':[{'name':'s','restartPolicy':'Always'," GPU "}],", CONTAINER("")),
    POD_WITH("'ephemeralContainers':[{'name':'debug'}],", CONTAINER("," GPU)),
    POD_WITH("", "null," CONTAINER("," GPU)),
};

static void test_admit__gives_gpu_pods_our_scheduler(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
        AUTO(admitted_clear) struct admitted admitted = ask(ours[i]);

        assert_string_equal(admitting_text(admitted.pod, "/spec/schedulerName"),
                            "topofit-scheduler");
    }
}

static void test_admit__takes_over_as_the_policy_says(void **state)
{
    static const struct {
        enum admit_takes_over takes_over;
        const char *before, *after;
    } cases[] = {
        {TAKES_OVER_DEFAULT, "default-scheduler", "topofit-scheduler"},
        {TAKES_OVER_DEFAULT, "volcano", "volcano"},
        {TAKES_OVER_DEFAULT, "topofit-scheduler", "topofit-scheduler"},
        {TAKES_OVER_ANY, "volcano", "topofit-scheduler"},
        {TAKES_OVER_NONE, "default-scheduler", "default-scheduler"},
        {TAKES_OVER_NONE, "topofit-scheduler", "topofit-scheduler"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct admit_policy policy = admitting_policy();
        AUTO_FREE char *pod =
            xasprintf(POD_WITH("'schedulerName':'%s',", CONTAINER("," GPU)), cases[i].before);
        AUTO(admitted_clear) struct admitted admitted = {0};

        policy.takes_over = cases[i].takes_over;
        admitted = admitting_ask_text(pod, &policy);
        assert_string_equal(admitting_text(admitted.pod, "/spec/schedulerName"), cases[i].after);
    }
}

#define DCU_POD(scheduler) \
    POD_WITH("'schedulerName':'" scheduler "',", \
             CONTAINER(",'resources':{'limits':{'hygon.com/dcunum':'1'}}"))

/* Its scheduler would place it without asking who has the devices. */
static void test_admit__leaves_pods_alone_about_which_we_are_not_asked(void **state)
{
    static char count[] = "nvidia.com/gpu", memory[] = "nvidia.com/gpumem";
    static char *const resources[] = {count, memory};
    static const struct {
        const char *pod, *scheduler;
        bool warned;
    } cases[] = {
        {DCU_POD("default-scheduler"), "default-scheduler", false},
        {DCU_POD("topofit-scheduler"), "topofit-scheduler", true},
        {POD_WITH("'schedulerName':'default-scheduler',", CONTAINER("," GPU)), "topofit-scheduler",
         false},
        {POD_WITH("'schedulerName':'default-scheduler',",
                  CONTAINER(",'resources':{'requests':{'nvidia.com/gpumem':'4000'}}")),
         "topofit-scheduler", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct admit_policy policy = admitting_policy();
        AUTO(admitted_clear) struct admitted admitted = {0};

        policy.resources = resources;
        policy.resource_count = ARRAY_LEN(resources);
        admitted = admitting_ask_text(cases[i].pod, &policy);
        assert_string_equal(admitting_text(admitted.pod, "/spec/schedulerName"),
                            cases[i].scheduler);
        assert_int_equal(strstr(admitted.warning, "managedResources") != NULL, cases[i].warned);
    }
}

static void test_admit__leaves_the_name_without_a_name_of_ours(void **state)
{
    struct admit_policy policy = admitting_policy();
    AUTO(admitted_clear) struct admitted admitted = {0};

    (void)state;
    policy.scheduler_name = "";
    admitted = admitting_ask_text(
        POD_WITH("'schedulerName':'default-scheduler',", CONTAINER("," GPU)), &policy);
    assert_string_equal(admitting_text(admitted.pod, "/spec/schedulerName"), "default-scheduler");
    assert_string_equal(admitting_text(admitted.pod, REQUEST("gpu")), "1");
}

/* More containers than are looked at, none of which wants devices: no business of ours. */
static void test_admit__leaves_a_pod_of_many_containers_alone(void **state)
{
    json_auto_t *pod = json_pack("{s:{s:[]}}", "spec", "containers");
    AUTO(admitted_clear) struct admitted admitted = {0}, refused = {0};
    struct admit_policy policy = admitting_policy();
    json_t *containers = json_object_get(json_object_get(pod, "spec"), "containers");

    (void)state;
    for (int i = 0; i < 100; i++)
        json_array_append_new(containers, json_pack("{s:s}", "name", "c"));
    policy.guarded_classes = "nvidia";
    admitted = admitting_ask(pod, &policy);
    assert_true(admitted.allowed);
    assert_int_equal(count_edits(&admitted), 100); /* the guard sees all of them */
    json_array_append_new(containers, admitting_tree("{'name':'main'," GPU "}"));
    refused = admitting_ask(pod, &policy);
    assert_contains(refused.message, "more containers");
}

/* --- what is refused ------------------------------------------------------------------------- */

static const struct {
    const char *pod, *why;
    int code;
} refused[] = {
    {POD_WITH("", CONTAINER(",'resources':{'limits':{'nvidia.com/gpumem':'1.5'}}")),
     "nvidia.com/gpumem of container main is \"1.5\": expected MiB", 400},
    {POD_WITH("", CONTAINER(",'resources':{'limits':{'nvidia.com/gpu':'-1'}}")),
     "nvidia.com/gpu of container main is \"-1\"", 400},
    {POD_WITH("", CONTAINER(",'resources':{'requests':{'nvidia.com/gpucores':'101'}}")),
     "nvidia.com/gpucores of container main", 400},
    {POD_WITH("", CONTAINER(",'resources':{'limits':{'nvidia.com/gpumem':'1',"
                            "'nvidia.com/gpumem-percentage':'1'}}")),
     "both", 400},
    {POD_WITH("'nodeName':'n1',", CONTAINER("," GPU)), "spec.nodeName is n1", 400},
    {POD_WITH("", CONTAINER(",'resources':{'limits':{'nvidia.com/gpu':'1',"
                            "'nvidia.com/priority':'high'}}")),
     "nvidia.com/priority of container main is \"high\"", 400},
    {POD_WITH("", CONTAINER(",'securityContext':{'privileged':true}," GPU)),
     "container main is privileged", 403},
};

static void test_admit__refuses_what_can_never_be_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        AUTO(admitted_clear) struct admitted admitted = ask(refused[i].pod);

        assert_false(admitted.allowed);
        assert_int_equal(admitted.code, refused[i].code);
        assert_contains(admitted.message, refused[i].why);
        assert_contains(admitted.message, "label it topofit.io/webhook: ignore");
        assert_int_equal(count_edits(&admitted), 0);
    }
}

static void test_admit__warns_of_or_ignores_privileged_pods(void **state)
{
    static const char pod[] =
        POD_WITH("", CONTAINER(",'securityContext':{'privileged':true}," GPU));
    static const char named[] = POD_WITH("'schedulerName':'topofit-scheduler',",
                                         CONTAINER(",'securityContext':{'privileged':true}," GPU));
    struct admit_policy policy = admitting_policy();
    AUTO(admitted_clear) struct admitted warned = {0}, ignored = {0}, refused_pod = {0};

    (void)state;
    policy.privileged = PRIVILEGED_WARN;
    warned = admitting_ask_text(pod, &policy);
    assert_contains(warned.warning, "container main is privileged");
    assert_string_equal(admitting_text(warned.pod, "/spec/schedulerName"), "topofit-scheduler");
    policy.privileged = PRIVILEGED_IGNORE;
    ignored = admitting_ask_text(pod, &policy);
    assert_contains(ignored.warning, "leaves this pod");
    assert_int_equal(count_edits(&ignored), 0);
    /* Left alone it would come to us all the same. */
    refused_pod = admitting_ask_text(named, &policy);
    assert_false(refused_pod.allowed);
}

/* --- amounts --------------------------------------------------------------------------------- */

static void test_admit__gives_an_amount_its_count(void **state)
{
    AUTO(admitted_clear)
    struct admitted admitted =
        ask(POD_WITH("", CONTAINER(",'resources':{'limits':{'nvidia.com/gpumem':'4k'}}")));

    (void)state;
    assert_string_equal(admitting_text(admitted.pod, LIMIT("gpu")), "1");
    assert_string_equal(admitting_text(admitted.pod, REQUEST("gpu")), "1");
    assert_string_equal(admitting_text(admitted.pod, LIMIT("gpumem")), "4k"); /* as good as 4000 */
    assert_string_equal(admitting_text(admitted.pod, REQUEST("gpumem")), "4k");
}

static void test_admit__copies_amounts_between_limits_and_requests(void **state)
{
    AUTO(admitted_clear)
    struct admitted admitted =
        ask(POD_WITH("", CONTAINER(",'resources':{'limits':{'cpu':'1','nvidia.com/gpu':'2'},"
                                   "'requests':{'cpu':'1','nvidia.com/gpucores':'30',"
                                   "'nvidia.com/priority':'1'}}")));

    (void)state;
    assert_string_equal(admitting_text(admitted.pod, REQUEST("gpu")), "2");
    assert_string_equal(admitting_text(admitted.pod, LIMIT("gpucores")), "30");
    assert_string_equal(admitting_text(admitted.pod, LIMIT("priority")), "1");
    assert_null(admitting_at(admitted.pod, LIMIT("gpumem")));
}

static void test_admit__writes_memory_in_units_of_the_class(void **state)
{
    static const struct {
        const char *written, *units;
    } cases[] = {{"16Gi", "16384"}, {"1500Mi", "1500"}, {"1Ki", "1"}, {"20000", "20000"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *pod =
            xasprintf(POD_WITH("", CONTAINER(",'resources':{'limits':{'nvidia.com/gpumem':'%s'}}")),
                      cases[i].written);
        AUTO(admitted_clear) struct admitted admitted = ask(pod);

        assert_string_equal(admitting_text(admitted.pod, LIMIT("gpumem")), cases[i].units);
        assert_string_equal(admitting_text(admitted.pod, REQUEST("gpumem")), cases[i].units);
    }
}

/* What a person writes, and what the class makes of it. Both lists say it afterwards. */
static const struct {
    const char *written;
    const char *resource, *amount;
} rounded[] = {
    {"'huawei.com/Ascend910B3':'1','huawei.com/Ascend910B3-memory':'9000'}",
     "huawei.com~1Ascend910B3-memory", "16384"},
    {"'huawei.com/Ascend910B3-memory':'9000'}", "huawei.com~1Ascend910B3", "1"},
    {"'huawei.com/Ascend910C':'1'}", "huawei.com~1Ascend910C", "2"},
    {"'kunlunxin.com/vxpu':'1','kunlunxin.com/vxpu-memory':'30000'}", "kunlunxin.com~1vxpu-memory",
     "49152"},
    {"'mthreads.com/vgpu':'1','mthreads.com/sgpu-memory':'8','mthreads.com/sgpu-core':'4'}",
     "mthreads.com~1sgpu-memory", "8"},
    {"'iluvatar.ai/MR-V100-vgpu':'1','iluvatar.ai/MR-V100.vMem':'1Gi'}",
     "iluvatar.ai~1MR-V100.vMem", "4"},
    {"'nvidia.com/mig-1g.5gb':'2'}", "nvidia.com~1mig-1g.5gb", "2"},
};

static void test_admit__writes_what_the_vendors_rules_make_of_an_amount(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rounded); i++) {
        static const char *const lists[] = {"limits", "requests"};

        for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
            AUTO_FREE char *pod = xasprintf(POD_WITH("", "{'name':'main','resources':{'%s':{%s}}"),
                                            lists[k], rounded[i].written);
            AUTO_FREE char *limit = xasprintf(FIRST "/resources/limits/%s", rounded[i].resource);
            AUTO_FREE char *request =
                xasprintf(FIRST "/resources/requests/%s", rounded[i].resource);
            AUTO(admitted_clear) struct admitted admitted = ask(pod);

            if (!admitted.allowed)
                fail_msg("%s", admitted.message);
            assert_string_equal(admitting_text(admitted.pod, limit), rounded[i].amount);
            assert_string_equal(admitting_text(admitted.pod, request), rounded[i].amount);
        }
    }
}

/* --- runtime class and variables ------------------------------------------------------------- */

static void test_admit__sets_the_runtime_class_where_there_is_none(void **state)
{
    struct admit_policy policy = admitting_policy();
    AUTO(admitted_clear) struct admitted set = {0}, kept = {0}, cpu = {0};

    (void)state;
    policy.runtime_class_name = "nvidia";
    set = admitting_ask_text(GPU_POD, &policy);
    assert_string_equal(admitting_text(set.pod, "/spec/runtimeClassName"), "nvidia");
    kept = admitting_ask_text(POD_WITH("'runtimeClassName':'kata',", CONTAINER("," GPU)), &policy);
    assert_string_equal(admitting_text(kept.pod, "/spec/runtimeClassName"), "kata");
    cpu = admitting_ask_text(CPU_POD, &policy);
    assert_int_equal(count_edits(&cpu), 0);
}

static void test_admit__hands_priority_and_core_policy_to_the_container(void **state)
{
    struct admit_policy policy = admitting_policy();
    AUTO(admitted_clear) struct admitted admitted = {0};

    (void)state;
    policy.core_policy = CORE_POLICY_FORCE;
    admitted = admitting_ask_text(
        POD_WITH("", CONTAINER(",'resources':{'limits':{'nvidia.com/gpu':'1',"
                               "'nvidia.com/priority':'2'}}") ",{'name':'other'}"),
        &policy);
    assert_string_equal(admitting_text(admitted.pod, FIRST "/env/0/name"), "CUDA_TASK_PRIORITY");
    assert_string_equal(admitting_text(admitted.pod, FIRST "/env/0/value"), "2");
    assert_string_equal(admitting_text(admitted.pod, FIRST "/env/1/name"),
                        "GPU_CORE_UTILIZATION_POLICY");
    assert_string_equal(admitting_text(admitted.pod, FIRST "/env/1/value"), "force");
    assert_null(admitting_at(admitted.pod, "/spec/containers/1/env"));
}

static void test_admit__delivers_devices_through_the_downward_api(void **state)
{
    struct admit_policy policy = admitting_policy();
    AUTO(admitted_clear) struct admitted admitted = {0};

    (void)state;
    policy.delivery = DELIVERY_DOWNWARD_API;
    admitted = admitting_ask_text(
        POD_WITH("'initContainers':[{'name':'pull'}],",
                 CONTAINER(",'env':[{'name':'A','value':'1'},{'name':'" VISIBLE
                           "','value':'all'},{'name':'B'},{'name':'" VISIBLE "'}]," GPU)),
        &policy);
    assert_int_equal(json_array_size(admitting_at(admitted.pod, FIRST "/env")), 3);
    assert_string_equal(admitting_text(admitted.pod, FIRST "/env/1/name"), VISIBLE);
    assert_null(admitting_at(admitted.pod, FIRST "/env/1/value"));
    assert_string_equal(admitting_text(admitted.pod, FIRST "/env/1/valueFrom/fieldRef/fieldPath"),
                        "metadata.annotations['devices.topofit.io/main']");
    /* Who asks for nothing is the guard's affair, which is off. */
    assert_null(admitting_at(admitted.pod, "/spec/initContainers/0/env"));
}

static void test_admit__delivers_no_partitions_whose_ids_only_the_node_knows(void **state)
{
    struct admit_policy policy = admitting_policy();
    AUTO(admitted_clear) struct admitted admitted = {0};

    (void)state;
    policy.delivery = DELIVERY_DOWNWARD_API;
    policy.guarded_classes = "nvidia";
    admitted = admitting_ask_text(
        POD_WITH("", CONTAINER(",'env':[{'name':'" VISIBLE "','value':'all'}],"
                               "'resources':{'limits':{'nvidia.com/mig-1g.5gb':'2'}}")),
        &policy);
    assert_true(admitted.allowed);
    assert_int_equal(json_array_size(admitting_at(admitted.pod, FIRST "/env")), 0);
}

static void test_admit__refuses_to_deliver_devices_of_two_classes_by_one_variable(void **state)
{
    static const char pod[] = POD_WITH("", CONTAINER(",'resources':{'limits':{'nvidia.com/gpu':'1',"
                                                     "'huawei.com/Ascend910B3':'1'}}"));
    struct admit_policy policy = admitting_policy();
    AUTO(admitted_clear) struct admitted allowed = {0}, told_apart = {0};

    (void)state;
    allowed = admitting_ask_text(pod, &policy);
    assert_true(allowed.allowed);
    policy.delivery = DELIVERY_DOWNWARD_API;
    told_apart = admitting_ask_text(pod, &policy);
    assert_contains(told_apart.message, "NVIDIA GPU");
    assert_contains(told_apart.message, "a container for each");
}

/* The chips of a vendor have classes of their own, and one variable. */
static void test_admit__leaves_a_variable_to_the_class_that_is_asked_for(void **state)
{
    struct admit_policy policy = admitting_policy();
    AUTO(admitted_clear) struct admitted asking = {0}, not_asking = {0};

    (void)state;
    policy.guarded_classes = "ascend-910b4,ascend-910b3";
    asking = admitting_ask_text(
        POD_WITH("", CONTAINER(",'env':[{'name':'ASCEND_VISIBLE_DEVICES','value':'0'}],"
                               "'resources':{'limits':{'huawei.com/Ascend910B3':'1'}}")),
        &policy);
    assert_int_equal(json_array_size(admitting_at(asking.pod, FIRST "/env")), 0);
    not_asking = admitting_ask_text(CPU_POD, &policy);
    assert_int_equal(json_array_size(admitting_at(not_asking.pod, FIRST "/env")), 1);
    assert_string_equal(admitting_text(not_asking.pod, FIRST "/env/0/name"),
                        "ASCEND_VISIBLE_DEVICES");
    assert_non_null(admitting_at(not_asking.pod, FIRST "/env/0/value")); /* empty */
}

static void test_admit__guards_those_who_ask_for_nothing_beside_those_who_do(void **state)
{
    struct admit_policy policy = admitting_policy();
    AUTO(admitted_clear) struct admitted admitted = {0};

    (void)state;
    policy.guarded_classes = " other, nvidia";
    policy.delivery = DELIVERY_DOWNWARD_API;
    admitted = admitting_ask_text(
        POD_WITH("'initContainers':[{'name':'pull'}],", CONTAINER("," GPU)), &policy);
    assert_string_equal(admitting_text(admitted.pod, "/spec/initContainers/0/env/0/value"), "none");
    assert_string_equal(admitting_text(admitted.pod, FIRST "/env/0/valueFrom/fieldRef/fieldPath"),
                        "metadata.annotations['devices.topofit.io/main']");
}

static void test_admit__guards_pods_of_other_schedulers_that_want_nothing(void **state)
{
    struct admit_policy policy = admitting_policy();
    AUTO(admitted_clear) struct admitted admitted = {0};

    (void)state;
    policy.guarded_classes = "nvidia";
    admitted = admitting_ask_text(POD_WITH("'schedulerName':'volcano',", CONTAINER("")), &policy);
    assert_string_equal(admitting_text(admitted.pod, FIRST "/env/0/value"), "none");
    assert_string_equal(admitting_text(admitted.pod, "/spec/schedulerName"), "volcano");
}

static void test_admit_rule_name__names_every_rule(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ADMIT_RULE_COUNT; i++)
        assert_true(admit_rule_name((enum admit_rule)i)[0] != '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_admit__leaves_pods_alone_that_are_not_ours),
        cmocka_unit_test(test_admit__takes_away_what_says_that_a_pod_was_given_devices),
        cmocka_unit_test(test_admit__gives_gpu_pods_our_scheduler),
        cmocka_unit_test(test_admit__takes_over_as_the_policy_says),
        cmocka_unit_test(test_admit__leaves_pods_alone_about_which_we_are_not_asked),
        cmocka_unit_test(test_admit__leaves_the_name_without_a_name_of_ours),
        cmocka_unit_test(test_admit__leaves_a_pod_of_many_containers_alone),
        cmocka_unit_test(test_admit__refuses_what_can_never_be_right),
        cmocka_unit_test(test_admit__warns_of_or_ignores_privileged_pods),
        cmocka_unit_test(test_admit__gives_an_amount_its_count),
        cmocka_unit_test(test_admit__copies_amounts_between_limits_and_requests),
        cmocka_unit_test(test_admit__writes_memory_in_units_of_the_class),
        cmocka_unit_test(test_admit__writes_what_the_vendors_rules_make_of_an_amount),
        cmocka_unit_test(test_admit__sets_the_runtime_class_where_there_is_none),
        cmocka_unit_test(test_admit__hands_priority_and_core_policy_to_the_container),
        cmocka_unit_test(test_admit__delivers_devices_through_the_downward_api),
        cmocka_unit_test(test_admit__delivers_no_partitions_whose_ids_only_the_node_knows),
        cmocka_unit_test(test_admit__refuses_to_deliver_devices_of_two_classes_by_one_variable),
        cmocka_unit_test(test_admit__leaves_a_variable_to_the_class_that_is_asked_for),
        cmocka_unit_test(test_admit__guards_those_who_ask_for_nothing_beside_those_who_do),
        cmocka_unit_test(test_admit__guards_pods_of_other_schedulers_that_want_nothing),
        cmocka_unit_test(test_admit_rule_name__names_every_rule),
    };

    return cmocka_run_group_tests_name("admit", tests, NULL, NULL);
}
