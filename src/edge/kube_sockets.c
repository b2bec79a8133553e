/* SPDX-License-Identifier: Apache-2.0 */
/* kube_sockets - which socket a request goes out on. */
#include "kube_sockets.h"

#include "topofit/mem.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

void kube_sockets_add(struct kube_sockets *sockets, int fd)
{
    sockets->items =
        mem_grow(sockets->items, sockets->count, &sockets->capacity, sizeof *sockets->items);
    sockets->items[sockets->count++] = (struct kube_socket){.fd = fd};
}

void kube_sockets_remove(struct kube_sockets *sockets, int fd)
{
    for (size_t i = 0; i < sockets->count; i++) {
        if (sockets->items[i].fd == fd) {
            sockets->items[i] = sockets->items[--sockets->count];
            return;
        }
    }
}

/* 0 when it is not bound. */
static unsigned own_port_of(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof address;

    if (getsockname(fd, (struct sockaddr *)&address, &length) != 0)
        return 0;
    if (address.ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)&address)->sin6_port);
    return address.ss_family == AF_INET ? ntohs(((const struct sockaddr_in *)&address)->sin_port)
                                        : 0;
}

int kube_sockets_find(struct kube_sockets *sockets, unsigned own_port)
{
    for (size_t i = 0; i < sockets->count; i++) {
        struct kube_socket *socket = &sockets->items[i];

        if (socket->own_port == 0)
            socket->own_port = own_port_of(socket->fd);
        if (socket->own_port == own_port)
            return socket->fd;
    }
    return -1;
}

void kube_sockets_clear(struct kube_sockets *sockets)
{
    free(sockets->items);
    *sockets = (struct kube_sockets){0};
}
