/* SPDX-License-Identifier: Apache-2.0 */
/* Lists and watches of api_model; requests of other kinds are in test_api_model.c. */
#include "support/api_model.h"
#include "support/test.h"

#include <jansson.h>

#include <inttypes.h>
#include <stdlib.h>

#define PODS "/api/v1/pods"
#define UNFINISHED "fieldSelector=status.phase!=Succeeded,status.phase!=Failed"

static struct api_model *cluster(unsigned pods)
{
    struct api_model *model = api_model_new(0);

    api_model_put_node(model, &(struct api_node_spec){.name = "n0", .devices = 8});
    for (unsigned i = 0; i < pods; i++) {
        AUTO_FREE char *name = xasprintf("p%u", i);

        api_model_create_pod(model, &(struct api_pod_spec){.name = name});
    }
    return model;
}

/* The path is a format. */
__attribute__((format(printf, 4, 5))) static void
ask(struct api_model *model, uint64_t now_ms, struct model_answer *out, const char *format, ...)
{
    AUTO_FREE char *path = NULL;
    va_list arguments;

    va_start(arguments, format);
    assert_true(vasprintf(&path, format, arguments) > 0);
    va_end(arguments);
    api_model_answer(model, &(struct model_request){.method = "GET", .path = path}, now_ms, out);
}

/* --- lists ----------------------------------------------------------------------------------- */

/* "RV: name name ..." of a list, with " +" when there are more pages; "HTTP n" of a refusal. */
static char *told(const struct model_answer *answer, char **token)
{
    json_t *json = json_loads(buf_text(&answer->body), 0, NULL), *item;
    const json_t *meta = json_object_get(json, "metadata");
    const char *next = json_string_value(json_object_get(meta, "continue"));
    struct buf out = buf_with_max(4096);
    size_t i;

    assert_non_null(json);
    if (answer->status != 200)
        buf_addf(&out, "HTTP %d", answer->status);
    else
        buf_addf(&out, "%s:", json_string_value(json_object_get(meta, "resourceVersion")));
    json_array_foreach(json_object_get(json, "items"), i, item)
    {
        assert_null(json_object_get(item, "kind"));
        buf_addf(&out, " %s",
                 json_string_value(json_object_get(json_object_get(item, "metadata"), "name")));
    }
    if (next != NULL && answer->status == 200)
        buf_add_text(&out, " +");
    if (token != NULL) {
        free(*token);
        *token = next != NULL ? xstrdup(next) : NULL;
    }
    json_decref(json);
    return buf_steal(&out);
}

#define assert_list(model, want, token, ...) \
    do { \
        AUTO(model_answer_clear) struct model_answer answer_ = {0}; \
        AUTO_FREE char *told_ = NULL; \
        ask(model, 0, &answer_, __VA_ARGS__); \
        told_ = told(&answer_, token); \
        assert_string_equal(told_, want); \
    } while (0)

static void test_list__is_of_the_present_version_in_key_order(void **state)
{
    struct api_model *model = cluster(3);

    (void)state;
    api_model_create_pod(model, &(struct api_pod_spec){.namespace = "a", .name = "z"});
    assert_list(model, "6: z p0 p1 p2", NULL, PODS);
    assert_list(model, "6: p0 p1 p2", NULL, "/api/v1/namespaces/default/pods");
    assert_list(model, "6: n0", NULL, "/api/v1/nodes?limit=500");
    api_model_free(model);
}

static void test_list__shows_what_the_selector_takes(void **state)
{
    struct api_model *model = cluster(4);

    (void)state;
    api_model_bind_elsewhere(model, "default", "p1", "n0");
    api_model_bind_elsewhere(model, "default", "p2", "n0");
    api_model_set_phase(model, "default", "p2", "Succeeded");
    assert_list(model, "9: p0 p1 p3", NULL, PODS "?" UNFINISHED);
    assert_list(model, "9: p1 p2", NULL, PODS "?fieldSelector=spec.nodeName%%21%%3D");
    assert_list(model, "9: p0 p3", NULL, PODS "?fieldSelector=spec.nodeName%%3D");
    assert_list(model, "9: p1", NULL, PODS "?fieldSelector=spec.nodeName=n0,status.phase==Pending");
    api_model_free(model);
}

