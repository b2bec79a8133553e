/* SPDX-License-Identifier: Apache-2.0 */
/* reconciler - holds our memory against what the API server has, from time to time. */
#include "topofit/reconciler.h"

#include "topofit/buf.h"
#include "topofit/dialect.h"
#include "topofit/jitter.h"
#include "topofit/kube_path.h"
#include "topofit/kube_refusal.h"
#include "topofit/map.h"
#include "topofit/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_LIMIT 500
#define PAGES_MAX 2000u
#define TIMEOUT_MS 60000u  /* of a page */
#define ASK_PAUSE_MS 2000u /* so that nobody keeps the server busy by asking */
#define RETRY_MS 30000u    /* after a comparison that could not be completed */

/* What is compared, one after the other. */
enum step { COMPARE_NODES = 0, COMPARE_PODS, STEPS };

/* An object as our memory had it when the picture was taken. */
struct known {
    struct node *node; /* one of the two */
    struct pod *pod;
    bool booked_right; /* of a pod: the ledger holds what it says */
    bool listed;       /* the server has it too */
};

struct reconciler {
    struct reconciler_options options;
    struct reconciler_counters counters;
    struct reconciler_report report, next_report; /* the last, and the one under way */
    struct jitter jitter;
    uint64_t due_ms; /* UINT64_MAX: only when asked */
    bool started, asked;
    uint64_t ask_from_ms; /* who asks waits until then */

    bool running;
    enum step step;
    struct map *known;       /* the picture: struct known, owned; pods by uid, nodes by name */
    char *version;           /* of the server, that the picture is of */
    size_t different_before; /* differences of this comparison before this step */
    char *continue_token;    /* of the next page, NULL for the first */
    unsigned pages;
    uint64_t last_id, sent_id; /* of the request in flight, or 0 */
    int status;
    struct kube_list_reader *reader;
    struct buf path, refusal;
};

struct reconciler *reconciler_new(const struct reconciler_options *options)
{
    struct reconciler *r = xcalloc(1, sizeof *r);

    r->options = *options;
    r->jitter.state = options->seed;
    r->due_ms = UINT64_MAX;
    r->path = buf_with_max(API_LIST_PATH_BYTES_MAX);
    r->refusal = buf_with_max(API_REFUSAL_BYTES_MAX);
    return r;
}

static void free_known(void *value)
{
    struct known *known = value;

    node_unref(known->node);
    pod_unref(known->pod);
    free(known);
}

static void drop_picture(struct reconciler *r)
{
    map_free(r->known, free_known);
    r->known = NULL;
    kube_list_reader_free(r->reader);
    r->reader = NULL;
    free(steal_ptr(&r->version));
    free(steal_ptr(&r->continue_token));
}

void reconciler_free(struct reconciler *r)
{
    if (r == NULL)
        return;
    drop_picture(r);
    buf_clear(&r->path);
    buf_clear(&r->refusal);
    free(r);
}

void reconciler_ask(struct reconciler *r)
{
    r->asked = true;
}

/* --- differences ----------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void differ(struct reconciler *r, const char *format,
                                                         ...)
{
    struct reconciler_report *report = &r->next_report;
    va_list arguments;

    if (report->difference_count < RECONCILER_DIFFERENCES_MAX) {
        va_start(arguments, format);
        vsnprintf(report->differences[report->difference_count], sizeof report->differences[0],
                  format, arguments);
        va_end(arguments);
    }
    report->difference_count++;
}

static void compare_pod(struct reconciler *r, const struct pod *pod)
{
    struct known *known = map_get(r->known, pod->uid);

    r->next_report.pods++;
    if (known == NULL) {
        differ(r, "pod %s/%s: not in memory", pod->namespace, pod->name);
        return;
    }
    known->listed = true;
    if (!pod_equal(known->pod, pod))
        differ(r, "pod %s/%s: another state in memory", pod->namespace, pod->name);
    else if (!known->booked_right)
        differ(r, "pod %s/%s: the ledger does not hold what its record says", pod->namespace,
               pod->name);
}

static void compare_node(struct reconciler *r, const struct node *node)
{
    struct known *known = map_get(r->known, node->name);

    r->next_report.nodes++;
    if (known == NULL) {
        differ(r, "node %s: not in memory", node->name);
        return;
    }
    known->listed = true;
    if (!node_equal(known->node, node))
        differ(r, "node %s: another state in memory", node->name);
}

static void take_item(void *ctx, struct kube_object *object)
{
    struct reconciler *r = ctx;

    if (object->kind == KUBE_POD) {
        struct pod *pod = dialect_pod(&object->pod, r->options.classes);

        compare_pod(r, pod);
        pod_unref(pod);
    } else {
        struct node *node = dialect_node(&object->node, r->options.classes);

        compare_node(r, node);
        node_unref(node);
    }
}

static void tell_unlisted(struct reconciler *r)
{
    struct map_cursor at = {0};

    while (map_next(r->known, &at)) {
        const struct known *known = at.value;

        if (known->listed)
            continue;
        if (known->pod != NULL)
            differ(r, "pod %s/%s: in memory only", known->pod->namespace, known->pod->name);
        else
            differ(r, "node %s: in memory only", known->node->name);
    }
}

/* --- a step ---------------------------------------------------------------------------------- */

