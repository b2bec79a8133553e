/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin - HAMi's device plugins on some of the nodes, and another scheduler that uses their locks.
 *
 * A plugin hands devices out to the pod that the lock on its node names, one pod at a time: it
 * reads the lock, sets the pod's bind phase, takes the lock away. It may be slow, fail, or die in
 * between. The other scheduler locks as HAMi's does, takes its time, and may die with the lock.
 */
#ifndef TOPOFIT_SIM_PLUGIN_H
#define TOPOFIT_SIM_PLUGIN_H

#include "world.h"

struct api_object;

struct plugins *plugins_new(struct world *world);
void plugins_free(struct plugins *plugins);

/* Does a pod on a node wait for a plugin? It does not run before it has its devices. */
bool plugins_are_awaited(const struct plugins *plugins, const struct api_object *pod);

/* Something has changed at the API server: is it possible, and has a plugin something to do? */
void plugins_look(struct plugins *plugins);

/* A Binding of that pod was executed: did the lock name it? */
void plugins_on_binding(struct plugins *plugins, const char *namespace, const char *name);

/* The other scheduler places a pod on some node with a plugin, if there is no lock there. */
void plugins_rival(struct plugins *plugins);

/* Is no lock left, and no plugin at work? */
bool plugins_are_done(const struct plugins *plugins, char *text, size_t size);

#endif
