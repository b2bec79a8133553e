/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command - one subcommand, and what they share. For the command line only.
 */
#ifndef TOPOFIT_COMMAND_H
#define TOPOFIT_COMMAND_H

#include "topofit/buf.h"
#include "topofit/cli.h"
#include "topofit/config.h"
#include "topofit/error.h"
#include "topofit/extender.h"

#include <getopt.h>

struct command {
    const char *name;
    const char *summary; /* one line for `topofit --help` */
    const char *help;    /* the text of `topofit NAME --help` */
    const char *words;   /* what it takes beside options, for tab completion; NULL: files */
    int (*run)(const struct command *command, int argc, char **argv);
};

extern const struct command command_serve, command_explain, command_simulate, command_check_config,
    command_classes, command_reference, command_completion, command_version;

/* All commands in the order of the help; NULL behind the last. */
const struct command *const *cli_commands(void);

/* Print the command's help to stdout, or a complaint and a hint to stderr. */
int command_help(const struct command *command);
int command_complain(const struct command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Complain about what getopt_long did not take, and name the nearest option. An option of several
 * letters behind one "-" is several options: the letter that is wrong is named.
 *
 * option   what getopt_long returned: ':' or '?'; optopt and optind are as it left them
 * options  what it was given
 */
int command_complain_option(const struct command *command, int option, char **argv,
                            const struct option *options);

/*
 * Take the value of an option (optarg) that may be given once.
 *
 * name    for the complaint: "-f"
 * place   NULL before, and "not given"
 * return  an exit code
 */
int command_take_once(const struct command *command, const char *name, const char **place);

/* Print an error to stderr. return the exit code for it. */
int command_fail(const struct error *err);

/*
 * Read a configuration file over what is there; the files it names are relative to it, or to the
 * working directory when it is stdin. errors: name the file, and line and column.
 */
int command_load_config(struct config *config, const char *path, struct error *err);

/* The same, without waiting for a pipe. */
int command_load_config_at_once(struct config *config, const char *path, struct error *err);

/*
 * Set an extender up for decisions without a daemon: its classes, its policy, and its cluster's mix
 * of pods where packing.workloadFile gives one.
 *
 * extender  has a cluster, and borrows the classes
 * classes   empty before; the caller clears it
 * path      configuration file; NULL: the defaults
 * policy    the word of --policy, which wins over the file; NULL: as configured
 */
int command_configure(struct extender *extender, struct class_table *classes, const char *path,
                      const char *policy, struct error *err);

/*
 * Position of a word that an option takes, in a list that ends with NULL; -1 and an error that
 * names the nearest one.
 *
 * option  what takes it, for the error: "--policy"; NULL: the command itself
 */
int command_find_word(const char *const *words, const char *word, const char *option,
                      struct error *err);

/* A file, or stdin for "-", into a buffer. errors: as file_read. */
int command_read(const char *path, struct buf *out, struct error *err);

#endif
