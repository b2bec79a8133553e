/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulate_topofit - placing as the daemon does: bodies as kube-scheduler sends them through the
 * extender, and its answers read as kube-scheduler reads them.
 */
#include "simulate_inside.h"

#include "topofit/dialect.h"
#include "topofit/json.h"
#include "topofit/rank.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BODY_BYTES_MAX (64u << 20)

struct topofit {
    struct extender *extender;
    const struct simulation *simulation;
    const uint64_t *now_ms;
    size_t *refused;
    struct pod_writer writer;
    struct buf question, answer;
};

/* --- answers --------------------------------------------------------------------------------- */

/* An answer being read: about these machines, in this order most of the time. */
struct reading {
    const struct simulation *simulation;
    const size_t *machines;
    size_t count, guess;
    size_t *kept; /* filter: positions in `machines` */
    size_t kept_count;
    size_t host;    /* prioritize: the node being read */
    long long best; /* the highest score so far; -1 = none */
    size_t winner;  /* and who has it: the first of them */
    char *trouble;  /* Error of filter and bind; "" when all is well */
};

static const char *name_at(const struct reading *reading, size_t i)
{
    return reading->simulation->machines[reading->machines[i]].node->name;
}

static bool is_name(const struct reading *reading, size_t i, const struct json_value *value)
{
    const char *name = name_at(reading, i);

    return strlen(name) == value->length && memcmp(name, value->text, value->length) == 0;
}

/* Position of a name. Answers keep the order of the question, so the next is mostly near. */
static int find(struct reading *reading, const struct json_value *value, size_t *out,
                struct error *err)
{
    for (size_t tries = 0; tries < reading->count; tries++) {
        size_t at = (reading->guess + tries) % reading->count;

        if (value->type == JSON_STRING_TEXT && is_name(reading, at, value)) {
            reading->guess = at + 1;
            *out = at;
            return 0;
        }
    }
    return error_set(err, ERR_INVALID, "the extender answers for a node that was not asked about");
}

static int take_kept(void *ctx, const struct json_value *value, struct error *err)
{
    struct reading *reading = ctx;
    size_t at;

    if (value->type == JSON_NULL_VALUE)
        return 0;
    if (find(reading, value, &at, err) < 0)
        return error_pass(err);
    if (reading->kept_count == reading->count)
        return error_set(err, ERR_INVALID, "the extender keeps a node twice");
    reading->kept[reading->kept_count++] = reading->machines[at];
    return 0;
}

static int take_trouble(void *ctx, const struct json_value *value, struct error *err)
{
    struct reading *reading = ctx;

    return json_value_copy(value, &reading->trouble, err);
}

static int take_host(void *ctx, const struct json_value *value, struct error *err)
{
    struct reading *reading = ctx;

    return find(reading, value, &reading->host, err);
}

static int take_score(void *ctx, const struct json_value *value, struct error *err)
{
    struct reading *reading = ctx;
    long long score = 0;

    if (json_value_int(value, 0, RANK_SCORE_MAX, &score, err) < 0)
        return error_pass(err);
    if (score > reading->best) {
        reading->best = score;
        reading->winner = reading->machines[reading->host];
    }
    return 0;
}

static const struct json_field names_shape[] = {{.key = JSON_ELEMENT, .on_value = take_kept}, {0}};
static const struct json_field filter_shape[] = {
    {.key = "NodeNames", .shape = names_shape}, {.key = "Error", .on_value = take_trouble}, {0}};
static const struct json_field score_shape[] = {
    {.key = "Host", .on_value = take_host}, {.key = "Score", .on_value = take_score}, {0}};
static const struct json_field scores_shape[] = {{.key = JSON_ELEMENT, .shape = score_shape}, {0}};
static const struct json_field bind_shape[] = {{.key = "Error", .on_value = take_trouble}, {0}};

/* --- questions ------------------------------------------------------------------------------- */

static struct moment now(const struct topofit *topofit)
{
    return (struct moment){*topofit->now_ms, *topofit->now_ms};
}

static void write_question(struct topofit *topofit, const struct sim_job *job,
                           const struct reading *reading)
{
    buf_reset(&topofit->question);
    buf_add_text(&topofit->question, "{\"Pod\":");
    write_pod(&topofit->writer, job->job, job->position, &topofit->question);
    buf_add_text(&topofit->question, ",\"Nodes\":null,\"NodeNames\":[");
    for (size_t i = 0; i < reading->count; i++) {
        buf_add_text(&topofit->question, i > 0 ? "," : "");
        buf_add_json_string(&topofit->question, name_at(reading, i));
    }
    buf_add_text(&topofit->question, "]}");
}

typedef int (*ask_verb)(struct extender *extender, const char *bytes, size_t length,
                        struct moment now, struct buf *out, struct error *err);

static int ask(struct topofit *topofit, ask_verb verb, const struct json_field *shape,
               const struct sim_job *job, struct reading *reading, struct error *err)
{
    write_question(topofit, job, reading);
    buf_reset(&topofit->answer);
    if (verb(topofit->extender, buf_text(&topofit->question), topofit->question.length,
             now(topofit), &topofit->answer, err) < 0 ||
        json_read(shape, reading, buf_text(&topofit->answer), topofit->answer.length, err) < 0)
        return error_wrap(err, "line %u: job %.60s", job->job->line, job->job->name);
    if (reading->trouble != NULL && reading->trouble[0] != '\0')
        return error_set(err, ERR_INVALID, "line %u: job %.60s: %s", job->job->line, job->job->name,
                         reading->trouble);
    return 0;
}

