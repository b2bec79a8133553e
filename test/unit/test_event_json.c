/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/event_json.h"
#include "topofit/kube_path.h"

#include <stdlib.h>

#define FIRST_UNIX_MS 1767225600123u /* 2026-01-01T00:00:00.123Z */
#define STAMP (FIRST_UNIX_MS * 1000000u)
#define POD(name) {KUBE_POD, "default", name, "6f1c2b0e-0000-4000-8000-000000000001"}

static const struct event_reporter reporter = {"topofit.io/extender", "control-plane-1_7f3a"};

static const struct event_times once = {1, FIRST_UNIX_MS, FIRST_UNIX_MS};
static const struct event_times often = {3, FIRST_UNIX_MS, FIRST_UNIX_MS + 61000};

static const struct cluster_event refused = {
    true, "GPUsRefused", "Filtering", "no node fits: 3 not enough free GPUs", POD("train-0")};
static const struct cluster_event on_node = {
    false, "GPUsFound", "Inventory", "8 GPUs", {KUBE_NODE, NULL, "n0", "n0-uid"}};

/* As long as can be, in every text, and with bytes that are no text. */
static char long_name[254], long_note[3000], long_word[300];
static const struct cluster_event longest = {
    true, long_word, long_word, long_note, {KUBE_POD, "default", long_name, "u"}};
static const struct event_reporter long_reporter = {"topofit.io/extender", long_word};

static int set_up(void **state)
{
    (void)state;
    memset(long_name, 'a', sizeof long_name - 1);
    memset(long_name + 200, '-', 50);
    memset(long_word, 'W', sizeof long_word - 1);
    for (size_t i = 0; i + 4 < sizeof long_note; i += 3)
        memcpy(long_note + i, i % 2 == 0 ? "\xc3\xa4\xff" : "\x01\"\\", 3);
    return 0;
}

static void write_create(const struct cluster_event *event, const struct event_times *times,
                         struct buf *out)
{
    char name[EVENT_NAME_BYTES];

    event_json_name(event->regarding.name, STAMP, name);
    event_json_write(out, event, name, event == &longest ? &long_reporter : &reporter, times);
}

/* --- what a real API server took ------------------------------------------------------------- */

/* Exchanges whose requests were written by this module. An event of NULL: the patch. */
static const struct exchange {
    const char *file;
    int status;
    const struct cluster_event *event;
    const struct event_times *times;
} exchanges[] = {
    {"event-create.txt", 201, &refused, &once},
    {"event-create-series.txt", 201, &refused, &often},
    {"event-create-node.txt", 201, &on_node, &once},
    {"event-create-longest.txt", 201, &longest, &often},
    {"event-count.txt", 200, NULL, &often},
};

static void write_exchange(const struct exchange *exchange, struct buf *out)
{
    if (exchange->event != NULL)
        write_create(exchange->event, exchange->times, out);
    else
        event_json_write_series(out, exchange->times);
}

static void test_bodies__are_byte_for_byte_what_a_real_server_took(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(exchanges); i++) {
        AUTO_FREE char *path = xasprintf(TEST_DATA "/captured/api/%s", exchanges[i].file);
        AUTO_FREE char *captured = test_read_file(path, NULL);
        AUTO_FREE char *answer = xasprintf("\n\n-> HTTP %d\n", exchanges[i].status);
        AUTO(buf_clear) struct buf body = buf_with_max(20000);
        char *request = strchr(captured, '\n') + 1;

        write_exchange(&exchanges[i], &body);
        assert_contains(request, answer);
        *strstr(request, answer) = '\0';
        assert_string_equal(buf_text(&body), request);
    }
}

/* --- one by one ------------------------------------------------------------------------------ */

