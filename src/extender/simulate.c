/* SPDX-License-Identifier: Apache-2.0 */
/* simulate - jobs that come and go: the clock, the queue, and what is measured. */
#include "simulate_inside.h"

#include "topofit/map.h"
#include "topofit/mem.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_EVERY 64 /* arrivals */
#define DEVICE_MILLI 1000.0

static const char *const way_names[SIMULATE_WAYS] = {"topofit", "first-fit", "best-effort"};

const char *simulate_way_name(enum simulate_way way)
{
    return way_names[way];
}

void simulation_clear(struct simulation *simulation)
{
    for (size_t m = 0; m < simulation->machine_count; m++)
        node_unref(simulation->machines[m].node);
    free(simulation->machines);
    arrivals_clear(&simulation->arrivals);
    *simulation = (struct simulation){0};
}

/* --- state ----------------------------------------------------------------------------------- */

/* Jobs that ask for exactly the same. What no machine could take before, only those can take now
 * that something has left since. */
struct kind {
    size_t asked_up_to; /* length of the log of leavings when the kind last fitted nowhere */
    bool has_failed;
};

/* What grows by the millisecond between the first and the last arrival. */
struct integral {
    double time_ms, used, idle, fragments;
};

struct engine {
    const struct simulation *simulation;
    struct pod_writer writer;
    struct typical_jobs typical;
    const struct request **requests; /* [jobs] borrowed from the pods */
    struct sim_job *jobs;            /* [jobs] in order of arrival */
    struct books books;
    struct placer placer;
    struct quality_judge *judge;
    struct kind *kinds;
    size_t kind_count, kind_capacity;
    struct sim_job **waiting; /* first come, first asked */
    size_t waiting_count;
    struct leaving leaving;
    size_t *freed; /* log: the machine that each job left */
    size_t freed_count, freed_capacity;
    size_t *room;  /* [machines] scratch: who is asked about */
    size_t *marks; /* [machines] scratch: the round in which a machine was listed */
    size_t round;
    uint64_t now_ms;
    size_t arrived;
    double arrived_milli; /* GPU that the jobs arrived so far ask for; negative: cannot be told */
    double full_sum;
    size_t full_count;
    struct integral over_time;
    double *waits;
    size_t wait_count;
    struct simulate_report *report;
};

static void engine_clear(struct engine *engine)
{
    if (engine->placer.free != NULL)
        engine->placer.free(engine->placer.ctx);
    for (size_t i = 0; engine->jobs != NULL && i < engine->simulation->arrivals.count; i++)
        pod_unref(engine->jobs[i].pod);
    typical_jobs_clear(&engine->typical);
    books_clear(&engine->books);
    quality_judge_free(engine->judge);
    free(engine->requests);
    free(engine->jobs);
    free(engine->kinds);
    free(engine->waiting);
    leaving_clear(&engine->leaving);
    free(engine->freed);
    free(engine->room);
    free(engine->marks);
    free(engine->waits);
}

static size_t kind_of(struct engine *engine, struct map *kinds, const struct job *job)
{
    AUTO_FREE char *key =
        xasprintf("%" PRIu64 "/%" PRIu64 "/%u/%d/%" PRIu64 "/%s/%s/%s/%s", job->cpu_milli,
                  job->memory_mib, job->gpus, (int)job->share, job->amount, job->products,
                  job->topology, job->max_tier, job->policy);
    size_t number = (size_t)(uintptr_t)map_get(kinds, key);

    if (number == 0) {
        engine->kinds = mem_grow(engine->kinds, engine->kind_count, &engine->kind_capacity,
                                 sizeof *engine->kinds);
        engine->kinds[engine->kind_count++] = (struct kind){0};
        number = engine->kind_count;
        map_put(kinds, key, (void *)(uintptr_t)number); /* NOLINT: a number, not an address */
    }
    return number - 1;
}

static int read_jobs(struct engine *engine, struct error *err)
{
    const struct arrivals *arrivals = &engine->simulation->arrivals;
    struct map *kinds = map_new(&(struct hash_key){{0, 0}});
    int result = 0;

    engine->jobs = xcalloc(arrivals->count, sizeof *engine->jobs);
    engine->requests = xcalloc(arrivals->count, sizeof(*engine->requests));
    for (size_t i = 0; i < arrivals->count && result == 0; i++) {
        struct sim_job *job = &engine->jobs[i];

        *job = (struct sim_job){.job = &arrivals->jobs[i],
                                .position = i,
                                .machine = NOWHERE,
                                .kind = kind_of(engine, kinds, &arrivals->jobs[i])};
        result =
            read_job_pod(&engine->writer, engine->simulation->classes, job->job, i, &job->pod, err);
        if (result == 0)
            engine->requests[i] = &job->pod->request;
    }
    map_free(kinds, NULL);
    return result;
}

