/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_id - which words can be ids of devices. For the dialects only.
 */
#ifndef TOPOFIT_DEVICE_ID_H
#define TOPOFIT_DEVICE_ID_H

#include <stdbool.h>

/* Some plugins call devices by the name of their node (253 bytes), a word and a number. */
#define DEVICE_ID_BYTES_MAX 320

/*
 * Can comma lists and environment variables carry it: letters, digits and . _ : / -? Not "all",
 * "none" and "void", which have meanings there.
 */
bool device_id_ok(const char *id);

#endif
