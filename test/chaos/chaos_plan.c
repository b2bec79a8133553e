/* SPDX-License-Identifier: Apache-2.0 */
/* chaos_plan - which step comes next. */
#include "chaos_plan.h"

#include "support/builders.h"
#include "topofit/mem.h"

#include <string.h>

#define NODES_MIN 4
#define NODES_MAX 10
#define PODS_MAX 90
#define PENDING_MAX 14
#define NODE_MIB 16000

static unsigned below(struct chaos_plan *plan, unsigned limit)
{
    return chance_below(&plan->chance, limit);
}

static unsigned between(struct chaos_plan *plan, unsigned least, unsigned most)
{
    return least + below(plan, most - least + 1);
}

/* --- which pod ------------------------------------------------------------------------------- */

typedef bool (*pod_is)(const struct api_object *pod);

static bool is_finished(const struct api_object *pod)
{
    return strcmp(pod->phase, "Succeeded") == 0 || strcmp(pod->phase, "Failed") == 0;
}

static bool is_any(const struct api_object *pod)
{
    (void)pod;
    return true;
}

static bool is_bound(const struct api_object *pod)
{
    return pod->node_name[0] != '\0' && !pod->deleting && !is_finished(pod);
}

static bool is_over(const struct api_object *pod)
{
    return pod->deleting || is_finished(pod);
}

static bool is_foreign(const struct api_object *pod)
{
    return pod->node_name[0] == '\0' && strcmp(pod->scheduler_name, API_SCHEDULER) != 0;
}

static bool is_pending(const struct api_object *pod)
{
    return pod->node_name[0] == '\0' && strcmp(pod->scheduler_name, API_SCHEDULER) == 0;
}

static size_t count_pods(const struct api_model *model, pod_is fits)
{
    size_t count = 0;

    for (size_t i = 0; i < api_model_count(model, API_POD); i++)
        count += fits(api_model_get(model, API_POD, i));
    return count;
}

/* One of them by chance, or NULL. */
static const char *some_pod(struct chaos_plan *plan, const struct api_model *model, pod_is fits)
{
    size_t count = count_pods(model, fits), chosen;

    if (count == 0)
        return NULL;
    chosen = below(plan, (unsigned)count);
    for (size_t i = 0; i < api_model_count(model, API_POD); i++) {
        const struct api_object *pod = api_model_get(model, API_POD, i);

        if (fits(pod) && chosen-- == 0)
            return pod->name;
    }
    return NULL;
}

static const char *some_node(struct chaos_plan *plan, const struct api_model *model)
{
    size_t count = api_model_count(model, API_NODE);

    return count > 0 ? api_model_get(model, API_NODE, below(plan, (unsigned)count))->name : NULL;
}

/* --- the cluster ----------------------------------------------------------------------------- */

static void add_pods(struct chaos_plan *plan, const struct api_model *model, struct buf *out)
{
    static const unsigned sizes[] = {1, 1, 1, 2, 2, 4};
    static const unsigned parts[] = {0, 0, 4000, 6000, 8000, 1000};
    unsigned count = between(plan, 1, 5);

    for (unsigned i = 0; i < count; i++) {
        unsigned part = parts[below(plan, ARRAY_LEN(parts))];
        bool has_cores = part > 0 && below(plan, 2) == 0;

        if (count_pods(model, is_pending) + i >= PENDING_MAX ||
            api_model_count(model, API_POD) + i >= PODS_MAX)
            return;
        buf_addf(out, "pod p%u %u %u %u%s\n", plan->pods++, sizes[below(plan, ARRAY_LEN(sizes))],
                 part, has_cores ? 30 : 0, below(plan, 12) == 0 ? " other" : "");
    }
}

static void end_pods(struct chaos_plan *plan, const struct api_model *model, struct buf *out)
{
    unsigned crowd = (unsigned)api_model_count(model, API_POD) / 10;
    unsigned count = between(plan, 1, 2 + crowd);

    for (unsigned i = 0; i < count; i++) {
        const char *pod = some_pod(plan, model, is_bound);
        const char *over = some_pod(plan, model, is_over);

        if (over != NULL && below(plan, 2) == 0)
            buf_addf(out, "remove %s\n", over);
        else if (pod != NULL && below(plan, 2) == 0)
            buf_addf(out, "delete %s 30\n", pod);
        else if (pod != NULL)
            buf_addf(out, "phase %s %s\n", pod, below(plan, 2) == 0 ? "Succeeded" : "Failed");
    }
}