static void test_pages__share_the_version_of_the_first(void **state)
{
    struct api_model *model = cluster(5);
    AUTO_FREE char *token = NULL;

    (void)state;
    assert_list(model, "7: p0 p1 +", &token, PODS "?limit=2");
    api_model_remove_pod(model, "default", "p0");
    api_model_remove_pod(model, "default", "p3");
    api_model_create_pod(model, &(struct api_pod_spec){.name = "p9"});
    assert_list(model, "7: p2 p3 +", &token, PODS "?limit=2&continue=%s", token);
    assert_list(model, "7: p4", &token, PODS "?limit=2&continue=%s", token);
    api_model_options(model)->page_max = 1;
    assert_list(model, "10: p1 +", NULL, PODS "?limit=500");
    api_model_free(model);
}

static void test_page__expires_with_compaction_and_offers_to_go_on(void **state)
{
    struct api_model *model = cluster(4);
    AUTO_FREE char *token = NULL;

    (void)state;
    assert_list(model, "6: p0 p1 +", &token, PODS "?limit=2");
    api_model_remove_pod(model, "default", "p2");
    api_model_compact(model);
    assert_list(model, "HTTP 410", &token, PODS "?limit=2&continue=%s", token);
    assert_list(model, "7: p3", NULL, PODS "?limit=2&continue=%s", token);
    assert_list(model, "HTTP 400", NULL, PODS "?limit=2&continue=abc");
    api_model_free(model);
}

static void test_refusals__of_old_positions_are_those_of_a_real_server(void **state)
{
    static const char *const files[][2] = {{"list-410-continue", "limit=1&continue="},
                                           {"list-410-exact", "resourceVersionMatch=Exact&"}};
    struct api_model *model = cluster(3);
    AUTO_FREE char *token = NULL;

    (void)state;
    assert_list(model, "5: p0 +", &token, PODS "?limit=1");
    api_model_remove_pod(model, "default", "p2");
    api_model_compact(model);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        AUTO_FREE char *path = xasprintf(TEST_DATA "/captured/api/%s.txt", files[i][0]);
        AUTO_FREE char *text = test_read_file(path, &(size_t){0});
        json_t *real = json_loads(strchr(strstr(text, "-> HTTP"), '\n'), 0, NULL), *is;
        AUTO(model_answer_clear) struct model_answer answer = {0};

        ask(model, 0, &answer, PODS "?%s%s", files[i][1], i == 0 ? token : "resourceVersion=5");
        is = json_loads(buf_text(&answer.body), 0, NULL);
        json_object_clear(json_object_get(is, "metadata"));
        json_object_clear(json_object_get(real, "metadata"));
        assert_true(json_equal(is, real));
        json_decref(is);
        json_decref(real);
    }
    api_model_free(model);
}

static void test_list__at_a_version_shows_the_past(void **state)
{
    struct api_model *model = cluster(2);

    (void)state;
    api_model_remove_pod(model, "default", "p0");
    api_model_create_pod(model, &(struct api_pod_spec){.name = "p5"});
    assert_list(model, "4: p0 p1", NULL, PODS "?resourceVersion=4&resourceVersionMatch=Exact");
    assert_list(model, "3: p0", NULL, PODS "?resourceVersion=3&resourceVersionMatch=Exact");
    assert_list(model, "6: p1 p5", NULL,
                PODS "?resourceVersion=3&resourceVersionMatch=NotOlderThan");
    assert_list(model, "6: p1 p5", NULL, PODS "?resourceVersion=3");
    assert_list(model, "HTTP 504", NULL, PODS "?resourceVersion=7");
    api_model_free(model);
}

static void test_list__at_zero_is_old_when_the_cache_lags(void **state)
{
    struct api_model *model = cluster(3);

    (void)state;
    assert_list(model, "5: p0 p1 p2", NULL, PODS "?resourceVersion=0&limit=1");
    api_model_options(model)->zero_lag = 2;
    assert_list(model, "3: p0", NULL, PODS "?resourceVersion=0");
    assert_list(model, "5: p0 p1 p2", NULL, PODS);
    api_model_compact(model);
    assert_list(model, "5: p0 p1 p2", NULL, PODS "?resourceVersion=0");
    api_model_free(model);
}

/* --- watches --------------------------------------------------------------------------------- */

