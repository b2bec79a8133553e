/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_sockets - which socket a request goes out on. Private to kube_client.
 *
 * libcurl tells of a connection that is used again only its ports, not its socket. So the sockets
 * that are open are kept here, and found by our port.
 */
#ifndef TOPOFIT_EDGE_KUBE_SOCKETS_H
#define TOPOFIT_EDGE_KUBE_SOCKETS_H

#include <stddef.h>

struct kube_sockets {
    struct kube_socket {
        int fd;
        unsigned own_port; /* 0: not known yet */
    } *items;
    size_t count, capacity;
};

void kube_sockets_add(struct kube_sockets *sockets, int fd);
void kube_sockets_remove(struct kube_sockets *sockets, int fd);

/* return the socket that is bound to this port of ours, or -1. */
int kube_sockets_find(struct kube_sockets *sockets, unsigned own_port);

void kube_sockets_clear(struct kube_sockets *sockets);

#endif
