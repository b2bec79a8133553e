/* SPDX-License-Identifier: Apache-2.0 */
/* node_lock - the lock on a node by which a device plugin knows for which pod it is asked. */
#include "topofit/node_lock.h"

#include "topofit/moment.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *key;
    bool names_holder;
} forms[NODE_LOCK_KINDS] = {
    [NODE_LOCK_NAMED] = {"hami.io/mutex.lock", true},
    [NODE_LOCK_BARE] = {"cambricon.com/dsmlu.lock", false},
};

const char *node_lock_key(enum node_lock kind)
{
    return forms[kind].key;
}

void node_lock_write(enum node_lock kind, uint64_t unix_ms, const char *namespace, const char *name,
                     char text[NODE_LOCK_TEXT_BYTES])
{
    char when[MOMENT_TEXT_BYTES];

    moment_write(unix_ms, 0, when);
    if (forms[kind].names_holder)
        snprintf(text, NODE_LOCK_TEXT_BYTES, "%s,%s,%s", when, namespace, name);
    else
        snprintf(text, NODE_LOCK_TEXT_BYTES, "%s", when);
}

struct lock_holder node_lock_holder(const char *text)
{
    const char *first = strchr(text, ',');
    const char *second = first != NULL ? strchr(first + 1, ',') : NULL;
    struct lock_holder holder = {0};

    if (second == NULL || second == first + 1 || second[1] == '\0' ||
        strchr(second + 1, ',') != NULL)
        return holder;
    holder.namespace = first + 1;
    holder.namespace_length = (size_t)(second - first - 1);
    holder.name = second + 1;
    holder.name_length = strlen(second + 1);
    return holder;
}
