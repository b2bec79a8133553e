/* SPDX-License-Identifier: Apache-2.0 */
/* topofit explain - what would happen to a pod now, on every node of a dump. */
#include "command.h"
#include "topofit/clock.h"
#include "topofit/dialect.h"
#include "topofit/embedded.h"
#include "topofit/explain.h"
#include "topofit/mem.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static const char help[] =
    "Show what would happen to a pod on every node of a dump, without doing it.\n"
    "\n"
    "usage: topofit explain -f POD.yaml --cluster FILE [OPTION...]\n"
    "\n"
    "  -f, --file FILE  a pod, or what makes pods: a Deployment, a Job ... (YAML or JSON);\n"
    "                   the first in the file that asks for devices counts; - reads stdin\n"
    "  --cluster FILE   nodes and pods: the output of 'kubectl get nodes,pods,quota -A -o yaml'\n"
    "  --config FILE    configuration (YAML), of which topology and packing count\n"
    "  --policy POLICY  pack, spread or topology-first; default: as configured\n"
    "  -o, --output FORMAT  text (default) or json\n"
    "  --criteria       what each node is worth, by what decides between them\n"
    "  -h, --help       this text\n"
    "\n"
    "Which pod it was, and on what, is told on stderr.\n"
    "Ends with 0 when a node fits, 1 when none does.\n"
    "\n"
    "Examples:\n"
    "  kubectl get nodes,pods,quota -A -o yaml > dump.yaml\n"
    "  topofit explain -f pod.yaml --cluster dump.yaml\n"
    "  helm template llm vllm/vllm-stack | topofit explain -f - --cluster dump.yaml\n"
    "  kubectl get pod train-0 -o yaml | topofit explain -f - --cluster dump.yaml -o json\n";

struct arguments {
    const char *pod, *cluster, *config, *policy;
    enum view_format format;
    enum explain_columns columns;
    bool help;
};

enum { CLUSTER = 256, CONFIG, POLICY, CRITERIA };

static int read_format(const struct command *command, const char *word, enum view_format *out)
{
    static const char *const words[] = {[VIEW_JSON] = "json", [VIEW_TEXT] = "text", NULL};
    struct error err = {0};
    int number = command_find_word(words, word, "-o", &err);

    if (number < 0)
        return command_complain(command, "%s", err.text);
    *out = (enum view_format)number;
    return EXIT_YES;
}

/* return an exit code. */
static int take_option(const struct command *command, int option, struct arguments *out)
{
    switch (option) {
    case 'f':
        return command_take_once(command, "-f", &out->pod);
    case CLUSTER:
        return command_take_once(command, "--cluster", &out->cluster);
    case CONFIG:
        return command_take_once(command, "--config", &out->config);
    case POLICY:
        return command_take_once(command, "--policy", &out->policy);
    case CRITERIA:
        out->columns = EXPLAIN_CRITERIA;
        return EXIT_YES;
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
    static const struct option options[] = {{"file", required_argument, NULL, 'f'},
                                            {"output", required_argument, NULL, 'o'},
                                            {"cluster", required_argument, NULL, CLUSTER},
                                            {"config", required_argument, NULL, CONFIG},
                                            {"policy", required_argument, NULL, POLICY},
                                            {"criteria", no_argument, NULL, CRITERIA},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, ":f:o:h", options, NULL)) != -1) {
        int code;

        if (option == ':' || option == '?')
            return command_complain_option(command, option, argv, options);
        code = take_option(command, option, out);
        if (code != EXIT_YES || out->help)
            return code;
    }
    if (optind < argc)
        return command_complain(command, "unexpected argument %s", argv[optind]);
    if (out->pod == NULL || out->cluster == NULL)
        return command_complain(command, "-f and --cluster are both needed");
    if (strcmp(out->pod, "-") == 0 && strcmp(out->cluster, "-") == 0)
        return command_complain(command, "only one of -f and --cluster can be stdin");
    return EXIT_YES;
}

/* Which pod of a file is meant: the first that asks for devices, else for what looks like some. */
enum interest { INTEREST_NONE = 0, INTEREST_MISSPELT, INTEREST_DEVICES };

struct found_pod {
    const struct class_table *classes;
    struct kube_object object;
    enum interest interest;
    size_t at, count; /* which of how many, from 1; 0: none yet */
};

static void ignore_remark(void *ctx, const char *text)
{
    (void)ctx, (void)text;
}

static enum interest interest_of(const struct kube_pod *pod, const struct class_table *classes)
{
    AUTO(request_clear) struct request request;

    dialect_request(pod, classes, &request);
    if (request_wants_devices(&request))
        return INTEREST_DEVICES;
    return dialect_pod_remarks(pod, classes, ignore_remark, NULL) ? INTEREST_MISSPELT
                                                                  : INTEREST_NONE;
}

