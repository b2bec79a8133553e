/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kube-scheduler's calls cost: the real daemon over loopback, and beside each call the same
 * bytes to the floor, the HTTP server alone. Calls to both alternate, so that what else the machine
 * does hits both; figures are compared as ratios within one run.
 */
#include "cluster_dump.h"
#include "served.h"
#include "timed_client.h"
#include "topofit/mem.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZES_MAX 8
#define ROWS_MAX 16 /* of one size */
#define MIXED_DEVICE_KINDS 12
#define QUESTION_BYTES_MAX (32u << 20)
#define WARM_UP_CALLS 20
#define WORKERS 16 /* source: kube-scheduler's default parallelism */
#define FIRST_BOUND_POD 50000000u

struct arguments {
    const char *program, *json, *dump;
    unsigned sizes[SIZES_MAX];
    size_t size_count;
    unsigned rounds, gpus, plain_pods;
    enum dump_records records;
};

/* One row of the table. */
struct row {
    const char *series;
    unsigned nodes;
    size_t names, question_bytes, answer_bytes;
    unsigned calls;
    double p10_us, floor_p10_us; /* about what it costs while nobody else runs */
    double p50_us, p99_us, max_us, cpu_us;
    double floor_p50_us, floor_p99_us, floor_max_us, floor_cpu_us;
    size_t resident_kib, peak_kib;
};

/* What is being measured, and with what. */
struct bench {
    const struct arguments *arguments;
    struct served daemon, floor;
    struct timed_client daemon_client, floor_client;
    unsigned node_count, next_pod;
    unsigned *order; /* [node_count] the nodes as the scheduler names them */
    struct row rows[SIZES_MAX * ROWS_MAX];
    size_t row_count;
};

/* How the calls of one row differ. */
struct series {
    const char *name, *path;
    size_t names;
    bool kept_only;   /* name only nodes that can take the pod, as prioritize is asked */
    bool binds;       /* a pod is bound between two calls */
    bool interleaved; /* the order is another one in each call */
    bool is_mixed;    /* pods of all kinds come in turns */
};

static const char usage[] =
    "usage: bench_extender [--topofit PROGRAM] [--sizes N,N,...] [--rounds N] [--gpus N]\n"
    "                      [--plain-pods N] [--records native|hami] [--json FILE]\n"
    "\n"
    "Starts the daemon on clusters of several sizes, asks what kube-scheduler asks, and compares\n"
    "with the floor: the same HTTP library reading the same body and answering as many bytes.\n"
    "\n"
    "  --topofit     the program (default: topofit beside this one)\n"
    "  --sizes       nodes, of 8 GPUs each (default: 100,1000,5000,15000)\n"
    "  --rounds      calls of each series (default: 400)\n"
    "  --gpus        whole GPUs that the pod asks for (default: 4)\n"
    "  --plain-pods  pods without GPUs on each node (default: 0)\n"
    "  --records     how nodes tell of their GPUs, and pods of theirs (default: native)\n"
    "  --json        also write the rows to a file\n"
    "\n"
    "examples:\n"
    "  build/bench_extender\n"
    "  build/bench_extender --sizes 5000 --rounds 2000 --json extender.json\n"
    "  build/bench_extender --sizes 1000 --plain-pods 100\n"
    "  build/bench_extender --records hami\n"
    "\n"
    "series: filter           the same order of names in each call, nothing changes\n"
    "        filter+bind      as filter, and a pod is bound between two calls\n"
    "        filter shuffled  names come as from 16 workers that overtake each other\n"
    "        prioritize       the names that filter keeps, 500 or 5,000 at most\n"
    "        mixed ...        another cluster of that size: GPUs of 12 sizes, one to a node, and\n"
    "                         pods of 20 kinds in turns, 16 of them for fractions of a GPU\n"
    "        bind             whole bind calls, bound in memory; the floor answers as many bytes\n";

static void give_up(const char *what, const char *text)
{
    fprintf(stderr, "bench_extender: %s%s\n", what, text);
    exit(2);
}

/* --- questions ------------------------------------------------------------------------------- */

