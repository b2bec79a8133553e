/* SPDX-License-Identifier: Apache-2.0 */
/* waker - lets kube-scheduler try waiting pods again when only we know that they may fit now. */
#include "topofit/waker.h"

#include "least.h"
#include "topofit/backoff.h"
#include "topofit/buf.h"
#include "topofit/kube_path.h"
#include "topofit/mem.h"

#include <stdio.h>
#include <stdlib.h>

#define DELAY_MS 250u     /* kube-scheduler mostly asks again by itself within that time */
#define INTERVAL_MS 1000u /* between two changes */
#define TIMEOUT_MS 5000u
#define UNSEEN_MS 30000u /* a pod that the watch does not show for so long after filter is gone */
#define LATE_MS 180000u  /* unless the watch has fallen silent, which is noticed after 150 s */
#define LOOK_AGAIN_MS 5000u
#define BODY_MAX_BYTES 512

static const struct backoff_limits RETRY_LIMITS = {1000, 60000, 120000};

struct waker {
    struct cluster *cluster;
    struct history *history;
    struct backoff backoff;
    uint64_t done;             /* the freed version that was dealt with last */
    uint64_t due_ms;           /* when to deal with a younger one; UINT64_MAX: there is none */
    uint64_t looked_at;        /* the one for which `due_ms` is only to look again; 0: none */
    uint64_t not_before_ms;    /* the last change or failure was just now */
    uint64_t last_id, sent_id; /* of the request in flight, or 0 */
    uint64_t sent_version;     /* the freed version that it deals with */
    char *node;
    struct buf path, body;
    struct waker_counters counters;
    char problem[ERROR_TEXT_MAX];
};

struct waker *waker_new(struct cluster *cluster, struct history *history, uint64_t seed)
{
    struct waker *waker = xcalloc(1, sizeof *waker);

    waker->cluster = cluster;
    waker->history = history;
    waker->due_ms = UINT64_MAX;
    waker->path = buf_with_max(API_PATH_BYTES_MAX);
    waker->body = buf_with_max(BODY_MAX_BYTES);
    backoff_init(&waker->backoff, &RETRY_LIMITS, seed);
    return waker;
}

void waker_free(struct waker *waker)
{
    if (waker == NULL)
        return;
    free(waker->node);
    buf_clear(&waker->path);
    buf_clear(&waker->body);
    free(waker);
}

/* --- who waits ------------------------------------------------------------------------------- */

enum waits { WAITS_NOT = 0, WAITS_PERHAPS, WAITS };

/*
 * A pod that the watch has not shown counts for a while: most likely the watch is late, which is
 * when we are needed, and at worst a node is changed in vain. After that it counts once it is
 * shown.
 */
static enum waits still_waits(struct waker *waker, const struct waiting_pod *waiting,
                              uint64_t now_ms)
{
    AUTO(pod_unref_pointer)
    struct pod *pod = cluster_find_pod_by_uid(waker->cluster, waiting->pod->uid);

    if (pod != NULL)
        return pod->node[0] == '\0' && !pod->deleting && !pod->finished ? WAITS : WAITS_NOT;
    if (now_ms < waiting->monotonic_ms + UNSEEN_MS)
        return WAITS;
    return now_ms < waiting->monotonic_ms + LATE_MS ? WAITS_PERHAPS : WAITS_NOT;
}

/* Was a pod refused before `version`, and not asked about since? */
static enum waits anyone_waits(struct waker *waker, uint64_t version, uint64_t now_ms)
{
    size_t count;
    AUTO_FREE struct waiting_pod *waiting = history_waiting(waker->history, version, &count);
    enum waits most_likely = WAITS_NOT;

    for (size_t i = 0; i < count; i++) {
        enum waits waits = still_waits(waker, &waiting[i], now_ms);

        most_likely = waits > most_likely ? waits : most_likely;
        pod_unref(waiting[i].pod);
    }
    return most_likely;
}

/*
 * Is there a pod that a topofit before us may have refused? What it knew of that is gone with it.
 */
static bool anyone_is_left_over(struct waker *waker)
{
    size_t count;
    AUTO_FREE struct pod **pods = cluster_pods(waker->cluster, &count);
    bool found = false;

    for (size_t i = 0; i < count; i++) {
        found = found || (pods[i]->node[0] == '\0' && !pods[i]->deleting && !pods[i]->gated &&
                          request_wants_devices(&pods[i]->request));
        pod_unref(pods[i]);
    }
    return found;
}

