/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon_observer - what becomes of what the extender tells while it answers: numbers for the
 * metrics, a log line for each end of a bind, Events. For the daemon's files only.
 */
#ifndef TOPOFIT_DAEMON_OBSERVER_H
#define TOPOFIT_DAEMON_OBSERVER_H

#include "daemon_inside.h"

/* The daemon is borrowed. The functions may be called from any thread. */
struct observer daemon_observer(struct daemon *daemon);

#endif
