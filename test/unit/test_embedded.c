/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/class.h"
#include "topofit/embedded.h"

#define INVENTORY "{\"devices\":[{\"id\":\"G0\",\"memoryMiB\":16384}]}"
#define NODE_JSON(name) \
    "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"" name \
    "\",\"annotations\":{\"topofit.io/inventory\":" \
    "\"{\\\"devices\\\":[{\\\"id\\\":\\\"G0\\\",\\\"memoryMiB\\\":16384}]}\"}}}"
#define POD_JSON(name) \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name \
    "\",\"namespace\":\"ml\",\"uid\":\"u-" name "\"},\"spec\":{\"containers\":[{\"name\":\"c\"," \
    "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}"
#define NODE_YAML \
    "apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\n  annotations:\n" \
    "    topofit.io/inventory: '" INVENTORY "'\n"
#define POD_YAML \
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec:\n  containers:\n  - name: c\n" \
    "    resources:\n      limits:\n        nvidia.com/gpu: 1\n"

struct world {
    struct cluster *cluster;
    struct class_table classes;
    struct embedded_port embedded;
    struct bind_port port;
};

static struct world *world_new(void)
{
    static const struct hash_key key = {{1, 2}};
    struct world *world = xcalloc(1, sizeof *world);

    classes_builtin(&world->classes);
    world->cluster = cluster_new(&key);
    world->embedded = (struct embedded_port){world->cluster, &world->classes};
    world->port = embedded_bind_port(&world->embedded);
    return world;
}

static void world_free(struct world **place)
{
    struct world *world = *place;

    cluster_check(world->cluster);
    cluster_free(world->cluster);
    class_table_clear(&world->classes);
    mem_free_pointer(&world);
}

static int read_text(struct world *world, const char *text, struct error *err)
{
    return embedded_read(world->cluster, &world->classes, text, strlen(text), err);
}

/* "n1" for one node n1, "n1,n2 ml/p" for two nodes and a pod. */
static void expect_content(struct world *world, const char *expected)
{
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(world->cluster);
    AUTO(buf_clear) struct buf got = buf_with_max(1000);
    size_t count = 0;
    AUTO_FREE struct pod **pods = cluster_pods(world->cluster, &count);

    for (size_t i = 0; i < snapshot->count; i++)
        buf_addf(&got, "%s%s", i > 0 ? "," : "", snapshot_state(snapshot, i)->node->name);
    for (size_t i = 0; i < count; i++) {
        buf_addf(&got, " %s/%s", pods[i]->namespace, pods[i]->name);
        pod_unref(pods[i]);
    }
    assert_string_equal(buf_text(&got), expected);
}

/* --- reading --------------------------------------------------------------------------------- */

