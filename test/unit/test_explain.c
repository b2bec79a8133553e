/* SPDX-License-Identifier: Apache-2.0 */
#include "support/harness.h"

#include "topofit/explain.h"
#include "topofit/kube_json.h"

/* Explain a pod of the harness. Free the text. */
static char *explain_columns(struct harness *harness, const char *pod, enum view_format format,
                             enum explain_columns columns, size_t *kept)
{
    AUTO(buf_clear) struct buf out = buf_with_max(1 << 20);
    AUTO(kube_object_clear) struct kube_object object;
    AUTO_FREE char *json = json_dumps(api_pod_json(harness, pod), JSON_COMPACT);
    struct error err = {0};

    kube_object_init(&object, KUBE_POD);
    assert_ok(kube_json_read_object(KUBE_POD, json, strlen(json), &object, &err), &err);
    *kept = explain_pod(&harness->extender, &object.pod, (struct moment){0}, format, columns, &out);
    return buf_steal(&out);
}

static char *explain(struct harness *harness, const char *pod, enum view_format format,
                     size_t *kept)
{
    return explain_columns(harness, pod, format, EXPLAIN_ANSWERS, kept);
}

static struct harness *four_nodes(void)
{
    struct harness *harness = harness_new();

    api_node(harness, "linked", 4, 16384, .links = "1-3");
    api_node(harness, "slow", 4, 16384, .links = "");
    api_node(harness, "small", 1, 16384);
    api_node(harness, "plain", 0, 0);
    api_pod(harness, "p", "gpu 2; gpu 1");
    return harness;
}

static void
test_explain_pod__shows_the_best_node_first_with_the_devices_of_each_container(void **state)
{
    static const char *const order[] = {"linked", "slow", "plain", "small"};
    AUTO(harness_free) struct harness *harness = four_nodes();
    size_t kept;
    AUTO_FREE char *text = explain(harness, "p", VIEW_JSON, &kept);
    json_t *view = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    const json_t *nodes = json_object_get(view, "nodes");
    const json_t *devices =
        json_object_get(json_object_get(json_array_get(nodes, 0), "containers"), "c0");

    (void)state;
    assert_int_equal(kept, 2);
    assert_string_equal(json_string_value(json_object_get(view, "kind")), "Explanation");
    assert_int_equal(json_array_size(nodes), ARRAY_LEN(order));
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        const json_t *item = json_array_get(nodes, i);

        assert_string_equal(json_string_value(json_object_get(item, "node")), order[i]);
        assert_int_equal(json_is_true(json_object_get(item, "fits")), i < 2);
    }
    assert_string_equal(json_string_value(json_array_get(devices, 0)), "GPU-linked-1");
    assert_string_equal(json_string_value(json_array_get(devices, 1)), "GPU-linked-3");
    json_decref(view);
}

static void test_explain_pod__names_the_reason_of_each_refused_node(void **state)
{
    AUTO(harness_free) struct harness *harness = four_nodes();
    size_t kept;
    AUTO_FREE char *text = explain(harness, "p", VIEW_TEXT, &kept);

    (void)state;
    assert_contains(text, "TooFewDevices");
    assert_contains(text, "NoInventory");
    assert_contains(text, "2 wanted, 1 usable");
}

static void test_explain_pod__the_table_has_indices_of_devices_and_scores(void **state)
{
    AUTO(harness_free) struct harness *harness = four_nodes();
    size_t kept;
    AUTO_FREE char *text = NULL;

    (void)state;
    api_pod(harness, "pair", "gpu 2");
    text = explain(harness, "pair", VIEW_TEXT, &kept);
    assert_int_equal(kept, 2);
    assert_memory_equal(text, "NODE    SCORE  GPUS  TIER", 25);
    assert_contains(text, "\nlinked  10     1,3   interconnect  fits");
    assert_contains(text, "\nslow    1      0,1   cross         fits");
}

static void test_explain_pod__the_table_tells_the_devices_of_each_container_apart(void **state)
{
    AUTO(harness_free) struct harness *harness = four_nodes();
    size_t kept;
    AUTO_FREE char *text = explain(harness, "p", VIEW_TEXT, &kept);

    (void)state;
    assert_contains(text, " 1,3 + 0 ");
    assert_contains(text, " 0,1 + 2 ");
}

static void test_explain_pod__an_unreadable_request_fits_nowhere_and_says_why(void **state)
{
    AUTO(harness_free) struct harness *harness = four_nodes();
    AUTO_FREE char *text = NULL;
    size_t kept;

    (void)state;
    api_pod(harness, "bad", "gpu 1, mem -1");
    text = explain(harness, "bad", VIEW_TEXT, &kept);
    assert_int_equal(kept, 0);
    assert_contains(text, "BadRequest");
    assert_contains(text, "nvidia.com/gpumem of container c0 is \"-1\"");
}

