/* SPDX-License-Identifier: Apache-2.0 */
/* harness - the extender between a made-up API server and a made-up kube-scheduler. */
#include "support/harness.h"

#include "topofit/class.h"
#include "topofit/views.h"

#include <stdlib.h>

#define MEMO_SLOTS 64
#define ANSWER_BYTES_MAX (16u << 20)

static const struct hash_key test_key = {{1, 2}};
static const struct moment test_now = {.monotonic_ms = 5000, .unix_ms = 1780000000000};

/* --- the port -------------------------------------------------------------------------------- */

/* What the API server does with a Binding: the node is set, the annotations are merged. */
static void execute(struct harness *harness, const struct bind_job *job)
{
    json_t *pod = api_pod_json(harness, job->name);
    json_t *annotations = json_object_get(json_object_get(pod, "metadata"), "annotations");

    json_object_set_new(json_object_get(pod, "spec"), "nodeName", json_string(job->node));
    for (size_t i = 0; i < job->annotation_count; i++)
        json_object_set_new(annotations, job->annotations[i].key,
                            json_string(job->annotations[i].value));
}

/* What became of an unclear job is found out, or will never be. */
static void settle(struct harness *harness, size_t position, enum bind_outcome outcome)
{
    struct bind_job *job = harness->unclear[position];

    harness->unclear_count--;
    memmove(harness->unclear + position, harness->unclear + position + 1,
            (harness->unclear_count - position) * sizeof harness->unclear[0]);
    job->settled(job->ctx, outcome);
    bind_job_free(job);
}

/* As the binder: a new job of a pod carries on with the doubt of an earlier one. */
static void take_over_doubt(struct harness *harness, const struct bind_job *job)
{
    for (size_t i = 0; i < harness->unclear_count; i++) {
        if (strcmp(harness->unclear[i]->uid, job->uid) == 0) {
            settle(harness, i, BIND_UNCLEAR);
            return;
        }
    }
}

static int submit(void *ctx, struct bind_job *steal_job, struct error *err)
{
    struct harness *harness = ctx;

    pthread_mutex_lock(&harness->api_lock);
    harness->submitted++;
    if (harness->port == PORT_EXECUTES) {
        execute(harness, steal_job);
        watch_pod(harness, steal_job->name);
    }
    pthread_mutex_unlock(&harness->api_lock);
    switch (harness->port) {
    case PORT_EXECUTES:
        steal_job->done(steal_job->ctx, BIND_BOUND, "");
        bind_job_free(steal_job);
        return 0;
    case PORT_HOLDS:
        assert_null(harness->job);
        take_over_doubt(harness, steal_job);
        harness->job = steal_job;
        return 0;
    case PORT_FAILS:
        steal_job->done(steal_job->ctx, BIND_FAILED, "the Binding was not sent");
        bind_job_free(steal_job);
        return 0;
    case PORT_SETTLES_AND_IS_FULL:
        settle_job(harness, harness->settles_as);
        return error_set(err, ERR_BUSY, "too many Bindings are in flight");
    case PORT_IS_FULL:
        return error_set(err, ERR_BUSY, "too many Bindings are in flight");
    }
    return 0;
}

void api_executes(struct harness *harness)
{
    assert_non_null(harness->job);
    execute(harness, harness->job);
}

void settle_job(struct harness *harness, enum bind_outcome outcome)
{
    assert_true(harness->unclear_count > 0);
    settle(harness, 0, outcome);
}

void end_job(struct harness *harness, enum bind_outcome outcome, const char *text)
{
    struct bind_job *job = steal_ptr(&harness->job);

    assert_non_null(job);
    job->done(job->ctx, outcome, text);
    if (outcome != BIND_UNCLEAR) {
        bind_job_free(job);
        return;
    }
    assert_true(harness->unclear_count < HARNESS_UNCLEAR_MAX);
    harness->unclear[harness->unclear_count++] = job;
}

