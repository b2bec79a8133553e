/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_lock - the lock on a node by which a device plugin knows for which pod it is asked.
 *
 * HAMi's plugins are told by the kubelet how many devices to hand out, and for whom only by an
 * annotation of their node: it is written before the Binding, and the plugin takes it away when it
 * is done. Here is how each kind (enum node_lock) is spelled. No state. docs/concepts/node-lock.md
 */
#ifndef TOPOFIT_NODE_LOCK_H
#define TOPOFIT_NODE_LOCK_H

#include <stddef.h>
#include <stdint.h>

#include "topofit/device_class.h"

/* Where a pod says how far its node's plugin is, and since when. */
#define BIND_PHASE_KEY "hami.io/bind-phase"
#define BIND_TIME_KEY "hami.io/bind-time"
#define BIND_PHASE_ALLOCATING "allocating"
#define BIND_PHASE_SUCCESS "success"
#define BIND_PHASE_FAILED "failed"

#define NODE_LOCK_TEXT_BYTES 384 /* a time, a namespace and a name, as long as they may be */

/* The annotation of the node. NULL for NODE_LOCK_NONE. */
const char *node_lock_key(enum node_lock kind);

/* The lock for a pod as of now. Names are as the API server takes them: no commas. */
void node_lock_write(enum node_lock kind, uint64_t unix_ms, const char *namespace, const char *name,
                     char text[NODE_LOCK_TEXT_BYTES]);

/* Whom a lock names. Points into its text; nothing is copied. */
struct lock_holder {
    const char *namespace, *name; /* not terminated; NULL: the lock names nobody */
    size_t namespace_length, name_length;
};

/*
 * Exactly three parts with a namespace and a name. Anything else names nobody: a bare time, as
 * HAMi once wrote, or what cannot be read.
 */
struct lock_holder node_lock_holder(const char *text);

#endif
