/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What deciding costs, without HTTP and JSON: one node for one pod, and the search for a set alone;
 * cold, and remembered in a memo.
 */
#include "stopwatch.h"
#include "support/builders.h"
#include "wirings.h"

#include "topofit/decide.h"
#include "topofit/gputopo_memo.h"
#include "topofit/mem.h"

#include <dirent.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_MAX 16
#define MEMORY_MIB 81920
#define SLOTS 10
#define MEMO_SLOTS 4096        /* as the daemon has */
#define ALL_COUNTS_BUDGET_MS 2 /* for each of many counts */
#define SET_COLD_US_MAX 2000.0 /* what a set of 8 of 16 may take */
#define SET_REMEMBERED_US_MAX 2.0

struct arguments {
    const char *json, *topologies;
    unsigned budget_ms;
};

/* What is measured, and where it is written down. */
struct bench {
    const struct arguments *arguments;
    json_t *decisions, *sets, *made;
    double worst_cold_us, worst_remembered_us;
};

static const char usage[] =
    "usage: bench_decide [--budget MS] [--topologies DIRECTORY] [--json FILE]\n"
    "\n"
    "What deciding costs, without HTTP and JSON. Cold: everything is searched for. Remembered: "
    "the\n"
    "same question as just before.\n"
    "\n"
    "  --budget      milliseconds for each figure, a median (default: 50)\n"
    "  --topologies  matrices of real machines (default: test/data/topologies)\n"
    "  --json        also write the figures to a file\n"
    "\n"
    "examples:\n"
    "  build/bench_decide\n"
    "  build/bench_decide --budget 500 --json decide.json\n"
    "\n"
    "tables: decisions  ns for one pod of whole devices on one node; * refused\n"
    "        sets       us for 8 of 16 free devices. A wiring of fewer devices is repeated, as\n"
    "                   machines side by side; slowest: of all counts from 1 to 16\n"
    "        made       the same for made wirings that are hard to search in\n";

/* --- one node, one pod ----------------------------------------------------------------------- */

struct decision {
    struct node *node;
    struct node_use use;
    struct request request;
    struct decide_policy policy;
    struct gputopo_memo *memo;
    struct plan plan;
    struct verdict verdict;
};

static void run_decision(void *ctx)
{
    struct decision *d = ctx;

    decide_node(d->node, &d->use, &d->request, &d->policy, d->memo, &d->plan, &d->verdict);
}

static void take_whole(struct node_use *use, const struct node *node, unsigned position)
{
    use_take(use, node, position, MEMORY_MIB, 100, ISOLATION_SHARED);
}

static void fill_nothing(struct node_use *use, const struct node *node)
{
    (void)use;
    (void)node;
}

static void fill_half(struct node_use *use, const struct node *node)
{
    for (unsigned i = 0; i < node->device_count / 2; i++)
        take_whole(use, node, i);
}

/* Every other device is free; of the others each second one is shared, with room left. */
static void fill_in_fragments(struct node_use *use, const struct node *node)
{
    for (unsigned i = 1; i < node->device_count; i += 2) {
        if (i % 4 == 1)
            take_whole(use, node, i);
        else
            use_take(use, node, i, MEMORY_MIB / 4, 25, ISOLATION_SHARED);
    }
}

static const struct state {
    const char *name;
    void (*fill)(struct node_use *use, const struct node *node);
} states[] = {{"empty", fill_nothing}, {"half", fill_half}, {"fragmented", fill_in_fragments}};

static json_t *decide_in_state(const struct arguments *arguments, struct node *node,
                               const struct state *state, unsigned count)
{
    struct decision decision = {.node = node,
                                .use = use_none(node),
                                .request = request_of((struct wish){.count = count}),
                                .policy = decide_policy_default()};
    double cold_ns, remembered_ns;
    bool is_kept;

    state->fill(&decision.use, node);
    cold_ns = stopwatch_ns(run_decision, &decision, arguments->budget_ms);
    decision.memo = gputopo_memo_new(MEMO_SLOTS);
    remembered_ns = stopwatch_ns(run_decision, &decision, arguments->budget_ms);
    is_kept = decision.verdict.reason == REASON_OK;
    gputopo_memo_free(decision.memo);
    request_clear(&decision.request);
    printf(" | %10.0f%c %10.0f", cold_ns, is_kept ? ' ' : '*', remembered_ns);
    return json_pack("{s:i,s:s,s:i,s:b,s:f,s:f}", "devices", (int)node->device_count, "state",
                     state->name, "count", (int)count, "kept", is_kept, "cold_ns", cold_ns,
                     "remembered_ns", remembered_ns);
}

