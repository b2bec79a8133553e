/* SPDX-License-Identifier: Apache-2.0 */
/* command_run - run the command line as a person does, in this process. */
#ifndef TOPOFIT_TEST_COMMAND_RUN_H
#define TOPOFIT_TEST_COMMAND_RUN_H

/* What one run printed, and its exit code. */
struct run {
    int code;
    char *out, *err;
};

/* Run `topofit` with these words, of which at most twelve, parted by blanks. */
struct run command_run(const char *words);
void run_clear(struct run *run);

#endif