static void test_explain_pod__a_pod_without_devices_fits_everywhere_in_both_formats(void **state)
{
    AUTO(harness_free) struct harness *harness = four_nodes();
    AUTO_FREE char *text = NULL, *document = NULL;
    json_t *view;
    size_t kept;

    (void)state;
    api_pod(harness, "cpu", "none");
    text = explain(harness, "cpu", VIEW_TEXT, &kept);
    assert_int_equal(kept, 4);
    assert_contains(text, "every node will do");
    document = explain(harness, "cpu", VIEW_JSON, &kept);
    assert_int_equal(kept, 4);
    view = json_loads(document, JSON_REJECT_DUPLICATES, NULL);
    assert_int_equal(json_array_size(json_object_get(view, "nodes")), 4);
    json_decref(view);
}

/* linked: one pair and two singles; slow: four singles; the hosts have 96 CPUs. */
static void test_explain_pod__criteria_show_what_decides_between_nodes(void **state)
{
    AUTO(harness_free) struct harness *harness = four_nodes();
    AUTO_FREE char *text = NULL;
    size_t kept;

    (void)state;
    api_pod(harness, "pair", "gpu 2, cpu 16");
    text = explain_columns(harness, "pair", VIEW_TEXT, EXPLAIN_CRITERIA, &kept);
    assert_int_equal(kept, 2);
    assert_contains(text,
                    "NODE    SCORE  TIER  LINKS  EIGHTS  SETTLED  FOURS,PAIRS  WASTE  BROKEN  "
                    "LEFT   GPUS  ANSWER\n"
                    "linked  10     0     100%   0       0        0,1          0.00   0       "
                    "6.976  1,3   fits\n"
                    "slow    1      2     100%   0       0        0,0          0.00   0       "
                    "6.976  0,1   fits\n"
                    "plain   -      -     -      -       -        -            -      -       "
                    "-      -     NoInventory\n");
    assert_contains(text, "\npack: the first column from the left in which nodes differ decides");
}

static void test_explain_pod__criteria_are_those_of_the_pods_policy_in_its_order(void **state)
{
    static const char *const headers[PACKING_POLICY_COUNT] = {
        [PACKING_PACK] = " TIER LINKS EIGHTS SETTLED FOURS,PAIRS WASTE BROKEN LEFT GPUS",
        [PACKING_SPREAD] = " TIER LINKS IN USE GPUS",
        [PACKING_TOPOLOGY_FIRST] = " TIER LINKS GROUPS WASTE BROKEN LEFT GPUS"};
    AUTO(harness_free) struct harness *harness = four_nodes();

    (void)state;
    for (unsigned i = 0; i < PACKING_POLICY_COUNT; i++) {
        const char *policy = packing_policy_name((enum packing_policy)i);
        AUTO_FREE char *text = NULL;
        char line[256];
        size_t kept, length = 0;

        api_pod(harness, "own", "gpu 1", .annotations = {"topofit.io/packing-policy", policy});
        text = explain_columns(harness, "own", VIEW_TEXT, EXPLAIN_CRITERIA, &kept);
        for (const char *at = text; *at != '\n' && length < sizeof line - 1; at++) {
            if (*at != ' ' || length == 0 || line[length - 1] != ' ')
                line[length++] = *at;
        }
        line[length] = '\0';
        assert_contains(line, headers[i]);
        assert_contains(text, policy);
    }
}

static void test_explain_pod__a_document_has_the_policy_and_its_criteria(void **state)
{
    static const char *const want[][2] = {
        {"tier", "0"},     {"links", "100%"}, {"groups", "0/0,0/0,1/1"},
        {"waste", "0.00"}, {"broken", "0"},   {"full", "8.000"}};
    AUTO(harness_free) struct harness *harness = four_nodes();
    AUTO_FREE char *text = NULL;
    const json_t *criteria;
    json_t *view;
    size_t kept;

    (void)state;
    api_pod(harness, "pair", "gpu 2");
    harness->extender.options.policy.packing = PACKING_TOPOLOGY_FIRST;
    text = explain(harness, "pair", VIEW_JSON, &kept);
    view = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_string_equal(json_string_value(json_object_get(view, "policy")), "topology-first");
    criteria = json_object_get(json_array_get(json_object_get(view, "nodes"), 0), "criteria");
    assert_int_equal(json_array_size(criteria), ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        const json_t *item = json_array_get(criteria, i);

        assert_string_equal(json_string_value(json_object_get(item, "name")), want[i][0]);
        assert_string_equal(json_string_value(json_object_get(item, "value")), want[i][1]);
    }
    json_decref(view);
}

