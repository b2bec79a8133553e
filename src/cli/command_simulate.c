/* SPDX-License-Identifier: Apache-2.0 */
/* topofit simulate - a workload that comes and goes, placed by topofit and by others. */
#include "command.h"
#include "topofit/clock.h"
#include "topofit/embedded.h"
#include "topofit/history.h"
#include "topofit/mem.h"
#include "topofit/simulate.h"
#include "topofit/simulate_load.h"
#include "topofit/text.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MEMO_SLOTS 65536
#define PROGRESS_AFTER_MS 1000 /* a short run needs no progress */
#define PROGRESS_EVERY_MS 200

static const char help[] =
    "Place a list of jobs that come and go on a list of nodes, in made-up time, with the code "
    "that\n"
    "'topofit serve' runs, and compare with what you have without it.\n"
    "\n"
    "usage: topofit simulate --workload FILE --nodes FILE [OPTION...]\n"
    "\n"
    "  -w, --workload FILE  jobs (CSV): name,arrival_s,duration_s,gpus,gpu_milli,cpu_milli,...\n"
    "                       or the columns of the openb traces; - reads stdin\n"
    "  -n, --nodes FILE     nodes: CSV (name,count,gpus,cpu_milli,memory_mib,model,topology,...)\n"
    "                       or the output of 'kubectl get nodes,pods -A -o yaml'\n"
    "  --policy POLICY      pack, spread or topology-first; default: as configured\n"
    "  --only WAYS          some of topofit,first-fit,best-effort; default: all three\n"
    "  --no-departures      nothing ever leaves, whatever the durations\n"
    "  --config FILE        configuration (YAML), of which topology and packing count\n"
    "  -o, --output FORMAT  text (default), json or csv\n"
    "  -h, --help           this text\n"
    "\n"
    "Ends with 0, or 1 when nothing could be placed, 4 when a file is not what it should be.\n"
    "Of a GPU that is divided (MIG) a job gets a fraction here, not a partition at a place.\n"
    "docs/reference/simulate.md tells the columns, the figures, and what is not modelled.\n"
    "\n"
    "Examples:\n"
    "  topofit simulate -w jobs.csv -n nodes.csv\n"
    "  topofit simulate -w jobs.csv -n nodes.csv --only topofit --policy spread -o json\n"
    "  kubectl get nodes,pods -A -o yaml | topofit simulate -w jobs.csv -n -\n";

struct arguments {
    const char *workload, *nodes, *config, *policy;
    enum simulate_format format;
    bool ways[SIMULATE_WAYS];
    bool no_departures, help;
};

/* --- words ----------------------------------------------------------------------------------- */

static int read_ways(const struct command *command, const char *list, bool *ways)
{
    struct error err = {0};
    const char *names[SIMULATE_WAYS + 1] = {NULL};
    char item[32];

    for (int w = 0; w < SIMULATE_WAYS; w++) {
        names[w] = simulate_way_name((enum simulate_way)w);
        ways[w] = false;
    }
    while (text_next_item(&list, item, sizeof item)) {
        int way = command_find_word(names, item, "--only", &err);

        if (way < 0)
            return command_complain(command, "%s", err.text);
        ways[way] = true;
    }
    if (!ways[SIMULATE_TOPOFIT] && !ways[SIMULATE_FIRST_FIT] && !ways[SIMULATE_BEST_EFFORT])
        return command_complain(command, "--only names nothing");
    return EXIT_YES;
}

static int read_format(const struct command *command, const char *word, enum simulate_format *out)
{
    static const char *const words[] = {
        [SIMULATE_TABLE] = "text", [SIMULATE_JSON] = "json", [SIMULATE_CSV] = "csv", NULL};
    struct error err = {0};
    int number = command_find_word(words, word, "-o", &err);

    if (number < 0)
        return command_complain(command, "%s", err.text);
    *out = (enum simulate_format)number;
    return EXIT_YES;
}

/* --- arguments ------------------------------------------------------------------------------- */

enum { POLICY = 256, ONLY, NO_DEPARTURES, CONFIG };

