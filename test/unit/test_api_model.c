/* SPDX-License-Identifier: Apache-2.0 */
#include "support/api_model.h"
#include "support/test.h"

#include <jansson.h>

#include <ctype.h>
#include <stdlib.h>

/* What there is before a request is made. */
enum {
    LEASE = 1,
    EVENT = 2,
    P1_BOUND = 4,
    P1_DELETING = 8,
    COMPACTED = 16,
    VERSION_FITS = 32, /* the request's resourceVersion is made the present one */
};

/* --- what was captured ----------------------------------------------------------------------- */

/* A file of captured/api, cut to pieces. */
struct captured {
    char *text;
    char *method, *path, *body;
    int status;
    const char *answer;
};

static struct captured captured_read(const char *name)
{
    AUTO_FREE char *path = xasprintf(TEST_DATA "/captured/api/%s.txt", name);
    size_t length;
    struct captured c = {.text = test_read_file(path, &length)};
    char *arrow = strstr(c.text, "-> HTTP "), *rest;

    assert_non_null(arrow);
    c.status = (int)strtol(arrow + strlen("-> HTTP "), &rest, 10);
    c.answer = rest + 1;
    *arrow = '\0';
    rest = c.text;
    c.method = strsep(&rest, " ");
    c.path = strsep(&rest, "\n");
    c.body = rest != NULL ? rest : arrow;
    return c;
}

static bool is_uuid(const char *text)
{
    static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

    for (size_t i = 0; shape[i] != '\0'; i++) {
        if (shape[i] == 'x' ? !isxdigit((unsigned char)text[i]) : text[i] != '-')
            return false;
    }
    return true;
}

/* The uid of a request becomes that of the model's object; all zeros stay wrong. */
static char *with_uid(const char *text, const char *uid)
{
    char *copy = xstrdup(text);

    for (char *c = copy; *c != '\0'; c++) {
        if (uid != NULL && is_uuid(c) && strncmp(c, "00000000-0000-0000", 18) != 0)
            memcpy(c, uid, strlen(uid));
    }
    return copy;
}

/* Numbers and uids differ from server to server; what a parser says differs from ours. */
static char *masked(const char *text)
{
    char *out = xmalloc(strlen(text) + 1), *to = out;
    const char *parser = strstr(text, "json parse error");
    const char *end = parser != NULL ? parser : text + strlen(text);

    while (text < end) {
        if (is_uuid(text)) {
            *to++ = 'U';
            text += 36;
        } else if (isdigit((unsigned char)*text)) {
            *to++ = '#';
            text += strspn(text, "0123456789");
        } else {
            *to++ = *text++;
        }
    }
    *to = '\0';
    return out;
}

/* --- comparing ------------------------------------------------------------------------------- */

static json_t *parse(const char *text)
{
    json_error_t why;
    json_t *json = json_loads(text, 0, &why);

    if (json == NULL)
        fail_msg("%s in %s", why.text, text);
    return json;
}

static void drop(json_t *json, const char *const *keys)
{
    for (; *keys != NULL; keys++)
        json_object_del(json, *keys);
}

/* What the server sets is another matter. */
static json_t *comparable(const char *text)
{
    static const char *const own[] = {"deprecatedSource", "deprecatedFirstTimestamp",
                                      "deprecatedLastTimestamp", NULL};
    static const char *const set[] = {"managedFields", "uid", "resourceVersion",
                                      "creationTimestamp", NULL};
    json_t *json = parse(text), *meta = json_object_get(json, "metadata");
    const char *message = json_string_value(json_object_get(json, "message"));

    drop(json, own);
    drop(meta, set);
    if (json_object_get(meta, "continue") != NULL)
        json_object_set_new(meta, "continue", json_string("token"));
    if (message != NULL) {
        AUTO_FREE char *hidden = masked(message);

        json_object_set_new(json, "message", json_string(hidden));
    }
    return json;
}

static void mask_causes(json_t *json)
{
    json_t *cause;
    size_t i;

    json_array_foreach(json_object_get(json_object_get(json, "details"), "causes"), i, cause)
    {
        const char *message = json_string_value(json_object_get(cause, "message"));
        AUTO_FREE char *hidden = masked(message != NULL ? message : "");

        json_object_set_new(cause, "message", json_string(hidden));
    }
}

