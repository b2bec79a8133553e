/* SPDX-License-Identifier: Apache-2.0 */
/* kube_news - tells people what changed in the dealings with the API server. */
#include "kube_news.h"

#include "topofit/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLD_MAX ERROR_TEXT_MAX
#define DIFFERENCES_TOLD 10

/* What can go wrong, and come right again. */
enum concern { NODES = 0, PODS, QUOTAS, LEASE, LOCKS, WAKES, EVENTS, CONCERNS };

static const char *const all_well[CONCERNS] = {
    [NODES] = "nodes: in step with the API server",
    [PODS] = "pods: in step with the API server",
    [LEASE] = "the lease can be renewed again",
    [WAKES] = "waiting pods can be woken again",
    [LOCKS] = "nodes can be locked again",
    [EVENTS] = "Events can be written again",
    [QUOTAS] = "resourcequotas: in step with the API server",
};

struct kube_news {
    void (*log)(void *ctx, enum log_level level, const char *text);
    void *log_ctx;
    char problems[CONCERNS][TOLD_MAX];
    bool has_begun;
    bool led;
    uint64_t handed_over, locks_broken;
    char holder[sizeof((struct controller_status *)0)->holder];
    uint64_t report_number;
};

struct kube_news *kube_news_new(void (*log)(void *ctx, enum log_level level, const char *text),
                                void *log_ctx)
{
    struct kube_news *news = xcalloc(1, sizeof *news);

    news->log = log;
    news->log_ctx = log_ctx;
    return news;
}

void kube_news_free(struct kube_news *news)
{
    free(news);
}

__attribute__((format(printf, 3, 4))) static void
tell(const struct kube_news *news, enum log_level level, const char *format, ...)
{
    char text[TOLD_MAX + 128];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    news->log(news->log_ctx, level, text);
}

static void tell_problem(struct kube_news *news, enum concern concern, const char *problem)
{
    char *told = news->problems[concern];

    if (strncmp(told, problem, TOLD_MAX - 1) == 0)
        return;
    snprintf(told, TOLD_MAX, "%s", problem);
    if (!news->has_begun)
        return; /* "not listed yet" is no news */
    if (problem[0] == '\0')
        tell(news, LOG_LEVEL_INFO, "%s", all_well[concern]);
    else
        tell(news, LOG_LEVEL_WARN, "%s", problem);
}

static void tell_lost_lead(const struct kube_news *news, const struct controller_status *status)
{
    if (status->stopping)
        tell(news, LOG_LEVEL_INFO, "not leading any more: the lease was given up at the end");
    else if (status->lease.handed_over > news->handed_over)
        tell(news, LOG_LEVEL_INFO,
             "not leading any more: handed over to one that was asked to bind");
    else if (status->lease_problem[0] != '\0')
        tell(news, LOG_LEVEL_WARN, "not leading any more, this topofit binds no pods: %s",
             status->lease_problem);
    else
        tell(news, LOG_LEVEL_WARN,
             "not leading any more, this topofit binds no pods: the lease was "
             "not renewed in time");
}

static void tell_leader(struct kube_news *news, const struct controller_status *status)
{
    if (!status->elects)
        return;
    if (status->leads && !news->led)
        tell(news, LOG_LEVEL_INFO, "leading: this topofit binds pods from now on");
    else if (!status->leads && news->led)
        tell_lost_lead(news, status);
    else if (!status->leads && status->holder[0] != '\0' &&
             strcmp(status->holder, news->holder) != 0)
        tell(news, LOG_LEVEL_INFO, "the leader is %s", status->holder);
    news->led = status->leads;
    news->handed_over = status->lease.handed_over;
    snprintf(news->holder, sizeof news->holder, "%s", status->holder);
}

static uint64_t count_broken(const struct controller_status *status)
{
    uint64_t count = 0;

    for (size_t i = 0; i < LOCK_END_COUNT; i++)
        count += status->locks.broken[i];
    return count;
}

/* Of several at once the last. */
static void tell_broken_lock(struct kube_news *news, const struct controller_status *status)
{
    uint64_t count = count_broken(status);

    if (count > news->locks_broken)
        tell(news, LOG_LEVEL_WARN, "%s", status->last_broken_lock);
    news->locks_broken = count;
}

static void tell_report(struct kube_news *news, const struct reconciler_report *report)
{
    if (report->number == news->report_number)
        return;
    news->report_number = report->number;
    for (size_t i = 0; i < report->difference_count && i < DIFFERENCES_TOLD; i++)
        tell(news, LOG_LEVEL_ERROR, "memory differs from the API server: %s",
             report->differences[i]);
    if (report->difference_count > DIFFERENCES_TOLD)
        tell(news, LOG_LEVEL_ERROR, "memory differs from the API server: %zu differences in all",
             report->difference_count);
    if (report->problem[0] != '\0')
        tell(news, LOG_LEVEL_WARN, "memory could not be compared with the API server: %s",
             report->problem);
}

void kube_news_tell(struct kube_news *news, const struct controller_status *status,
                    const struct reconciler_report *report)
{
    tell_problem(news, NODES, status->nodes.problem);
    tell_problem(news, PODS, status->pods.problem);
    tell_problem(news, QUOTAS, status->quotas.problem);
    tell_problem(news, LEASE, status->lease_problem);
    tell_problem(news, LOCKS, status->lock_problem);
    tell_problem(news, WAKES, status->wake_problem);
    tell_problem(news, EVENTS, status->event_problem);
    tell_broken_lock(news, status);
    tell_leader(news, status);
    tell_report(news, report);
    news->has_begun = true;
}