/* As a binder that is freed. */
static void end_all_jobs(struct harness *harness)
{
    if (harness->job != NULL)
        end_job(harness, BIND_UNCLEAR, "the daemon ends");
    while (harness->unclear_count > 0)
        settle_job(harness, BIND_UNCLEAR);
}

/* --- life ------------------------------------------------------------------------------------ */

static void start(struct harness *harness)
{
    harness->cluster = cluster_new(&test_key);
    harness->extender.cluster = harness->cluster;
    harness->extender.history = history_new(&test_key);
    harness->extender.memo = gputopo_memo_new(MEMO_SLOTS);
    harness->extender.waste_memo = waste_memo_new();
    harness->extender.recall = recall_new();
}

static void stop(struct harness *harness)
{
    end_all_jobs(harness);
    cluster_check(harness->cluster);
    recall_free(harness->extender.recall);
    waste_memo_free(harness->extender.waste_memo);
    gputopo_memo_free(harness->extender.memo);
    history_free(harness->extender.history);
    cluster_free(harness->cluster);
}

struct harness *harness_new(void)
{
    struct harness *harness = xcalloc(1, sizeof *harness);

    classes_builtin(&harness->classes);
    pthread_mutex_init(&harness->api_lock, NULL);
    harness->nodes = json_object();
    harness->pods = json_object();
    harness->extender = (struct extender){
        .classes = &harness->classes,
        .binder = {.ctx = harness, .submit = submit},
        .options = {.policy = decide_policy_default(),
                    .answer_failed_nodes = true,
                    .bind_timeout_ms = 8000},
    };
    start(harness);
    relist_nodes(harness);
    relist_pods(harness);
    return harness;
}

void harness_free(struct harness **place)
{
    struct harness *harness = *place;

    stop(harness);
    json_decref(harness->nodes);
    json_decref(harness->pods);
    json_decref(harness->parsed);
    free(harness->answer);
    free(harness->bound);
    class_table_clear(&harness->classes);
    pthread_mutex_destroy(&harness->api_lock);
    free(harness);
}

void harness_restart(struct harness *harness)
{
    stop(harness);
    start(harness);
}

/* --- questions ------------------------------------------------------------------------------- */

/* The names in "n1 n2", one after the other. */
static bool next_name(const char **at, char name[HARNESS_NAME_MAX])
{
    size_t length;

    *at += strspn(*at, " ");
    length = strcspn(*at, " ");
    if (length == 0)
        return false;
    assert_true(length < HARNESS_NAME_MAX);
    memcpy(name, *at, length);
    name[length] = '\0';
    *at += length;
    return true;
}

char *question_body(const struct harness *harness, const char *pod, const char *nodes)
{
    json_t *names = json_array(), *items = json_array();
    char name[HARNESS_NAME_MAX];
    json_t *question;
    char *body;

    while (next_name(&nodes, name)) {
        json_array_append_new(names, json_string(name));
        if (harness->sends_nodes)
            json_array_append(items, api_node_json(harness, name));
    }
    question = json_pack("{s:O,s:n,s:n}", "Pod", api_pod_json(harness, pod), "Nodes", "NodeNames");
    if (harness->sends_nodes)
        json_object_set_new(question, "Nodes", json_pack("{s:{},s:O}", "metadata", "items", items));
    else
        json_object_set(question, "NodeNames", names);
    body = json_dumps(question, JSON_COMPACT);
    json_decref(question);
    json_decref(names);
    json_decref(items);
    return body;
}

char *bind_body(const struct harness *harness, const char *pod, const char *node)
{
    const json_t *metadata = json_object_get(api_pod_json(harness, pod), "metadata");

    return xasprintf("{\"PodName\":\"%s\",\"PodNamespace\":\"default\",\"PodUID\":\"%s\","
                     "\"Node\":\"%s\"}",
                     pod, json_string_value(json_object_get(metadata, "uid")), node);
}

