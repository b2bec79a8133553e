/* SPDX-License-Identifier: Apache-2.0 */
/* topofit check-config - read a configuration and say what it amounts to. */
#include "command.h"
#include "topofit/config.h"
#include "topofit/config_files.h"
#include "topofit/mem.h"

#include <getopt.h>
#include <stdio.h>

static const char help[] =
    "Check a configuration file, and the files it names, and print what is in effect.\n"
    "\n"
    "usage: topofit check-config [FILE] [OPTION...]\n"
    "\n"
    "  FILE         configuration (YAML); - reads stdin; without one the defaults are shown\n"
    "  -q, --quiet  print nothing when the file is good\n"
    "  --no-files   leave out the files it names: it is for another machine\n"
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

static int check(const char *path, bool quiet, bool only_keys)
{
    AUTO(buf_clear) struct buf out = buf_with_max(CONFIG_BYTES_MAX);
    AUTO(config_clear) struct config config;
    struct error err = {0};

    config_defaults(&config);
    if (path != NULL && command_load_config(&config, path, &err) < 0)
        return command_fail(&err);
    if (config_check(&config, &err) < 0 || (!only_keys && config_files_check(&config, &err) < 0))
        return command_fail(&err);
    config_write_yaml(&config, &out);
    if (!quiet)
        fputs(buf_text(&out), stdout);
    return EXIT_YES;
}

static int run(const struct command *command, int argc, char **argv)
{
    enum { LIST_KEYS = 256, NO_FILES };
    static const struct option options[] = {{"list-keys", no_argument, NULL, LIST_KEYS},
                                            {"no-files", no_argument, NULL, NO_FILES},
                                            {"quiet", no_argument, NULL, 'q'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    bool quiet = false, only_keys = false;
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "qh", options, NULL)) != -1) {
        switch (option) {
        case 'q':
            quiet = true;
            break;
        case NO_FILES:
            only_keys = true;
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
    return check(optind < argc ? argv[optind] : NULL, quiet, only_keys);
}

const struct command command_check_config = {.name = "check-config",
                                             .summary = "check a configuration file, or print one",
                                             .help = help,
                                             .run = run};