static void assert_same_answer(const char *name, int status, const char *body,
                               const struct captured *real)
{
    json_t *is = comparable(body), *want = comparable(real->answer);

    mask_causes(is);
    mask_causes(want);
    if (status != real->status || !json_equal(is, want))
        fail_msg("%s: HTTP %d %s\ninstead of HTTP %d %s", name, status, body, real->status,
                 real->answer);
    json_decref(is);
    json_decref(want);
}

/* --- asking ---------------------------------------------------------------------------------- */

static void ask(struct api_model *model, const char *method, const char *path, const char *body,
                struct model_answer *out)
{
    const struct model_request request = {.method = method,
                                          .path = path,
                                          .body = body,
                                          .body_length = body != NULL ? strlen(body) : 0};

    api_model_answer(model, &request, 1000, out);
}

static void expect(struct api_model *model, const char *method, const char *path, const char *body,
                   int status)
{
    AUTO(model_answer_clear) struct model_answer answer = {0};

    ask(model, method, path, body, &answer);
    if (answer.status != status)
        fail_msg("%s %s: HTTP %d %s", method, path, answer.status, buf_text(&answer.body));
}

static void store_captured(struct api_model *model, const char *name)
{
    struct captured c = captured_read(name);

    expect(model, c.method, c.path, c.body, c.status);
    free(c.text);
}

static struct api_model *cluster(unsigned state)
{
    static const char *const names[] = {"p0", "p1", "p2", "p3"};
    struct api_model *model = api_model_new(0);

    api_model_at(model, 1000);
    api_model_put_node(model, &(struct api_node_spec){.name = "n0", .devices = 8});
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        api_model_create_pod(model, &(struct api_pod_spec){.name = names[i], .scheduler = "none"});
    api_model_create_pod(model, &(struct api_pod_spec){.name = "gated", .gated = true});
    if ((state & LEASE) != 0)
        store_captured(model, "lease-create");
    if ((state & EVENT) != 0)
        store_captured(model, "event-201");
    if ((state & P1_BOUND) != 0)
        api_model_bind_elsewhere(model, "default", "p1", "n0");
    if ((state & P1_DELETING) != 0)
        api_model_delete_pod(model, "default", "p1", 30);
    if ((state & COMPACTED) != 0)
        api_model_compact(model);
    return model;
}

/* Is it a whole segment of the path? */
static bool has_segment(const char *path, const char *name)
{
    AUTO_FREE char *tail = xasprintf("/%s", name);

    for (const char *at = strstr(path, tail); at != NULL; at = strstr(at + 1, tail)) {
        if (strchr("/?", at[strlen(tail)]) != NULL)
            return true;
    }
    return false;
}

/* The object a path is about, if there is one. */
static const struct api_object *object_of(const struct api_model *model, const char *path)
{
    for (unsigned kind = 0; kind < API_KINDS; kind++) {
        for (size_t i = 0; i < api_model_count(model, (enum api_kind)kind); i++) {
            const struct api_object *object = api_model_get(model, (enum api_kind)kind, i);

            if (has_segment(path, object->name))
                return object;
        }
    }
    return NULL;
}

static char *with_version(const char *text, uint64_t version)
{
    static const char key[] = "\"resourceVersion\": \"";
    const char *at = strstr(text, key);
    const char *tail;

    assert_non_null(at);
    at += strlen(key);
    tail = strchr(at, '"');
    return xasprintf("%.*s%llu%s", (int)(at - text), text, (unsigned long long)version, tail);
}

static void replay(const char *name, unsigned state, const char *content_type)
{
    struct captured c = captured_read(name);
    struct api_model *model = cluster(state);
    const struct api_object *object = object_of(model, c.path);
    AUTO_FREE char *fitting =
        (state & VERSION_FITS) != 0 ? with_version(c.body, object->version) : xstrdup(c.body);
    AUTO_FREE char *body = with_uid(fitting, object != NULL ? object->uid : NULL);
    AUTO(model_answer_clear) struct model_answer answer = {0};
    const struct model_request request = {.method = c.method,
                                          .path = c.path,
                                          .body = body,
                                          .body_length = strlen(body),
                                          .content_type = content_type};

    api_model_answer(model, &request, 1000, &answer);
    assert_same_answer(name, answer.status, buf_text(&answer.body), &c);
    assert_null(answer.watch);
    api_model_free(model);
    free(c.text);
}