static void test_event_json_write__says_who_what_when_and_of_what(void **state)
{
    AUTO(buf_clear) struct buf out = buf_with_max(10000);

    (void)state;
    event_json_write(&out, &refused, "train-0.1", &reporter, &once);
    assert_string_equal(
        buf_text(&out),
        "{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\",\"metadata\":{"
        "\"name\":\"train-0.1\",\"namespace\":\"default\"},"
        "\"eventTime\":\"2026-01-01T00:00:00.123000Z\","
        "\"reportingController\":\"topofit.io/extender\","
        "\"reportingInstance\":\"control-plane-1_7f3a\",\"action\":\"Filtering\","
        "\"reason\":\"GPUsRefused\",\"type\":\"Warning\",\"regarding\":{\"apiVersion\":\"v1\","
        "\"kind\":\"Pod\",\"name\":\"train-0\",\"namespace\":\"default\","
        "\"uid\":\"6f1c2b0e-0000-4000-8000-000000000001\"},"
        "\"note\":\"no node fits: 3 not enough free GPUs\"}");
}

static void test_event_json_write__of_a_node_stands_in_default(void **state)
{
    AUTO(buf_clear) struct buf out = buf_with_max(10000);

    (void)state;
    assert_string_equal(event_json_namespace(&on_node.regarding), "default");
    write_create(&on_node, &once, &out);
    assert_contains(buf_text(&out), "\"namespace\":\"default\"}");
    assert_contains(buf_text(&out), "\"regarding\":{\"apiVersion\":\"v1\",\"kind\":\"Node\","
                                    "\"name\":\"n0\",\"uid\":\"n0-uid\"}");
    assert_contains(buf_text(&out), "\"type\":\"Normal\"");
}

static void test_event_json_write__cuts_the_note_between_characters(void **state)
{
    AUTO(buf_clear) struct buf out = buf_with_max(10000);
    struct cluster_event event = refused;
    char note[1100], want[1100];

    (void)state;
    memset(note, 'x', EVENT_NOTE_MAX_BYTES - 1);
    memcpy(note + EVENT_NOTE_MAX_BYTES - 1, "\xc3\xa4more", 7);
    event.note = note;
    snprintf(want, sizeof want, "\"note\":\"%.*s\"}", EVENT_NOTE_MAX_BYTES - 1, note);
    write_create(&event, &once, &out);
    assert_contains(buf_text(&out), want);
}

static void test_event_json_write_series__counts_no_further_than_the_api_can(void **state)
{
    const struct event_times times = {UINT64_MAX, 0, FIRST_UNIX_MS};
    AUTO(buf_clear) struct buf out = buf_with_max(10000);

    (void)state;
    event_json_write_series(&out, &times);
    assert_string_equal(buf_text(&out), "{\"series\":{\"count\":2147483647,\"lastObservedTime\":"
                                        "\"2026-01-01T00:00:00.123000Z\"}}");
}

static void test_event_json_name__stays_a_name(void **state)
{
    char subject[300], name[EVENT_NAME_BYTES];

    (void)state;
    event_json_name("p1", 0x18bu, name);
    assert_string_equal(name, "p1.18b");
    for (size_t length = 1; length < sizeof subject; length++) {
        memset(subject, 'a', length);
        memset(subject + length / 2, length % 2 == 0 ? '-' : '.', length - length / 2 - 1);
        subject[length - 1] = 'z';
        subject[length] = '\0';
        event_json_name(subject, UINT64_MAX, name);
        assert_true(kube_path_is_name(name));
        assert_null(strstr(name, "-.f"));
        assert_null(strstr(name, "..f"));
        assert_non_null(strstr(name, ".ffffffffffffffff"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies__are_byte_for_byte_what_a_real_server_took),
        cmocka_unit_test(test_event_json_write__says_who_what_when_and_of_what),
        cmocka_unit_test(test_event_json_write__of_a_node_stands_in_default),
        cmocka_unit_test(test_event_json_write__cuts_the_note_between_characters),
        cmocka_unit_test(test_event_json_write_series__counts_no_further_than_the_api_can),
        cmocka_unit_test(test_event_json_name__stays_a_name),
    };

    return cmocka_run_group_tests_name("event_json", tests, set_up, NULL);
}