static int engine_open(struct engine *engine, const struct simulation *simulation,
                       struct error *err)
{
    size_t jobs = simulation->arrivals.count;

    *engine = (struct engine){.simulation = simulation, .writer = pod_writer_of(simulation)};
    if (read_jobs(engine, err) < 0)
        return error_pass(err);
    typical_jobs_learn(&simulation->arrivals, engine->requests, &engine->typical);
    books_open(simulation, &engine->typical, &engine->books);
    engine->judge = quality_judge_new();
    engine->waiting = xcalloc(jobs, sizeof(*engine->waiting));
    leaving_open(&engine->leaving, jobs);
    engine->waits = xcalloc(jobs, sizeof *engine->waits);
    engine->room = xcalloc(simulation->machine_count, sizeof *engine->room);
    engine->marks = xcalloc(simulation->machine_count, sizeof *engine->marks);
    return 0;
}

/* --- placing --------------------------------------------------------------------------------- */

/* The machines worth asking about, ordered by name: into engine->room. return how many. */
static size_t list_room(struct engine *engine, const struct sim_job *job)
{
    const struct kind *kind = &engine->kinds[job->kind];
    size_t count = 0;

    engine->round++;
    for (size_t i = kind->asked_up_to; kind->has_failed && i < engine->freed_count; i++)
        engine->marks[engine->freed[i]] = engine->round;
    for (size_t m = 0; m < engine->books.count; m++) {
        if (kind->has_failed && engine->marks[m] != engine->round)
            continue;
        if (books_has_room(&engine->books, m, job->job))
            engine->room[count++] = m;
    }
    return count;
}

static void book(struct engine *engine, struct sim_job *job, const struct placement *placement)
{
    const struct simulate_machine *machine = &engine->simulation->machines[placement->machine];
    struct simulate_report *report = engine->report;

    report->illegal += !books_allow(&engine->books, job, placement->machine, placement->set);
    books_add(&engine->books, job, placement->machine, placement->set);
    job->placed_ms = engine->now_ms;
    engine->waits[engine->wait_count++] = (double)(engine->now_ms - job->job->arrival_ms) / 1000;
    quality_judge_note(engine->judge, machine->node->graph, placement->set);
    if (job->job->duration_ms != JOB_STAYS)
        leaving_push(&engine->leaving, job);
    report->placed++;
}

/* return 1 placed, 0 it fits nowhere, negative an error. */
static int try_to_place(struct engine *engine, struct sim_job *job, struct error *err)
{
    struct kind *kind = &engine->kinds[job->kind];
    struct placement placement = {.machine = NOWHERE};
    size_t count;

    if (kind->has_failed && kind->asked_up_to == engine->freed_count)
        return 0;
    count = list_room(engine, job);
    if (engine->placer.place(engine->placer.ctx, job, engine->room, count, &placement, err) < 0)
        return error_pass(err);
    if (placement.machine == NOWHERE) {
        *kind = (struct kind){.asked_up_to = engine->freed_count, .has_failed = true};
        return 0;
    }
    book(engine, job, &placement);
    return 1;
}

/* Something has left: all who wait are asked about again, in the order in which they came. */
static int retry(struct engine *engine, struct error *err)
{
    size_t kept = 0;

    for (size_t i = 0; i < engine->waiting_count; i++) {
        int placed = try_to_place(engine, engine->waiting[i], err);

        if (placed < 0)
            return placed;
        if (placed == 0)
            engine->waiting[kept++] = engine->waiting[i];
    }
    engine->waiting_count = kept;
    return 0;
}

static int leave_all(struct engine *engine, struct error *err)
{
    bool any = false;

    while (engine->leaving.count > 0 && leaving_next_ms(&engine->leaving) <= engine->now_ms) {
        struct sim_job *job = leaving_pop(&engine->leaving);

        engine->freed = mem_grow(engine->freed, engine->freed_count, &engine->freed_capacity,
                                 sizeof *engine->freed);
        engine->freed[engine->freed_count++] = job->machine;
        books_remove(&engine->books, job);
        engine->placer.leave(engine->placer.ctx, job);
        any = true;
    }
    return any ? retry(engine, err) : 0;
}

