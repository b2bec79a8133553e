/* SPDX-License-Identifier: Apache-2.0 */
/* topofit classes - the device classes in effect, as a table, as YAML, as the reference page. */
#include "command.h"
#include "topofit/class.h"
#include "topofit/class_files.h"
#include "topofit/class_keys.h"
#include "topofit/mem.h"
#include "topofit/table.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define OUT_BYTES_MAX (4u << 20)
#define SUGGESTION_DISTANCE 3

static const char help[] =
    "List the device classes in effect, or show some of them as a class file.\n"
    "\n"
    "usage: topofit classes [NAME...] [OPTION...]\n"
    "\n"
    "      --config FILE    configuration, whose classes.files count (YAML); - reads stdin\n"
    "  -o, --output FORMAT  table, yaml (the default with a NAME) or markdown (with all keys)\n"
    "  -h, --help           this text\n"
    "\n"
    "Examples:\n"
    "  topofit classes\n"
    "  topofit classes ascend-910b4 > mine.yaml    # to change, and name in classes.files\n";

enum format { FORMAT_DEFAULT, FORMAT_TABLE, FORMAT_YAML, FORMAT_MARKDOWN };

struct arguments {
    const char *config;
    char **names;
    size_t name_count;
    enum format format;
    bool help;
};

/* --- as a table ------------------------------------------------------------------------------ */

static const char *or_nothing(const char *text)
{
    return text != NULL ? text : "";
}

static void write_table(const struct class_table *classes, struct buf *out)
{
    static const char *const headers[] = {"NAME", "TITLE", "COUNT", "MEMORY", "CORES"};
    AUTO(table_free_pointer) struct table *table = table_new(headers, ARRAY_LEN(headers));

    for (size_t i = 0; i < classes->count; i++) {
        const struct device_class *class = &classes->items[i];
        const char *memory = class->memory_resource;

        table_add(table, class->name);
        table_add(table, class->title);
        table_add(table, or_nothing(class->count_resource ? class->count_resource
                                                          : class->slices_resource));
        table_add(table, or_nothing(memory != NULL ? memory : class->percent_resource));
        table_add(table, or_nothing(class->cores_resource));
    }
    table_write(table, out);
}

/* --- as Markdown: docs/reference/classes.md -------------------------------------------------- */

static void write_type(const struct class_key *key, struct buf *out)
{
    switch (key->type) {
    case CLASS_TEXT:
        buf_add_text(out, "text");
        return;
    case CLASS_NUMBER:
        buf_addf(out, "%" PRIu64 "..%" PRIu64, key->min, key->max);
        return;
    case CLASS_YES_NO:
        buf_add_text(out, "`true`, `false`");
        return;
    case CLASS_WORD:
        for (const struct class_word *word = key->words; word->text != NULL; word++)
            buf_addf(out, "%s`%s`", word == key->words ? "" : ", ", word->text);
        return;
    case CLASS_TEXTS:
        buf_add_text(out, "list of texts");
        return;
    case CLASS_NUMBERS:
        buf_addf(out, "list of %" PRIu64 "..%" PRIu64, key->min, key->max);
        return;
    case CLASS_ROWS:
        buf_add_text(out, "list of maps");
        return;
    }
}

static void write_default(const struct class_key *key, struct buf *out)
{
    if (key->required)
        buf_add_text(out, "required");
    else if (key->fallback != NULL)
        buf_addf(out, "`%s`", key->fallback);
    else if (key->type == CLASS_NUMBER)
        buf_add_text(out, "`0`");
    else if (key->type == CLASS_YES_NO)
        buf_add_text(out, "`false`");
}

/* prefix: of the keys of a row, else "". */
static void write_keys(const struct class_shape *shape, const char *prefix, struct buf *out)
{
    for (size_t i = 0; i < shape->count; i++) {
        const struct class_key *key = &shape->keys[i];

        buf_addf(out, "| `%s%s` | ", prefix, key->name);
        write_type(key, out);
        buf_add_text(out, " | ");
        write_default(key, out);
        buf_addf(out, " | %s |\n", key->purpose);
        if (key->type == CLASS_ROWS) {
            AUTO_FREE char *inside = xasprintf("%s%s[].", prefix, key->name);

            write_keys(key->rows, inside, out);
        }
    }
}

static void write_resources(const struct device_class *class, struct buf *out)
{
    const char *const resources[] = {class->count_resource,   class->memory_resource,
                                     class->percent_resource, class->cores_resource,
                                     class->slices_resource,  class->priority_resource};
    const char *comma = "";

    for (size_t i = 0; i < ARRAY_LEN(resources); i++) {
        if (resources[i] == NULL)
            continue;
        buf_addf(out, "%s`%s`", comma, resources[i]);
        comma = ", ";
    }
}

