/* SPDX-License-Identifier: Apache-2.0 */
#include "stopwatch.h"

#include <stdlib.h>
#include <time.h>

#define PIECES_MAX 51
#define PIECES_MIN 3
#define PIECE_NS 20000.0
#define RUNS_MAX 1000000u

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double piece_ns(void (*run)(void *ctx), void *ctx, unsigned runs)
{
    double start_ns = now_ns();

    for (unsigned i = 0; i < runs; i++)
        run(ctx);
    return now_ns() - start_ns;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double stopwatch_ns(void (*run)(void *ctx), void *ctx, unsigned budget_ms)
{
    double took_ns[PIECES_MAX], until_ns = now_ns() + budget_ms * 1e6;
    unsigned runs = 1, pieces = 0;

    run(ctx);
    while (runs < RUNS_MAX && piece_ns(run, ctx, runs) < PIECE_NS)
        runs *= 2;
    while (pieces < PIECES_MIN || (pieces < PIECES_MAX && now_ns() < until_ns))
        took_ns[pieces++] = piece_ns(run, ctx, runs) / runs;
    qsort(took_ns, pieces, sizeof *took_ns, by_size);
    return took_ns[pieces / 2];
}