static void keep_pod(void *ctx, struct kube_object *object)
{
    struct found_pod *found = ctx;
    enum interest interest;

    if (object->kind != KUBE_POD)
        return;
    found->count++;
    interest = interest_of(&object->pod, found->classes);
    if (found->at > 0 && interest <= found->interest)
        return;
    kube_object_clear(&found->object);
    found->object = *object;
    found->interest = interest;
    found->at = found->count;
    kube_object_init(object, KUBE_POD);
}

static int read_pod(const char *path, struct found_pod *out, struct error *err)
{
    AUTO(buf_clear) struct buf text = buf_with_max(EMBEDDED_BYTES_MAX);

    if (command_read(path, &text, err) < 0)
        return error_pass(err);
    if (embedded_each_object(buf_text(&text), text.length, keep_pod, out, err) < 0)
        return error_wrap(err, "%s", path);
    if (out->at == 0)
        return error_set(err, ERR_INVALID, "%s: there is no pod in it, and nothing that makes pods",
                         path);
    return 0;
}

static size_t count_pods(struct cluster *cluster)
{
    size_t count;
    struct pod **pods = cluster_pods(cluster, &count);

    for (size_t i = 0; i < count; i++)
        pod_unref(pods[i]);
    free(pods);
    return count;
}

/* "1st" */
static const char *ending_of(size_t number)
{
    static const char *const endings[] = {"th", "st", "nd", "rd"};
    size_t last = number % 10;

    return number % 100 / 10 == 1 || last >= ARRAY_LEN(endings) ? "th" : endings[last];
}

/* What is explained, on what: a file holds several pods, and a dump may be another than meant. */
static void tell_subject(const struct arguments *arguments, const struct found_pod *pod,
                         struct cluster *cluster)
{
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(cluster);
    const struct kube_meta *meta = &pod->object.pod.meta;
    size_t pods = count_pods(cluster);

    fprintf(stderr, "topofit: pod %s/%s", meta->namespace[0] != '\0' ? meta->namespace : "default",
            meta->name);
    if (pod->object.made_by != NULL)
        fprintf(stderr, " of a %s", pod->object.made_by);
    if (pod->count > 1)
        fprintf(stderr, ", %zu%s of %zu with pods,", pod->at, ending_of(pod->at), pod->count);
    fprintf(stderr, " on %zu node%s with %zu pod%s\n", snapshot->count,
            snapshot->count == 1 ? "" : "s", pods, pods == 1 ? "" : "s");
    if (pods == 0)
        fprintf(stderr,
                "topofit: %s: there is no pod in it, so all GPUs count as free; may you "
                "list pods?\n",
                arguments->cluster);
}

static int read_cluster(const char *path, struct cluster *cluster,
                        const struct class_table *classes, struct error *err)
{
    AUTO(buf_clear) struct buf text = buf_with_max(EMBEDDED_BYTES_MAX);

    if (command_read(path, &text, err) < 0)
        return error_pass(err);
    if (embedded_read(cluster, classes, buf_text(&text), text.length, err) < 0)
        return error_wrap(err, "%s", path);
    return 0;
}

static int explain(const struct arguments *arguments, struct extender *extender,
                   struct class_table *classes, struct error *err)
{
    struct moment now = clock_now();
    AUTO(buf_clear) struct buf out = buf_with_max(VIEW_BYTES_MAX);
    struct found_pod pod = {.classes = classes};
    size_t kept;

    kube_object_init(&pod.object, KUBE_POD);
    if (command_configure(extender, classes, arguments->config, arguments->policy, err) < 0 ||
        read_cluster(arguments->cluster, extender->cluster, extender->classes, err) < 0 ||
        read_pod(arguments->pod, &pod, err) < 0) {
        kube_object_clear(&pod.object);
        return command_fail(err);
    }
    tell_subject(arguments, &pod, extender->cluster);
    kept = explain_pod(extender, &pod.object.pod, now, arguments->format, arguments->columns, &out);
    fputs(buf_text(&out), stdout);
    kube_object_clear(&pod.object);
    return kept > 0 ? EXIT_YES : EXIT_NO;
}

static int run(const struct command *command, int argc, char **argv)
{
    AUTO(class_table_clear) struct class_table classes = {0};
    struct arguments arguments = {.format = VIEW_TEXT};
    struct extender extender = {0};
    struct hash_key key = {{0, 0}};
    struct error err = {0};
    int code = parse(command, argc, argv, &arguments);

    if (code != EXIT_YES)
        return code;
    if (arguments.help)
        return command_help(command);
    if (getrandom(&key, sizeof key, GRND_NONBLOCK) < 0)
        key = (struct hash_key){{1, 2}}; /* one run over a file of the user's own */
    extender.cluster = cluster_new(&key);
    code = explain(&arguments, &extender, &classes, &err);
    cluster_free(extender.cluster);
    return code;
}

const struct command command_explain = {
    .name = "explain", .summary = "show where a pod would go, and why", .help = help, .run = run};
