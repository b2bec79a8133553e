/* SPDX-License-Identifier: Apache-2.0 */
/* binder_answer - what the API server's answers say about a Binding. */
#include "binder_inside.h"
#include "topofit/kube_json.h"
#include "topofit/mem.h"

#include <string.h>

/* --- what the POST said ---------------------------------------------------------------------- */

/* Answers after which the Binding was not and will not be executed. */
static const struct known_refusal {
    int status;
    const char *text;
} REFUSALS[] = {
    {400, "the API server calls the Binding malformed (400), please report this"},
    {403, "not allowed to bind pods (403): give our account the verb create on pods/binding"},
    {404, "the pod is gone"},
    {413, "the API server calls the Binding too large (413)"},
    {422, "the API server calls the Binding invalid (422), please report this"},
};

static const struct known_refusal *find_refusal(int status)
{
    for (size_t i = 0; i < ARRAY_LEN(REFUSALS); i++) {
        if (REFUSALS[i].status == status)
            return &REFUSALS[i];
    }
    return NULL;
}

void binder_take_post_answer(struct binder *binder, struct attempt *attempt,
                             const struct api_answer *answer, uint64_t now_ms)
{
    const struct known_refusal *known = find_refusal(answer->status);
    struct api_refusal refusal;

    if (answer->status == 201) {
        binder_finish(binder, attempt, BIND_BOUND, "");
        return;
    }
    api_answer_judge(answer, &refusal);
    binder_note_problem(attempt, "Binding: HTTP %d: %s", answer->status, refusal.status.message);
    if (refusal.fate == API_TURNED_AWAY) {
        binder_try_again(binder, attempt, attempt->in_doubt ? GET_WANTED : POST_WANTED,
                         refusal.retry_after_s, now_ms);
    } else if (known != NULL && refusal.fate == API_REFUSED && !attempt->in_doubt) {
        binder_finish_failed(binder, attempt, "%s: %s", known->text, refusal.status.message);
    } else {
        attempt->in_doubt |= refusal.fate == API_IN_DOUBT;
        /* "Already assigned": by this very Binding, if somebody on the way sent it twice. */
        attempt->is_unexplained = true;
        binder_look(binder, attempt, now_ms);
    }
}

/* --- what the GET said ----------------------------------------------------------------------- */

static bool has_our_record(const struct bind_job *job, const struct kube_pod *pod)
{
    const char *ours, *theirs;

    if (job->record_key == NULL)
        return true;
    ours = bind_job_annotation(job, job->record_key);
    theirs = kube_pairs_get(&pod->meta.annotations, job->record_key);
    return ours != NULL && theirs != NULL && strcmp(ours, theirs) == 0;
}

static void take_bound_pod(struct binder *binder, struct attempt *attempt,
                           const struct kube_pod *pod)
{
    if (strcmp(pod->node_name, attempt->job->node) != 0)
        binder_finish_failed(binder, attempt, "the pod is already bound to node %s",
                             pod->node_name);
    else if (!has_our_record(attempt->job, pod))
        binder_finish_failed(binder, attempt,
                             "the pod is already bound to node %s, by another Binding",
                             pod->node_name);
    else
        binder_finish(binder, attempt, BIND_BOUND, "");
}

static void post_again(struct binder *binder, struct attempt *attempt, uint64_t now_ms)
{
    attempt->is_unexplained = false;
    binder_try_again(binder, attempt, POST_WANTED, 0, now_ms);
}

static void take_pod(struct binder *binder, struct attempt *attempt, const struct kube_pod *pod,
                     uint64_t now_ms)
{
    if (strcmp(pod->meta.uid, attempt->job->uid) != 0)
        binder_finish_failed(binder, attempt, "the pod is gone: another one has its name");
    else if (strcmp(pod->phase, "Succeeded") == 0 || strcmp(pod->phase, "Failed") == 0)
        binder_finish_failed(binder, attempt, "the pod has ended");
    else if (pod->node_name[0] != '\0')
        take_bound_pod(binder, attempt, pod);
    else if (pod->meta.deleting)
        binder_finish_failed(binder, attempt, "the pod is being deleted");
    else if (pod->gated && !attempt->in_doubt)
        binder_finish_failed(binder, attempt, "the pod has scheduling gates");
    else if (!attempt->is_settling)
        post_again(binder, attempt, now_ms);
    else if (now_ms >= attempt->late_ms)
        binder_finish_failed(binder, attempt, "the pod was not bound");
    else
        binder_try_again(binder, attempt, GET_WANTED, 0, now_ms);
}

void binder_take_get_answer(struct binder *binder, struct attempt *attempt,
                            const struct api_answer *answer, uint64_t now_ms)
{
    AUTO(kube_object_clear) struct kube_object object = {0};
    struct api_refusal refusal = {.retry_after_s = answer->retry_after_s};
    struct error err = {0};

    if (answer->status == 200) {
        kube_object_init(&object, KUBE_POD);
        if (kube_json_read_object(KUBE_POD, answer->body, answer->body_length, &object, &err) ==
            0) {
            take_pod(binder, attempt, &object.pod, now_ms);
            return;
        }
        binder_note_problem(attempt, "the pod could not be read: %s", err.text);
    } else {
        api_answer_judge(answer, &refusal);
        if (answer->status == 404 && refusal.is_servers_own) {
            binder_finish_failed(binder, attempt, "the pod is gone");
            return;
        }
        binder_note_problem(attempt, "looking at the pod: HTTP %d: %s%s", answer->status,
                            refusal.status.message,
                            answer->status == 403 ? "; give our account the verb get on pods" : "");
    }
    binder->counters.lost++;
    binder_try_again(binder, attempt, GET_WANTED, refusal.retry_after_s, now_ms);
}
