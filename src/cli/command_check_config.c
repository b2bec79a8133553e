/* SPDX-License-Identifier: Apache-2.0 */
/* topofit check-config - read a configuration and say what it amounts to. */
#include "command.h"
#include "topofit/class_files.h"
#include "topofit/config.h"
#include "topofit/mem.h"

#include <getopt.h>
#include <stdio.h>

static const char help[] =
    "Check a configuration file, and the class files it names, and print what is in effect.\n"
    "\n"
    "usage: topofit check-config [FILE] [OPTION...]\n"
    "\n"
    "  FILE         configuration (YAML); - reads stdin; without one the defaults are shown\n"
    "  -q, --quiet  print nothing when the file is good\n"
    "  --list-keys  print the name of every key, one a line\n"
    "  -h, --help   this text\n"
    "\n"
    "Ends with 0 when the file is good, 4 when it is not.\n"
    "\n"
    "Examples:\n"
    "  topofit check-config > topofit.yaml      # a file with all defaults, commented\n"
    "  topofit check-config topofit.yaml\n";

static int list_keys(void)
{
    for (size_t i = 0; config_key(i) != NULL; i++)
        puts(config_key(i));
    return EXIT_YES;
}

static int check(const char *path, bool quiet)
{
    AUTO(buf_clear) struct buf out = buf_with_max(CONFIG_BYTES_MAX);
    AUTO(config_clear) struct config config;
    AUTO(class_table_clear) struct class_table classes = {0};
    struct error err = {0};

    config_defaults(&config);
    if (path != NULL && command_load_config(&config, path, &err) < 0)
        return command_fail(&err);
    if (config_check(&config, &err) < 0 || class_files_read(&config, &classes, &err) < 0)
        return command_fail(&err);
    config_write_yaml(&config, &out);
    if (!quiet)
        fputs(buf_text(&out), stdout);
    return EXIT_YES;
}

static int run(const struct command *command, int argc, char **argv)
{
    enum { LIST_KEYS = 256 };
    static const struct option options[] = {{"list-keys", no_argument, NULL, LIST_KEYS},
                                            {"quiet", no_argument, NULL, 'q'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    bool quiet = false;
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "qh", options, NULL)) != -1) {
        switch (option) {
        case 'q':
            quiet = true;
            break;
        case LIST_KEYS:
            return list_keys();
        case 'h':
            return command_help(command);
        default:
            return command_complain_option(command, option, argv, options);
        }
    }
    if (argc - optind > 1)
        return command_complain(command, "one file at a time");
    return check(optind < argc ? argv[optind] : NULL, quiet);
}

const struct command command_check_config = {.name = "check-config",
                                             .summary = "check a configuration file, or print one",
                                             .help = help,
                                             .run = run};