/* --- measuring ------------------------------------------------------------------------------- */

/* GPU that a job asks for, in thousandths; negative when its MiB are no fixed share. */
static double milli_of(const struct engine *engine, const struct job *job)
{
    uint64_t memory_mib = engine->writer.device_memory_mib;

    switch (job->share) {
    case SHARE_WHOLE:
        return DEVICE_MILLI * job->gpus;
    case SHARE_MILLI:
        return (double)job->amount * job->gpus;
    case SHARE_PERCENT:
        return (double)job->amount * 10 * job->gpus;
    case SHARE_MIB:
        return memory_mib == 0
                   ? -1
                   : DEVICE_MILLI * (double)job->amount / (double)memory_mib * job->gpus;
    }
    return -1;
}

static double allocated(const struct engine *engine)
{
    return engine->books.used_milli / engine->books.capacity_milli;
}

/*
 * After an arrival. Of a workload where nothing leaves, the published figures take the mean over
 * the arrivals at which the load, rounded to a percent, is 100.
 */
static void measure_arrival(struct engine *engine, double milli)
{
    struct simulate_report *report = engine->report;

    if (allocated(engine) > report->alloc_peak)
        report->alloc_peak = allocated(engine);
    engine->arrived_milli =
        milli < 0 || engine->arrived_milli < 0 ? -1 : engine->arrived_milli + milli;
    if ((long)(100 * engine->arrived_milli / engine->books.capacity_milli + 0.5) == 100) {
        engine->full_sum += allocated(engine);
        engine->full_count++;
    }
    report->alloc_end = allocated(engine);
    report->fragments_end =
        engine->books.idle_milli > 0 ? engine->books.fragments_milli / engine->books.idle_milli : 0;
}

/* Time passes; it counts while jobs are still to arrive. */
static void pass_time(struct engine *engine, uint64_t until_ms)
{
    double passed_ms = (double)(until_ms - engine->now_ms);

    if (engine->arrived > 0 && engine->arrived < engine->simulation->arrivals.count) {
        engine->over_time.time_ms += passed_ms;
        engine->over_time.used += passed_ms * engine->books.used_milli;
        engine->over_time.idle += passed_ms * engine->books.idle_milli;
        engine->over_time.fragments += passed_ms * engine->books.fragments_milli;
    }
    engine->now_ms = until_ms;
}

static void report_waits(struct engine *engine)
{
    struct simulate_report *report = engine->report;
    double sum = 0;

    sort_numbers(engine->waits, engine->wait_count);
    for (size_t i = 0; i < engine->wait_count; i++)
        sum += engine->waits[i];
    report->wait_mean_s = engine->wait_count > 0 ? sum / (double)engine->wait_count : 0;
    report->wait_p50_s = percentile(engine->waits, engine->wait_count, 0.5);
    report->wait_p95_s = percentile(engine->waits, engine->wait_count, 0.95);
    report->wait_max_s = percentile(engine->waits, engine->wait_count, 1);
}

static void report_all(struct engine *engine)
{
    const struct integral *over_time = &engine->over_time;
    struct simulate_report *report = engine->report;

    report->jobs = engine->simulation->arrivals.count;
    report->never = engine->waiting_count;
    if (engine->waiting_count > 0)
        report->first_never = engine->waiting[0]->position;
    report->alloc_mean = report->fragments_mean = report->alloc_full = -1;
    if (over_time->time_ms > 0)
        report->alloc_mean = over_time->used / over_time->time_ms / engine->books.capacity_milli;
    if (over_time->time_ms > 0)
        report->fragments_mean = over_time->idle > 0 ? over_time->fragments / over_time->idle : 0;
    if (engine->freed_count == 0 && engine->full_count > 0)
        report->alloc_full = engine->full_sum / (double)engine->full_count;
    report_waits(engine);
    quality_judge_report(engine->judge, report);
}

/* --- the run --------------------------------------------------------------------------------- */

static int arrive(struct engine *engine, struct sim_job *job, struct error *err)
{
    int placed = try_to_place(engine, job, err);

    if (placed < 0)
        return placed;
    if (placed == 0)
        engine->waiting[engine->waiting_count++] = job;
    engine->arrived++;
    measure_arrival(engine, milli_of(engine, job->job));
    return 0;
}

