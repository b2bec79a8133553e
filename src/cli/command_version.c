/* SPDX-License-Identifier: Apache-2.0 */
/* topofit version */
#include "command.h"

#include <stdio.h>
#include <string.h>

static int run(const struct command *command, int argc, char **argv)
{
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return command_help(command);
    if (argc > 1)
        return command_complain(command, "unexpected argument %s", argv[1]);
    printf("topofit %s\n", TOPOFIT_VERSION);
    return EXIT_YES;
}

const struct command command_version = {.name = "version",
                                        .summary = "print the version",
                                        .help = "usage: topofit version\n",
                                        .run = run};