/* "TYPE name@version" of the lines that are there now, with "; " between them; "." = the end. */
static char *stream(struct api_watch *watch, uint64_t now_ms)
{
    struct buf out = buf_with_max(1 << 16), line = {0};
    enum api_watch_step step;

    while ((step = api_watch_next(watch, now_ms, &line)) == API_WATCH_EVENT) {
        json_t *json = json_loads(buf_text(&line), 0, NULL);
        const json_t *object = json_object_get(json, "object");
        const json_t *meta = json_object_get(object, "metadata");
        const char *name = json_string_value(json_object_get(meta, "name"));
        const char *version = json_string_value(json_object_get(meta, "resourceVersion"));

        assert_non_null(json);
        assert_int_equal(line.data[line.length - 1], '\n');
        buf_addf(&out, "%s%s", out.length > 0 ? "; " : "",
                 json_string_value(json_object_get(json, "type")));
        if (name != NULL)
            buf_addf(&out, " %s", name);
        if (version != NULL)
            buf_addf(&out, "@%s", version);
        else
            buf_addf(&out, " %lld", json_integer_value(json_object_get(object, "code")));
        if (json_object_get(meta, "annotations") != NULL &&
            json_object_get(json_object_get(meta, "annotations"), "k8s.io/initial-events-end"))
            buf_add_text(&out, " end");
        json_decref(json);
    }
    if (step == API_WATCH_ENDS)
        buf_add_byte(&out, '.');
    buf_clear(&line);
    return buf_steal(&out);
}

static struct api_watch *open_watch(struct api_model *model, uint64_t now_ms, const char *query)
{
    AUTO(model_answer_clear) struct model_answer answer = {0};

    ask(model, now_ms, &answer, PODS "?watch=1&%s", query);
    assert_int_equal(answer.status, 200);
    assert_non_null(answer.watch);
    return answer.watch;
}

#define assert_stream(watch, now_ms, want) \
    do { \
        AUTO_FREE char *stream_ = stream(watch, now_ms); \
        assert_string_equal(stream_, want); \
    } while (0)

static void test_watch__tells_changes_behind_its_position(void **state)
{
    struct api_model *model = cluster(2);
    struct api_watch *watch = open_watch(model, 0, "resourceVersion=3");

    (void)state;
    assert_stream(watch, 0, "ADDED p1@4");
    assert_stream(watch, 0, "");
    assert_false(api_watch_has_news(watch));
    api_model_bind_elsewhere(model, "default", "p0", "n0");
    api_model_remove_pod(model, "default", "p1");
    assert_true(api_watch_has_news(watch));
    assert_stream(watch, 0, "MODIFIED p0@5; DELETED p1@6");
    api_watch_free(watch);
    api_model_free(model);
}

static void test_watch__of_a_selector_sees_transitions(void **state)
{
    struct api_model *model = cluster(2);
    struct api_watch *unbound =
        open_watch(model, 0, "resourceVersion=4&fieldSelector=spec.nodeName=");
    struct api_watch *open = open_watch(model, 0, "resourceVersion=4&" UNFINISHED);
    struct buf line = {0};

    (void)state;
    api_model_bind_elsewhere(model, "default", "p0", "n0");
    api_model_set_phase(model, "default", "p0", "Running");
    api_model_set_phase(model, "default", "p0", "Failed");
    api_model_set_phase(model, "default", "p0", "Pending");
    assert_int_equal(api_watch_next(unbound, 0, &line), API_WATCH_EVENT);
    /* As captured: the state before, with the version of the change. */
    assert_contains(buf_text(&line), "{\"type\":\"DELETED\",");
    assert_contains(buf_text(&line), "\"resourceVersion\":\"5\"");
    assert_null(strstr(buf_text(&line), "nodeName"));
    assert_stream(unbound, 0, "");
    assert_stream(open, 0, "MODIFIED p0@5; MODIFIED p0@6; DELETED p0@7; ADDED p0@8");
    buf_clear(&line);
    api_watch_free(unbound);
    api_watch_free(open);
    api_model_free(model);
}

static void test_watch__from_a_forgotten_position_is_an_error_event(void **state)
{
    struct api_model *model = cluster(2);
    AUTO(model_answer_clear) struct model_answer answer = {0};
    struct api_watch *watch;

    (void)state;
    api_model_compact(model);
    watch = open_watch(model, 0, "resourceVersion=3");
    assert_stream(watch, 0, "ERROR 410.");
    api_watch_free(watch);
    api_model_options(model)->too_old_is_status = true;
    ask(model, 0, &answer, PODS "?watch=1&resourceVersion=3");
    assert_int_equal(answer.status, 410);
    assert_null(answer.watch);
    assert_contains(buf_text(&answer.body), "too old resource version: 3 (4)");
    api_model_free(model);
}