static void tell(const struct simulate_progress *progress, const struct engine *engine)
{
    if (progress != NULL && engine->arrived % PROGRESS_EVERY == 0)
        progress->on_progress(progress->ctx, engine->report->way, engine->arrived,
                              engine->simulation->arrivals.count);
}

static int run(struct engine *engine, const struct simulate_progress *progress, struct error *err)
{
    size_t jobs = engine->simulation->arrivals.count;

    while (engine->arrived < jobs || engine->leaving.count > 0) {
        struct sim_job *next = engine->arrived < jobs ? &engine->jobs[engine->arrived] : NULL;
        uint64_t leaving_ms = leaving_next_ms(&engine->leaving);

        /* At the same moment those who leave make room for those who come. */
        if (next == NULL || leaving_ms <= next->job->arrival_ms) {
            pass_time(engine, leaving_ms);
            if (leave_all(engine, err) < 0)
                return error_pass(err);
            continue;
        }
        pass_time(engine, next->job->arrival_ms);
        if (arrive(engine, next, err) < 0)
            return error_pass(err);
        tell(progress, engine);
    }
    return 0;
}

int simulate_run(const struct simulation *simulation, enum simulate_way way,
                 struct extender *extender, const struct simulate_progress *progress,
                 struct simulate_report *out, struct error *err)
{
    AUTO(engine_clear) struct engine engine;
    struct simulate_report report = {.way = way};

    assert((way == SIMULATE_TOPOFIT) == (extender != NULL));
    if (engine_open(&engine, simulation, err) < 0)
        return error_pass(err);
    engine.report = &report;
    engine.placer = way == SIMULATE_TOPOFIT
                        ? topofit_placer(extender, simulation, &engine.now_ms, &report.refused)
                        : baseline_placer(&engine.books, way);
    if (run(&engine, progress, err) < 0)
        return error_pass(err);
    report_all(&engine);
    *out = report;
    return 0;
}

/* --- hope ------------------------------------------------------------------------------------ */

/* Could any machine take the job if nothing ran on it? */
static bool is_hopeless(const struct simulation *empty, const struct books *books,
                        const struct sim_job *job)
{
    for (size_t m = 0; m < empty->machine_count; m++) {
        if (books_has_room(books, m, job->job) &&
            (job->job->gpus == 0 || books_candidates(books, m, job) != 0))
            return false;
    }
    return true;
}

/* The same machines, and nothing on them. node->host says what there is at all. */
static void empty_machines(const struct simulation *simulation, struct simulation *out)
{
    *out = *simulation;
    out->machines = xcalloc(simulation->machine_count, sizeof *out->machines);
    for (size_t m = 0; m < simulation->machine_count; m++) {
        struct node *node = simulation->machines[m].node;

        out->machines[m] = (struct simulate_machine){
            .node = node,
            .use = {.device_count = node->device_count},
            .cpu_milli = node->host.cpu_milli > 0 ? node->host.cpu_milli : MACHINE_UNLIMITED,
            .memory_mib = node->host.memory_mib > 0 ? node->host.memory_mib : MACHINE_UNLIMITED};
    }
}

/* The nodes and the workload are borrowed. */
static void empty_clear(struct simulation *empty)
{
    free(empty->machines);
}

int simulate_count_hopeless(const struct simulation *simulation, size_t *count, size_t *first,
                            struct error *err)
{
    AUTO(empty_clear) struct simulation empty = {0}; /* outlives the engine, which borrows it */
    AUTO(engine_clear) struct engine engine;
    AUTO_FREE bool *is_asked = NULL;
    AUTO_FREE bool *is_lost = NULL;

    empty_machines(simulation, &empty);
    if (engine_open(&engine, &empty, err) < 0)
        return error_pass(err);
    is_asked = xcalloc(engine.kind_count, sizeof *is_asked);
    is_lost = xcalloc(engine.kind_count, sizeof *is_lost);
    *count = 0;
    for (size_t i = 0; i < empty.arrivals.count; i++) {
        const struct sim_job *job = &engine.jobs[i];

        if (!is_asked[job->kind])
            is_lost[job->kind] = is_hopeless(&empty, &engine.books, job);
        is_asked[job->kind] = true;
        if (is_lost[job->kind] && (*count)++ == 0)
            *first = i;
    }
    return 0;
}
