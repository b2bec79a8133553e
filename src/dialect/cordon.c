/* SPDX-License-Identifier: Apache-2.0 */
/* cordon - devices that an administrator takes out of use. */
#include "cordon.h"

#include "device_id.h"
#include "topofit/mem.h"

static void read_list(const char *key, const char *list, struct node *node)
{
    char id[DEVICE_ID_BYTES_MAX + 1];

    while (text_next_item(&list, id, sizeof id)) {
        int position = node_find_device(node, id);

        if (position >= 0)
            node->devices[position].cordoned = true;
        else
            node_note_problem(node, "%s: there is no device %s", key, id);
    }
}

void cordon_read(const struct kube_node *kube, struct node *node)
{
    static const char *const keys[] = {KEY_CORDONED, KEY_HAMI_CORDON};

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const char *list = kube_pairs_get(&kube->meta.annotations, keys[i]);

        if (list != NULL)
            read_list(keys[i], list, node);
    }
}
