/* SPDX-License-Identifier: Apache-2.0 */
/* host_loads - CPU and memory that the bound pods of each node take. */
#include "host_loads.h"

#include "topofit/mem.h"

#include <assert.h>
#include <stdlib.h>

struct load {
    struct host_amounts sum;
    size_t pods;
};

struct host_loads {
    struct map *by_node; /* struct load, owned; none without pods */
};

struct host_loads *host_loads_new(const struct hash_key *key)
{
    struct host_loads *loads = xcalloc(1, sizeof *loads);

    loads->by_node = map_new(key);
    return loads;
}

void host_loads_free(struct host_loads *loads)
{
    if (loads == NULL)
        return;
    map_free(loads->by_node, free);
    free(loads);
}

void host_loads_add(struct host_loads *loads, const char *node, struct host_amounts pod)
{
    struct load *load = map_get(loads->by_node, node);

    if (load == NULL) {
        load = xcalloc(1, sizeof *load);
        map_put(loads->by_node, node, load);
    }
    load->sum = host_add(load->sum, pod);
    load->pods++;
}

void host_loads_remove(struct host_loads *loads, const char *node, struct host_amounts pod)
{
    struct load *load = map_get(loads->by_node, node);

    assert(load != NULL && load->pods > 0);
    load->sum = host_subtract(load->sum, pod);
    load->pods--;
    if (load->pods == 0)
        free(map_remove(loads->by_node, node));
}

struct host_amounts host_loads_sum(const struct host_loads *loads, const char *node)
{
    const struct load *load = map_get(loads->by_node, node);

    return load != NULL ? load->sum : (struct host_amounts){0};
}
