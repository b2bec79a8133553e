/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peers - the peer graph: how the devices of one node are connected.
 *
 * A graph knows positions (0..n-1, the order of the node's devices), never names, so that all
 * nodes wired alike share one. It keeps two independent facts for each pair: the link that a tool
 * of the vendor reported, and the NUMA nodes the two devices sit on. From these it derives one
 * tier matrix per source a user may ask for. Links are not transitive: a is close to b and b to c
 * does not make a close to c (hybrid cube mesh), so there is no union-find here.
 *
 * Invariants of a finished graph: symmetric; the diagonal is TIER_INTERCONNECT; n <= DEVICE_MAX.
 * Immutable after peers_finish(), reference counted atomically.
 */
#ifndef TOPOFIT_PEERS_H
#define TOPOFIT_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEVICE_MAX 64 /* devices of one node */
#define NUMA_UNKNOWN (-1)
#define LINK_NAME_MAX 12

typedef uint64_t device_mask; /* bit i = the device at position i */

static inline device_mask mask_of(unsigned position)
{
    return (device_mask)1 << position;
}
static inline bool mask_has(device_mask mask, unsigned position)
{
    return mask >> position & 1;
}
/* Bits set. Spelled out because the builtin is a library call on a plain x86-64. */
static inline unsigned mask_count(device_mask mask)
{
    mask -= mask >> 1 & 0x5555555555555555;
    mask = (mask & 0x3333333333333333) + (mask >> 2 & 0x3333333333333333);
    mask = (mask + (mask >> 4)) & 0x0f0f0f0f0f0f0f0f;
    return (unsigned)(mask * 0x0101010101010101 >> 56);
}
/* Position of the lowest bit; mask must not be 0. */
static inline unsigned mask_first(device_mask mask)
{
    return (unsigned)__builtin_ctzll(mask);
}
/* Positions 0..count-1. */
static inline device_mask mask_below(unsigned count)
{
    return count >= DEVICE_MAX ? ~(device_mask)0 : mask_of(count) - 1;
}
/* The lowest `count` bits of mask; all of it when it has fewer. */
device_mask mask_lowest(device_mask mask, unsigned count);

enum tier {
    TIER_INTERCONNECT = 0, /* the same vendor interconnect: NVLink, xGMI, HCCS, MetaXLink ... */
    TIER_NUMA = 1,         /* the same NUMA node or PCIe host bridge */
    TIER_CROSS = 2,        /* across NUMA nodes or sockets */
    TIER_UNKNOWN = 3,      /* nobody told */
};
#define TIER_COUNT 4

/* "interconnect", "numa", "cross", "unknown". Static storage. */
const char *tier_name(enum tier tier);

/* Which facts count: both (the better of the two), the vendor's links alone, or NUMA alone. */
enum topology_source { SOURCE_AUTO = 0, SOURCE_VENDOR, SOURCE_NUMA };
#define SOURCE_COUNT 3

/* What is known of one pair. A zeroed link with tier TIER_UNKNOWN means nothing is known. */
struct link {
    char name[LINK_NAME_MAX]; /* as reported: "NV12", "PIX"; "" when unknown */
    enum tier tier;           /* what the vendor's link says, without NUMA */
    uint16_t gbps;            /* nominal GB/s, both directions; 0 unknown. For comparing only. */
};

struct peer_graph {
    unsigned references;
    uint64_t serial; /* unique among interned graphs; 0 = not interned */
    unsigned n;      /* devices */
    bool has_links;  /* some pair has a vendor link */
    bool has_numa;   /* some device has a NUMA node */
    int16_t numa[DEVICE_MAX];
    struct link *links;           /* [n * n], row-major, symmetric */
    uint8_t *tiers[SOURCE_COUNT]; /* [n * n] each, row-major: enum tier */
};

/* A graph of n devices about which nothing is known. One reference; fill it, then finish it. */
struct peer_graph *peers_new(unsigned n);

/*
 * Note what one end reports of a pair. Told twice, from either end, the better tier and the higher
 * bandwidth win, so that a list known from one end only counts the same whichever comes first.
 * What a device says of itself (a == b) is ignored. Only before peers_finish().
 */
void peers_note_link(struct peer_graph *graph, unsigned a, unsigned b, const struct link *link);

/* NUMA node of a device; negative, or beyond INT16_MAX, = unknown. Only before peers_finish(). */
void peers_set_numa(struct peer_graph *graph, unsigned position, int numa);

/*
 * Derive the tiers. SOURCE_AUTO takes the better of link and NUMA (docs/concepts/topology.md
 * #tiers), SOURCE_VENDOR the link alone, SOURCE_NUMA the NUMA node alone.
 */
void peers_finish(struct peer_graph *graph);

/* Tier of a pair of a finished graph under a source. */
enum tier peers_tier(const struct peer_graph *graph, enum topology_source source, unsigned a,
                     unsigned b);

/* What is known of a pair; never NULL. Borrowed. */
const struct link *peers_link(const struct peer_graph *graph, unsigned a, unsigned b);

/* Same size, links and NUMA nodes. */
bool peers_equal(const struct peer_graph *a, const struct peer_graph *b);

/* How much memory it takes. */
size_t peers_bytes(const struct peer_graph *graph);

struct peer_graph *peers_ref(struct peer_graph *graph);
void peers_unref(struct peer_graph *graph);

/* For AUTO(peers_unref_pointer) struct peer_graph *graph. */
void peers_unref_pointer(struct peer_graph **graph);

#endif
