/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any annotations of a pod that HAMi's scheduler has placed: "key=value" a line, for a pod of an
 * init container and two apps. What is read books something on every device named; what is written
 * for it is read again as the same.
 */
#include "topofit/class.h"
#include "topofit/dialect.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct class_table classes;

static void add_container(struct kube_pod *pod, const char *name, enum container_kind kind,
                          const char *resource)
{
    pod->containers = mem_grow(pod->containers, pod->container_count, &pod->container_capacity,
                               sizeof *pod->containers);
    pod->containers[pod->container_count] =
        (struct kube_container){.name = xstrdup(name), .kind = kind};
    if (resource != NULL)
        kube_pairs_add(&pod->containers[pod->container_count].limits, resource, "1");
    pod->container_count++;
}

static void init_pod(struct kube_pod *pod)
{
    kube_pod_init(pod);
    free(pod->node_name);
    pod->node_name = xstrdup("n1");
    add_container(pod, "init", CONTAINER_INIT, NULL);
    add_container(pod, "one", CONTAINER_APP, "nvidia.com/gpu");
    add_container(pod, "two", CONTAINER_APP, "aws.amazon.com/neuroncore");
}

/* A node that has every device of the record, of the class that it is of. */
static struct node *node_of(const struct allocation *record)
{
    struct node *node = node_new("n1", "u1");

    for (size_t i = 0; i < record->container_count; i++) {
        for (size_t k = 0; k < record->containers[i].device_count; k++) {
            const char *id = record->containers[i].devices[k].id;
            struct device *device =
                node_find_device(node, id) < 0 ? node_add_device(node, id) : NULL;

            if (device != NULL)
                device->class = class_find(&classes, "nvidia");
        }
    }
    node->wants_lock = true;
    return node;
}

static size_t count_devices(const struct allocation *record)
{
    size_t count = 0;

    for (size_t i = 0; i < record->container_count; i++)
        count += record->containers[i].device_count;
    return count;
}

/* HAMi's spelling alone, since topofit's own would win. */
static void check_round_trip(const struct pod *pod)
{
    AUTO(kube_pod_clear) struct kube_pod kube;
    AUTO(node_unref_pointer) struct node *node = node_of(&pod->record);
    AUTO(pod_unref_pointer) struct pod *again = NULL;
    const struct dialect_placement placement = {&pod->record, node, &pod->request, 1000};

    if (node->device_count == DEVICE_MAX || strcmp(pod->record.node, "n1") != 0)
        return;
    init_pod(&kube);
    dialect_hami.write_record(&placement, &kube.meta.annotations);
    again = dialect_pod(&kube, &classes);
    assert(again->has_record);
    assert(count_devices(&again->record) == count_devices(&pod->record));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO_FREE char *text = xstrndup((const char *)bytes, size);
    AUTO(kube_pod_clear) struct kube_pod kube;
    AUTO(pod_unref_pointer) struct pod *pod = NULL;
    struct grant grants[DEVICE_MAX];
    char *rest = NULL;

    if (classes.count == 0)
        classes_builtin(&classes);
    init_pod(&kube);
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *equals = strchr(line, '=');

        if (equals == NULL || strncmp(line, "topofit.io/", 11) == 0)
            continue;
        *equals = '\0';
        kube_pairs_add(&kube.meta.annotations, line, equals + 1);
    }
    pod = dialect_pod(&kube, &classes);
    assert(!pod->has_record || pod->record_problem == NULL);
    if (!pod->has_record)
        return 0;
    assert(pod->record.container_count == 3 && count_devices(&pod->record) > 0);
    assert(allocation_grants(&pod->record, false, grants, ARRAY_LEN(grants)) > 0);
    check_round_trip(pod);
    return 0;
}