static void test_explain_pod__a_resource_of_no_class_is_told_with_the_nearest(void **state)
{
    static const struct {
        const char *resource, *told;
        size_t kept;
    } cases[] = {
        {"nvidia.com/gpus 1", "nvidia.com/gpus is of no class; did you mean nvidia.com/gpu?", 0},
        {"huawei.com/Ascend910 1", "did you mean huawei.com/Ascend910A or huawei.com/Ascend910C?",
         0},
        {"nvidia.com/something-else 1", "`topofit classes` lists the resources of nvidia.com", 0},
        {"gpu 1, nvidia.com/gpumen 1000", "did you mean nvidia.com/gpumem?", 2},
        {"example.com/rdma 1", "every node will do", 2},
        {"gpu 1", "fits", 2},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(harness_free) struct harness *harness = harness_new();
        AUTO_FREE char *text = NULL, *document = NULL;
        size_t kept;

        api_node(harness, "a", 1, 16384);
        api_node(harness, "b", 1, 16384);
        api_pod(harness, "p", cases[i].resource);
        text = explain(harness, "p", VIEW_TEXT, &kept);
        assert_contains(text, cases[i].told);
        assert_int_equal(kept, cases[i].kept);
        document = explain(harness, "p", VIEW_JSON, &kept);
        assert_contains(document, cases[i].told);
        assert_int_equal(strstr(text, "is of no class") != NULL, i < 4);
    }
}

static void test_explain_pod__an_annotation_of_ours_that_nobody_reads_is_told(void **state)
{
    AUTO(harness_free) struct harness *harness = four_nodes();
    AUTO_FREE char *text = NULL;
    size_t kept;

    (void)state;
    api_pod(harness, "p", "gpu 1",
            .annotations = {"topofit.io/topologi", "hard", "topofit.io/isolation", "shared"});
    text = explain(harness, "p", VIEW_TEXT, &kept);
    assert_contains(text, "topofit.io/topologi is no annotation that is read; did you mean "
                          "topofit.io/topology?");
    assert_null(strstr(text, "isolation is no"));
}

/* --- only what is so ------------------------------------------------------------------------- */

static json_t *first_node(const char *text, json_t **view)
{
    *view = json_loads(text, 0, NULL);
    return json_array_get(json_object_get(*view, "nodes"), 0);
}

static void
test_explain_pod__links_are_told_only_where_there_are_some_and_they_are_known(void **state)
{
    static const struct {
        const char *wants, *mode, *links;
        bool told;
    } cases[] = {{"gpu 2", "soft", "0-1", true},
                 {"gpu 1", "soft", "0-1", false},
                 {"gpu 1; gpu 1", "soft", "0-1", false},
                 {"gpu 2", "off", "0-1", false},
                 {"gpu 2", "soft", NULL, false}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(harness_free) struct harness *harness = harness_new();
        AUTO_FREE char *text = NULL, *document = NULL;
        const json_t *tier;
        size_t kept;
        json_t *view;

        api_node(harness, "n", 4, 16384, .links = cases[i].links);
        api_pod(harness, "p", cases[i].wants,
                .annotations = {"topofit.io/topology", cases[i].mode});
        text = explain(harness, "p", VIEW_TEXT, &kept);
        document = explain(harness, "p", VIEW_JSON, &kept);
        assert_int_equal(strstr(text, "link quality") != NULL, cases[i].told);
        assert_int_equal(strstr(text, "-     fits    -") == NULL, cases[i].told);
        tier = json_object_get(first_node(document, &view), "tier");
        assert_int_equal(json_is_null(tier), !cases[i].told); /* a macro: it looks twice */
        json_decref(view);
    }
}

static void test_explain_pod__a_node_that_is_unschedulable_fits_with_a_remark(void **state)
{
    AUTO(harness_free) struct harness *harness = four_nodes();
    AUTO_FREE char *text = NULL;
    size_t kept;

    (void)state;
    json_object_set_new(api_node_json(harness, "slow"), "spec",
                        json_pack("{s:b}", "unschedulable", 1));
    watch_node(harness, "slow");
    text = explain(harness, "p", VIEW_TEXT, &kept);
    assert_int_equal(kept, 2);
    assert_contains(text, "fits           the node is unschedulable");
}