static enum kube_kind kind_of(const struct reconciler *r)
{
    return r->step == COMPARE_PODS ? KUBE_POD : KUBE_NODE;
}

static struct reflector *reflector_of(const struct reconciler *r)
{
    return r->step == COMPARE_PODS ? r->options.pods : r->options.nodes;
}

static void know(struct reconciler *r, const char *key, struct known known)
{
    struct known *copy = xcalloc(1, sizeof *copy);

    *copy = known;
    map_put(r->known, key, copy);
}

static void picture_pods(struct reconciler *r)
{
    size_t count;
    AUTO_FREE struct pod_picture *pods = cluster_picture_pods(r->options.cluster, &count);

    for (size_t i = 0; i < count; i++)
        know(r, pods[i].pod->uid,
             (struct known){.pod = pods[i].pod, .booked_right = pods[i].booked_right});
}

static void picture_nodes(struct reconciler *r)
{
    size_t count;
    AUTO_FREE struct node **nodes = cluster_picture_nodes(r->options.cluster, &count);

    for (size_t i = 0; i < count; i++)
        know(r, nodes[i]->name, (struct known){.node = nodes[i]});
}

/* Our memory and the version it is of, taken at the same instant. */
static void take_picture(struct reconciler *r)
{
    drop_picture(r);
    r->known = map_new(&r->options.key);
    r->version = xstrdup(reflector_position(reflector_of(r)));
    r->pages = 0;
    r->different_before = r->next_report.difference_count;
    if (r->step == COMPARE_PODS)
        picture_pods(r);
    else
        picture_nodes(r);
}

/* The next comparison; jitter, so that replicas do not compare all at once. */
static void plan_next(struct reconciler *r, uint64_t now_ms, uint64_t wait_ms)
{
    r->ask_from_ms = r->started ? now_ms + ASK_PAUSE_MS : 0;
    r->due_ms = r->options.interval_ms > 0
                    ? now_ms + wait_ms + jitter_between(&r->jitter, 0, wait_ms / 4)
                    : UINT64_MAX;
}

static void publish_report(struct reconciler *r)
{
    drop_picture(r);
    r->running = false;
    r->next_report.number = r->report.number + 1;
    r->report = r->next_report;
    r->counters.differences += r->report.difference_count;
}

/* What this step found so far may look different at its end: only finished steps count. */
static void give_up(struct reconciler *r, uint64_t now_ms, const char *why)
{
    r->next_report.difference_count = r->different_before;
    snprintf(r->next_report.problem, sizeof r->next_report.problem, "comparing %s: %s",
             kube_path_resource(kind_of(r)), why);
    r->counters.failures++;
    publish_report(r);
    plan_next(r, now_ms, RETRY_MS);
}

static void end_step(struct reconciler *r, uint64_t now_ms)
{
    tell_unlisted(r);
    if (r->next_report.difference_count > r->different_before)
        reflector_relist(reflector_of(r), now_ms);
    drop_picture(r);
    r->step++;
    if (r->step < STEPS)
        return;
    r->counters.comparisons++;
    publish_report(r);
    plan_next(r, now_ms, r->options.interval_ms);
}

/* --- sending --------------------------------------------------------------------------------- */

static bool both_watches_are_open(const struct reconciler *r)
{
    return reflector_position(r->options.nodes) != NULL &&
           reflector_position(r->options.pods) != NULL;
}

