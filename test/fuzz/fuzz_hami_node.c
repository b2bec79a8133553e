/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any annotations of a node: "key=value" a line, with the classes that are built in. Whatever they
 * say, the node is one that the rest of the program can work on.
 */
#include "topofit/class.h"
#include "topofit/dialect.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void take_line(char *line, struct kube_node *kube)
{
    char *equals = strchr(line, '=');

    if (equals == NULL)
        return;
    *equals = '\0';
    kube_pairs_add(strncmp(line, "allocatable:", 12) == 0 ? &kube->allocatable
                                                          : &kube->meta.annotations,
                   strncmp(line, "allocatable:", 12) == 0 ? line + 12 : line, equals + 1);
}

static void check_node(const struct node *node)
{
    assert(node->device_count <= DEVICE_MAX && node->graph->n == node->device_count);
    for (unsigned i = 0; i < node->device_count; i++) {
        const struct device *device = &node->devices[i];

        assert(device->id[0] != '\0' && device->class != NULL && device->product != NULL);
        assert(node_find_device(node, device->id) == (int)i);
        assert(i == 0 || node->devices[i - 1].index <= device->index);
    }
    assert(node->has_inventory || node->device_count == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct class_table classes;
    AUTO_FREE char *text = xstrndup((const char *)bytes, size);
    AUTO(kube_node_clear) struct kube_node kube;
    AUTO(node_unref_pointer) struct node *node = NULL;
    AUTO(node_unref_pointer) struct node *again = NULL;
    char *rest = NULL;

    if (classes.count == 0)
        classes_builtin(&classes);
    kube_node_init(&kube);
    free(kube.meta.name);
    kube.meta.name = xstrdup("n1");
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        take_line(line, &kube);
    node = dialect_node(&kube, &classes);
    again = dialect_node(&kube, &classes);
    check_node(node);
    assert(node_equal(node, again));
    return 0;
}
