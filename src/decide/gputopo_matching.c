/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputopo_matching - the most disjoint pairs of near devices.
 *
 * Edmonds' blossom algorithm on bit masks: grow an alternating tree from a free device; an odd
 * cycle in it is shrunk to its base; a free device reached means one more pair. Links need not be
 * transitive (rings, cubes), so counting by parts would be wrong here.
 * source: J. Edmonds, "Paths, trees, and flowers" (1965).
 */
#include "gputopo_inside.h"

#include <string.h>

#define NOBODY (-1)

struct matching {
    const device_mask *near;
    device_mask mask;        /* devices to pair */
    device_mask free;        /* of these, without a mate */
    device_mask outer, todo; /* of the tree: at an even distance from the root; not yet looked at */
    int8_t mate[DEVICE_MAX];
    int8_t parent[DEVICE_MAX]; /* in the tree, of devices at an odd distance */
    uint8_t base[DEVICE_MAX];  /* of the shrunk cycle a device is in; itself if in none */
};

static void marry(struct matching *m, unsigned a, unsigned b)
{
    m->mate[a] = (int8_t)b;
    m->mate[b] = (int8_t)a;
    m->free &= ~(mask_of(a) | mask_of(b));
}

/* Most pairs are found by taking the first free neighbour. */
static void pair_greedily(struct matching *m)
{
    for (device_mask left = m->mask; left != 0; left &= left - 1) {
        unsigned device = mask_first(left);
        device_mask partners = m->near[device] & m->free & ~mask_of(device);

        if (mask_has(m->free, device) && partners != 0)
            marry(m, device, mask_first(partners));
    }
}

/* Where the ways of two outer devices to the root meet. */
static unsigned meet(const struct matching *m, unsigned a, unsigned b)
{
    device_mask passed = 0;

    for (;;) {
        a = m->base[a];
        passed |= mask_of(a);
        if (m->mate[a] == NOBODY)
            break;
        a = (unsigned)m->parent[m->mate[a]];
    }
    for (;;) {
        b = m->base[b];
        if (mask_has(passed, b))
            return b;
        b = (unsigned)m->parent[m->mate[b]];
    }
}

/* Walk one side of an odd cycle down to its base; return the bases passed. */
static device_mask walk_cycle(struct matching *m, unsigned device, unsigned base, unsigned child)
{
    device_mask passed = 0;

    while (m->base[device] != base) {
        unsigned mate = (unsigned)m->mate[device];

        passed |= mask_of(m->base[device]) | mask_of(m->base[mate]);
        m->parent[device] = (int8_t)child;
        child = mate;
        device = (unsigned)m->parent[mate];
    }
    return passed;
}

static void shrink_cycle(struct matching *m, unsigned a, unsigned b)
{
    unsigned base = meet(m, a, b);
    device_mask passed = walk_cycle(m, a, base, b) | walk_cycle(m, b, base, a);

    for (device_mask left = m->mask; left != 0; left &= left - 1) {
        unsigned device = mask_first(left);

        if (!mask_has(passed, m->base[device]))
            continue;
        m->base[device] = (uint8_t)base;
        if (!mask_has(m->outer, device))
            m->todo |= mask_of(device);
        m->outer |= mask_of(device);
    }
}

/* Look along one edge of an outer device. return the free device it leads to, or NOBODY. */
static int look_along(struct matching *m, unsigned device, unsigned to)
{
    if (m->base[device] == m->base[to] || m->mate[device] == (int)to)
        return NOBODY;
    if (mask_has(m->outer, to)) {
        shrink_cycle(m, device, to);
        return NOBODY;
    }
    if (m->parent[to] != NOBODY)
        return NOBODY;
    m->parent[to] = (int8_t)device;
    if (m->mate[to] == NOBODY)
        return (int)to;
    m->outer |= mask_of((unsigned)m->mate[to]);
    m->todo |= mask_of((unsigned)m->mate[to]);
    return NOBODY;
}

/* Grow a tree from a free device until it reaches another one. */
static int find_free(struct matching *m, unsigned root)
{
    memset(m->parent, NOBODY, sizeof(m->parent));
    for (unsigned i = 0; i < DEVICE_MAX; i++)
        m->base[i] = (uint8_t)i;
    m->outer = m->todo = mask_of(root);
    while (m->todo != 0) {
        unsigned device = mask_first(m->todo);

        m->todo &= m->todo - 1;
        for (device_mask left = m->near[device] & m->mask; left != 0; left &= left - 1) {
            int end = look_along(m, device, mask_first(left));

            if (end != NOBODY)
                return end;
        }
    }
    return NOBODY;
}

/* Swap the pairs on the way from a reached free device back to the root. */
static void flip_way(struct matching *m, int end)
{
    while (end != NOBODY) {
        int before = m->parent[end], next = m->mate[before];

        marry(m, (unsigned)end, (unsigned)before);
        end = next;
    }
}

unsigned gputopo_matching_size(const device_mask near[DEVICE_MAX], device_mask mask,
                               struct gputopo_budget *budget)
{
    struct matching m = {.near = near};

    for (device_mask left = mask; left != 0; left &= left - 1) {
        unsigned device = mask_first(left);

        if ((near[device] & mask & ~mask_of(device)) != 0)
            m.mask |= mask_of(device);
    }
    m.free = m.mask;
    memset(m.mate, NOBODY, sizeof(m.mate));
    pair_greedily(&m);
    /* A device that finds nobody now never will. */
    for (device_mask left = m.free; left != 0 && mask_count(m.free) > 1; left &= left - 1) {
        unsigned device = mask_first(left);

        if (!mask_has(m.free, device))
            continue;
        /* A tree looks along the edges of every device once. */
        if (!gputopo_spend(budget, mask_count(m.mask)))
            break;
        flip_way(&m, find_free(&m, device));
    }
    return (mask_count(m.mask) - mask_count(m.free)) / 2;
}
