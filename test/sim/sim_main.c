/* SPDX-License-Identifier: Apache-2.0 */
/* sim_main - topofit-sim: run worlds, one for each seed. */
#include "faults.h"
#include "plant.h"
#include "world.h"

#include "topofit/mem.h"

#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXIT_USAGE 2

struct totals {
    uint64_t steps, seeds, rounds, bindings, failovers, faults[FAULT_KINDS];
};

/* For what ends the process: an assert in the code under test. */
static struct world *running;

static const char help[] =
    "usage: topofit-sim [options]\n"
    "\n"
    "Runs topofit against a made-up API server, kube-scheduler and network. One seed decides\n"
    "everything that happens; the same seed does so again.\n"
    "\n"
    "  --seed N           one seed (default 1)\n"
    "  --seeds FROM..TO   these seeds, one after the other\n"
    "  --steps N          steps of each seed, about (default 20000)\n"
    "  --replicas N       topofits, 1 to 5 (default 2)\n"
    "  --plant NAME       put a mistake in (see below)\n"
    "  --trace            print every step\n"
    "  --patient          do not mind pods that only kube-scheduler's five minutes wake\n"
    "  --all              go on after a failing seed; print one line for each\n"
    "  --quiet            print nothing but failures and one line at the end\n"
    "\n"
    "examples:\n"
    "  topofit-sim --seeds 1..50                      a look\n"
    "  topofit-sim --seed 7 --steps 20000 --trace     one seed, step by step\n"
    "  topofit-sim --seeds 1..100 --plant drop-delete is that mistake found?\n"
    "\n"
    "exit: 0 all is well, 1 something was found, 2 usage\n"
    "\n"
    "mistakes:\n";

static void print_help(void)
{
    fputs(help, stdout);
    for (enum plant plant = PLANT_NONE + 1; plant < PLANT_KINDS; plant++)
        printf("  %-20s %s\n", plant_text(plant), plant_what(plant));
}

static void print_failure(const struct world *world)
{
    const struct sim_options *options = &world->options;

    trace_print(&world->trace);
    printf("\nseed %" PRIu64 ", step %" PRIu64 ": %s\n", options->seed, world->steps,
           world->failure);
    printf("replay: topofit-sim --seed %" PRIu64 " --steps %" PRIu64 " --replicas %zu%s%s\n",
           options->seed, options->steps, options->replicas,
           options->plant != PLANT_NONE ? " --plant " : "",
           options->plant != PLANT_NONE ? plant_text(options->plant) : "");
}

/* The process is broken: say what can be said, and end. */
static void on_abort(int signal_number)
{
    (void)signal_number;
    if (running != NULL) {
        snprintf(running->failure, sizeof running->failure,
                 "an assert failed, or memory is broken");
        print_failure(running);
        fflush(stdout);
    }
    _exit(1);
}

static bool run_seed(const struct sim_options *options, bool is_brief, struct totals *totals)
{
    struct world *world = world_new(options);
    bool is_well;

    running = world;
    is_well = world_run(world);
    if (!is_well && is_brief)
        printf("seed %" PRIu64 ", step %" PRIu64 ": %s\n", options->seed, world->steps,
               world->failure);
    else if (!is_well)
        print_failure(world);
    running = NULL;
    totals->seeds++;
    totals->steps += world->steps;
    totals->rounds += world->rounds;
    totals->bindings += world->bindings;
    totals->failovers += world->failovers;
    for (size_t i = 0; i < FAULT_KINDS; i++)
        totals->faults[i] += world->faults.hits[i];
    world_free(world);
    return is_well;
}

static void print_totals(const struct totals *totals, double seconds, bool is_quiet)
{
    for (size_t i = 0; i < FAULT_KINDS && !is_quiet; i++)
        printf("%10" PRIu64 "  %s\n", totals->faults[i], fault_text((enum fault)i));
    printf("%" PRIu64 " steps, %" PRIu64 " seeds, %" PRIu64 " rounds, %" PRIu64
           " Bindings, %" PRIu64 " times a leader was found; %.1f s, %.2f million steps a minute\n",
           totals->steps, totals->seeds, totals->rounds, totals->bindings, totals->failovers,
           seconds, (double)totals->steps / seconds * 60 / 1e6);
}

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct arguments {
    struct sim_options options;
    uint64_t from, to;
    bool is_quiet, goes_on, wants_help;
};

static bool read_number(const char *text, uint64_t *out)
{
    char *end;

    *out = strtoull(text, &end, 10);
    return *text != '\0' && *end == '\0';
}

static bool read_range(const char *text, struct arguments *out)
{
    char *end;

    out->from = strtoull(text, &end, 10);
    return end != text && strncmp(end, "..", 2) == 0 && read_number(end + 2, &out->to) &&
           out->from <= out->to;
}

static bool read_seed(const char *text, struct arguments *out)
{
    bool is_read = read_number(text, &out->from);

    out->to = out->from;
    return is_read;
}

static bool read_replicas(const char *text, struct arguments *out)
{
    uint64_t count = 0;
    bool is_read = read_number(text, &count) && count >= 1 && count <= REPLICAS_MAX;

    out->options.replicas = (size_t)count;
    return is_read;
}

static bool read_option(int option, const char *value, struct arguments *out)
{
    switch (option) {
    case 's':
        return read_seed(value, out);
    case 'S':
        return read_range(value, out);
    case 'n':
        return read_number(value, &out->options.steps);
    case 'r':
        return read_replicas(value, out);
    case 'p':
        return plant_find(value, &out->options.plant);
    case 't':
        return out->options.traces = true;
    case 'a':
        return out->goes_on = true;
    case 'P':
        return out->options.is_patient = true;
    case 'q':
        return out->is_quiet = true;
    case 'h':
        return out->wants_help = true;
    default:
        return false;
    }
}

static bool read_arguments(int argc, char **argv, struct arguments *out)
{
    static const struct option options[] = {
        {"seed", required_argument, NULL, 's'},
        {"seeds", required_argument, NULL, 'S'},
        {"steps", required_argument, NULL, 'n'},
        {"replicas", required_argument, NULL, 'r'},
        {"plant", required_argument, NULL, 'p'},
        {"trace", no_argument, NULL, 't'},
        {"quiet", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},
        {"all", no_argument, NULL, 'a'},
        {"patient", no_argument, NULL, 'P'},
        {NULL, 0, NULL, 0},
    };
    int option;

    *out = (struct arguments){.options = {.steps = 20000, .replicas = 2}, .from = 1, .to = 1};
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (!read_option(option, optarg, out)) {
            if (optarg != NULL)
                fprintf(stderr, "topofit-sim: \"%s\" cannot be used here\n", optarg);
            return false;
        }
    }
    return optind == argc;
}

int main(int argc, char **argv)
{
    struct totals totals = {0};
    struct arguments arguments;
    double start = seconds_now();
    bool is_well = true;

    if (!read_arguments(argc, argv, &arguments)) {
        fputs("try topofit-sim --help\n", stderr);
        return EXIT_USAGE;
    }
    if (arguments.wants_help) {
        print_help();
        return EXIT_SUCCESS;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGABRT, on_abort);
    signal(SIGSEGV, on_abort);
    for (uint64_t seed = arguments.from; seed <= arguments.to; seed++) {
        arguments.options.seed = seed;
        is_well = run_seed(&arguments.options, arguments.goes_on, &totals) && is_well;
        if (!is_well && !arguments.goes_on)
            break;
    }
    print_totals(&totals, seconds_now() - start, arguments.is_quiet);
    return is_well ? EXIT_SUCCESS : EXIT_FAILURE;
}
