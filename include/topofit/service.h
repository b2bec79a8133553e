/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service - what the tenants of a device are promised beside each other.
 *
 * Where a kind of device matches services (struct set_rule), the tenants of one device all have
 * the same: its scheduler on the card works in one of these ways at a time.
 */
#ifndef TOPOFIT_SERVICE_H
#define TOPOFIT_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

/* How compute is shared out. One byte, as the next: each line of a record has both. */
enum __attribute__((packed)) service {
    SERVICE_ANY = 0, /* nothing was stated */
    SERVICE_BEST_EFFORT,
    SERVICE_FIXED_SHARE,
    SERVICE_BURST_SHARE,
};

/* Whether people wait for the answers. */
enum __attribute__((packed)) application {
    APPLICATION_ANY = 0, /* nothing was stated */
    APPLICATION_ONLINE,
    APPLICATION_OFFLINE,
};

/* "best-effort", "fixed-share", "burst-share"; "" for SERVICE_ANY. Static storage. */
const char *service_name(enum service service);

/* "online", "offline"; "" for APPLICATION_ANY. Static storage. */
const char *application_name(enum application application);

/* The one of a name, case aside; false when there is none. "" is none. */
bool service_parse(const char *name, enum service *out);
bool application_parse(const char *name, enum application *out);

#endif