static void write_markdown(const struct class_table *classes, struct buf *out)
{
    buf_add_text(out, "\n## Keys\n\n| key | values | default | meaning |\n|---|---|---|---|\n");
    write_keys(&class_shape, "", out);
    buf_add_text(out, "\n## Classes\n\n| class | title | resources |\n|---|---|---|\n");
    for (size_t i = 0; i < classes->count; i++) {
        buf_addf(out, "| [`%s`](#%s) | %s | ", classes->items[i].name, classes->items[i].name,
                 classes->items[i].title);
        write_resources(&classes->items[i], out);
        buf_add_text(out, " |\n");
    }
    for (size_t i = 0; i < classes->count; i++) {
        buf_addf(out, "\n### %s\n\n```yaml\n", classes->items[i].name);
        class_write_yaml(&classes->items[i], out);
        buf_add_text(out, "```\n");
    }
}

/* --- the command ----------------------------------------------------------------------------- */

/* A name that no class has, with the nearest that one has. */
static int refuse_name(const struct class_table *classes, const char *name, struct error *err)
{
    const char *nearest = class_nearest(classes, name, SUGGESTION_DISTANCE);

    if (nearest != NULL)
        return error_set(err, ERR_INVALID, "there is no class %.60s; did you mean %s?", name,
                         nearest);
    return error_set(err, ERR_INVALID, "there is no class %.60s; `topofit classes` lists them",
                     name);
}

static int write_yaml(const struct arguments *arguments, const struct class_table *classes,
                      struct buf *out, struct error *err)
{
    size_t count = arguments->name_count > 0 ? arguments->name_count : classes->count;

    for (size_t i = 0; i < count; i++) {
        const struct device_class *class = &classes->items[i];

        if (arguments->name_count > 0)
            class = class_find(classes, arguments->names[i]);
        if (class == NULL)
            return refuse_name(classes, arguments->names[i], err);
        buf_add_text(out, i > 0 ? "---\n" : "");
        class_write_yaml(class, out);
    }
    return 0;
}

static int parse_format(const struct command *command, const char *word, enum format *out)
{
    static const char *const words[] = {"table", "yaml", "markdown", NULL};
    struct error err = {0};
    int found = command_find_word(words, word, "--output", &err);

    if (found < 0)
        return command_complain(command, "%s", err.text);
    *out = (enum format)(FORMAT_TABLE + found);
    return EXIT_YES;
}

static int parse(const struct command *command, int argc, char **argv, struct arguments *out)
{
    enum { CONFIG = 256 };
    static const struct option options[] = {{"config", required_argument, NULL, CONFIG},
                                            {"output", required_argument, NULL, 'o'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    int option, code = EXIT_YES;

    opterr = 0;
    while (code == EXIT_YES && (option = getopt_long(argc, argv, ":o:h", options, NULL)) != -1) {
        switch (option) {
        case CONFIG:
            code = command_take_once(command, "--config", &out->config);
            break;
        case 'o':
            code = parse_format(command, optarg, &out->format);
            break;
        case 'h':
            out->help = true;
            return EXIT_YES;
        default:
            return command_complain_option(command, option, argv, options);
        }
    }
    out->names = argv + optind;
    out->name_count = (size_t)(argc - optind);
    if (out->format == FORMAT_DEFAULT)
        out->format = out->name_count > 0 ? FORMAT_YAML : FORMAT_TABLE;
    else if (code == EXIT_YES && out->name_count > 0 && out->format != FORMAT_YAML)
        code = command_complain(command, "names go with -o yaml only");
    return code;
}

static int load(const struct arguments *arguments, struct class_table *classes, struct error *err)
{
    AUTO(config_clear) struct config config;

    config_defaults(&config);
    if (arguments->config != NULL && command_load_config(&config, arguments->config, err) < 0)
        return error_pass(err);
    return class_files_read(&config, classes, err);
}

static int run(const struct command *command, int argc, char **argv)
{
    AUTO(buf_clear) struct buf out = buf_with_max(OUT_BYTES_MAX);
    AUTO(class_table_clear) struct class_table classes = {0};
    struct arguments arguments = {.format = FORMAT_DEFAULT};
    struct error err = {0};
    int code = parse(command, argc, argv, &arguments);

    if (code != EXIT_YES)
        return code;
    if (arguments.help)
        return command_help(command);
    if (load(&arguments, &classes, &err) < 0)
        return command_fail(&err);
    if (arguments.format == FORMAT_TABLE)
        write_table(&classes, &out);
    else if (arguments.format == FORMAT_MARKDOWN)
        write_markdown(&classes, &out);
    else if (write_yaml(&arguments, &classes, &out, &err) < 0)
        return command_fail(&err);
    fputs(buf_text(&out), stdout);
    return EXIT_YES;
}

const struct command command_classes = {.name = "classes",
                                        .summary = "list the device classes, or show some",
                                        .help = help,
                                        .words = "",
                                        .run = run};
