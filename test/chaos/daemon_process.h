/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon_process - `topofit serve` as a child: started, read, ended by its id.
 *
 * It dies with us, whatever happens. The last lines of its log are kept for the trace.
 */
#ifndef TOPOFIT_CHAOS_DAEMON_PROCESS_H
#define TOPOFIT_CHAOS_DAEMON_PROCESS_H

#include "loop.h"
#include "topofit/buf.h"
#include "topofit/error.h"

struct daemon_process {
    struct loop *loop;
    struct loop_source log;
    int pid;                   /* 0: not running */
    unsigned port, admin_port; /* 0 until its log has told them */
    struct buf lines;          /* the end of the log */
    const char *program, *config, *kubeconfig;
};

struct daemon_process daemon_process_of(struct loop *loop, const char *program, const char *config,
                                        const char *kubeconfig);

/* errors: ERR_IO. */
int daemon_process_start(struct daemon_process *daemon, struct error *err);

/* Has it ended by itself? */
bool daemon_process_has_ended(struct daemon_process *daemon);

/* At once, as a crash would. */
void daemon_process_kill(struct daemon_process *daemon);

/* As a supervisor does it. return its exit code; -1 when it had to be killed after wait_ms. */
int daemon_process_stop(struct daemon_process *daemon, unsigned wait_ms);

void daemon_process_clear(struct daemon_process *daemon);

#endif