static void decide_on(struct bench *bench, const char *wiring, struct peer_graph *steal_graph)
{
    struct node *node = node_plain("node", steal_graph->n, MEMORY_MIB, SLOTS);

    node_steal_graph(node, steal_graph);
    printf("\n%u devices, %s\n%5s", node->device_count, wiring, "count");
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        printf(" | %10s  %10s", states[i].name, "remembered");
    printf("\n");
    for (unsigned count = 1; count <= COUNT_MAX && count <= node->device_count; count++) {
        printf("%5u", count);
        for (size_t i = 0; i < ARRAY_LEN(states); i++)
            json_array_append_new(bench->decisions,
                                  decide_in_state(bench->arguments, node, &states[i], count));
        printf("\n");
        fflush(stdout);
    }
    node_unref(node);
}

/* --- sets ------------------------------------------------------------------------------------ */

struct search {
    struct topology_question question;
    struct topology_rule rule;
    struct gputopo_memo *memo;
    struct topology_choice choice;
};

static void run_search(void *ctx)
{
    struct search *search = ctx;

    gputopo_choose(&search->question, &search->rule, search->memo, &search->choice);
}

/* The slowest of all counts, cold. */
static double slowest_us(struct search *search, unsigned *at, bool *degraded)
{
    double slowest = 0;

    *at = 1;
    *degraded = false;
    for (unsigned count = 1; count <= search->question.graph->n; count++) {
        double us;

        search->question.count = count;
        us = stopwatch_ns(run_search, search, ALL_COUNTS_BUDGET_MS) / 1e3;
        *degraded |= search->choice.degraded;
        if (us > slowest) {
            slowest = us;
            *at = count;
        }
    }
    return slowest;
}

static void note_worst(struct bench *bench, double cold_us, double remembered_us)
{
    if (cold_us > bench->worst_cold_us)
        bench->worst_cold_us = cold_us;
    if (remembered_us > bench->worst_remembered_us)
        bench->worst_remembered_us = remembered_us;
}

/* Eight of all devices of a graph, all free. Prints a row. */
static json_t *choose_eight(struct bench *bench, const char *name, const struct peer_graph *graph,
                            bool has_preferences)
{
    uint16_t preference[DEVICE_MAX];
    device_mask all = mask_below(graph->n);
    struct search search = {.question = {.graph = graph, .candidates = all, .idle = all},
                            .rule = {.least_damage = true}};
    double cold_us, remembered_us, slowest;
    unsigned at;
    bool degraded;

    for (unsigned i = 0; i < graph->n; i++)
        preference[i] = wiring_preference(i);
    search.question.preference = has_preferences ? preference : NULL;
    slowest = slowest_us(&search, &at, &degraded);
    search.question.count = 8;
    cold_us = stopwatch_ns(run_search, &search, bench->arguments->budget_ms) / 1e3;
    search.memo = gputopo_memo_new(MEMO_SLOTS);
    remembered_us = stopwatch_ns(run_search, &search, bench->arguments->budget_ms) / 1e3;
    gputopo_memo_free(search.memo);
    note_worst(bench, graph->n == 16 ? cold_us : 0, remembered_us);
    printf("%-38s %3u %10.1f %10.3f %12.1f at %2u%s\n", name, graph->n, cold_us, remembered_us,
           slowest, at, degraded ? " degraded" : "");
    fflush(stdout);
    return json_pack("{s:s,s:i,s:f,s:f,s:f,s:i,s:b}", "wiring", name, "devices", (int)graph->n,
                     "cold_us", cold_us, "remembered_us", remembered_us, "slowest_us", slowest,
                     "slowest_count", (int)at, "degraded", degraded);
}

static void print_set_head(const char *title)
{
    printf("\n%s\n%-38s %3s %10s %10s %12s\n", title, "wiring", "of", "cold us", "remembered",
           "slowest us");
}

static int is_matrix(const struct dirent *entry)
{
    const char *end = strrchr(entry->d_name, '.');

    return entry->d_name[0] >= '0' && entry->d_name[0] <= '9' && end != NULL &&
           strcmp(end, ".txt") == 0;
}

static struct peer_graph *read_sixteen(const char *directory, const char *name)
{
    AUTO_FREE char *path = xasprintf("%s/%s", directory, name);
    AUTO(peers_unref_pointer) struct peer_graph *graph = wiring_read(path);