static void remove_any(struct chaos_plan *plan, const struct api_model *model, struct buf *out)
{
    const char *pod = some_pod(plan, model, is_any);

    if (pod != NULL)
        buf_addf(out, "remove %s\n", pod);
}

static void recreate(struct chaos_plan *plan, const struct api_model *model, struct buf *out)
{
    const char *pod = some_pod(plan, model, is_any);

    if (pod != NULL)
        buf_addf(out, "recreate %s\n", pod);
}

static void bind_foreign(struct chaos_plan *plan, const struct api_model *model, struct buf *out)
{
    const char *pod = some_pod(plan, model, is_foreign), *node = some_node(plan, model);

    if (pod != NULL && node != NULL)
        buf_addf(out, "bind %s %s\n", pod, node);
}

static void run_pod(struct chaos_plan *plan, const struct api_model *model, struct buf *out)
{
    const char *pod = some_pod(plan, model, is_bound);

    if (pod != NULL)
        buf_addf(out, "phase %s Running\n", pod);
}

static void change_nodes(struct chaos_plan *plan, const struct api_model *model, struct buf *out)
{
    size_t count = api_model_count(model, API_NODE);
    const char *node = some_node(plan, model);

    if (count > NODES_MIN && below(plan, 3) == 0)
        buf_addf(out, "remove-node %s\n", node);
    else
        buf_addf(out, "node n%u %u %u 3\n", below(plan, NODES_MAX), between(plan, 2, 8), NODE_MIB);
}

/* --- requests that go wrong ------------------------------------------------------------------ */

static void hurt_binds(struct chaos_plan *plan, const struct api_model *model, struct buf *out)
{
    static const char *const faults[] = {"status 500",
                                         "status 503 1",
                                         "status 504",
                                         "status 429 1",
                                         "status 401",
                                         "status 403",
                                         "silent 1500",
                                         "eof",
                                         "reset 0",
                                         "reset 20",
                                         "break 30",
                                         "delay 300",
                                         "delay 2500",
                                         "late 300",
                                         "late 1200",
                                         "late 2200",
                                         "executed-reset",
                                         "executed-silent",
                                         "executed-status 504",
                                         "executed-status 500",
                                         "drip 10 5",
                                         "executed-silent 700",
                                         "garbage",
                                         "executed-status 503"};

    (void)model;
    buf_addf(out, "fault %u bind %s\n", between(plan, 1, 2),
             faults[below(plan, ARRAY_LEN(faults))]);
}

static void hurt_looks(struct chaos_plan *plan, const struct api_model *model, struct buf *out)
{
    static const char *const faults[] = {"status 500", "status 503 1", "silent 800", "reset 0",
                                         "reset 50",   "break 100",    "delay 700",  "garbage",
                                         "status 401", "status 403",   "status 429", "bytewise"};

    hurt_binds(plan, model, out);
    buf_addf(out, "fault 1 get:pods %s\n", faults[below(plan, ARRAY_LEN(faults))]);
}

/* Leases, Events, annotations of nodes: nothing that pods depend on for long. */
static void hurt_others(struct chaos_plan *plan, const struct api_model *model, struct buf *out)
{
    static const char *const requests[] = {"put", "post", "patch", "get:leases", "post:events"};
    static const char *const faults[] = {"status 500",
                                         "status 503 1",
                                         "status 429 1",
                                         "status 403",
                                         "status 401",
                                         "executed-reset",
                                         "executed-silent 400",
                                         "executed-status 504",
                                         "silent 400",
                                         "reset 0",
                                         "late 300",
                                         "delay 400",
                                         "garbage",
                                         "break 20",
                                         "eof"};

    (void)model;
    buf_addf(out, "fault %u %s %s\n", between(plan, 1, 4),
             requests[below(plan, ARRAY_LEN(requests))], faults[below(plan, ARRAY_LEN(faults))]);
}

