/* SPDX-License-Identifier: Apache-2.0 */
#include "support/harness.h"

#include "topofit/views.h"

#include <stdlib.h>

#define MATRIX \
    "     GPU0 GPU1 GPU2 GPU3 NUMA\n" \
    "GPU0 X    NV4  NODE SYS  0\n" \
    "GPU1 NV4  X    NODE SYS  0\n" \
    "GPU2 NODE NODE X    SYS  0\n" \
    "GPU3 SYS  SYS  SYS  X    1\n"

/* n1 with four devices in four states, and n2 that has none. */
static struct harness *lived_in(void)
{
    struct harness *harness = harness_new();

    api_node(harness, "n1", 4, 16384, .topology = MATRIX, .product = "Model M", .unhealthy = "2",
             .cordoned = "GPU-n1-3");
    api_node(harness, "n2", 0, 0);
    api_pod(harness, "a", "gpu 1, mem 1000, cores 30",
            .annotations = {"topofit.io/use-devices", "GPU-n1-1"});
    place(harness, "a", "n1");
    api_pod(harness, "waits", "gpu 3, mem 2000");
    api_pod(harness, "cpu", "none");
    expect_kept(harness, "waits", "n1 n2", "");
    return harness;
}

typedef void (*list_fn)(struct extender *extender, struct moment now, enum view_format format,
                        struct buf *out);