    return graph != NULL ? wiring_repeat(graph, 16) : NULL;
}

/* return false when there is none, or one that cannot be read. */
static bool choose_in_real_ones(struct bench *bench)
{
    struct dirent **names = NULL;
    int count = scandir(bench->arguments->topologies, &names, is_matrix, alphasort);
    bool is_good = count > 0;

    print_set_head("sets: 8 of 16 free devices, wirings of real machines");
    for (int i = 0; i < count; i++) {
        AUTO(peers_unref_pointer)
        struct peer_graph *graph = read_sixteen(bench->arguments->topologies, names[i]->d_name);

        if (graph != NULL)
            json_array_append_new(bench->sets, choose_eight(bench, names[i]->d_name, graph, false));
        is_good = is_good && graph != NULL;
        free(names[i]);
    }
    free(names);
    return is_good;
}

static void choose_in_made_ones(struct bench *bench)
{
    print_set_head("made: 8 free devices, wirings that are hard to search in");
    for (size_t i = 0; i < made_wiring_count; i++) {
        const struct made_wiring *wiring = &made_wirings[i];
        AUTO(peers_unref_pointer) struct peer_graph *graph = wiring_make(wiring);

        json_array_append_new(bench->made,
                              choose_eight(bench, wiring->name, graph, wiring->has_preferences));
    }
}

/* --- all ------------------------------------------------------------------------------------- */

static const struct made_wiring *made_wiring(const char *name, unsigned devices)
{
    for (size_t i = 0; i < made_wiring_count; i++) {
        if (strcmp(made_wirings[i].name, name) == 0 && made_wirings[i].devices == devices)
            return &made_wirings[i];
    }
    abort();
}

static bool decide_on_all(struct bench *bench)
{
    static const char *const files[] = {"01-dgx1-v100-hybrid-cube-mesh.txt",
                                        "51-aws-trn1-trn2-16-torus.txt"};

    printf("decisions: ns for one pod of `count` whole devices on one node; * refused\n");
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        AUTO_FREE char *path = xasprintf("%s/%s", bench->arguments->topologies, files[i]);
        AUTO(peers_unref_pointer) struct peer_graph *graph = wiring_read(path);

        if (graph == NULL)
            return false;
        decide_on(bench, files[i], wiring_repeat(graph, graph->n));
    }
    decide_on(bench, "bridged pairs", wiring_make(made_wiring("bridged pairs", 64)));
    return true;
}

static void judge(const struct bench *bench)
{
    printf("\n%-46s %10s %10s\n", "target", "measured", "at most");
    printf("%-46s %10.1f %10.1f\n", "slowest set of 8 of 16, cold, us", bench->worst_cold_us,
           SET_COLD_US_MAX);
    printf("%-46s %10.3f %10.3f\n", "slowest set, remembered, us", bench->worst_remembered_us,
           SET_REMEMBERED_US_MAX);
}

static int run(const struct arguments *arguments)
{
    struct bench bench = {arguments, json_array(), json_array(), json_array(), 0, 0};
    json_t *all = json_pack("{s:o,s:o,s:o}", "decisions", bench.decisions, "sets", bench.sets,
                            "made", bench.made);
    int status = 0;

    if (!decide_on_all(&bench) || !choose_in_real_ones(&bench)) {
        fprintf(stderr, "bench_decide: no matrices in %s\n", arguments->topologies);
        status = 2;
    } else {
        choose_in_made_ones(&bench);
        judge(&bench);
    }
    if (status == 0 && arguments->json != NULL &&
        json_dump_file(all, arguments->json, JSON_INDENT(1)) < 0) {
        fprintf(stderr, "bench_decide: cannot write %s\n", arguments->json);
        status = 2;
    }
    json_decref(all);
    return status;
}

static const struct option options[] = {{"budget", required_argument, NULL, 'b'},
                                        {"topologies", required_argument, NULL, 't'},
                                        {"json", required_argument, NULL, 'j'},
                                        {"help", no_argument, NULL, 'h'},
                                        {NULL, 0, NULL, 0}};

int main(int argc, char **argv)
{
    struct arguments arguments = {NULL, TEST_DATA "/topologies", 50};
    int option;

    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        switch (option) {
        case 'b':
            arguments.budget_ms = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 't':
            arguments.topologies = optarg;
            break;
        case 'j':
            arguments.json = optarg;
            break;
        case 'h':
            fputs(usage, stdout);
            return 0;
        default:
            fputs(usage, stderr);
            return 2;
        }
    }
    return run(&arguments);
}