static uint64_t next_at_ms(const struct reconciler *r)
{
    return r->asked && r->ask_from_ms < r->due_ms ? r->ask_from_ms : r->due_ms;
}

static bool is_due(const struct reconciler *r, uint64_t now_ms)
{
    return now_ms >= next_at_ms(r) && both_watches_are_open(r);
}

static void begin(struct reconciler *r, struct moment now)
{
    r->running = true;
    r->asked = false;
    r->step = COMPARE_NODES;
    r->next_report = (struct reconciler_report){.unix_ms = now.unix_ms};
}

/* return false, with nothing in flight, when the server's version is too long to be asked for. */
static bool write_request(struct reconciler *r, uint64_t now_ms, struct api_request *out)
{
    enum kube_kind kind = kind_of(r);

    kube_path_list_at(&r->path, kind, kind == KUBE_POD ? r->options.pod_selector : NULL, r->version,
                      PAGE_LIMIT, r->continue_token);
    if (r->path.overflowed) {
        give_up(r, now_ms, "the position is too long");
        return false;
    }
    r->reader = kube_list_reader_new(kind, take_item, r);
    buf_reset(&r->refusal);
    r->status = 0;
    r->pages++;
    r->sent_id = ++r->last_id;
    *out = (struct api_request){
        .id = r->sent_id, .method = "GET", .path = buf_text(&r->path), .timeout_ms = TIMEOUT_MS};
    return true;
}

bool reconciler_next_request(struct reconciler *r, struct moment now, struct api_request *out)
{
    /* The first comparison is an interval after the start: the lists are fresh. */
    if (!r->started)
        plan_next(r, now.monotonic_ms, r->options.interval_ms);
    r->started = true;
    if (r->sent_id != 0 || (!r->running && !is_due(r, now.monotonic_ms)))
        return false;
    if (!r->running)
        begin(r, now);
    if (r->known == NULL) {
        if (reflector_position(reflector_of(r)) == NULL)
            return false;
        take_picture(r);
    }
    return write_request(r, now.monotonic_ms, out);
}

uint64_t reconciler_next_due_ms(const struct reconciler *r)
{
    if (r->sent_id != 0 || r->running || !both_watches_are_open(r))
        return UINT64_MAX;
    return next_at_ms(r);
}

/* --- what arrives ---------------------------------------------------------------------------- */

void reconciler_on_begin(struct reconciler *r, uint64_t id, int status)
{
    if (id == r->sent_id)
        r->status = status;
}

void reconciler_on_bytes(struct reconciler *r, uint64_t id, const char *bytes, size_t length)
{
    struct error err = {0};

    if (id != r->sent_id)
        return;
    if (r->status != 200)
        buf_add(&r->refusal, bytes, length);
    else
        kube_list_reader_feed(r->reader, bytes, length, &err); /* which remembers that it failed */
}

static void end_page(struct reconciler *r, uint64_t now_ms)
{
    AUTO(kube_list_meta_clear) struct kube_list_meta meta = {0};
    struct error err = {0};

    if (kube_list_reader_finish(r->reader, &meta, &err) < 0) {
        give_up(r, now_ms, err.text);
        return;
    }
    kube_list_reader_free(r->reader);
    r->reader = NULL;
    free(r->continue_token);
    r->continue_token = NULL;
    if (meta.continue_token[0] == '\0')
        end_step(r, now_ms);
    else if (r->pages >= PAGES_MAX)
        give_up(r, now_ms, "the pages do not end");
    else
        r->continue_token = steal_ptr(&meta.continue_token);
}

void reconciler_on_end(struct reconciler *r, uint64_t id, const struct error *failure,
                       uint64_t now_ms)
{
    struct kube_status status;

    if (id != r->sent_id)
        return;
    r->sent_id = 0;
    if (failure != NULL) {
        give_up(r, now_ms, failure->text);
    } else if (r->status != 200) {
        kube_refusal_read(buf_text(&r->refusal), r->refusal.length, &status);
        give_up(r, now_ms, status.message);
    } else {
        end_page(r, now_ms);
    }
}

const struct reconciler_counters *reconciler_counters(const struct reconciler *r)
{
    return &r->counters;
}

const struct reconciler_report *reconciler_report(const struct reconciler *r)
{
    return &r->report;
}

bool reconciler_is_running(const struct reconciler *r)
{
    return r->running;
}