/* return an exit code. */
static int take_option(const struct command *command, int option, struct arguments *out)
{
    switch (option) {
    case 'w':
        return command_take_once(command, "--workload", &out->workload);
    case 'n':
        return command_take_once(command, "--nodes", &out->nodes);
    case POLICY:
        return command_take_once(command, "--policy", &out->policy);
    case ONLY:
        return read_ways(command, optarg, out->ways);
    case NO_DEPARTURES:
        out->no_departures = true;
        return EXIT_YES;
    case CONFIG:
        return command_take_once(command, "--config", &out->config);
    case 'o':
        return read_format(command, optarg, &out->format);
    case 'h':
        out->help = true;
        return EXIT_YES;
    default:
        return EXIT_USAGE;
    }
}

static int parse(const struct command *command, int argc, char **argv, struct arguments *out)
{
    static const struct option options[] = {{"workload", required_argument, NULL, 'w'},
                                            {"nodes", required_argument, NULL, 'n'},
                                            {"cluster", required_argument, NULL, 'n'},
                                            {"policy", required_argument, NULL, POLICY},
                                            {"only", required_argument, NULL, ONLY},
                                            {"no-departures", no_argument, NULL, NO_DEPARTURES},
                                            {"config", required_argument, NULL, CONFIG},
                                            {"output", required_argument, NULL, 'o'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, ":w:n:o:h", options, NULL)) != -1) {
        int code;

        if (option == ':' || option == '?')
            return command_complain_option(command, option, argv, options);
        code = take_option(command, option, out);
        if (code != EXIT_YES || out->help)
            return code;
    }
    if (optind < argc)
        return command_complain(command, "unexpected argument %s", argv[optind]);
    if (out->workload == NULL || out->nodes == NULL)
        return command_complain(command, "--workload and --nodes are both needed");
    if (strcmp(out->workload, "-") == 0 && strcmp(out->nodes, "-") == 0)
        return command_complain(command, "only one of --workload and --nodes can be stdin");
    return EXIT_YES;
}

/* --- progress -------------------------------------------------------------------------------- */

/* One line on the terminal that is written over. */
struct meter {
    uint64_t started_ms, told_ms;
    bool is_shown;
};

static void on_progress(void *ctx, enum simulate_way way, size_t arrived, size_t jobs)
{
    struct meter *meter = ctx;
    uint64_t now_ms = clock_monotonic_ms();

    if (now_ms - meter->started_ms < PROGRESS_AFTER_MS ||
        now_ms - meter->told_ms < PROGRESS_EVERY_MS)
        return;
    meter->told_ms = now_ms;
    meter->is_shown = true;
    fprintf(stderr, "\r%-11s %3zu %%  %zu of %zu jobs\033[K", simulate_way_name(way),
            100 * arrived / jobs, arrived, jobs);
}

static void wipe(const struct meter *meter)
{
    if (meter->is_shown)
        fputs("\r\033[K", stderr);
}

/* --- running --------------------------------------------------------------------------------- */

/* Everything of one command. */
struct session {
    struct simulation simulation;
    struct class_table classes;
    struct extender extender;
    struct embedded_port port;
    struct meter meter;
    struct simulate_report reports[SIMULATE_WAYS];
    size_t count;
};

static void session_open(struct session *session)
{
    const struct hash_key key = {{1, 2}}; /* one run over files of the user's own */

    *session = (struct session){.meter.started_ms = clock_monotonic_ms()};
    session->extender = (struct extender){.cluster = cluster_new(&key),
                                          .history = history_new(&key),
                                          .memo = gputopo_memo_new(MEMO_SLOTS),
                                          .waste_memo = waste_memo_new()};
    session->port = (struct embedded_port){session->extender.cluster, &session->classes};
    session->extender.binder = embedded_bind_port(&session->port);
}

static void session_clear(struct session *session)
{
    simulation_clear(&session->simulation);
    cluster_free(session->extender.cluster);
    history_free(session->extender.history);
    gputopo_memo_free(session->extender.memo);
    waste_memo_free(session->extender.waste_memo);
    class_table_clear(&session->classes);
}

