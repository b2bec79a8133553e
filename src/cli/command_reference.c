/* SPDX-License-Identifier: Apache-2.0 */
/* topofit reference - the names other programs rely on, one a line. */
#include "command.h"
#include "topofit/admit.h"
#include "topofit/class_keys.h"
#include "topofit/config.h"
#include "topofit/daemon.h"
#include "topofit/dialect.h"
#include "topofit/mem.h"
#include "topofit/metrics.h"
#include "topofit/reason.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "Print the names that other programs rely on, one a line.\n"
    "\n"
    "usage: topofit reference annotations|class-keys|endpoints|keys|metrics|reasons|rules\n"
    "\n"
    "Example:\n"
    "  topofit reference reasons\n";

static void print_annotations(void)
{
    for (size_t i = 0; i < dialect_count; i++) {
        for (size_t k = 0; dialects[i]->annotations[k] != NULL; k++)
            puts(dialects[i]->annotations[k]);
    }
}

static void print_class_keys(void)
{
    for (size_t i = 0; i < class_shape.count; i++)
        puts(class_shape.keys[i].name);
}

static void print_endpoints(void)
{
    const char *path;

    for (size_t i = 0; (path = daemon_endpoint(i)) != NULL; i++)
        puts(path);
}

static void print_keys(void)
{
    for (size_t i = 0; config_key(i) != NULL; i++)
        puts(config_key(i));
}

static void print_metric(void *ctx, const struct metric_info *info)
{
    (void)ctx;
    puts(info->name);
}

static void print_metrics(void)
{
    metrics_each(print_metric, NULL);
}

static void print_reasons(void)
{
    for (unsigned r = 0; r < REASON_COUNT; r++)
        puts(reason_name((enum reason)r));
}

/* Of the webhook. */
static void print_rules(void)
{
    for (unsigned r = 0; r < ADMIT_RULE_COUNT; r++)
        puts(admit_rule_name((enum admit_rule)r));
}

static const struct {
    const char *name;
    void (*print)(void);
} lists[] = {{"annotations", print_annotations},
             {"class-keys", print_class_keys},
             {"endpoints", print_endpoints},
             {"keys", print_keys},
             {"metrics", print_metrics},
             {"reasons", print_reasons},
             {"rules", print_rules}};

static int run(const struct command *command, int argc, char **argv)
{
    const char *words[ARRAY_LEN(lists) + 1] = {NULL};
    struct error err = {0};
    int number;

    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        words[i] = lists[i].name;
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return command_help(command);
    if (argc != 2)
        return command_complain(command,
                                "one of annotations, class-keys, endpoints, keys, metrics, "
                                "reasons, rules is expected");
    number = command_find_word(words, argv[1], NULL, &err);
    if (number < 0)
        return command_complain(command, "%s", err.text);
    lists[number].print();
    return EXIT_YES;
}

const struct command command_reference = {
    .name = "reference",
    .summary = "print the names other programs rely on",
    .help = help,
    .words = "annotations class-keys endpoints keys metrics reasons rules",
    .run = run};