static uint64_t next_chance(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* The scheduler's own order: zone by zone in turns, and inside a zone as the nodes became known. */
static unsigned *scheduler_order(unsigned count)
{
    unsigned *order = xcalloc(count, sizeof *order);
    uint64_t chance = 88172645463325252u;

    for (unsigned i = 0; i < count; i++)
        order[i] = i;
    for (unsigned i = count; i > 1; i--) {
        unsigned k = (unsigned)(next_chance(&chance) % i), swapped = order[i - 1];

        order[i - 1] = order[k];
        order[k] = swapped;
    }
    return order;
}

/*
 * As kube-scheduler's workers leave the names: each takes the next piece of sqrt(count) and works
 * through it, and all append to one list. source: pkg/scheduler/framework/parallelize
 */
static void interleave(const unsigned *from, size_t count, uint64_t *chance, unsigned *out)
{
    size_t piece = 1, next = 0, at[WORKERS] = {0}, end[WORKERS] = {0};

    while (piece * piece < count)
        piece++;
    for (size_t i = 0; i < count;) {
        size_t w = (size_t)(next_chance(chance) % WORKERS);

        if (at[w] == end[w] && next < count) {
            at[w] = next;
            end[w] = next = next + piece < count ? next + piece : count;
        }
        if (at[w] < end[w])
            out[i++] = from[at[w]++];
    }
}

/* The nodes to name in the calls of a series. return how many. */
static size_t choose_nodes(const struct bench *bench, const struct series *series, unsigned *out)
{
    size_t count = 0;

    for (unsigned i = 0; i < bench->node_count && count < series->names; i++) {
        unsigned used = (unsigned)__builtin_popcount(dump_pattern(bench->order[i]));

        if (!series->kept_only || DUMP_DEVICES - used >= bench->arguments->gpus)
            out[count++] = bench->order[i];
    }
    return count;
}

/* --- measuring ------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double quantile(double *sorted, size_t count, double share)
{
    return sorted[(size_t)((double)(count - 1) * share + 0.5)];
}

/* Bind a pod of one GPU to a node: the filter call makes it known, as the scheduler's would. */
static bool bind_one(struct bench *bench, unsigned node, double *took_us)
{
    AUTO(buf_clear) struct buf question = buf_with_max(QUESTION_BYTES_MAX);
    unsigned number = FIRST_BOUND_POD + bench->next_pod++;

    dump_question(&question, number, 1, &node, 1);
    timed_client_post(&bench->daemon_client, "/filter", question.data, question.length);
    buf_reset(&question);
    dump_binding(&question, number, node);
    *took_us = timed_client_post(&bench->daemon_client, "/bind", question.data, question.length);
    return strncmp(bench->daemon_client.body, "{\"Error\":\"\"}", 12) == 0;
}

static double ask_floor(struct bench *bench, const struct buf *question, size_t answer_bytes)
{
    char path[64];

    snprintf(path, sizeof path, "/floor/%zu", answer_bytes);
    return timed_client_post(&bench->floor_client, path, question->data, question->length);
}

static void finish_row(struct row *row, double *ours, double *floors)
{
    qsort(ours, row->calls, sizeof *ours, by_size);
    qsort(floors, row->calls, sizeof *floors, by_size);
    row->p10_us = quantile(ours, row->calls, 0.1);
    row->floor_p10_us = quantile(floors, row->calls, 0.1);
    row->p50_us = quantile(ours, row->calls, 0.5);
    row->p99_us = quantile(ours, row->calls, 0.99);
    row->max_us = ours[row->calls - 1];
    row->floor_p50_us = quantile(floors, row->calls, 0.5);
    row->floor_p99_us = quantile(floors, row->calls, 0.99);
    row->floor_max_us = floors[row->calls - 1];
}

static void print_row(const struct row *row)
{
    printf("%-16s %6u %6zu %8zu %8zu | %8.0f %8.0f %8.0f %8.0f | %8.0f %8.0f %8.0f | %5.2f %5.2f "
           "%5.2f "
           "%5.2f | %6zu\n",
           row->series, row->nodes, row->names, row->question_bytes, row->answer_bytes, row->p50_us,
           row->p99_us, row->max_us, row->cpu_us, row->floor_p50_us, row->floor_p99_us,
           row->floor_cpu_us, row->p10_us / row->floor_p10_us, row->p50_us / row->floor_p50_us,
           row->p99_us / row->floor_p99_us, row->cpu_us / row->floor_cpu_us,
           row->resident_kib / 1024);
    fflush(stdout);
}

static struct row *open_row(struct bench *bench, const char *series, size_t names)
{
    struct row *row = &bench->rows[bench->row_count++];

    *row = (struct row){.series = series, .nodes = bench->node_count, .names = names};
    return row;
}

static void close_row(struct bench *bench, struct row *row, double *ours, double *floors)
{
    struct served_cost cost = served_cost(&bench->daemon);

    row->resident_kib = cost.resident_kib;
    row->peak_kib = cost.peak_kib;
    finish_row(row, ours, floors);
    print_row(row);
}

/* One call of each; the binds in between are not part of the figures. */
static void call_both(struct bench *bench, const struct series *series, const struct buf *question,
                      struct row *row, double *ours, double *floors)
{
    double before = served_cost(&bench->daemon).cpu_us, unused;
    double floor_before;

    *ours =
        timed_client_post(&bench->daemon_client, series->path, question->data, question->length);
    row->cpu_us += served_cost(&bench->daemon).cpu_us - before;
    row->question_bytes = question->length;
    row->answer_bytes = bench->daemon_client.body_length;
    floor_before = served_cost(&bench->floor).cpu_us;
    *floors = ask_floor(bench, question, row->answer_bytes);
    row->floor_cpu_us += served_cost(&bench->floor).cpu_us - floor_before;
    if (series->binds)
        bind_one(bench, bench->order[bench->next_pod % bench->node_count], &unused);
}

/* The questions of a series, one for each kind of pod in it. */
struct questions {
    struct buf of[DUMP_POD_KINDS];
    unsigned count;
};

static void write_questions(const struct bench *bench, const struct series *series,
                            const unsigned *named, size_t count, struct questions *out)
{
    out->count = series->is_mixed ? DUMP_POD_KINDS : 1;
    for (unsigned kind = 0; kind < out->count; kind++) {
        buf_clear(&out->of[kind]);
        out->of[kind] = buf_with_max(QUESTION_BYTES_MAX);
        if (series->is_mixed)
            dump_mixed_question(&out->of[kind], 0, kind, named, count);
        else
            dump_question(&out->of[kind], 0, bench->arguments->gpus, named, count);
    }
}

static void questions_clear(struct questions *questions)
{
    for (unsigned kind = 0; kind < questions->count; kind++)
        buf_clear(&questions->of[kind]);
}

static void run_series(struct bench *bench, const struct series *series)
{
    unsigned rounds = bench->arguments->rounds;
    double *ours = xcalloc(rounds + WARM_UP_CALLS, sizeof *ours);
    double *floors = xcalloc(rounds + WARM_UP_CALLS, sizeof *floors);
    unsigned *nodes = xcalloc(bench->node_count, sizeof *nodes);
    unsigned *named = xcalloc(bench->node_count, sizeof *named);
    size_t count = choose_nodes(bench, series, nodes);
    struct row *row = open_row(bench, series->name, count);
    AUTO(questions_clear) struct questions questions = {0};
    uint64_t chance = 1234567;

    memcpy(named, nodes, count * sizeof *named);
    for (unsigned i = 0; i < rounds + WARM_UP_CALLS; i++) {
        struct buf *question;

        if (i == WARM_UP_CALLS)
            row->cpu_us = row->floor_cpu_us = 0;
        if (series->interleaved)
            interleave(nodes, count, &chance, named);
        if (series->interleaved || i == 0)
            write_questions(bench, series, named, count, &questions);
        question = &questions.of[i % questions.count];
        dump_renumber(question, bench->next_pod++);
        call_both(bench, series, question, row, &ours[i], &floors[i]);
    }
    row->calls = rounds;
    row->cpu_us /= rounds;
    row->floor_cpu_us /= rounds;
    close_row(bench, row, ours + WARM_UP_CALLS, floors + WARM_UP_CALLS);
    free(ours);
    free(floors);
    free(nodes);
    free(named);
}

/* Every node takes a pod, until all rounds are done or the cluster is full. */
static void run_binds(struct bench *bench)
{
    unsigned rounds = bench->arguments->rounds;
    double *ours = xcalloc(rounds, sizeof *ours), *floors = xcalloc(rounds, sizeof *floors);
    struct row *row = open_row(bench, "bind", 1);
    AUTO(buf_clear) struct buf question = buf_with_max(QUESTION_BYTES_MAX);

    dump_binding(&question, FIRST_BOUND_POD, 0);
    row->question_bytes = question.length;
    row->answer_bytes = strlen("{\"Error\":\"\"}");
    for (unsigned i = 0; i < bench->node_count * DUMP_DEVICES && row->calls < rounds; i++) {
        if (!bind_one(bench, bench->order[i % bench->node_count], &ours[row->calls]))
            continue;
        floors[row->calls++] = ask_floor(bench, &question, row->answer_bytes);
    }
    close_row(bench, row, ours, floors);
    free(ours);
    free(floors);
}

/* The first call of a pod's kind: every distinct state is decided. */
static void run_first(struct bench *bench)
{
    AUTO(buf_clear) struct buf question = buf_with_max(QUESTION_BYTES_MAX);
    struct series first = {.name = "filter, first", .path = "/filter", .names = bench->node_count};
    struct row *row = open_row(bench, first.name, bench->node_count);
    double ours, floors;

    ask_floor(bench, &question, 100);
    dump_question(&question, bench->next_pod++, bench->arguments->gpus, bench->order,
                  bench->node_count);
    call_both(bench, &first, &question, row, &ours, &floors);
    row->calls = 1;
    close_row(bench, row, &ours, &floors);
}

/* The daemon of one size, and the floor. */
static void start(struct bench *bench, const struct dump_size *size)
{
    long pods = dump_write(bench->arguments->dump, size);
    double begin = timed_now_ns();
    struct served_cost cost;

    if (pods < 0)
        give_up("cannot write ", bench->arguments->dump);
    bench->daemon = served_daemon(bench->arguments->program, bench->arguments->dump);
    cost = served_cost(&bench->daemon);
    printf("# %u nodes, %u GPUs, %ld GPU pods, %u other pods: started in %.0f ms, %zu MiB resident "
           "(peak %zu MiB)\n",
           size->nodes, size->nodes * DUMP_DEVICES, pods, size->nodes * size->plain_pods,
           (timed_now_ns() - begin) / 1e6, cost.resident_kib / 1024, cost.peak_kib / 1024);
    bench->floor = served_floor();
    bench->daemon_client = timed_client_connect(bench->daemon.port);
    bench->floor_client = timed_client_connect(bench->floor.port);
}

static void stop(struct bench *bench)
{
    timed_client_close(&bench->daemon_client);
    timed_client_close(&bench->floor_client);
    served_stop(&bench->daemon);
    served_stop(&bench->floor);
}

static void run_mixed(struct bench *bench)
{
    const struct dump_size size = {.nodes = bench->node_count,
                                   .plain_pods = bench->arguments->plain_pods,
                                   .device_kinds = MIXED_DEVICE_KINDS,
                                   .records = bench->arguments->records};
    const struct series series[] = {
        {"mixed filter", "/filter", size.nodes, false, false, false, true},
        {"mixed prioritize", "/prioritize", 5000, true, false, false, true},
        {"mixed prio.+bind", "/prioritize", 5000, true, true, false, true},
    };

    start(bench, &size);
    for (size_t i = 0; i < ARRAY_LEN(series); i++)
        run_series(bench, &series[i]);
    stop(bench);
}

static void run_uniform(struct bench *bench)
{
    const struct dump_size size = {.nodes = bench->node_count,
                                   .plain_pods = bench->arguments->plain_pods,
                                   .records = bench->arguments->records};
    const struct series series[] = {
        {"filter", "/filter", size.nodes, false, false, false, false},
        {"filter+bind", "/filter", size.nodes, false, true, false, false},
        {"prioritize", "/prioritize", 500, true, false, false, false},
        {"prioritize", "/prioritize", 5000, true, false, false, false},
        {"prioritize+bind", "/prioritize", 5000, true, true, false, false},
        {"filter shuffled", "/filter", size.nodes, false, false, true, false},
    };

    start(bench, &size);
    run_first(bench);
    for (size_t i = 0; i < ARRAY_LEN(series); i++)
        run_series(bench, &series[i]);
    run_binds(bench);
    stop(bench);
}

static void run_size(struct bench *bench)
{
    bench->order = scheduler_order(bench->node_count);
    run_uniform(bench);
    run_mixed(bench);
    free(bench->order);
}

/* --- telling --------------------------------------------------------------------------------- */

static void print_head(void)
{
    printf("%-16s %6s %6s %8s %8s | %8s %8s %8s %8s | %8s %8s %8s | %5s %5s %5s %5s | %6s\n",
           "series", "nodes", "names", "asked B", "answer B", "p50 us", "p99 us", "max us",
           "cpu us", "floor 50", "floor 99", "cpu", "x10", "x50", "x99", "xcpu", "MiB");
}

static void write_json(const struct bench *bench, const char *path)
{
    FILE *out = fopen(path, "w");

    if (out == NULL)
        give_up("cannot write ", path);
    fputs("[", out);
    for (size_t i = 0; i < bench->row_count; i++) {
        const struct row *row = &bench->rows[i];

        fprintf(out,
                "%s\n  {\"series\":\"%s\",\"nodes\":%u,\"names\":%zu,\"questionBytes\":%zu,"
                "\"answerBytes\":%zu,\"calls\":%u,\"p10us\":%.1f,\"floorP10us\":%.1f,\"p50us\":%."
                "1f,\"p99us\":%.1f,\"maxUs\":%.1f,"
                "\"cpuUs\":%.1f,\"floorP50us\":%.1f,\"floorP99us\":%.1f,\"floorMaxUs\":%.1f,"
                "\"floorCpuUs\":%.1f,\"residentKiB\":%zu,\"peakKiB\":%zu}",
                i > 0 ? "," : "", row->series, row->nodes, row->names, row->question_bytes,
                row->answer_bytes, row->calls, row->p10_us, row->floor_p10_us, row->p50_us,
                row->p99_us, row->max_us, row->cpu_us, row->floor_p50_us, row->floor_p99_us,
                row->floor_max_us, row->floor_cpu_us, row->resident_kib, row->peak_kib);
    }
    fputs("\n]\n", out);
    if (fclose(out) != 0)
        give_up("cannot write ", path);
}

/* --- arguments ------------------------------------------------------------------------------- */

static void read_sizes(char *text, struct arguments *out)
{
    out->size_count = 0;
    for (char *rest = text, *word; (word = strsep(&rest, ",")) != NULL;) {
        unsigned long size = strtoul(word, NULL, 10);

        if (size == 0 || size > 20000 || out->size_count == SIZES_MAX)
            give_up("--sizes takes up to 8 numbers from 1 to 20000, not ", word);
        out->sizes[out->size_count++] = (unsigned)size;
    }
}

static unsigned read_number(const char *text, unsigned min, unsigned max)
{
    unsigned long number = strtoul(text, NULL, 10);

    if (number < min || number > max)
        give_up("not a number that will do: ", text);
    return (unsigned)number;
}

static void read_arguments(int argc, char **argv, struct arguments *out)
{
    static const struct option options[] = {{"topofit", required_argument, NULL, 't'},
                                            {"sizes", required_argument, NULL, 's'},
                                            {"rounds", required_argument, NULL, 'r'},
                                            {"gpus", required_argument, NULL, 'g'},
                                            {"plain-pods", required_argument, NULL, 'p'},
                                            {"records", required_argument, NULL, 'c'},
                                            {"json", required_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 't':
            out->program = optarg;
            break;
        case 's':
            read_sizes(optarg, out);
            break;
        case 'r':
            out->rounds = read_number(optarg, 10, 1000000);
            break;
        case 'g':
            out->gpus = read_number(optarg, 1, DUMP_DEVICES);
            break;
        case 'p':
            out->plain_pods = read_number(optarg, 0, 1000);
            break;
        case 'c':
            if (!dump_records_of(optarg, &out->records))
                give_up("--records takes native or hami, not ", optarg);
            break;
        case 'j':
            out->json = optarg;
            break;
        case 'h':
            fputs(usage, stdout);
            exit(0);
        default:
            fputs(usage, stderr);
            exit(2);
        }
    }
}

/* The program beside this one. */
static char *find_program(const char *self)
{
    const char *slash = strrchr(self, '/');

    return slash == NULL ? xstrdup("topofit")
                         : xasprintf("%.*s/topofit", (int)(slash - self), self);
}

int main(int argc, char **argv)
{
    AUTO_FREE char *program = find_program(argv[0]);
    char dump[] = "/tmp/bench-extender-XXXXXX";
    struct arguments arguments = {.program = program,
                                  .dump = dump,
                                  .sizes = {100, 1000, 5000, 15000},
                                  .size_count = 4,
                                  .rounds = 400,
                                  .gpus = 4};
    struct bench bench = {.arguments = &arguments};
    int file;

    read_arguments(argc, argv, &arguments);
    file = mkstemp(dump);
    if (file < 0)
        give_up("cannot write ", dump);
    close(file);
    print_head();
    for (size_t i = 0; i < arguments.size_count; i++) {
        bench.node_count = arguments.sizes[i];
        run_size(&bench);
    }
    unlink(dump);
    if (arguments.json != NULL)
        write_json(&bench, arguments.json);
    return 0;
}