/* --- the request ----------------------------------------------------------------------------- */

static void write_request(struct waker *waker, struct moment now, struct api_request *out)
{
    char when[MOMENT_TEXT_BYTES];

    moment_write(now.unix_ms, 3, when);
    kube_path_node(&waker->path, waker->node);
    buf_reset(&waker->body);
    buf_addf(&waker->body, "{\"metadata\":{\"annotations\":{\"%s\":\"%s\"}}}", WAKER_ANNOTATION,
             when);
    waker->sent_id = ++waker->last_id;
    *out = (struct api_request){
        .id = waker->sent_id,
        .method = "PATCH",
        .path = buf_text(&waker->path),
        .content_type = "application/merge-patch+json",
        .body = buf_text(&waker->body),
        .body_length = waker->body.length,
        .timeout_ms = TIMEOUT_MS,
    };
}

/* Whoever waited for what was freed until then has been woken, or nobody did. */
static void finish(struct waker *waker, uint64_t version)
{
    waker->looked_at = 0;
    waker->done = version;
    waker->problem[0] = '\0';
}

/* Is there something to deal with, and is it time? */
static bool is_due(struct waker *waker, uint64_t freed, uint64_t now_ms)
{
    if (freed <= waker->done || !cluster_is_synced(waker->cluster))
        return false;
    if (waker->due_ms == UINT64_MAX || (waker->looked_at != 0 && freed > waker->looked_at)) {
        waker->due_ms = most(now_ms + DELAY_MS, waker->not_before_ms);
        waker->looked_at = 0;
    }
    return now_ms >= waker->due_ms;
}

bool waker_next_request(struct waker *waker, struct moment now, struct api_request *out)
{
    uint64_t freed = cluster_freed(waker->cluster, NULL);
    enum waits waits;

    if (waker->sent_id != 0 || !is_due(waker, freed, now.monotonic_ms))
        return false;
    waker->due_ms = UINT64_MAX;
    freed = cluster_freed(waker->cluster, &waker->node);
    waits = anyone_waits(waker, freed, now.monotonic_ms);
    if (waits != WAITS && waker->done == 0 && anyone_is_left_over(waker))
        waits = WAITS;
    if (waker->node == NULL || waits == WAITS_NOT) {
        finish(waker, freed);
        return false;
    }
    if (waits == WAITS_PERHAPS) {
        waker->looked_at = freed;
        waker->due_ms = now.monotonic_ms + LOOK_AGAIN_MS;
        return false;
    }
    waker->looked_at = 0;
    waker->sent_version = freed;
    write_request(waker, now, out);
    return true;
}

uint64_t waker_next_due_ms(const struct waker *waker)
{
    return waker->sent_id != 0 ? UINT64_MAX : waker->due_ms;
}

/* --- what arrives ---------------------------------------------------------------------------- */

/* Nobody was woken: the same version is dealt with again. */
static void fail(struct waker *waker, uint64_t now_ms, const char *why, const char *advice)
{
    waker->counters.errors++;
    waker->not_before_ms = now_ms + backoff_next_ms(&waker->backoff, now_ms);
    snprintf(waker->problem, sizeof waker->problem, "waking waiting pods: %s%s", why, advice);
}

static const char *advice_for(int status)
{
    return status == 403 ? "; give our account the verb patch on nodes, or set kube.wakePods to "
                           "false"
                         : "";
}

void waker_on_answer(struct waker *waker, uint64_t id, const struct api_answer *answer,
                     uint64_t now_ms)
{
    struct api_refusal refusal;

    if (id != waker->sent_id)
        return;
    waker->sent_id = 0;
    waker->not_before_ms = now_ms + INTERVAL_MS;
    if (answer->status == 404) /* which the watch will show: another node serves as well */
        return;
    if (!api_answer_is_ok(answer)) {
        api_answer_judge(answer, &refusal);
        fail(waker, now_ms, refusal.status.message, advice_for(answer->status));
        return;
    }
    waker->counters.woken++;
    finish(waker, waker->sent_version);
}

void waker_on_loss(struct waker *waker, uint64_t id, bool was_sent, const char *why,
                   uint64_t now_ms)
{
    (void)was_sent;
    if (id != waker->sent_id)
        return;
    waker->sent_id = 0;
    fail(waker, now_ms, why, "");
}

const char *waker_problem(const struct waker *waker)
{
    return waker->problem;
}

const struct waker_counters *waker_counters(const struct waker *waker)
{
    return &waker->counters;
}
