/* SPDX-License-Identifier: Apache-2.0 */
/* topofit serve - run the daemon until a signal ends it. */
#include "command.h"
#include "topofit/daemon.h"
#include "topofit/file.h"
#include "topofit/mem.h"

#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_AFTER_S 5 /* between looks at the configuration file */

static const char help[] =
    "Run the extender until SIGTERM or SIGINT. SIGHUP, or another configuration file, reloads "
    "what\n"
    "can be changed while running.\n"
    "\n"
    "usage: topofit serve [OPTION...]\n"
    "\n"
    "  --config FILE              configuration (YAML); see 'topofit check-config --help'\n"
    "  --kubeconfig FILE          how to reach the API server; default: $KUBECONFIG, the pod's\n"
    "                             account, ~/.kube/config: whichever is there first\n"
    "  --cluster FILE             no API server: nodes and pods from a dump, binds in memory\n"
    "  --listen ADDRESS:PORT      for kube-scheduler (default 127.0.0.1:9901)\n"
    "  --admin-listen ADDRESS:PORT  health, metrics, debug (default 127.0.0.1:9902)\n"
    "  -h, --help                 this text\n"
    "\n"
    "Examples:\n"
    "  topofit serve --kubeconfig ~/.kube/config\n"
    "  kubectl get nodes,pods,quota -A -o yaml > dump.yaml && topofit serve --cluster dump.yaml\n"
    "  curl -s '127.0.0.1:9902/debug/nodes?format=text'\n";

/* What the command line said; all borrowed from it. */
struct arguments {
    const char *config, *kubeconfig, *cluster, *listen, *admin_listen;
    bool help;
};

static int parse(const struct command *command, int argc, char **argv, struct arguments *out)
{
    enum { CONFIG = 256, KUBECONFIG, CLUSTER, LISTEN, ADMIN_LISTEN };
    static const struct option options[] = {{"config", required_argument, NULL, CONFIG},
                                            {"kubeconfig", required_argument, NULL, KUBECONFIG},
                                            {"cluster", required_argument, NULL, CLUSTER},
                                            {"listen", required_argument, NULL, LISTEN},
                                            {"admin-listen", required_argument, NULL, ADMIN_LISTEN},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    static const char *const words[] = {"--config", "--kubeconfig", "--cluster", "--listen",
                                        "--admin-listen"};
    const char **const places[] = {&out->config, &out->kubeconfig, &out->cluster, &out->listen,
                                   &out->admin_listen};
    int option, code = EXIT_YES;

    opterr = 0;
    while (code == EXIT_YES && (option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        if (option >= CONFIG)
            code = command_take_once(command, words[option - CONFIG], places[option - CONFIG]);
        else if (option == 'h')
            out->help = true;
        else
            return command_complain_option(command, option, argv, options);
    }
    if (code != EXIT_YES)
        return code;
    if (optind < argc)
        return command_complain(command, "unexpected argument %s", argv[optind]);
    if (out->kubeconfig != NULL && out->cluster != NULL)
        return command_complain(command, "--kubeconfig and --cluster exclude each other");
    return EXIT_YES;
}

static int load(const struct arguments *arguments, struct config *config, struct error *err)
{
    const char *const flags[][2] = {{"kube.kubeconfig", arguments->kubeconfig},
                                    {"extender.listen", arguments->listen},
                                    {"admin.listen", arguments->admin_listen}};

    if (arguments->config != NULL &&
        command_load_config_at_once(config, arguments->config, err) < 0)
        return error_pass(err);
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        if (flags[i][1] != NULL && config_set(config, flags[i][0], flags[i][1], err) < 0)
            return error_pass(err);
    }
    return config_check(config, err);
}

/* The signals that end or prod the daemon are waited for, in this thread only. */
static sigset_t block_signals(void)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signals;
}

static struct file_stamp look_at(const char *path)
{
    return path != NULL ? file_stamp_look(path) : (struct file_stamp){0};
}

/* A file that is not right changes nothing. */
static void reload(const struct arguments *arguments, struct daemon *daemon, struct log *log)
{
    AUTO(config_clear) struct config fresh;
    struct error err = {0};

    config_defaults(&fresh);
    if (arguments->config != NULL && strcmp(arguments->config, "-") == 0)
        log_event(log, LOG_LEVEL_WARN, "configuration not reloaded: it came from stdin");
    else if (look_at(arguments->config).bytes == 0 && arguments->config != NULL)
        /* Gone, or caught between being emptied and being written. */
        log_event(log, LOG_LEVEL_ERROR, "configuration not reloaded: the file is missing or empty");
    else if (load(arguments, &fresh, &err) < 0)
        log_event(log, LOG_LEVEL_ERROR, "configuration not reloaded", log_text("error", err.text));
    else
        daemon_reload(daemon, &fresh);
}

/*
 * Until a signal ends it; a SIGHUP or another state of the file reloads the configuration.
 *
 * known  the file before it was read: starting takes time, and it may have changed meanwhile
 */
static void wait_for_end(const sigset_t *signals, const struct arguments *arguments,
                         struct file_stamp known, struct daemon *daemon, struct log *log)
{
    struct timespec look_after = {.tv_sec = 0};

    for (;; look_after.tv_sec = LOOK_AFTER_S) {
        int number = sigtimedwait(signals, NULL, &look_after);
        struct file_stamp now = look_at(arguments->config);

        if (number == SIGTERM || number == SIGINT) {
            log_event(log, LOG_LEVEL_INFO, "stopping", log_number("signal", number));
            return;
        }
        if (number == SIGHUP)
            daemon_reload_tls(daemon);
        if (number == SIGHUP || !file_stamp_equal(&known, &now))
            reload(arguments, daemon, log);
        known = now;
    }
}

static int serve(struct config *config, const struct arguments *arguments, struct file_stamp known)
{
    struct log_options options = log_options_default();
    sigset_t signals = block_signals();
    struct error err = {0};
    struct daemon *daemon;
    struct log *log;

    options.level = config->log_level;
    options.format = config->log_format;
    log = log_new(&options);
    daemon = daemon_start(config, arguments->cluster, log, &err);
    if (daemon == NULL) {
        log_event(log, LOG_LEVEL_ERROR, "cannot start", log_text("error", err.text));
        log_free(log);
        return err.code == ERR_IO || err.code == ERR_TIMEOUT ? EXIT_UNREACHABLE : EXIT_BAD_INPUT;
    }
    log_event(log, LOG_LEVEL_INFO, "serving", log_text("version", TOPOFIT_VERSION),
              log_number("port", daemon_extender_port(daemon)),
              log_number("adminPort", daemon_admin_port(daemon)));
    wait_for_end(&signals, arguments, known, daemon, log);
    daemon_stop(daemon);
    log_event(log, LOG_LEVEL_INFO, "stopped");
    log_free(log);
    return EXIT_YES;
}

static int run(const struct command *command, int argc, char **argv)
{
    AUTO(config_clear) struct config config;
    struct arguments arguments = {0};
    struct file_stamp known;
    struct error err = {0};
    int code;

    config_defaults(&config);
    code = parse(command, argc, argv, &arguments);
    if (code != EXIT_YES)
        return code;
    if (arguments.help)
        return command_help(command);
    known = look_at(arguments.config);
    if (load(&arguments, &config, &err) < 0)
        return command_fail(&err);
    return serve(&config, &arguments, known);
}

const struct command command_serve = {
    .name = "serve", .summary = "run the extender", .help = help, .run = run};
