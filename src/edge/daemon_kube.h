/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon_kube - the daemon and the API server: what goes to the loop, and what comes from it. For
 * the daemon's files only.
 */
#ifndef TOPOFIT_DAEMON_KUBE_H
#define TOPOFIT_DAEMON_KUBE_H

#include "daemon_inside.h"

/* Find the API server, start the loop, and make it the extender's port. */
int daemon_start_kube(struct daemon *daemon, struct error *err);

/*
 * End the dealings with the API server. The loop stays, for the admin listener asks it until that
 * is stopped. Nothing that was started is fine, here and below.
 */
void daemon_stop_kube(struct daemon *daemon);

/* No listener may serve any more. */
void daemon_free_kube(struct daemon *daemon);

/* For the extender's observer; ctx is the daemon. */
void daemon_tell_event(void *ctx, const struct pod_event *event);

#endif
