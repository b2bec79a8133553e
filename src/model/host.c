/* SPDX-License-Identifier: Apache-2.0 */
/* host - CPU and memory of the machine that devices sit in. */
#include "topofit/host.h"

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t subtract(uint64_t from, uint64_t what)
{
    return from > what ? from - what : 0;
}

struct host_amounts host_add(struct host_amounts a, struct host_amounts b)
{
    return (struct host_amounts){add(a.cpu_milli, b.cpu_milli), add(a.memory_mib, b.memory_mib)};
}

struct host_amounts host_subtract(struct host_amounts from, struct host_amounts what)
{
    return (struct host_amounts){subtract(from.cpu_milli, what.cpu_milli),
                                 subtract(from.memory_mib, what.memory_mib)};
}

struct host_amounts host_max(struct host_amounts a, struct host_amounts b)
{
    return (struct host_amounts){a.cpu_milli > b.cpu_milli ? a.cpu_milli : b.cpu_milli,
                                 a.memory_mib > b.memory_mib ? a.memory_mib : b.memory_mib};
}

bool host_equal(struct host_amounts a, struct host_amounts b)
{
    return a.cpu_milli == b.cpu_milli && a.memory_mib == b.memory_mib;
}