/* The first event of a captured stream, as JSON, with the numbers of its message hidden. */
static json_t *error_event(const char *line)
{
    json_t *json = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
    json_t *status = json_object_get(json, "object");
    AUTO_FREE char *message = xstrdup(json_string_value(json_object_get(status, "message")));

    for (char *c = message; *c != '\0'; c++)
        *c = *c >= '0' && *c <= '9' ? '#' : *c;
    message[strcspn(message, "#")] = '\0';
    json_object_set_new(status, "message", json_string(message));
    return json;
}

static void test_error_events__are_those_of_a_real_server(void **state)
{
    static const char *const files[][2] = {
        {"watch-410-pods", "resourceVersion=2"},
        {"watch-list-504-future", "resourceVersion=99&sendInitialEvents=true&"
                                  "resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"},
    };
    struct api_model *model = cluster(1);
    struct buf line = {0};

    (void)state;
    api_model_compact(model);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        AUTO_FREE char *path = xasprintf(TEST_DATA "/captured/api/%s.txt", files[i][0]);
        AUTO_FREE char *text = test_read_file(path, &(size_t){0});
        struct api_watch *watch = open_watch(model, 0, files[i][1]);
        json_t *real = error_event(strchr(strstr(text, "-> HTTP"), '\n')), *is;

        assert_int_equal(api_watch_next(watch, 0, &line), API_WATCH_EVENT);
        is = error_event(buf_text(&line));
        assert_true(json_equal(is, real));
        json_decref(is);
        json_decref(real);
        api_watch_free(watch);
    }
    buf_clear(&line);
    api_model_free(model);
}

static void test_watch__ends_when_what_it_did_not_tell_is_forgotten(void **state)
{
    struct api_model *model = cluster(1);
    struct api_watch *late = open_watch(model, 0, "resourceVersion=3");
    struct api_watch *current = open_watch(model, 0, "resourceVersion=3");

    (void)state;
    api_model_remove_pod(model, "default", "p0");
    assert_stream(current, 0, "DELETED p0@4");
    api_model_compact(model);
    assert_stream(late, 0, ".");
    assert_stream(current, 0, "");
    api_model_create_pod(model, &(struct api_pod_spec){.name = "p0"});
    assert_stream(current, 0, "ADDED p0@5");
    api_watch_free(late);
    api_watch_free(current);
    api_model_free(model);
}

static void test_watch__without_a_position_begins_with_what_is_there(void **state)
{
    struct api_model *model = cluster(2);
    struct api_watch *watch = open_watch(model, 0, "resourceVersion=0&" UNFINISHED);

    (void)state;
    api_model_remove_pod(model, "default", "p0");
    assert_stream(watch, 0, "ADDED p0@3; ADDED p1@4; DELETED p0@5");
    api_watch_free(watch);
    api_model_free(model);
}

static void test_watch__from_the_future_waits_for_it(void **state)
{
    struct api_model *model = cluster(1);
    struct api_watch *watch = open_watch(model, 0, "resourceVersion=5&allowWatchBookmarks=true");

    (void)state;
    for (int i = 0; i < 3; i++) {
        AUTO_FREE char *name = xasprintf("q%d", i);

        api_model_create_pod(model, &(struct api_pod_spec){.name = name});
    }
    assert_stream(watch, 0, "ADDED q2@6");
    api_watch_free(watch);
    api_model_free(model);
}

static void test_watch__sends_bookmarks_and_ends_in_time(void **state)
{
    struct api_model *model = cluster(1);
    struct api_watch *watch =
        open_watch(model, 1000, "resourceVersion=3&allowWatchBookmarks=true&timeoutSeconds=100");

    (void)state;
    api_model_put_node(model, &(struct api_node_spec){.name = "n1"});
    assert_int_equal(api_watch_due_ms(watch), 61000);
    assert_stream(watch, 60999, "");
    assert_stream(watch, 61000, "BOOKMARK@4");
    assert_int_equal(api_watch_due_ms(watch), 99000);
    assert_stream(watch, 99000, "BOOKMARK@4");
    assert_int_equal(api_watch_due_ms(watch), 101000);
    assert_stream(watch, 101000, ".");
    api_watch_free(watch);
    api_model_free(model);
}

