/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chaos - a daemon between a hostile API server and an impatient kube-scheduler.
 *
 * A seed chooses the steps; what is done is the same in each run, when the daemon acts is not.
 * After each step the placement_checker is asked. At the end all faults are healed, and the daemon
 * must come to hold what the API server holds, place one more pod, and stop in order.
 */
#ifndef TOPOFIT_CHAOS_CHAOS_H
#define TOPOFIT_CHAOS_CHAOS_H

#include "topofit/error.h"

#include <stdbool.h>
#include <stdint.h>

struct chaos_options {
    const char *program;   /* topofit */
    const char *config;    /* its configuration file */
    const char *directory; /* for a kubeconfig */
    unsigned steps;
    uint64_t seed;
    bool is_verbose; /* the trace goes to stdout as it happens */
};

/*
 * Run it, and print what came out; the trace when something was wrong.
 *
 * return  true when nothing was wrong. errors: what kept it from running, e.g. ERR_IO.
 */
int chaos_run(const struct chaos_options *options, bool *out_is_well, struct error *err);

#endif
