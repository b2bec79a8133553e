/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_books - who is where in a simulation, counted apart from the cluster. */
#include "simulate_inside.h"

#include "topofit/gpufit.h"
#include "topofit/mem.h"

#include <stdlib.h>

#define DEVICE_MILLI 1000.0

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

/* Count a machine anew; what it was before goes out of the sums. */
static void count(struct books *books, struct sim_machine *machine)
{
    const struct node *node = machine->given->node;
    double idle = 0, usable = 0, fragments;

    for (unsigned i = 0; i < node->device_count; i++) {
        if (!typical_jobs_concern(books->typical, &node->devices[i]))
            continue;
        idle += fragments_idle_milli(&node->devices[i], &machine->use.devices[i]);
        usable += node->devices[i].healthy && !node->devices[i].cordoned ? DEVICE_MILLI : 0;
    }
    /* Somebody has them, though nobody knows which. */
    idle -= lesser(idle, DEVICE_MILLI * machine->use.unattributed);
    fragments = lesser(idle, fragments_of(books->typical, node, &machine->use, machine->cpu_left));
    books->idle_milli += idle - machine->idle_milli;
    books->used_milli += usable - idle - machine->used_milli;
    books->fragments_milli += fragments - machine->fragments_milli;
    machine->idle_milli = idle;
    machine->used_milli = usable - idle;
    machine->fragments_milli = fragments;
}

void books_open(const struct simulation *simulation, const struct typical_jobs *typical,
                struct books *out)
{
    *out = (struct books){.typical = typical, .count = simulation->machine_count};
    out->machines = xcalloc(simulation->machine_count, sizeof *out->machines);
    for (size_t m = 0; m < simulation->machine_count; m++) {
        const struct simulate_machine *given = &simulation->machines[m];

        out->machines[m] = (struct sim_machine){.given = given,
                                                .use = given->use,
                                                .cpu_left = given->cpu_milli,
                                                .memory_left = given->memory_mib};
        count(out, &out->machines[m]);
    }
    out->capacity_milli = out->used_milli + out->idle_milli;
}

void books_clear(struct books *books)
{
    free(books->machines);
    *books = (struct books){0};
}

bool books_has_room(const struct books *books, size_t machine, const struct job *job)
{
    const struct sim_machine *at = &books->machines[machine];

    return at->cpu_left >= job->cpu_milli && at->memory_left >= job->memory_mib &&
           at->given->node->device_count >= job->gpus;
}

device_mask books_candidates(const struct books *books, size_t machine, const struct sim_job *job)
{
    const struct sim_machine *at = &books->machines[machine];
    const struct fit_question question = {.node = at->given->node,
                                          .use = &at->use,
                                          .request = &job->pod->request,
                                          .ask = &job->pod->request.asks[0]};
    struct verdict verdict;
    struct fit fit = gpufit_candidates(&question, NULL, &verdict);

    return verdict.reason == REASON_OK ? fit.candidates : 0;
}

bool books_allow(const struct books *books, const struct sim_job *job, size_t machine,
                 device_mask set)
{
    if (!books_has_room(books, machine, job->job) || mask_count(set) != job->job->gpus)
        return false;
    return set == 0 || (set & ~books_candidates(books, machine, job)) == 0;
}

static void add_use(struct sim_machine *machine, const struct sim_job *job)
{
    const struct request *request = &job->pod->request;
    const struct node *node = machine->given->node;

    for (device_mask left = job->set; left != 0; left &= left - 1) {
        const struct device *device = &node->devices[mask_first(left)];
        const struct ask *ask = &request->asks[0];
        const struct grant grant = {.id = device->id,
                                    .memory_mib = ask_memory_mib(request, ask, device->memory_mib),
                                    .cores = ask_cores(request, ask, device->cores),
                                    .slots = 1,
                                    .mode = ask_isolation_mode(request, ask),
                                    .is_planned = true};

        node_use_add(&machine->use, node, &grant);
    }
}

static uint64_t take(uint64_t from, uint64_t amount)
{
    if (from == MACHINE_UNLIMITED)
        return from;
    return from > amount ? from - amount : 0;
}

static uint64_t give(uint64_t to, uint64_t amount)
{
    return to == MACHINE_UNLIMITED ? to : to + amount;
}

void books_add(struct books *books, struct sim_job *job, size_t machine, device_mask set)
{
    struct sim_machine *at = &books->machines[machine];

    job->machine = machine;
    job->set = set;
    job->next = at->jobs;
    at->jobs = job;
    at->cpu_left = take(at->cpu_left, job->job->cpu_milli);
    at->memory_left = take(at->memory_left, job->job->memory_mib);
    add_use(at, job);
    count(books, at);
}

void books_remove(struct books *books, struct sim_job *job)
{
    struct sim_machine *at = &books->machines[job->machine];
    struct sim_job **link = &at->jobs;

    while (*link != job)
        link = &(*link)->next;
    *link = job->next;
    job->machine = NOWHERE;
    at->cpu_left = give(at->cpu_left, job->job->cpu_milli);
    at->memory_left = give(at->memory_left, job->job->memory_mib);
    /* Sums are computed anew rather than counted down: they cannot drift. */
    at->use = at->given->use;
    for (const struct sim_job *other = at->jobs; other != NULL; other = other->next)
        add_use(at, other);
    count(books, at);
}