char *ask_body(struct harness *harness, extender_answers ask, const char *body, struct error *err)
{
    AUTO(buf_clear) struct buf out = buf_with_max(ANSWER_BYTES_MAX);

    if (ask(&harness->extender, body, strlen(body), test_now, &out, err) < 0)
        return NULL;
    assert_false(out.overflowed);
    return buf_steal(&out);
}

static json_t *parse(const char *body)
{
    json_error_t where;
    json_t *json = json_loads(body, JSON_REJECT_DUPLICATES, &where);

    if (json == NULL)
        fail_msg("the answer is not JSON: %s: %s", where.text, body);
    return json;
}

static void ask(struct harness *harness, extender_answers verb, const char *pod, const char *nodes)
{
    AUTO_FREE char *body = question_body(harness, pod, nodes);
    struct error err = {0};

    free(harness->answer);
    json_decref(harness->parsed);
    harness->parsed = NULL;
    harness->answer = ask_body(harness, verb, body, &err);
    if (harness->answer == NULL)
        fail_msg("the question was refused: %s", err.text);
    harness->parsed = parse(harness->answer);
}

/* --- filter ---------------------------------------------------------------------------------- */

static const json_t *kept_node(const struct harness *harness, size_t i)
{
    const json_t *nodes = json_object_get(harness->parsed, "Nodes");

    if (harness->sends_nodes)
        return json_array_get(json_object_get(nodes, "items"), i);
    return json_array_get(json_object_get(harness->parsed, "NodeNames"), i);
}

/* The name of the kept node at a place in the answer, or NULL behind the last. */
static const char *kept_name(const struct harness *harness, size_t i)
{
    const json_t *node = kept_node(harness, i);

    if (!harness->sends_nodes)
        return json_string_value(node);
    return json_string_value(json_object_get(json_object_get(node, "metadata"), "name"));
}

static unsigned times_kept(const struct harness *harness, const char *node)
{
    unsigned times = 0;

    for (size_t i = 0; kept_name(harness, i) != NULL; i++)
        times += strcmp(kept_name(harness, i), node) == 0;
    return times;
}

static const char *text_in(const struct harness *harness, const char *group, const char *node)
{
    return json_string_value(json_object_get(json_object_get(harness->parsed, group), node));
}

bool is_failed(const struct harness *harness, const char *node)
{
    return text_in(harness, "FailedNodes", node) != NULL;
}

bool is_unresolvable(const struct harness *harness, const char *node)
{
    return text_in(harness, "FailedAndUnresolvableNodes", node) != NULL;
}

const char *refusal_of(const struct harness *harness, const char *node)
{
    return is_failed(harness, node) ? text_in(harness, "FailedNodes", node)
                                    : text_in(harness, "FailedAndUnresolvableNodes", node);
}

/*
 * Each node in exactly one group, nobody else in any, texts that tell something, no Error. Where
 * filter answers with the best node alone, the others that fit are in none.
 */
static void check_filter_answer(const struct harness *harness, const char *nodes)
{
    char name[HARNESS_NAME_MAX];
    size_t asked = 0, answered = 0, left_out = 0;

    assert_string_equal(json_string_value(json_object_get(harness->parsed, "Error")), "");
    assert_true(json_is_null(
        json_object_get(harness->parsed, harness->sends_nodes ? "NodeNames" : "Nodes")));
    while (next_name(&nodes, name)) {
        unsigned groups =
            times_kept(harness, name) + is_failed(harness, name) + is_unresolvable(harness, name);

        left_out += groups == 0 && harness->extender.options.answers_best;
        if (groups != 1 && (groups != 0 || !harness->extender.options.answers_best))
            fail_msg("%s is in %u groups: %s", name, groups, harness->answer);
        if (refusal_of(harness, name) != NULL)
            assert_true(strlen(refusal_of(harness, name)) > 0);
        asked++;
    }
    while (kept_name(harness, answered) != NULL)
        answered++;
    answered += json_object_size(json_object_get(harness->parsed, "FailedNodes")) +
                json_object_size(json_object_get(harness->parsed, "FailedAndUnresolvableNodes"));
    assert_int_equal(answered + left_out, asked);
}