static void test_explain_pod__a_partition_has_its_profile_and_place(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    AUTO_FREE char *text = NULL, *document = NULL;
    const json_t *item;
    size_t kept;
    json_t *view;

    (void)state;
    api_node(harness, "n", 1, 40960);
    json_object_set_new(
        json_object_get(json_object_get(api_node_json(harness, "n"), "metadata"), "annotations"),
        "topofit.io/inventory",
        json_string("{\"devices\":[{\"id\":\"GPU-0\",\"product\":\"NVIDIA A100-SXM4-40GB\","
                    "\"memoryMiB\":40960,\"slots\":7,\"partitions\":true}]}"));
    watch_node(harness, "n");
    api_pod(harness, "p", "nvidia.com/mig-3g.20gb 1");
    text = explain(harness, "p", VIEW_TEXT, &kept);
    assert_int_equal(kept, 1);
    assert_contains(text, "0 (3g.20gb at 4)");
    document = explain(harness, "p", VIEW_JSON, &kept);
    item = json_array_get(
        json_object_get(json_object_get(first_node(document, &view), "partitions"), "c0"), 0);
    assert_string_equal(json_string_value(json_object_get(item, "profile")), "3g.20gb");
    assert_int_equal(json_integer_value(json_object_get(item, "start")), 4);
    json_decref(view);
}

/* Graded: what is best in itself by the criteria need not have the best grade. */
static void test_explain_pod__rows_stand_in_the_order_of_their_scores(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    AUTO_FREE char *text = NULL, *document = NULL;
    json_int_t before = 10;
    size_t kept, i;
    const json_t *item;
    json_t *view;

    (void)state;
    for (i = 0; i < 8; i++) {
        char name[8];

        snprintf(name, sizeof name, "n%zu", i);
        api_node(harness, name, (unsigned)i + 1, 16384, .links = i % 2 ? "0-1" : NULL);
    }
    harness->extender.options.policy.scores = RANK_GRADED;
    api_pod(harness, "p", "gpu 1, mem 4000");
    document = explain(harness, "p", VIEW_JSON, &kept);
    view = json_loads(document, 0, NULL);
    json_array_foreach(json_object_get(view, "nodes"), i, item)
    {
        assert_true(json_integer_value(json_object_get(item, "score")) <= before);
        before = json_integer_value(json_object_get(item, "score"));
    }
    json_decref(view);
    text = explain_columns(harness, "p", VIEW_TEXT, EXPLAIN_CRITERIA, &kept);
    assert_contains(text, "packing.scores is graded");
    assert_null(strstr(text, "in which nodes differ decides"));
}

static void test_explain_pod__does_nothing(void **state)
{
    AUTO(harness_free) struct harness *harness = four_nodes();
    AUTO_FREE char *text = NULL;
    struct decision decision;
    size_t kept;

    (void)state;
    text = explain(harness, "p", VIEW_TEXT, &kept);
    assert_int_equal(used_mib(harness, "linked"), 0);
    assert_false(history_find(harness->extender.history, "default", "p", &decision));
}

static void test_explain_pod__an_empty_cluster_is_no_node(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    static const char *const wants[] = {"gpu 1", "none"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
        for (unsigned format = VIEW_JSON; format <= VIEW_TEXT; format++) {
            AUTO_FREE char *text = NULL;
            size_t kept;

            api_pod(harness, "p", wants[i]);
            text = explain(harness, "p", (enum view_format)format, &kept);
            assert_int_equal(kept, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_explain_pod__shows_the_best_node_first_with_the_devices_of_each_container),
        cmocka_unit_test(test_explain_pod__names_the_reason_of_each_refused_node),
        cmocka_unit_test(test_explain_pod__the_table_has_indices_of_devices_and_scores),
        cmocka_unit_test(test_explain_pod__the_table_tells_the_devices_of_each_container_apart),
        cmocka_unit_test(test_explain_pod__an_unreadable_request_fits_nowhere_and_says_why),
        cmocka_unit_test(test_explain_pod__a_pod_without_devices_fits_everywhere_in_both_formats),
        cmocka_unit_test(test_explain_pod__criteria_show_what_decides_between_nodes),
        cmocka_unit_test(test_explain_pod__criteria_are_those_of_the_pods_policy_in_its_order),
        cmocka_unit_test(test_explain_pod__a_document_has_the_policy_and_its_criteria),
        cmocka_unit_test(test_explain_pod__a_resource_of_no_class_is_told_with_the_nearest),
        cmocka_unit_test(test_explain_pod__an_annotation_of_ours_that_nobody_reads_is_told),
        cmocka_unit_test(
            test_explain_pod__links_are_told_only_where_there_are_some_and_they_are_known),
        cmocka_unit_test(test_explain_pod__a_node_that_is_unschedulable_fits_with_a_remark),
        cmocka_unit_test(test_explain_pod__a_partition_has_its_profile_and_place),
        cmocka_unit_test(test_explain_pod__rows_stand_in_the_order_of_their_scores),
        cmocka_unit_test(test_explain_pod__does_nothing),
        cmocka_unit_test(test_explain_pod__an_empty_cluster_is_no_node),
    };

    return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
