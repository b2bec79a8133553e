/* SPDX-License-Identifier: Apache-2.0 */
/*
 * property_admit - for random pods and policies: a pod that is let in asks for what it asked for
 * before, a second look changes nothing (admitting_ask holds that), and no variable stands twice.
 */
#include "support/admitting.h"
#include "support/builders.h"
#include "support/test.h"

#include "topofit/admission_json.h"
#include "topofit/dialect.h"

#include <stdlib.h>

#define SEEDS 1500
#define VISIBLE "NVIDIA_VISIBLE_DEVICES"

static const char *const amounts[] = {"0",   "1",   "2",  "4k", "16Gi", "1500Mi", "1e3", "50",
                                      "100", "7.5", "-1", "x",  "",     "20000",  "1M",  "3"};
static const char *const others[] = {"cpu", "memory", "example.com/gpu"};
static const char *const variables[] = {VISIBLE, "CUDA_TASK_PRIORITY", "PATH",
                                        "GPU_CORE_UTILIZATION_POLICY"};
static const char *const schedulers[] = {"", "default-scheduler", "topofit-scheduler", "volcano"};

/* Any resource of any class, or one that is nobody's. */
static const char *resource(uint64_t *state, const struct class_table *classes)
{
    if (chance_one_in(state, 5))
        return others[chance_below(state, ARRAY_LEN(others))];
    if (chance_one_in(state, 8))
        return "nvidia.com/priority";
    if (chance_one_in(state, 10))
        return "nvidia.com/mig-1g.5gb";
    return classes->resources[chance_below(state, (unsigned)classes->resource_count)].name;
}

static json_t *list_of_amounts(uint64_t *state, const struct class_table *classes)
{
    json_t *list = json_object();

    for (unsigned i = chance_below(state, 4); i > 0; i--)
        json_object_set_new(list, resource(state, classes),
                            json_string(amounts[chance_below(state, ARRAY_LEN(amounts))]));
    return list;
}

static json_t *variable(uint64_t *state)
{
    const char *name = variables[chance_below(state, ARRAY_LEN(variables))];

    if (chance_one_in(state, 4))
        return json_pack("{s:s, s:{s:{s:s}}}", "name", name, "valueFrom", "fieldRef", "fieldPath",
                         "metadata.name");
    return json_pack("{s:s, s:s}", "name", name, "value", chance_one_in(state, 2) ? "all" : "none");
}

static json_t *container(uint64_t *state, const struct class_table *classes, unsigned number)
{
    AUTO_FREE char *name = xasprintf("c%u", number);
    json_t *made = json_pack("{s:s}", "name", name);

    if (chance_one_in(state, 2))
        json_object_set_new(made, "resources",
                            json_pack("{s:o}", chance_one_in(state, 3) ? "requests" : "limits",
                                      list_of_amounts(state, classes)));
    else if (chance_one_in(state, 3))
        json_object_set_new(made, "resources",
                            json_pack("{s:o, s:o}", "limits", list_of_amounts(state, classes),
                                      "requests", list_of_amounts(state, classes)));
    if (chance_one_in(state, 3))
        json_object_set_new(made, "env", json_array());
    for (unsigned i = chance_below(state, 4); i > 0 && json_object_get(made, "env") != NULL; i--)
        json_array_append_new(json_object_get(made, "env"), variable(state));
    if (chance_one_in(state, 6))
        json_object_set_new(made, "restartPolicy", json_string("Always"));
    if (chance_one_in(state, 10))
        json_object_set_new(made, "securityContext", json_pack("{s:b}", "privileged", 1));
    return made;
}

static json_t *pod_at_random(uint64_t *state, const struct class_table *classes)
{
    json_t *inits = json_array(), *apps = json_array();
    unsigned number = 0;

    for (unsigned i = chance_below(state, 3); i > 0; i--)
        json_array_append_new(inits, container(state, classes, number++));
    for (unsigned i = chance_below(state, 3); i > 0; i--)
        json_array_append_new(apps, container(state, classes, number++));
    return json_pack("{s:{s:s}, s:{s:s, s:o, s:o}}", "metadata", "generateName", "p-", "spec",
                     "schedulerName", schedulers[chance_below(state, ARRAY_LEN(schedulers))],
                     "initContainers", inits, "containers", apps);
}

static struct admit_policy policy_at_random(uint64_t *state)
{
    return (struct admit_policy){.scheduler_name =
                                     chance_one_in(state, 4) ? "" : "topofit-scheduler",
                                 .runtime_class_name = chance_one_in(state, 2) ? "" : "nvidia",
                                 .guarded_classes = chance_one_in(state, 2) ? "" : "nvidia",
                                 .takes_over = (enum admit_takes_over)chance_below(state, 3),
                                 .privileged = (enum admit_privileged)chance_below(state, 3),
                                 .delivery = (enum admit_delivery)chance_below(state, 2),
                                 .core_policy = (enum admit_core_policy)chance_below(state, 3)};
}

static void read_request(const json_t *pod, const struct class_table *classes,
                         struct request *request)
{
    AUTO(kube_pod_clear) struct kube_pod kube = {0};
    struct error err = {0};

    assert_ok(admission_json_read_pod(pod, &kube, &err), &err);
    dialect_request(&kube, classes, request);
}

/* Variables that a rule sets stand once; what it does not know is as it was. */
static void check_variables(const json_t *one, bool guarded)
{
    size_t index, count = 0;
    json_t *entry;

    json_array_foreach(json_object_get(one, "env"), index, entry)
    {
        count += strcmp(admitting_text(entry, "/name"), VISIBLE) == 0;
    }
    assert_true(!guarded || count <= 1);
}

static void check_pod(const json_t *pod, bool guarded)
{
    static const char *const lists[] = {"/spec/initContainers", "/spec/containers"};
    size_t index;
    json_t *one;

    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        json_array_foreach((json_t *)admitting_at(pod, lists[i]), index, one)
        {
            check_variables(one, guarded);
        }
    }
}

static void test_admit__keeps_what_a_pod_asks_for(void **state)
{
    AUTO(class_table_clear) struct class_table classes = {0};
    size_t patched = 0, refused = 0;

    (void)state;
    admitting_classes(&classes);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t chance = seed;
        struct admit_policy policy = policy_at_random(&chance);
        json_auto_t *pod = pod_at_random(&chance, &classes);
        AUTO(admitted_clear) struct admitted admitted = admitting_ask(pod, &policy);
        AUTO(request_clear) struct request before = {0}, after = {0};

        patched += json_array_size(admitted.operations) > 0;
        refused += !admitted.allowed;
        read_request(pod, &classes, &before);
        read_request(admitted.pod, &classes, &after);
        if (!request_equal(&before, &after))
            fail_msg("seed %lu: another request", (unsigned long)seed);
        if (admitted.allowed && json_array_size(admitted.operations) > 0)
            check_pod(admitted.pod, before.ask_count == 0 && policy.guarded_classes[0] != '\0');
    }
    /* All ends are reached. */
    assert_in_range(patched, SEEDS / 10, SEEDS);
    assert_in_range(refused, SEEDS / 10, SEEDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_admit__keeps_what_a_pod_asks_for),
    };

    return cmocka_run_group_tests_name("property_admit", tests, NULL, NULL);
}
