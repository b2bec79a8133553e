/* SPDX-License-Identifier: Apache-2.0 */
/* nominations - which pods kube-scheduler has nominated to which node. */
#include "nominations.h"

#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

struct nominations {
    struct map *by_node; /* struct nomination_list, owned; none without pods */
};

struct nominations *nominations_new(const struct hash_key *key)
{
    struct nominations *nominations = xcalloc(1, sizeof *nominations);

    nominations->by_node = map_new(key);
    return nominations;
}

static void free_list(void *value)
{
    struct nomination_list *list = value;

    for (size_t i = 0; i < list->count; i++)
        pod_unref(list->pods[i]);
    free(list->pods);
    free(list);
}

void nominations_free(struct nominations *nominations)
{
    if (nominations == NULL)
        return;
    map_free(nominations->by_node, free_list);
    free(nominations);
}

void nominations_add(struct nominations *nominations, struct pod *pod)
{
    struct nomination_list *list;

    if (!pod_waits_nominated(pod))
        return;
    list = map_get(nominations->by_node, pod->nominated);
    if (list == NULL) {
        list = xcalloc(1, sizeof *list);
        map_put(nominations->by_node, pod->nominated, list);
    }
    list->pods = mem_grow(list->pods, list->count, &list->capacity, sizeof *list->pods);
    list->pods[list->count++] = pod_ref(pod);
}

void nominations_remove(struct nominations *nominations, const struct pod *pod)
{
    struct nomination_list *list;
    size_t i = 0;

    if (!pod_waits_nominated(pod))
        return;
    list = map_get(nominations->by_node, pod->nominated);
    while (list != NULL && i < list->count && list->pods[i] != pod)
        i++;
    if (list == NULL || i == list->count)
        return;
    if (list->count == 1) {
        free_list(map_remove(nominations->by_node, pod->nominated));
        return;
    }
    pod_unref(list->pods[i]);
    list->count--;
    memmove(list->pods + i, list->pods + i + 1, (list->count - i) * sizeof *list->pods);
}

const struct nomination_list *nominations_on_node(const struct nominations *nominations,
                                                  const char *node)
{
    return map_get(nominations->by_node, node);
}