static void test_embedded_read__takes_lists_and_documents_in_yaml_and_json(void **state)
{
    static const struct {
        const char *text, *content;
    } cases[] = {
        {"{\"kind\":\"List\",\"items\":[" NODE_JSON("n2") "," POD_JSON("p") "," NODE_JSON(
             "n1") "]}",
         "n1,n2 ml/p"},
        {"  \n\t" NODE_JSON("n1"), "n1"},
        {NODE_YAML, "n1"},
        {NODE_YAML "---\n# nothing\n---\n" POD_YAML "---\n", "n1 default/p"},
        {NODE_YAML "---\n" POD_YAML, "n1 default/p"},
        {"---\n" POD_YAML "---\n" NODE_YAML "...\n", "n1 default/p"},
        {"kind: List\nitems:\n- kind: Node\n  metadata: {name: n1}\n"
         "- {kind: ConfigMap, metadata: {name: x}}\n",
         "n1"},
        {"kind: NodeList\nitems:\n- metadata: {name: n1}\n", "n1"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(world_free) struct world *world = world_new();
        struct error err = {0};

        assert_ok(read_text(world, cases[i].text, &err), &err);
        assert_true(cluster_is_synced(world->cluster));
        expect_content(world, cases[i].content);
    }
}

static void test_embedded_read__takes_the_demo_cluster(void **state)
{
    AUTO(world_free) struct world *world = world_new();
    AUTO_FREE char *text =
        test_read_file(TEST_DATA "/../../deploy/examples/demo-cluster.yaml", NULL);
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = NULL;
    struct error err = {0};

    (void)state;
    assert_ok(read_text(world, text, &err), &err);
    snapshot = cluster_snapshot(world->cluster);
    assert_true(snapshot->count >= 4);
    for (size_t i = 0; i < snapshot->count; i++) {
        assert_null(snapshot_state(snapshot, i)->node->problem);
        assert_true(snapshot_state(snapshot, i)->node->device_count > 0);
    }
}

static void test_embedded_read__says_where_it_stopped_and_changes_nothing(void **state)
{
    static const struct {
        const char *text, *place;
    } cases[] = {
        {"", "no node in it"},
        {"\n---\n", ""},
        {"kind: ConfigMap\nmetadata: {name: x}\n", "no node in it"},
        {POD_YAML, "no node in it; may you list nodes?"},
        {"just words\n", "line 1, column 1"},
        {NODE_YAML "---\n- a list\n", "line 8"},
        {"kind: Node\nmetadata: {name: [}\n", "line 2"},
        {"kind: Node\nmetadata:\n  name: a\n  name: b\n", "line 4"},
        {"kind: Node\nmetadata: &a {name: n}\nspec: *a\n", "line 2"},
        {NODE_YAML "---\nkind: Pod\nmetadata: {}\n", "line 8"},
        {"{\"kind\":\"List\",\"items\":[" NODE_JSON("n2") ",{]}", "byte"},
        {"{\"kind\":\"List\",\"items\":[" NODE_JSON("n2"), "byte"},
        {"{}", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(world_free) struct world *world = world_new();
        struct error err = {0};

        assert_true(read_text(world, cases[i].text, &err) < 0);
        assert_int_equal(err.code, ERR_INVALID);
        assert_contains(err.text, cases[i].place);
        assert_false(cluster_is_synced(world->cluster));
        expect_content(world, "");
    }
}

static void test_embedded_read__keeps_a_node_whose_inventory_is_broken(void **state)
{
    AUTO(world_free) struct world *world = world_new();
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = NULL;
    struct error err = {0};

    (void)state;
    assert_ok(read_text(world,
                        "kind: Node\nmetadata:\n  name: n1\n  annotations:\n"
                        "    topofit.io/inventory: no JSON\n",
                        &err),
              &err);
    snapshot = cluster_snapshot(world->cluster);
    assert_int_equal(snapshot->count, 1);
    assert_contains(snapshot_state(snapshot, 0)->node->problem, "topofit.io/inventory: line 1");
}

static void test_embedded_read__gives_pods_the_namespace_and_uid_that_a_file_may_lack(void **state)
{
    AUTO(world_free) struct world *world = world_new();
    AUTO(pod_unref_pointer) struct pod *pod = NULL;
    struct error err = {0};

    (void)state;
    assert_ok(read_text(world, NODE_YAML "---\n" POD_YAML, &err), &err);
    pod = cluster_find_pod(world->cluster, "default", "p");
    assert_non_null(pod);
    assert_string_equal(pod->uid, "default/p");
}

static void test_embedded_read__takes_no_pod_from_what_would_make_pods(void **state)
{
    AUTO(world_free) struct world *world = world_new();
    struct error err = {0};

    (void)state;
    assert_ok(read_text(world,
                        NODE_YAML "---\nkind: Deployment\nmetadata: {name: d}\nspec:\n"
                                  "  template:\n    spec:\n      containers: [{name: c}]\n",
                        &err),
              &err);
    assert_null(cluster_find_pod(world->cluster, "default", "d"));
}

/* --- each object ----------------------------------------------------------------------------- */

static void count_object(void *ctx, struct kube_object *object)
{
    unsigned *counts = ctx;

    counts[object->kind]++;
}

static void test_embedded_each_object__hands_out_nodes_and_pods_alone(void **state)
{
    static const char text[] =
        NODE_YAML "---\n" POD_YAML "---\nkind: Secret\nmetadata: {name: s}\n";
    unsigned counts[2] = {0};
    struct error err = {0};

    (void)state;
    assert_ok(embedded_each_object(text, strlen(text), count_object, counts, &err), &err);
    assert_int_equal(counts[KUBE_NODE], 1);
    assert_int_equal(counts[KUBE_POD], 1);
}

/* --- binding --------------------------------------------------------------------------------- */

#define RECORD \
    "{\"version\":1,\"node\":\"n1\",\"tier\":0,\"degraded\":false,\"containers\":[{\"name\":" \
    "\"c\"," \
    "\"kind\":\"app\",\"devices\":[{\"id\":\"G0\",\"memoryMiB\":16384,\"cores\":100," \
    "\"slots\":1,\"mode\":\"shared\"}]}]}"

static void note_end(void *ctx, enum bind_outcome outcome, const char *text)
{
    assert_int_equal(outcome, BIND_BOUND);
    assert_string_equal(text, "");
    ++*(unsigned *)ctx;
}

static void submit(struct world *world, const char *name, const char *uid, unsigned *ends)
{
    struct bind_job *job = bind_job_new("default", name, uid, "n1");
    struct error err = {0};

    bind_job_add_annotation(job, "topofit.io/allocation", RECORD);
    job->done = note_end;
    job->ctx = ends;
    assert_ok(world->port.submit(world->port.ctx, job, &err), &err);
}

static void test_embedded_bind_port__binds_at_once_with_the_record(void **state)
{
    AUTO(world_free) struct world *world = world_new();
    AUTO(pod_unref_pointer) struct pod *pod = NULL;
    AUTO(holding_view_clear) struct holding_view holding = {0};
    struct error err = {0};
    unsigned ends = 0;

    (void)state;
    assert_ok(read_text(world, NODE_YAML "---\n" POD_YAML, &err), &err);
    submit(world, "p", "default/p", &ends);
    assert_int_equal(ends, 1);
    pod = cluster_find_pod(world->cluster, "default", "p");
    assert_string_equal(pod->node, "n1");
    assert_true(cluster_find_holding(world->cluster, "default/p", &holding));
    assert_int_equal(holding.state, HOLDING_BOUND);
    assert_string_equal(holding.allocation.containers[0].devices[0].id, "G0");
    assert_int_equal(pod->request.ask_count, 1);
}

static void test_embedded_bind_port__a_pod_that_is_not_in_the_dump_is_bound_as_well(void **state)
{
    static const char *const uids[] = {"uid-of-another", "default/p"};
    static const char *const names[] = {"p", "stranger"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(uids); i++) {
        AUTO(world_free) struct world *world = world_new();
        AUTO(pod_unref_pointer) struct pod *pod = NULL;
        struct error err = {0};
        unsigned ends = 0;

        assert_ok(read_text(world, NODE_YAML "---\n" POD_YAML, &err), &err);
        submit(world, names[i], uids[i], &ends);
        assert_int_equal(ends, 1);
        pod = cluster_find_pod(world->cluster, "default", "p");
        assert_string_equal(pod->node, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_embedded_read__takes_lists_and_documents_in_yaml_and_json),
        cmocka_unit_test(test_embedded_read__takes_the_demo_cluster),
        cmocka_unit_test(test_embedded_read__says_where_it_stopped_and_changes_nothing),
        cmocka_unit_test(test_embedded_read__keeps_a_node_whose_inventory_is_broken),
        cmocka_unit_test(test_embedded_read__gives_pods_the_namespace_and_uid_that_a_file_may_lack),
        cmocka_unit_test(test_embedded_read__takes_no_pod_from_what_would_make_pods),
        cmocka_unit_test(test_embedded_each_object__hands_out_nodes_and_pods_alone),
        cmocka_unit_test(test_embedded_bind_port__binds_at_once_with_the_record),
        cmocka_unit_test(test_embedded_bind_port__a_pod_that_is_not_in_the_dump_is_bound_as_well),
    };

    return cmocka_run_group_tests_name("embedded", tests, NULL, NULL);
}
