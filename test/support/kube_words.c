/* SPDX-License-Identifier: Apache-2.0 */
#include "support/kube_words.h"

#include "support/builders.h"
#include "support/test.h"

#include "topofit/dialect.h"

#include <stdlib.h>

struct node *node_told(const char *inventory, const char *topology, const char *cordoned)
{
    const char *const annotations[][2] = {{"topofit.io/inventory", inventory},
                                          {"topofit.io/topology", topology},
                                          {"topofit.io/cordoned-devices", cordoned}};
    AUTO(kube_node_clear) struct kube_node kube;

    kube_node_init(&kube);
    free(kube.meta.name);
    kube.meta.name = xstrdup("n1");
    for (size_t i = 0; i < ARRAY_LEN(annotations); i++) {
        if (annotations[i][1] != NULL)
            kube_pairs_add(&kube.meta.annotations, annotations[i][0], annotations[i][1]);
    }
    return dialect_node(&kube, &test_classes);
}

void kube_pod_ask(struct kube_pod *pod, enum container_kind kind, const char *amounts)
{
    AUTO_FREE char *words = xstrdup(amounts);
    struct kube_container *container;
    char *rest = words, *word;

    pod->containers = mem_grow(pod->containers, pod->container_count, &pod->container_capacity,
                               sizeof *pod->containers);
    container = &pod->containers[pod->container_count];
    *container =
        (struct kube_container){.name = xasprintf("c%zu", pod->container_count), .kind = kind};
    pod->container_count++;
    while ((word = strsep(&rest, " ")) != NULL) {
        char *amount = strchr(word, '=');

        if (amount == NULL)
            continue;
        *amount = '\0';
        kube_pairs_add(&container->limits, word, amount + 1);
    }
}

void kube_pod_annotate(struct kube_pod *pod, const char *key, const char *value)
{
    kube_pairs_add(&pod->meta.annotations, key, value);
}