/*
 * Bindings are executed and nobody says so: not the answer, not who is asked, not the watch. What
 * they took must stay booked, though more pods come.
 */
static void black_out(struct chaos_plan *plan, const struct api_model *model, struct buf *out)
{
    static const char *const faults[] = {
        "fault 2 bind executed-silent\nfault 30 get:pods status 503\n",
        "fault 2 bind executed-reset\nfault 30 get:pods status 503\n",
        "fault 2 bind late 1900\nfault 30 get:pods status 503\n",
        "fault 6 bind late 2150\n", /* the pod is there, and unbound, for a long time */
    };

    (void)model;
    buf_addf(out, "node n%u 8 %u 3\nwait 60\n", below(plan, NODES_MAX), NODE_MIB); /* room */
    buf_addf(out, "stream watch:pods bookmarks %u\n", between(plan, 3200, 4500));
    buf_add_text(out, "fault 1 watch:pods bookmarks 3000\n"); /* should it end meanwhile */
    buf_add_text(out, faults[below(plan, ARRAY_LEN(faults))]);
    for (unsigned i = 0; i < 2; i++)
        buf_addf(out, "pod p%u 1 0\n", plan->pods++);
    buf_add_text(out, "wait 2250\n"); /* the daemon has given up, and looks on */
    for (unsigned i = 0; i < 4; i++)
        buf_addf(out, "pod p%u 1 %u\nwait 60\n", plan->pods++, i % 2 == 0 ? 0 : 1000);
    buf_add_text(out, "wait 300\n");
}

/*
 * A Binding is executed just after the daemon has stopped waiting for it, while other pods look for
 * a place: what it may still take must stay booked.
 */
static void bind_at_the_last_moment(struct chaos_plan *plan, const struct api_model *model,
                                    struct buf *out)
{
    if (count_pods(model, is_pending) > 0)
        return;
    buf_add_text(out, "heal\nfault 2 bind silent\nfault 1 bind late 550\n");
    buf_addf(out, "pod p%u 1 0\nwait 2020\n", plan->pods++);
    for (unsigned i = 0; i < 8; i++)
        buf_addf(out, "pod p%u 1 0\nwait 40\n", plan->pods++);
}

/* --- streams ---------------------------------------------------------------------------------- */

static const char *some_watch(struct chaos_plan *plan)
{
    static const char *const targets[] = {"watch:pods", "watch:pods", "watch:nodes", "watch"};

    return targets[below(plan, ARRAY_LEN(targets))];
}

/* What a daemon gets over at once, once it has read an event. */
static void hurt_streams(struct chaos_plan *plan, const struct api_model *model, struct buf *out)
{
    static const char *const faults[] = {"bytewise", "split", "drip 7 3", "drip 200 20",
                                         "bookmarks 300"};
    static const char *const ends[] = {"cut", "break", "reset"};

    if (below(plan, 2) == 0)
        buf_addf(out, "stream %s %s\n", some_watch(plan), faults[below(plan, ARRAY_LEN(faults))]);
    else if (below(plan, 4) == 0)
        buf_addf(out, "stream %s stall %u 900\n", some_watch(plan), below(plan, 3000));
    else
        buf_addf(out, "stream %s %s %u\n", some_watch(plan), ends[below(plan, ARRAY_LEN(ends))],
                 900 + below(plan, 4000));
    run_pod(plan, model, out);
}

static void end_streams(struct chaos_plan *plan, const struct api_model *model, struct buf *out)
{
    run_pod(plan, model, out);
    buf_add_text(out, "wait 20\n");
    buf_add_text(out, below(plan, 3) == 0 ? "drop\n" : "end-streams\n");
}

/* Deleted while nobody was watching, and the log is cut: only a list can tell. */
static void miss_deletes(struct chaos_plan *plan, const struct api_model *model, struct buf *out)
{
    buf_addf(out, "stream watch:pods break 0\nwait 30\n");
    end_pods(plan, model, out);
    remove_any(plan, model, out);
    buf_add_text(out, "compact\n");
}

