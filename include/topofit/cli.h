/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli - the command line: one table of commands, one file each.
 *
 * Exit codes: 0 yes, 1 a negative answer, 2 usage, 3 unreachable, 4 bad input.
 */
#ifndef TOPOFIT_CLI_H
#define TOPOFIT_CLI_H

enum exit_code {
    EXIT_YES = 0,
    EXIT_NO = 1,
    EXIT_USAGE = 2,
    EXIT_UNREACHABLE = 3,
    EXIT_BAD_INPUT = 4
};

/* Run the command that the arguments name. return the exit code. */
int cli_run(int argc, char **argv);

#endif