static int read_files(const struct arguments *arguments, struct session *session, struct error *err)
{
    AUTO(buf_clear) struct buf workload = buf_with_max(EMBEDDED_BYTES_MAX);
    AUTO(buf_clear) struct buf nodes = buf_with_max(EMBEDDED_BYTES_MAX);
    const struct simulate_file workload_file = {arguments->workload, &workload};
    const struct simulate_file nodes_file = {arguments->nodes, &nodes};

    if (command_read(arguments->workload, &workload, err) < 0 ||
        command_read(arguments->nodes, &nodes, err) < 0 ||
        simulate_load(&workload_file, &nodes_file, &session->classes, session->extender.cluster,
                      &session->simulation, err) < 0)
        return error_pass(err);
    for (size_t i = 0; arguments->no_departures && i < session->simulation.arrivals.count; i++)
        session->simulation.arrivals.jobs[i].duration_ms = JOB_STAYS;
    return 0;
}

/* Jobs that fit nowhere even alone: some are worth a word, and all of them an error. */
static int check_hope(const struct arguments *arguments, struct session *session, struct error *err)
{
    const struct arrivals *arrivals = &session->simulation.arrivals;
    size_t count, first = 0;

    if (simulate_count_hopeless(&session->simulation, &count, &first, err) < 0)
        return error_wrap(err, "%s", arguments->workload);
    if (count == arrivals->count)
        return error_set(err, ERR_INVALID,
                         "%s: no job fits on any node of %s, not even alone. The first is %.60s "
                         "(line %u): compare its GPUs, products, CPU and memory with the nodes",
                         arguments->workload, arguments->nodes, arrivals->jobs[first].name,
                         arrivals->jobs[first].line);
    if (count > 0)
        fprintf(stderr,
                "topofit: %s: %zu of %zu jobs fit on no node, not even alone; the first is %s "
                "(line %u)\n",
                arguments->workload, count, arrivals->count, arrivals->jobs[first].name,
                arrivals->jobs[first].line);
    return 0;
}

static int run_ways(const struct arguments *arguments, struct session *session, struct error *err)
{
    const struct simulate_progress progress = {&session->meter, on_progress};
    const struct simulate_progress *shown = isatty(STDERR_FILENO) ? &progress : NULL;

    for (int w = 0; w < SIMULATE_WAYS; w++) {
        enum simulate_way way = (enum simulate_way)w;
        int result = 0;

        if (!arguments->ways[w])
            continue;
        result = simulate_run(&session->simulation, way,
                              way == SIMULATE_TOPOFIT ? &session->extender : NULL, shown,
                              &session->reports[session->count], err);
        wipe(&session->meter);
        if (result < 0)
            return error_wrap(err, "%s", arguments->workload);
        session->count++;
    }
    return 0;
}

/* What must never be: said aloud, since the figures are then worth nothing. */
static void tell_bugs(const struct session *session)
{
    for (size_t i = 0; i < session->count; i++) {
        const struct simulate_report *report = &session->reports[i];

        if (report->illegal > 0 || report->refused > 0)
            fprintf(stderr,
                    "topofit: a bug: %s: %zu placements beyond what there is, %zu failed binds\n",
                    simulate_way_name(report->way), report->illegal, report->refused);
    }
}

static int simulate(const struct arguments *arguments, struct session *session)
{
    AUTO(buf_clear) struct buf out = buf_with_max(1u << 20);
    struct error err = {0};
    size_t placed = 0;

    if (command_configure(&session->extender, &session->classes, arguments->config,
                          arguments->policy, &err) < 0 ||
        read_files(arguments, session, &err) < 0 || check_hope(arguments, session, &err) < 0 ||
        run_ways(arguments, session, &err) < 0)
        return command_fail(&err);
    simulate_write(session->reports, session->count, arguments->format, &out);
    fputs(buf_text(&out), stdout);
    tell_bugs(session);
    for (size_t i = 0; i < session->count; i++)
        placed += session->reports[i].placed;
    return placed > 0 ? EXIT_YES : EXIT_NO;
}

static int run(const struct command *command, int argc, char **argv)
{
    AUTO(session_clear) struct session session = {0};
    struct arguments arguments = {.format = SIMULATE_TABLE, .ways = {true, true, true}};
    int code = parse(command, argc, argv, &arguments);

    if (code != EXIT_YES)
        return code;
    if (arguments.help)
        return command_help(command);
    session_open(&session);
    return simulate(&arguments, &session);
}

const struct command command_simulate = {
    .name = "simulate",
    .summary = "place a workload on made-up nodes, and compare with doing without topofit",
    .help = help,
    .run = run};