static json_t *list_json(struct harness *harness, list_fn view)
{
    AUTO(buf_clear) struct buf out = buf_with_max(1 << 20);
    json_t *json;

    view(&harness->extender, (struct moment){.unix_ms = 1780000000000}, VIEW_JSON, &out);
    json = json_loads(buf_text(&out), JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    return json;
}

static char *list_text(struct harness *harness, list_fn view)
{
    AUTO(buf_clear) struct buf out = buf_with_max(1 << 20);

    view(&harness->extender, (struct moment){0}, VIEW_TEXT, &out);
    return buf_steal(&out);
}

/* "devices.idle" of an object. Borrowed. */
static const json_t *at(const json_t *json, const char *path)
{
    char word[64];

    while (json != NULL && *path != '\0') {
        size_t length = strcspn(path, ".");

        snprintf(word, sizeof word, "%.*s", (int)length, path);
        json = json_is_array(json) ? json_array_get(json, strtoul(word, NULL, 10))
                                   : json_object_get(json, word);
        path += length + (path[length] == '.');
    }
    return json;
}

static void expect_number(const json_t *json, const char *path, long long number)
{
    if (!json_is_integer(at(json, path)))
        fail_msg("%s is no number", path);
    if (json_integer_value(at(json, path)) != number)
        fail_msg("%s is %lld, not %lld", path, (long long)json_integer_value(at(json, path)),
                 number);
}

static void expect_text(const json_t *json, const char *path, const char *text)
{
    if (!json_is_string(at(json, path)))
        fail_msg("%s is no text", path);
    assert_string_equal(json_string_value(at(json, path)), text);
}

/* --- nodes ----------------------------------------------------------------------------------- */

static void test_view_nodes__counts_each_device_once_by_its_state(void **state)
{
    AUTO(harness_free) struct harness *harness = lived_in();
    json_t *view = list_json(harness, view_nodes);

    (void)state;
    expect_text(view, "kind", "NodeList");
    expect_text(view, "generatedAt", "2026-05-28T20:26:40Z");
    assert_int_equal(json_array_size(at(view, "items")), 2);
    expect_text(view, "items.0.name", "n1");
    expect_text(view, "items.0.product", "Model M");
    expect_text(view, "items.0.topology", "links+numa");
    expect_number(view, "items.0.devices.total", 4);
    expect_number(view, "items.0.devices.idle", 1);
    expect_number(view, "items.0.devices.inUse", 1);
    expect_number(view, "items.0.devices.unhealthy", 1);
    expect_number(view, "items.0.devices.cordoned", 1);
    expect_number(view, "items.1.devices.total", 0);
    json_decref(view);
}

static void test_view_nodes__the_table_has_a_line_for_each_node(void **state)
{
    AUTO(harness_free) struct harness *harness = lived_in();
    AUTO_FREE char *text = list_text(harness, view_nodes);

    (void)state;
    assert_contains(text, "NODE  PRODUCT  GPUS  IDLE  IN USE  OTHER");
    assert_contains(text,
                    "\nn1    Model M  4     1     1       1 unhealthy, 1 cordoned  links+numa");
    assert_contains(text, "\nn2    -        0");
}

static void test_view_node__shows_who_holds_what_of_each_device(void **state)
{
    AUTO(harness_free) struct harness *harness = lived_in();
    json_t *view = node_view(harness, "n1");

    (void)state;
    expect_text(view, "kind", "Node");
    expect_text(view, "devices.1.state", "in use");
    expect_text(view, "devices.1.isolation", "soft");
    expect_number(view, "devices.1.memoryMiB.used", 1000);
    expect_number(view, "devices.1.memoryMiB.total", 16384);
    expect_number(view, "devices.1.cores.used", 30);
    expect_number(view, "devices.1.slots.used", 1);
    expect_text(view, "devices.1.pods.0.name", "a");
    expect_text(view, "devices.1.pods.0.uid", "uid-a");
    expect_text(view, "devices.1.pods.0.state", "bound");
    expect_number(view, "devices.1.pods.0.memoryMiB", 1000);
    assert_int_equal(json_array_size(at(view, "devices.0.pods")), 0);
    expect_text(view, "devices.2.state", "unhealthy");
    expect_text(view, "devices.3.state", "cordoned");
    expect_number(view, "devices.3.numa", 1);
    expect_number(view, "summary.total", 4);
    json_decref(view);
}

static void test_view_node__shows_links_as_they_were_reported(void **state)
{
    AUTO(harness_free) struct harness *harness = lived_in();
    json_t *view = node_view(harness, "n1");
    AUTO(buf_clear) struct buf out = buf_with_max(1 << 20);
    struct error err = {0};

    (void)state;
    expect_text(view, "links.0.0", "X");
    expect_text(view, "links.0.1", "NV4");
    expect_text(view, "links.1.0", "NV4");
    expect_text(view, "links.2.3", "SYS");
    json_decref(view);
    assert_ok(view_node(&harness->extender, "n1", (struct moment){0}, VIEW_TEXT, &out, &err), &err);
    assert_contains(buf_text(&out), "      GPU0  GPU1  GPU2  GPU3  NUMA  STATE");
    assert_contains(buf_text(&out), "\nGPU0  X     NV4   NODE  SYS   0     idle");
    assert_contains(buf_text(&out), "default/a (1000 MiB, 30 cores)");
}

static void test_view_node__says_what_could_not_be_read(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    json_t *view;

    (void)state;
    api_node(harness, "n1", 2, 16384, .topology = "no matrix");
    view = node_view(harness, "n1");
    assert_contains(json_string_value(at(view, "problem")), "topofit.io/topology");
    expect_text(view, "links.0.1", "unknown");
    json_decref(view);
}

/* A record that does not say whose it is: another tool wrote it. */
#define FOREIGN_RECORD \
    "{\"version\":1,\"node\":\"n1\",\"tier\":0,\"containers\":[{\"name\":\"c0\",\"kind\":\"app\"," \
    "\"devices\":[{\"id\":\"GPU-n1-0\",\"memoryMiB\":16384,\"cores\":100,\"slots\":1," \
    "\"mode\":\"shared\"}]}]}"

static void test_view_node__a_contradiction_of_records_shows_as_a_conflict(void **state)
{
    AUTO(harness_free) struct harness *harness = lived_in();
    json_t *view;

    (void)state;
    api_pod(harness, "b", "gpu 1", .annotations = {"topofit.io/use-devices", "GPU-n1-0"});
    place(harness, "b", "n1");
    api_pod(harness, "other", "gpu 1", .node = "n1",
            .annotations = {"topofit.io/allocation", FOREIGN_RECORD});
    view = node_view(harness, "n1");
    expect_text(view, "devices.0.state", "conflicted");
    expect_number(view, "summary.conflicted", 1);
    assert_int_equal(json_array_size(at(view, "devices.0.pods")), 2);
    json_decref(view);
}

static void test_view_node__a_record_copied_from_another_pod_tells_nothing(void **state)
{
    AUTO(harness_free) struct harness *harness = lived_in();
    const char *record;
    json_t *view;

    (void)state;
    api_pod(harness, "b", "gpu 1", .annotations = {"topofit.io/use-devices", "GPU-n1-0"});
    place(harness, "b", "n1");
    record = json_string_value(json_object_get(
        at(api_pod_json(harness, "b"), "metadata.annotations"), "topofit.io/allocation"));
    api_pod(harness, "copy", "gpu 1", .node = "n1",
            .annotations = {"topofit.io/allocation", record});
    view = node_view(harness, "n1");
    expect_text(view, "devices.0.state", "in use");
    expect_number(view, "summary.unattributed", 1);
    json_decref(view);
}

static void test_view_node__one_that_is_not_known_is_an_error(void **state)
{
    AUTO(harness_free) struct harness *harness = lived_in();
    AUTO(buf_clear) struct buf out = buf_with_max(1 << 20);
    struct error err = {0};

    (void)state;
    assert_true(view_node(&harness->extender, "ghost", (struct moment){0}, VIEW_JSON, &out, &err) <
                0);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_contains(err.text, "ghost");
}

/* --- pods ------------------------------------------------------------------------------------ */

static void test_view_pod__a_placed_pod_has_its_placement_and_no_reasons(void **state)
{
    AUTO(harness_free) struct harness *harness = lived_in();
    json_t *view = pod_view(harness, "a");

    (void)state;
    expect_text(view, "kind", "Pod");
    expect_text(view, "phase", "bound");
    expect_text(view, "placement.node", "n1");
    expect_text(view, "placement.containers.c0.0", "GPU-n1-1");
    expect_number(view, "placement.tier", 0);
    expect_number(view, "request.0.count", 1);
    expect_number(view, "request.0.memoryMiB", 1000);
    expect_number(view, "request.0.cores", 30);
    assert_null(at(view, "reasons"));
    json_decref(view);
}

static void test_view_pod__a_pod_nobody_asked_about_says_so(void **state)
{
    AUTO(harness_free) struct harness *harness = lived_in();
    AUTO(buf_clear) struct buf text = buf_with_max(1 << 20);
    struct error err = {0};

    (void)state;
    api_pod(harness, "fresh", "gpu 1");
    assert_ok(view_pod(&harness->extender, "default", "fresh", (struct moment){0}, VIEW_TEXT, &text,
                       &err),
              &err);
    assert_contains(buf_text(&text), "why:      not asked about yet\n");
}

static void test_view_pod__a_waiting_pod_has_a_reason_and_numbers_for_each_node(void **state)
{
    AUTO(harness_free) struct harness *harness = lived_in();
    json_t *view = pod_view(harness, "waits");

    (void)state;
    expect_text(view, "phase", "pending");
    assert_null(at(view, "placement"));
    assert_int_equal(json_array_size(at(view, "reasons")), 2);
    expect_text(view, "reasons.0.node", "n1");
    expect_text(view, "reasons.1.reason", "NoInventory");
    assert_contains(json_string_value(at(view, "reasons.0.detail")), "3 wanted, 2 usable");
    assert_contains(json_string_value(at(view, "why")), "0 of 2 nodes fit");
    expect_number(view, "lastDecision.considered", 2);
    expect_number(view, "lastDecision.attempts", 1);
    json_decref(view);
}

static void test_view_pod__the_text_tells_the_same(void **state)
{
    AUTO(harness_free) struct harness *harness = lived_in();
    AUTO(buf_clear) struct buf placed = buf_with_max(1 << 20), waiting = buf_with_max(1 << 20);
    struct error err = {0};

    (void)state;
    assert_ok(
        view_pod(&harness->extender, "default", "a", (struct moment){0}, VIEW_TEXT, &placed, &err),
        &err);
    assert_contains(buf_text(&placed), "node:     n1\ngpus:     GPU-n1-1\n");
    assert_ok(view_pod(&harness->extender, "default", "waits", (struct moment){0}, VIEW_TEXT,
                       &waiting, &err),
              &err);
    assert_contains(buf_text(&waiting), "request:  3 nvidia x 2000 MiB\n");
    assert_contains(buf_text(&waiting), "3 wanted, 2 usable");
}

static void test_view_pod__a_pod_that_only_filter_has_seen_is_shown(void **state)
{
    AUTO(harness_free) struct harness *harness = lived_in();
    json_t *view;

    (void)state;
    api_pod(harness, "fresh", "gpu 9", .unseen = true);
    expect_refused(harness, "fresh", "n1");
    view = pod_view(harness, "fresh");
    assert_int_equal(json_array_size(at(view, "reasons")), 1);
    json_decref(view);
}

static void test_view_pod__an_unreadable_request_and_an_unreadable_record_are_told(void **state)
{
    AUTO(harness_free) struct harness *harness = lived_in();
    json_t *view;

    (void)state;
    api_pod(harness, "bad", "gpu 1, mem -1");
    view = pod_view(harness, "bad");
    assert_contains(json_string_value(at(view, "why")), "nvidia.com/gpumem");
    json_decref(view);
    api_pod(harness, "torn", "gpu 1", .node = "n1",
            .annotations = {"topofit.io/allocation", "{\"version\":1"});
    view = pod_view(harness, "torn");
    assert_contains(json_string_value(at(view, "recordProblem")), "topofit.io/allocation");
    assert_null(at(view, "placement"));
    json_decref(view);
}

static void test_view_pod__one_that_is_not_known_is_an_error(void **state)
{
    AUTO(harness_free) struct harness *harness = lived_in();
    AUTO(buf_clear) struct buf out = buf_with_max(1 << 20);
    struct error err = {0};

    (void)state;
    assert_true(view_pod(&harness->extender, "default", "ghost", (struct moment){0}, VIEW_TEXT,
                         &out, &err) < 0);
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

static void test_view_pods__lists_those_that_ask_for_or_hold_devices(void **state)
{
    AUTO(harness_free) struct harness *harness = lived_in();
    json_t *view = list_json(harness, view_pods);
    AUTO_FREE char *text = list_text(harness, view_pods);

    (void)state;
    assert_int_equal(json_array_size(at(view, "items")), 2);
    expect_text(view, "items.0.name", "a");
    expect_text(view, "items.1.name", "waits");
    json_decref(view);
    assert_contains(text,
                    "\ndefault    a      bound    1 nvidia x 1000 MiB x 30 cores  n1    GPU-n1-1");
    assert_contains(text, "\ndefault    waits  pending  3 nvidia x 2000 MiB");
    assert_null(strstr(text, "cpu"));
}

static void test_view_pod__a_binding_on_its_way_is_reserved_and_a_lost_one_unknown(void **state)
{
    AUTO(harness_free) struct harness *harness = lived_in();
    json_t *view;

    (void)state;
    harness->port = PORT_HOLDS;
    api_pod(harness, "b", "gpu 1, mem 1000");
    ask_bind(harness, "b", "n1");
    view = pod_view(harness, "b");
    expect_text(view, "phase", "reserved");
    expect_text(view, "placement.node", "n1");
    json_decref(view);
    end_job(harness, BIND_UNCLEAR, "lost");
    view = pod_view(harness, "b");
    expect_text(view, "phase", "unknown");
    json_decref(view);
}

static void
test_view_pod__a_binding_on_its_way_is_shown_before_the_watch_shows_the_pod(void **state)
{
    AUTO(harness_free) struct harness *harness = lived_in();
    json_t *view;

    (void)state;
    harness->port = PORT_HOLDS;
    api_pod(harness, "unseen", "gpu 1, mem 1000", .unseen = true);
    expect_kept(harness, "unseen", "n1", "n1");
    ask_bind(harness, "unseen", "n1");
    view = pod_view(harness, "unseen");
    expect_text(view, "placement.containers.c0.0", "GPU-n1-1");
    json_decref(view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_view_nodes__counts_each_device_once_by_its_state),
        cmocka_unit_test(test_view_nodes__the_table_has_a_line_for_each_node),
        cmocka_unit_test(test_view_node__shows_who_holds_what_of_each_device),
        cmocka_unit_test(test_view_node__shows_links_as_they_were_reported),
        cmocka_unit_test(test_view_node__says_what_could_not_be_read),
        cmocka_unit_test(test_view_node__a_contradiction_of_records_shows_as_a_conflict),
        cmocka_unit_test(test_view_node__a_record_copied_from_another_pod_tells_nothing),
        cmocka_unit_test(test_view_node__one_that_is_not_known_is_an_error),
        cmocka_unit_test(test_view_pod__a_placed_pod_has_its_placement_and_no_reasons),
        cmocka_unit_test(test_view_pod__a_pod_nobody_asked_about_says_so),
        cmocka_unit_test(test_view_pod__a_waiting_pod_has_a_reason_and_numbers_for_each_node),
        cmocka_unit_test(test_view_pod__the_text_tells_the_same),
        cmocka_unit_test(test_view_pod__a_pod_that_only_filter_has_seen_is_shown),
        cmocka_unit_test(test_view_pod__an_unreadable_request_and_an_unreadable_record_are_told),
        cmocka_unit_test(test_view_pod__one_that_is_not_known_is_an_error),
        cmocka_unit_test(test_view_pods__lists_those_that_ask_for_or_hold_devices),
        cmocka_unit_test(test_view_pod__a_binding_on_its_way_is_reserved_and_a_lost_one_unknown),
        cmocka_unit_test(
            test_view_pod__a_binding_on_its_way_is_shown_before_the_watch_shows_the_pod),
    };

    return cmocka_run_group_tests_name("views", tests, NULL, NULL);
}
