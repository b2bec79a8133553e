/* SPDX-License-Identifier: Apache-2.0 */
/* cli - the command line: one table of commands. */
#include "topofit/cli.h"

#include "command.h"
#include "topofit/file.h"
#include "topofit/mem.h"
#include "topofit/text.h"

#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SUGGESTION_DISTANCE 2
#define OPTIONS_MAX 32 /* of one command */
#define OPTION_BYTES_MAX 400

static const struct command *const commands[] = {
    &command_serve,        &command_explain, &command_simulate,
    &command_check_config, &command_classes, &command_reference,
    &command_completion,   &command_version, NULL};

const struct command *const *cli_commands(void)
{
    return commands;
}

int command_help(const struct command *command)
{
    fputs(command->help, stdout);
    return EXIT_YES;
}

int command_complain(const struct command *command, const char *format, ...)
{
    va_list args;

    fprintf(stderr, "topofit %s: ", command->name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nTry 'topofit %s --help'.\n", command->name);
    return EXIT_USAGE;
}

/* Letters that commands know: what is wrong then is a value given to its word, as in --help=x. */
#define KNOWN_LETTERS "hq"

static bool is_unknown_letter(int option)
{
    return option == '?' && optopt > 0 && optopt <= UCHAR_MAX &&
           strchr(KNOWN_LETTERS, optopt) == NULL;
}

/* The long option nearest to a word "--polcy" or "--polcy=x", and another; or NULL. */
static const char *nearest_option(const char *word, const struct option *options)
{
    AUTO_FREE char *name = xasprintf("%.*s", (int)strcspn(word + 2, "="), word + 2);
    const char *names[OPTIONS_MAX + 1] = {NULL}, *nearest;

    for (size_t i = 0; i < OPTIONS_MAX && options[i].name != NULL; i++)
        names[i] = options[i].name;
    nearest = text_nearest(name, names, SUGGESTION_DISTANCE);
    return nearest != NULL && strcmp(nearest, name) != 0 ? nearest : NULL;
}

/* getopt_long takes a beginning that is unique; one that is not is told by what it may mean. */
static const char *begun_options(const char *word, const struct option *options, struct buf *out)
{
    size_t length = strcspn(word + 2, "=");

    for (size_t i = 0; options[i].name != NULL; i++) {
        if (length > 0 && strncmp(options[i].name, word + 2, length) == 0 &&
            options[i].name[length] != '\0')
            buf_addf(out, "%s--%s", out->length > 0 ? " or " : "", options[i].name);
    }
    return out->length > 0 ? buf_text(out) : NULL;
}

int command_complain_option(const struct command *command, int option, char **argv,
                            const struct option *options)
{
    AUTO(buf_clear) struct buf begun = buf_with_max(OPTION_BYTES_MAX);
    const char *word = argv[optind - 1], *nearest;

    if (is_unknown_letter(option))
        return command_complain(command, "unknown option -%c", optopt);
    if (option == ':')
        return command_complain(command, "%s needs a value", word);
    if (strncmp(word, "--", 2) == 0 && begun_options(word, options, &begun) != NULL)
        return command_complain(command, "unknown option %s; did you mean %s?", word,
                                buf_text(&begun));
    nearest = strncmp(word, "--", 2) == 0 ? nearest_option(word, options) : NULL;
    if (nearest != NULL)
        return command_complain(command, "unknown option %s; did you mean --%s?", word, nearest);
    return command_complain(command, "unknown option %s", word);
}

int command_take_once(const struct command *command, const char *name, const char **place)
{
    if (*place != NULL)
        return command_complain(command, "%s is given twice: %s and %s", name, *place, optarg);
    *place = optarg;
    return EXIT_YES;
}

int command_fail(const struct error *err)
{
    fprintf(stderr, "topofit: %s\n", err->text);
    return err->code == ERR_TIMEOUT || err->code == ERR_IO ? EXIT_UNREACHABLE : EXIT_BAD_INPUT;
}

typedef int (*file_reader)(const char *path, struct buf *out, struct error *err);

/* A file, or stdin for "-". */
static int read_with(file_reader read, const char *path, struct buf *out, struct error *err)
{
    char chunk[16384];
    size_t got;

    if (strcmp(path, "-") != 0)
        return read(path, out, err);
    while ((got = fread(chunk, 1, sizeof chunk, stdin)) > 0)
        buf_add(out, chunk, got);
    if (out->overflowed)
        return error_set(err, ERR_LIMIT, "stdin is longer than %zu bytes", out->max);
    return 0;
}

int command_read(const char *path, struct buf *out, struct error *err)
{
    return read_with(file_read_whole, path, out, err);
}

static int load_config(struct config *config, const char *path, file_reader read, struct error *err)
{
    AUTO(buf_clear) struct buf text = buf_with_max(CONFIG_BYTES_MAX);

    if (read_with(read, path, &text, err) < 0)
        return error_pass(err); /* names the file already */
    if (config_read(config, buf_text(&text), text.length, err) < 0)
        return error_wrap(err, "%s", path);
    if (strcmp(path, "-") != 0)
        config_files_beside(config, path);
    return 0;
}

int command_load_config(struct config *config, const char *path, struct error *err)
{
    return load_config(config, path, file_read_whole, err);
}

int command_load_config_at_once(struct config *config, const char *path, struct error *err)
{
    return load_config(config, path, file_read, err);
}

static int help(void)
{
    puts("topofit puts pods on the right GPUs: a scheduler extender for kube-scheduler.\n\n"
         "usage: topofit COMMAND [OPTION...]\n\nCommands:");
    for (size_t i = 0; commands[i] != NULL; i++)
        printf("  %-14s%s\n", commands[i]->name, commands[i]->summary);
    puts("\nTry 'topofit COMMAND --help' for the options and examples of a command.");
    return EXIT_YES;
}

static int complain_unknown(const char *name)
{
    const char *nearest = NULL;

    for (size_t i = 0; commands[i] != NULL && nearest == NULL; i++) {
        if (text_distance(name, commands[i]->name, SUGGESTION_DISTANCE) <= SUGGESTION_DISTANCE)
            nearest = commands[i]->name;
    }
    fprintf(stderr, "topofit: there is no command '%s'%s%s%s\nTry 'topofit --help'.\n", name,
            nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    return EXIT_USAGE;
}

static const struct command *find(const char *name)
{
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    }
    return NULL;
}

static int help_with(const char *name)
{
    const struct command *command = find(name);

    return command != NULL ? command_help(command) : complain_unknown(name);
}

int cli_run(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "--help";
    const struct command *command;

    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
        name = "version";
    if (strcmp(name, "help") == 0 && argc > 2)
        return help_with(argv[2]);
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
        return help();
    command = find(name);
    return command != NULL ? command->run(command, argc - 1, argv + 1) : complain_unknown(name);
}