/* Objects go back as they came. */
static void check_kept_objects(const struct harness *harness)
{
    for (size_t i = 0; harness->sends_nodes && kept_name(harness, i) != NULL; i++)
        assert_true(
            json_equal(kept_node(harness, i), api_node_json(harness, kept_name(harness, i))));
}

void ask_filter(struct harness *harness, const char *pod, const char *nodes)
{
    ask(harness, extender_filter, pod, nodes);
    check_filter_answer(harness, nodes);
    check_kept_objects(harness);
}

void expect_kept(struct harness *harness, const char *pod, const char *nodes, const char *kept)
{
    AUTO(buf_clear) struct buf got = buf_with_max(1 << 16);

    ask_filter(harness, pod, nodes);
    for (size_t i = 0; kept_name(harness, i) != NULL; i++)
        buf_addf(&got, "%s%s", i > 0 ? " " : "", kept_name(harness, i));
    if (strcmp(buf_text(&got), kept) != 0)
        fail_msg("%s: kept \"%s\", expected \"%s\": %s", pod, buf_text(&got), kept,
                 harness->answer);
}

const char *expect_refused(struct harness *harness, const char *pod, const char *node)
{
    expect_kept(harness, pod, node, "");
    return refusal_of(harness, node);
}

/* --- prioritize ------------------------------------------------------------------------------ */

void ask_prioritize(struct harness *harness, const char *pod, const char *nodes)
{
    char name[HARNESS_NAME_MAX];
    unsigned winners = 0;
    size_t i = 0;

    ask(harness, extender_prioritize, pod, nodes);
    assert_true(json_is_array(harness->parsed));
    for (; next_name(&nodes, name); i++) {
        const json_t *entry = json_array_get(harness->parsed, i);
        const json_t *score = json_object_get(entry, "Score");

        assert_string_equal(json_string_value(json_object_get(entry, "Host")), name);
        assert_true(json_is_integer(score));
        assert_in_range(json_integer_value(score), 0, 10);
        winners += json_integer_value(score) == 10;
    }
    assert_int_equal(json_array_size(harness->parsed), i);
    assert_true(winners <= 1 || harness->extender.options.policy.scores == RANK_GRADED);
}

int score_of(const struct harness *harness, const char *node)
{
    const json_t *entry;
    size_t i;

    json_array_foreach(harness->parsed, i, entry)
    {
        if (strcmp(json_string_value(json_object_get(entry, "Host")), node) == 0)
            return (int)json_integer_value(json_object_get(entry, "Score"));
    }
    fail_msg("no score for %s", node);
    return -1;
}

/* --- bind ------------------------------------------------------------------------------------ */

static void on_bound(void *ctx, const char *body, size_t length)
{
    json_t *answer = parse(body);
    char **out = ctx;

    assert_int_equal(strlen(body), length);
    assert_null(*out);
    *out = xstrdup(json_string_value(json_object_get(answer, "Error")));
    json_decref(answer);
}

static void ask_bind_into(struct harness *harness, const char *body, char **out)
{
    struct error err = {0};

    assert_ok(extender_bind(&harness->extender, body, strlen(body), test_now, on_bound, out, &err),
              &err);
}

char *ask_bind_body(struct harness *harness, const char *body)
{
    char *text = NULL;

    ask_bind_into(harness, body, &text);
    assert_non_null(text);
    return text;
}

const char *ask_bind(struct harness *harness, const char *pod, const char *node)
{
    AUTO_FREE char *body = bind_body(harness, pod, node);

    free(harness->bound);
    harness->bound = NULL;
    ask_bind_into(harness, body, &harness->bound);
    return harness->bound;
}

void place(struct harness *harness, const char *pod, const char *node)
{
    expect_kept(harness, pod, node, node);
    assert_string_equal(ask_bind(harness, pod, node), "");
    cluster_check(harness->cluster);
}
