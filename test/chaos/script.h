/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script - steps, one a line, that change the cluster or hurt the server.
 *
 *     node n1 8 81920        # name, devices, MiB of each
 *     pod a 2 1000           # name, devices, MiB of each (0 = whole)
 *     fault 1 bind executed-reset
 *     stream watch:pods cut 300
 *     wait 500
 *
 * What follows '#' is a comment. script_describe tells of all steps.
 */
#ifndef TOPOFIT_CHAOS_SCRIPT_H
#define TOPOFIT_CHAOS_SCRIPT_H

#include "server.h"

struct script_world {
    struct api_model *model;
    struct server *server;
};

/*
 * Do what one line says.
 *
 * out_wait_ms  how long nothing is to be done after it; 0 for most.
 * errors       ERR_INVALID for what cannot be understood; ERR_NOT_FOUND when there is no such pod
 *              or node.
 */
int script_step(const struct script_world *world, const char *line, uint64_t *out_wait_ms,
                struct error *err);

/* Lines for people: all steps, then all faults. */
void script_describe(struct buf *out);

#endif