static void test_answer__is_that_of_a_real_server(void **state)
{
    static const struct {
        const char *file;
        unsigned state;
    } rows[] = {
        {"any-404-resource", 0},
        {"any-405", 0},
        {"binding-201", 0},
        {"binding-400-name-mismatch", 0},
        {"binding-400-namespace-mismatch", 0},
        {"binding-400-wrong-kind", 0},
        {"binding-404", 0},
        {"binding-409-already-assigned", P1_BOUND},
        {"binding-409-deleting", P1_BOUND | P1_DELETING},
        {"binding-409-gated", 0},
        {"binding-409-wrong-uid", P1_BOUND},
        {"binding-409-wrong-version", 0},
        {"binding-500-empty-target", 0},
        {"binding-500-wrong-target-kind", 0},
        {"event-201", 0},
        {"event-400-time", 0},
        {"event-409", EVENT},
        {"event-422", 0},
        {"event-422-no-time", 0},
        {"event-422-reason", 0},
        {"event-422-type", 0},
        {"event-patch-404", 0},
        {"event-patch-series", EVENT},
        {"lease-404", 0},
        {"lease-create", 0},
        {"lease-create-409-exists", LEASE},
        {"lease-create-422", 0},
        {"lease-create-500-version", 0},
        {"lease-put-200", LEASE | VERSION_FITS},
        {"lease-put-400-name", LEASE},
        {"lease-put-409-absent-with-uid", 0},
        {"lease-put-409-stale", LEASE},
        {"lease-put-409-uid", LEASE},
        {"lease-put-422-no-version", LEASE},
        {"lease-put-bad-time", LEASE},
        {"list-400-continue-with-version", 0},
        {"list-400-field", 0},
        {"list-400-limit", 0},
        {"list-400-selector", 0},
        {"list-400-version", 0},
        {"list-422-exact-0", 0},
        {"list-422-match", 0},
        {"list-422-match-alone", 0},
        {"list-504-exact-future", 0},
        {"list-rv-future", 0},
        {"node-404", 0},
        {"patch-400", 0},
        {"patch-404", 0},
        {"patch-409", 0},
        {"watch-422-match", 0},
        {"watch-500-version", 0},
        {"watch-list-without-match-422", 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        replay(rows[i].file, rows[i].state, NULL);
    replay("patch-415", 0, "application/json");
}

/* --- what requests do ------------------------------------------------------------------------ */

static void test_bind__writes_node_annotations_and_labels_at_once(void **state)
{
    struct api_model *model = cluster(0);
    uint64_t before = api_model_version(model);
    const struct api_object *pod;

    (void)state;
    expect(model, "POST", "/api/v1/namespaces/default/pods/p1/binding?timeout=3s",
           "{\"metadata\":{\"name\":\"p1\",\"annotations\":{\"b/c\":\"1\",\"a/b\":\"2\"},"
           "\"labels\":{\"l\":\"3\"}},\"target\":{\"name\":\"n9\"}}",
           201);
    pod = api_model_find(model, API_POD, "default", "p1");
    assert_int_equal(pod->version, before + 1);
    assert_string_equal(pod->node_name, "n9");
    assert_string_equal(api_object_annotation(pod, "b/c"), "1");
    assert_contains(pod->json, "\"annotations\":{\"a/b\":\"2\",\"b/c\":\"1\"}");
    assert_contains(pod->json, "\"labels\":{\"l\":\"3\"}");
    assert_contains(pod->json, "\"nodeName\":\"n9\"");
    assert_contains(pod->json, "{\"type\":\"PodScheduled\",\"status\":\"True\"");
    json_decref(parse(pod->json));
    api_model_free(model);
}

static void test_bind__changes_nothing_when_refused_or_dry(void **state)
{
    struct api_model *model = cluster(0);
    uint64_t before = api_model_version(model);

    (void)state;
    expect(model, "POST", "/api/v1/namespaces/default/pods/p1/binding?dryRun=All",
           "{\"metadata\":{\"name\":\"p1\"},\"target\":{\"name\":\"n0\"}}", 201);
    expect(model, "POST", "/api/v1/namespaces/default/pods/p1/binding",
           "{\"metadata\":{\"name\":\"p1\",\"uid\":\"x\"},\"target\":{\"name\":\"n0\"}}", 409);
    expect(model, "POST", "/api/v1/namespaces/default/pods/p1/binding", "{not json", 400);
    assert_int_equal(api_model_version(model), before);
    api_model_free(model);
}

#define NODE_PATH "/api/v1/nodes/n0"

static void test_patch__merges_annotations_and_null_removes_them(void **state)
{
    struct api_model *model = cluster(0);
    const struct api_object *node;

    (void)state;
    expect(model, "PATCH", NODE_PATH, "{\"metadata\":{\"annotations\":{\"a\":\"b\",\"c\":\"d\"}}}",
           200);
    expect(model, "PATCH", NODE_PATH, "{\"metadata\":{\"annotations\":{\"a\":null}}}", 200);
    node = api_model_find(model, API_NODE, "", "n0");
    assert_null(api_object_annotation(node, "a"));
    assert_string_equal(api_object_annotation(node, "c"), "d");
    assert_non_null(api_object_annotation(node, "topofit.io/inventory"));
    api_model_free(model);
}

static void test_write__that_changes_nothing_makes_no_version(void **state)
{
    struct api_model *model = cluster(LEASE);
    const struct api_object *lease = api_model_find(model, API_LEASE, "default", "l");
    uint64_t before = api_model_version(model);
    AUTO_FREE char *same = xstrdup(lease->json);

    (void)state;
    expect(model, "PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/l", same, 200);
    expect(model, "PATCH", NODE_PATH, "{\"metadata\":{\"annotations\":{\"none\":null}}}", 200);
    assert_int_equal(api_model_version(model), before);
    api_model_free(model);
}

static void test_lease__can_be_made_by_put_unless_the_server_refuses(void **state)
{
    struct api_model *model = cluster(0);
    static const char path[] = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/m";
    static const char body[] =
        "{\"metadata\":{\"name\":\"m\"},\"spec\":{\"holderIdentity\":\"a\"}}";

    (void)state;
    api_model_options(model)->refuses_lease_creation_by_put = true;
    expect(model, "PUT", path, body, 404);
    api_model_options(model)->refuses_lease_creation_by_put = false;
    expect(model, "PUT", path, body, 201);
    expect(model, "GET", path, NULL, 200);
    api_model_free(model);
}

static void test_events__are_forgotten_beyond_their_number(void **state)
{
    struct api_model *model = cluster(EVENT);
    struct captured c = captured_read("event-201");

    (void)state;
    api_model_options(model)->events_max = 2;
    for (int i = 0; i < 3; i++) {
        AUTO_FREE char *name = xasprintf("\"name\": \"e%d.abc\", \"namespace\"", i);
        char *at = strstr(c.body, "\"name\": \"p1.abc\", \"namespace\"");
        AUTO_FREE char *body = xasprintf("%.*s%s%s", (int)(at - c.body), c.body, name,
                                         at + strlen("\"name\": \"p1.abc\", \"namespace\""));

        expect(model, "POST", c.path, body, 201);
    }
    assert_int_equal(api_model_count(model, API_EVENT), 2);
    assert_null(api_model_find(model, API_EVENT, "default", "p1.abc"));
    api_model_free(model);
    free(c.text);
}

static void test_other_paths__are_answered_as_text(void **state)
{
    struct api_model *model = cluster(0);
    AUTO(model_answer_clear) struct model_answer answer = {0};

    (void)state;
    ask(model, "GET", "/nope", NULL, &answer);
    assert_int_equal(answer.status, 404);
    assert_true(answer.is_text);
    assert_string_equal(buf_text(&answer.body), "404 page not found\n");
    ask(model, "GET", "/version", NULL, &answer);
    assert_contains(buf_text(&answer.body), "\"minor\": \"37\"");
    api_model_free(model);
}

/* --- what tests do --------------------------------------------------------------------------- */

static void test_delete__of_a_bound_pod_takes_two_steps(void **state)
{
    struct api_model *model = cluster(P1_BOUND);

    (void)state;
    assert_true(api_model_delete_pod(model, "default", "p1", 30));
    assert_true(api_model_find(model, API_POD, "default", "p1")->deleting);
    assert_contains(api_model_find(model, API_POD, "default", "p1")->json,
                    "\"deletionTimestamp\":\"1970-01-01T00:00:01Z\"");
    assert_true(api_model_remove_pod(model, "default", "p1"));
    assert_null(api_model_find(model, API_POD, "default", "p1"));
    assert_true(api_model_delete_pod(model, "default", "p2", 30));
    assert_null(api_model_find(model, API_POD, "default", "p2"));
    assert_false(api_model_delete_pod(model, "default", "p2", 30));
    api_model_free(model);
}

static void test_recreate__gives_a_new_uid_and_forgets_the_placement(void **state)
{
    struct api_model *model = cluster(P1_BOUND);
    AUTO_FREE char *uid = xstrdup(api_model_find(model, API_POD, "default", "p1")->uid);
    const struct api_object *pod;

    (void)state;
    api_model_annotate(model, API_POD, "default", "p1", "topofit.io/allocation", "{}");
    api_model_annotate(model, API_POD, "default", "p1", "devices.topofit.io/main", "GPU-1");
    api_model_annotate(model, API_POD, "default", "p1", "topofit.io/topology", "hard");
    pod = api_model_recreate_pod(model, "default", "p1");
    assert_string_not_equal(pod->uid, uid);
    assert_string_equal(pod->node_name, "");
    assert_null(api_object_annotation(pod, "topofit.io/allocation"));
    assert_null(api_object_annotation(pod, "devices.topofit.io/main"));
    assert_string_equal(api_object_annotation(pod, "topofit.io/topology"), "hard");
    api_model_free(model);
}

static void test_log__tells_each_change_until_it_is_cut(void **state)
{
    struct api_model *model = cluster(0);
    uint64_t end = api_model_end(model, API_POD);
    const struct api_change *change;

    (void)state;
    api_model_remove_pod(model, "default", "p3");
    assert_int_equal(api_model_end(model, API_POD), end + 1);
    change = api_model_change(model, API_POD, end);
    assert_true(change->is_deletion);
    assert_string_equal(change->before->name, "p3");
    assert_int_equal(change->after->version, api_model_version(model));
    api_model_compact(model);
    assert_int_equal(api_model_first(model, API_POD), end + 1);
    api_model_free(model);
}

static void test_same_calls__give_the_same_bytes(void **state)
{
    struct api_model *one = cluster(LEASE | EVENT | P1_BOUND);
    struct api_model *two = cluster(LEASE | EVENT | P1_BOUND);
    AUTO(model_answer_clear) struct model_answer first = {0}, second = {0};

    (void)state;
    ask(one, "GET", "/api/v1/pods", NULL, &first);
    ask(two, "GET", "/api/v1/pods", NULL, &second);
    assert_string_equal(buf_text(&first.body), buf_text(&second.body));
    api_model_free(one);
    api_model_free(two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answer__is_that_of_a_real_server),
        cmocka_unit_test(test_bind__writes_node_annotations_and_labels_at_once),
        cmocka_unit_test(test_bind__changes_nothing_when_refused_or_dry),
        cmocka_unit_test(test_patch__merges_annotations_and_null_removes_them),
        cmocka_unit_test(test_write__that_changes_nothing_makes_no_version),
        cmocka_unit_test(test_lease__can_be_made_by_put_unless_the_server_refuses),
        cmocka_unit_test(test_events__are_forgotten_beyond_their_number),
        cmocka_unit_test(test_other_paths__are_answered_as_text),
        cmocka_unit_test(test_delete__of_a_bound_pod_takes_two_steps),
        cmocka_unit_test(test_recreate__gives_a_new_uid_and_forgets_the_placement),
        cmocka_unit_test(test_log__tells_each_change_until_it_is_cut),
        cmocka_unit_test(test_same_calls__give_the_same_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
