/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listen_address - where a server listens, from the words of a person to a socket.
 *
 * "127.0.0.1:9901", "[::1]:9901", or ":9901" for all addresses of the machine. Hosts are written
 * as numbers: a name could mean another address tomorrow. Port 0 lets the kernel choose.
 */
#ifndef TOPOFIT_LISTEN_ADDRESS_H
#define TOPOFIT_LISTEN_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "topofit/error.h"

struct listen_address {
    union {
        struct sockaddr any;
        struct sockaddr_in ipv4;
        struct sockaddr_in6 ipv6;
    } socket;
    socklen_t length;
    bool all; /* no host was given: IPv6 and IPv4, whichever the machine has */
};

/* errors  ERR_INVALID, naming the text and what is wrong with it. */
int listen_address_parse(const char *text, struct listen_address *out, struct error *err);

/* Can only programs on this machine reach it? 127.0.0.0/8, also as ::ffff:127.0.0.1, and ::1. */
bool listen_address_is_loopback(const struct listen_address *address);

/*
 * A listening TCP socket, non-blocking and closed on exec. The IPv6 wildcard takes IPv4 as well.
 *
 * out     the descriptor; the caller closes it.
 * errors  ERR_IO with the system's words: address in use, permission denied.
 */
int listen_address_open(const struct listen_address *address, int *out, struct error *err);

/* The port a socket is bound to, or 0. */
unsigned listen_address_port(int socket);

#endif
