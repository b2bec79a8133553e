/* SPDX-License-Identifier: Apache-2.0 */
/* hostile_api - an API server that does everything wrong that an API server can. */
#include "chaos.h"
#include "script.h"

#include "topofit/mem.h"

#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1024

static const char HELP[] =
    "A kube-apiserver in memory, on plain HTTP and the loopback address, that goes wrong.\n"
    "\n"
    "usage: hostile_api serve [SCRIPT]\n"
    "       hostile_api chaos --topofit PROGRAM --config FILE --directory DIR [OPTION...]\n"
    "\n"
    "serve prints \"port NUMBER\" and does the steps of the script, one a line; then it serves "
    "until\n"
    "its standard input ends, and does the steps it reads there.\n"
    "\n"
    "chaos runs PROGRAM against it, plays kube-scheduler, and checks after each step that no "
    "device\n"
    "is given twice and no success was said in vain. Exit code 1 when something was wrong.\n"
    "  --steps N      default 150\n"
    "  --seed S       default 1\n"
    "  --verbose      print what happens\n"
    "\n"
    "Example of a script:\n"
    "  node n1 8 81920                  # name, devices, MiB of each\n"
    "  pod a 2 0                        # two whole devices\n"
    "  fault 1 bind executed-reset      # its Binding is executed, and the answer lost\n"
    "  fault 3 watch status 429 1       # the next three watches are told to come back after 1 s\n"
    "  wait 2000\n"
    "  stream watch:pods cut 300        # the open watch ends 300 bytes later, in mid event\n"
    "  delete a 30\n"
    "  compact                          # older positions are 410 from now on\n"
    "\n";

/* --- serve ----------------------------------------------------------------------------------- */

struct serving {
    struct loop loop;
    struct script_world world;
    struct loop_source input;
    struct buf typed;
    bool has_ended;
};

static void on_input(void *ctx, bool can_read, bool can_write)
{
    struct serving *serving = ctx;
    char bytes[LINE_MAX_BYTES];
    ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);

    (void)can_read;
    (void)can_write;
    if (got > 0) {
        buf_add(&serving->typed, bytes, (size_t)got);
        return;
    }
    serving->has_ended = true;
    loop_remove(&serving->loop, &serving->input);
}

static void serve_for(struct serving *serving, uint64_t wait_ms)
{
    uint64_t until_ms = loop_now_ms() + wait_ms;

    do {
        uint64_t now_ms = loop_now_ms();
        uint64_t due_ms = server_tick(serving->world.server, now_ms);

        due_ms = due_ms < until_ms ? due_ms : until_ms;
        loop_turn(&serving->loop, due_ms > now_ms ? (unsigned)(due_ms - now_ms) : 0);
    } while (loop_now_ms() < until_ms);
}

static bool do_line(struct serving *serving, const char *line)
{
    struct error err = {0};
    uint64_t wait_ms;

    if (script_step(&serving->world, line, &wait_ms, &err) < 0) {
        fprintf(stderr, "hostile_api: %.*s: %s\n", (int)strcspn(line, "\n"), line, err.text);
        return false;
    }
    serve_for(serving, wait_ms);
    return true;
}

static bool do_script(struct serving *serving, const char *path)
{
    FILE *file = fopen(path, "r");
    char line[LINE_MAX_BYTES];
    bool is_well = true;

    if (file == NULL) {
        fprintf(stderr, "hostile_api: %s cannot be read\n", path);
        return false;
    }
    while (is_well && fgets(line, sizeof line, file) != NULL)
        is_well = do_line(serving, line);
    fclose(file);
    return is_well;
}

static void do_typed(struct serving *serving)
{
    const char *end;

    while ((end = strchr(buf_text(&serving->typed), '\n')) != NULL) {
        size_t length = (size_t)(end - serving->typed.data) + 1;
        AUTO_FREE char *line = xstrndup(serving->typed.data, length);

        buf_drop_front(&serving->typed, length);
        do_line(serving, line);
    }
}

static int serve(const char *script)
{
    struct serving serving = {.loop = loop_open(), .typed = buf_with_max(1u << 20)};
    struct error err = {0};
    bool is_well;

    serving.world.model = api_model_new(0);
    serving.world.server = server_new(
        &(struct server_options){.loop = &serving.loop, .model = serving.world.model}, &err);
    if (serving.world.server == NULL) {
        fprintf(stderr, "hostile_api: %s\n", err.text);
        return 2;
    }
    printf("port %u\n", server_port(serving.world.server));
    fflush(stdout);
    is_well = script == NULL || do_script(&serving, script);
    serving.input = (struct loop_source){.fd = STDIN_FILENO, .ctx = &serving, .on_ready = on_input};
    loop_add(&serving.loop, &serving.input);
    while (is_well && !serving.has_ended) {
        serve_for(&serving, 1000);
        do_typed(&serving);
    }
    server_free(serving.world.server);
    api_model_free(serving.world.model);
    loop_close(&serving.loop);
    buf_clear(&serving.typed);
    return is_well ? 0 : 2;
}

/* --- the command line ------------------------------------------------------------------------ */

static int help(void)
{
    AUTO(buf_clear) struct buf words = buf_with_max(1u << 16);

    script_describe(&words);
    printf("%s%s", HELP, buf_text(&words));
    return 0;
}

static int usage(const char *why)
{
    fprintf(stderr, "hostile_api: %s; see --help\n", why);
    return 2;
}

static int chaos(int argc, char **argv)
{
    enum { TOPOFIT = 256, CONFIG, DIRECTORY, STEPS, SEED, VERBOSE };
    static const struct option known[] = {{"topofit", required_argument, NULL, TOPOFIT},
                                          {"config", required_argument, NULL, CONFIG},
                                          {"directory", required_argument, NULL, DIRECTORY},
                                          {"steps", required_argument, NULL, STEPS},
                                          {"seed", required_argument, NULL, SEED},
                                          {"verbose", no_argument, NULL, VERBOSE},
                                          {0}};
    struct chaos_options options = {.steps = 150, .seed = 1};
    const char **const texts[] = {&options.program, &options.config, &options.directory};
    struct error err = {0};
    bool is_well = false;
    int option;

    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (option < TOPOFIT)
            return usage("unknown option");
        if (option <= DIRECTORY)
            *texts[option - TOPOFIT] = optarg;
        else if (option == STEPS)
            options.steps = (unsigned)strtoul(optarg, NULL, 10);
        else if (option == SEED)
            options.seed = strtoull(optarg, NULL, 10);
        else
            options.is_verbose = true;
    }
    if (options.program == NULL || options.config == NULL || options.directory == NULL)
        return usage("chaos needs --topofit, --config and --directory");
    if (chaos_run(&options, &is_well, &err) < 0) {
        fprintf(stderr, "hostile_api: %s\n", err.text);
        return 2;
    }
    return is_well ? 0 : 1;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (argc < 2)
        return usage("what to do?");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return help();
    if (strcmp(argv[1], "serve") == 0)
        return serve(argc > 2 ? argv[2] : NULL);
    if (strcmp(argv[1], "chaos") == 0)
        return chaos(argc - 1, argv + 1);
    return usage("neither serve nor chaos");
}
