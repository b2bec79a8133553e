/* SPDX-License-Identifier: Apache-2.0 */
/* event_series - what happened to one subject, how often, and what the API server knows of it. */
#include "event_series.h"

#include "least.h"
#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

struct event_series *event_series_new(const char *key, const struct cluster_event *event)
{
    struct event_series *series = xcalloc(1, sizeof *series);

    series->key = xstrdup(key);
    series->is_warning = event->is_warning;
    series->reason = xstrdup(event->reason);
    series->action = xstrdup(event->action);
    series->kind = event->regarding.kind;
    series->namespace = xstrdup(event_json_namespace(&event->regarding));
    series->name = xstrdup(event->regarding.name);
    series->uid = xstrdup(event->regarding.uid);
    return series;
}

void event_series_free(struct event_series *series)
{
    if (series == NULL)
        return;
    free(series->key);
    free(series->reason);
    free(series->action);
    free(series->namespace);
    free(series->name);
    free(series->uid);
    free(series->present.note);
    free(series->next.note);
    free(series);
}

static void set_note(struct occurrences *occurrences, const char *note)
{
    if (occurrences->note != NULL && strcmp(occurrences->note, note) == 0)
        return;
    free(occurrences->note);
    occurrences->note = xstrdup(note);
}

static void count(struct occurrences *occurrences, uint64_t unix_ms)
{
    if (occurrences->times.count++ == 0)
        occurrences->times.first_unix_ms = unix_ms;
    occurrences->times.last_unix_ms = unix_ms;
}

static void forget(struct occurrences *occurrences)
{
    free(occurrences->note);
    *occurrences = (struct occurrences){0};
}

void event_series_add(struct event_series *series, const char *note, struct moment now)
{
    series->seen_ms = now.monotonic_ms;
    if (series->event_name[0] == '\0')
        set_note(&series->present, note);
    if (strcmp(series->present.note, note) != 0) {
        set_note(&series->next, note);
        count(&series->next, now.unix_ms);
        return;
    }
    /* Back to what the Event says: what was otherwise meanwhile is one of its occurrences. */
    series->present.times.count += series->next.times.count;
    forget(&series->next);
    count(&series->present, now.unix_ms);
}

void event_series_unname(struct event_series *series)
{
    series->event_name[0] = '\0';
    if (series->next.times.count == 0)
        return;
    set_note(&series->present, series->next.note);
    series->present.times.count += series->next.times.count;
    series->present.times.last_unix_ms = series->next.times.last_unix_ms;
    forget(&series->next);
}

uint64_t event_series_untold(const struct event_series *series)
{
    return series->present.times.count - series->told;
}

uint64_t event_series_untold_in_all(const struct event_series *series)
{
    return event_series_untold(series) + series->next.times.count;
}

uint64_t event_series_rest_until_ms(const struct event_series *series)
{
    uint64_t until_ms = series->seen_ms + SERIES_FINISH_MS;

    /* The second occurrence makes it a series: that is told at once, what follows is counted. */
    if (event_series_untold(series) > 0)
        until_ms = series->told < 2 ? 0 : least(until_ms, series->written_ms + SERIES_REFRESH_MS);
    if (series->next.times.count > 0)
        until_ms = least(until_ms, series->created_ms + SERIES_NOTE_MS);
    return until_ms;
}

bool event_series_turn_to_next(struct event_series *series, uint64_t now_ms)
{
    if (series->next.times.count == 0 || now_ms < series->created_ms + SERIES_NOTE_MS)
        return false;
    forget(&series->present);
    series->present = series->next;
    series->next = (struct occurrences){0};
    series->event_name[0] = '\0';
    series->told = 0;
    series->is_created = false;
    return true;
}

struct cluster_event event_series_event(const struct event_series *series)
{
    return (struct cluster_event){
        .is_warning = series->is_warning,
        .reason = series->reason,
        .action = series->action,
        .note = series->present.note,
        .regarding = {series->kind, series->namespace, series->name, series->uid},
    };
}