/* --- bind ------------------------------------------------------------------------------------ */

/* What the bind call was answered; in memory the answer comes at once. */
struct bind_answer {
    char *trouble; /* NULL: not answered */
};

static void on_bound(void *ctx, const char *body, size_t length)
{
    struct bind_answer *answer = ctx;
    struct reading reading = {.trouble = xstrdup("")};
    struct error err = {0};

    if (json_read(bind_shape, &reading, body, length, &err) < 0) {
        free(reading.trouble);
        reading.trouble = xstrdup(err.text);
    }
    answer->trouble = reading.trouble;
}

/* The positions of the devices that the record of a bound job names. */
static device_mask recorded_set(struct topofit *topofit, const struct sim_job *job,
                                const struct node *node)
{
    AUTO(pod_unref_pointer)
    struct pod *pod =
        cluster_find_pod(topofit->extender->cluster, SIMULATE_NAMESPACE, job->pod->name);
    device_mask set = 0;

    for (size_t c = 0; pod != NULL && c < pod->record.container_count; c++) {
        const struct allocated_container *container = &pod->record.containers[c];

        for (size_t i = 0; i < container->device_count; i++) {
            int position = node_find_device(node, container->devices[i].id);

            if (position >= 0)
                set |= mask_of((unsigned)position);
        }
    }
    return set;
}

static int bind_to(struct topofit *topofit, const struct sim_job *job, size_t machine,
                   struct placement *out, struct error *err)
{
    const struct node *node = topofit->simulation->machines[machine].node;
    struct bind_answer answer = {0};

    buf_reset(&topofit->question);
    buf_addf(&topofit->question,
             "{\"PodName\":\"%s\",\"PodNamespace\":\"" SIMULATE_NAMESPACE
             "\",\"PodUID\":\"%s\",\"Node\":",
             job->pod->name, job->pod->uid);
    buf_add_json_string(&topofit->question, node->name);
    buf_add_text(&topofit->question, "}");
    if (extender_bind(topofit->extender, buf_text(&topofit->question), topofit->question.length,
                      now(topofit), on_bound, &answer, err) < 0)
        return error_wrap(err, "line %u: job %.60s", job->job->line, job->job->name);
    assert(answer.trouble != NULL);
    if (answer.trouble[0] == '\0')
        *out = (struct placement){machine, recorded_set(topofit, job, node)};
    else
        ++*topofit->refused;
    free(answer.trouble);
    return 0;
}

/* --- the placer ------------------------------------------------------------------------------ */

/* The watch shows the pod before the scheduler asks. */
static void show_pod(struct topofit *topofit, const struct sim_job *job)
{
    AUTO(pod_unref_pointer)
    struct pod *known =
        cluster_find_pod(topofit->extender->cluster, SIMULATE_NAMESPACE, job->pod->name);

    if (known == NULL)
        cluster_put_pod(topofit->extender->cluster, pod_ref(job->pod));
}

static int choose(struct topofit *topofit, const struct sim_job *job, struct reading *reading,
                  struct placement *out, struct error *err)
{
    struct reading ranking = {.simulation = topofit->simulation, .best = -1, .winner = NOWHERE};

    if (ask(topofit, extender_filter, filter_shape, job, reading, err) < 0)
        return error_pass(err);
    if (reading->kept_count == 0)
        return 0;
    ranking.machines = reading->kept;
    ranking.count = reading->kept_count;
    if (ask(topofit, extender_prioritize, scores_shape, job, &ranking, err) < 0)
        return error_pass(err);
    return bind_to(topofit, job, ranking.winner, out, err);
}

static int place(void *ctx, const struct sim_job *job, const size_t *machines, size_t count,
                 struct placement *out, struct error *err)
{
    struct topofit *topofit = ctx;
    struct reading reading = {
        .simulation = topofit->simulation, .machines = machines, .count = count};
    int result;

    *out = (struct placement){.machine = NOWHERE};
    if (count == 0)
        return 0;
    show_pod(topofit, job);
    reading.kept = xcalloc(count, sizeof *reading.kept);
    result = choose(topofit, job, &reading, out, err);
    free(reading.kept);
    free(reading.trouble);
    return result;
}

static void leave(void *ctx, const struct sim_job *job)
{
    struct topofit *topofit = ctx;

    cluster_remove_pod(topofit->extender->cluster, SIMULATE_NAMESPACE, job->pod->name,
                       job->pod->uid);
}

static void topofit_free(void *ctx)
{
    struct topofit *topofit = ctx;

    buf_clear(&topofit->question);
    buf_clear(&topofit->answer);
    free(topofit);
}

struct placer topofit_placer(struct extender *extender, const struct simulation *simulation,
                             const uint64_t *now_ms, size_t *refused)
{
    struct topofit *topofit = xcalloc(1, sizeof *topofit);

    *topofit = (struct topofit){.extender = extender,
                                .simulation = simulation,
                                .now_ms = now_ms,
                                .refused = refused,
                                .writer = pod_writer_of(simulation),
                                .question = buf_with_max(BODY_BYTES_MAX),
                                .answer = buf_with_max(BODY_BYTES_MAX)};
    return (struct placer){.ctx = topofit, .place = place, .leave = leave, .free = topofit_free};
}