static void compact(struct chaos_plan *plan, const struct api_model *model, struct buf *out)
{
    (void)plan;
    (void)model;
    buf_add_text(out, "compact\n");
}

static void set_option(struct chaos_plan *plan, const struct api_model *model, struct buf *out)
{
    (void)model;
    switch (below(plan, 4)) {
    case 0:
        buf_addf(out, "option too-old-is-status %u\n", below(plan, 2));
        break;
    case 1:
        buf_addf(out, "option bookmark-ms %u\n", below(plan, 2) == 0 ? 150 : 60000);
        break;
    case 2:
        buf_addf(out, "option page-max %u\n", below(plan, 2) == 0 ? 7 : 0);
        break;
    default:
        buf_addf(out, "option no-watch-list %u\n", below(plan, 2));
    }
}

static void heal(struct chaos_plan *plan, const struct api_model *model, struct buf *out)
{
    (void)plan;
    (void)model;
    buf_add_text(out, "heal\n");
}

/* --- what makes the daemon wait before it tries again ------------------------------------------
 */

static void hurt_lists(struct chaos_plan *plan, struct buf *out)
{
    static const char *const openings[] = {
        "status 410",   "status 429 1", "status 401", "status 403",    "status 404", "status 500",
        "status 503 1", "status 504",   "status 422", "gone",          "eof",        "silent 700",
        "reset 0",      "cut 500",      "break 700",  "stall 300 500", "garbage",    "compact"};
    static const char *const requests[] = {"list", "watch", "watch:pods", "any", "list:pods"};

    buf_addf(out, "fault 1 %s %s\n", requests[below(plan, ARRAY_LEN(requests))],
             openings[below(plan, ARRAY_LEN(openings))]);
    buf_addf(out, "fault 1 page compact\n");
    buf_add_text(out, below(plan, 2) == 0 ? "end-streams\n" : "stream watch reset 0\n");
    if (below(plan, 2) == 0)
        buf_add_text(out, "compact\n");
}

/* --- choosing -------------------------------------------------------------------------------- */

static const struct {
    unsigned weight;
    void (*write)(struct chaos_plan *, const struct api_model *, struct buf *);
} STEPS[] = {
    {30, add_pods},     {24, end_pods},    {4, remove_any},
    {4, recreate},      {4, bind_foreign}, {6, run_pod},
    {5, change_nodes},  {14, hurt_binds},  {6, hurt_looks},
    {10, hurt_streams}, {3, end_streams},  {3, miss_deletes},
    {3, compact},       {3, set_option},   {2, heal},
    {6, hurt_others},   {5, black_out},    {1, bind_at_the_last_moment},
};

static void write_step(struct chaos_plan *plan, const struct api_model *model, struct buf *out)
{
    unsigned sum = 0, chosen;

    for (size_t i = 0; i < ARRAY_LEN(STEPS); i++)
        sum += STEPS[i].weight;
    chosen = below(plan, sum);
    for (size_t i = 0; i < ARRAY_LEN(STEPS); i++) {
        if (chosen < STEPS[i].weight) {
            STEPS[i].write(plan, model, out);
            return;
        }
        chosen -= STEPS[i].weight;
    }
}

enum plan_extra chaos_plan_next(struct chaos_plan *plan, const struct api_model *model,
                                struct buf *out)
{
    if (++plan->steps_since_hard < plan->hard_every) {
        write_step(plan, model, out);
        return PLAN_NOTHING;
    }
    plan->steps_since_hard = 0;
    switch (below(plan, 4)) {
    case 0:
        return PLAN_CRASH;
    case 1:
        set_option(plan, model, out);
        return PLAN_RESTART;
    default:
        hurt_lists(plan, out);
        return PLAN_NOTHING;
    }
}

void chaos_plan_begin(struct chaos_plan *plan, struct buf *out)
{
    for (unsigned i = 0; i < NODES_MIN + 2; i++)
        buf_addf(out, "node n%u 8 %u 3\n", i, NODE_MIB);
    (void)plan;
}
