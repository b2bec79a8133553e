/* SPDX-License-Identifier: Apache-2.0 */
/*
 * served - what is measured: the daemon, and the floor beneath it, each a child process.
 *
 * The floor is the daemon's own HTTP server, set up as the daemon sets it up, with a handler that
 * does not think: it answers as many bytes as the question's path says. Children die with us.
 */
#ifndef TOPOFIT_BENCH_SERVED_H
#define TOPOFIT_BENCH_SERVED_H

#include <stddef.h>

struct served {
    int pid;
    unsigned port, admin_port;
};

/* What a child has used until now. */
struct served_cost {
    double cpu_us;
    size_t resident_kib, peak_kib;
};

/* `program serve --cluster dump`, ready to answer. Ends the program when it does not start. */
struct served served_daemon(const char *program, const char *dump);

/* "/floor/LENGTH" answers LENGTH bytes. */
struct served served_floor(void);

struct served_cost served_cost(const struct served *served);
void served_stop(struct served *served);

#endif