static void test_bookmark__on_demand_is_of_what_was_told(void **state)
{
    struct api_model *model = cluster(1);
    struct api_watch *watch = open_watch(model, 0, "allowWatchBookmarks=true");
    struct buf line = buf_with_max(4096);

    (void)state;
    assert_false(api_watch_bookmark(watch, &line));
    assert_stream(watch, 0, "ADDED p0@3");
    api_model_remove_pod(model, "default", "p0");
    assert_true(api_watch_bookmark(watch, &line));
    assert_contains(buf_text(&line), "\"resourceVersion\":\"3\"");
    assert_stream(watch, 0, "DELETED p0@4");
    buf_clear(&line);
    api_watch_free(watch);
    api_model_free(model);
}

#define STREAMED_LIST \
    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"

static void test_watch__can_be_a_list_with_a_mark_behind_it(void **state)
{
    struct api_model *model = cluster(2);
    struct api_watch *watch = open_watch(model, 0, STREAMED_LIST);

    (void)state;
    api_model_create_pod(model, &(struct api_pod_spec){.name = "p2"});
    assert_stream(watch, 0, "ADDED p0@3; ADDED p1@4; BOOKMARK@4 end; ADDED p2@5");
    api_watch_free(watch);
    watch = open_watch(model, 0, STREAMED_LIST "&resourceVersion=99");
    assert_stream(watch, 0, "ERROR 504.");
    api_watch_free(watch);
    api_model_free(model);
}

static void test_watch__that_is_a_list_can_be_refused(void **state)
{
    struct api_model *model = cluster(1);
    AUTO(model_answer_clear) struct model_answer answer = {0};

    (void)state;
    api_model_options(model)->refuses_watch_list = true;
    ask(model, 0, &answer, PODS "?watch=1&" STREAMED_LIST);
    assert_int_equal(answer.status, 422);
    assert_contains(buf_text(&answer.body), "sendInitialEvents is forbidden for watch unless the "
                                            "WatchList feature gate is enabled");
    api_model_free(model);
}

/* A client that lists in pages and watches from there has the server's state at all times. */
static void test_list_and_watch__together_lose_nothing(void **state)
{
    struct api_model *model = api_model_new(64);
    struct api_watch *watch = open_watch(model, 0, "resourceVersion=1");
    struct buf line = {0};
    size_t known = 0, names = 0;

    (void)state;
    for (unsigned i = 0; i < 5000; i++) {
        AUTO_FREE char *name = xasprintf("p%u", i % 37 * 7 % 37);

        if (!api_model_remove_pod(model, "default", name))
            api_model_create_pod(model, &(struct api_pod_spec){.name = name, .devices = 1});
        while (api_watch_next(watch, 0, &line) == API_WATCH_EVENT) {
            known += strncmp(buf_text(&line), "{\"type\":\"ADDED\"", 15) == 0;
            known -= strncmp(buf_text(&line), "{\"type\":\"DELETED\"", 17) == 0;
            names++;
        }
        assert_int_equal(known, api_model_count(model, API_POD));
    }
    assert_int_equal(names, 5000);
    buf_clear(&line);
    api_watch_free(watch);
    api_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list__is_of_the_present_version_in_key_order),
        cmocka_unit_test(test_list__shows_what_the_selector_takes),
        cmocka_unit_test(test_pages__share_the_version_of_the_first),
        cmocka_unit_test(test_page__expires_with_compaction_and_offers_to_go_on),
        cmocka_unit_test(test_refusals__of_old_positions_are_those_of_a_real_server),
        cmocka_unit_test(test_list__at_a_version_shows_the_past),
        cmocka_unit_test(test_list__at_zero_is_old_when_the_cache_lags),
        cmocka_unit_test(test_watch__tells_changes_behind_its_position),
        cmocka_unit_test(test_watch__of_a_selector_sees_transitions),
        cmocka_unit_test(test_watch__from_a_forgotten_position_is_an_error_event),
        cmocka_unit_test(test_error_events__are_those_of_a_real_server),
        cmocka_unit_test(test_watch__ends_when_what_it_did_not_tell_is_forgotten),
        cmocka_unit_test(test_watch__without_a_position_begins_with_what_is_there),
        cmocka_unit_test(test_watch__from_the_future_waits_for_it),
        cmocka_unit_test(test_watch__sends_bookmarks_and_ends_in_time),
        cmocka_unit_test(test_bookmark__on_demand_is_of_what_was_told),
        cmocka_unit_test(test_watch__can_be_a_list_with_a_mark_behind_it),
        cmocka_unit_test(test_watch__that_is_a_list_can_be_refused),
        cmocka_unit_test(test_list_and_watch__together_lose_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
