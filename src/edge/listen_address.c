/* SPDX-License-Identifier: Apache-2.0 */
/* listen_address - where a server listens, from the words of a person to a socket. */
#include "topofit/listen_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define PORT_MAX 65535
#define BACKLOG 1024

/* A decimal port number without signs, blanks or surplus digits; negative if it is none. */
static int parse_port(const char *text)
{
    int port = 0;

    if (*text == '\0' || strlen(text) > 5)
        return -1;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return -1;
        port = port * 10 + (*text - '0');
    }
    return port <= PORT_MAX ? port : -1;
}

static void set_ipv4(struct listen_address *out, in_port_t port)
{
    out->socket.ipv4.sin_family = AF_INET;
    out->socket.ipv4.sin_port = port;
    out->length = sizeof out->socket.ipv4;
}

static void set_ipv6(struct listen_address *out, in_port_t port)
{
    out->socket.ipv6.sin6_family = AF_INET6;
    out->socket.ipv6.sin6_port = port;
    out->length = sizeof out->socket.ipv6;
}

/* The host part: "" for all, "[...]" for IPv6, else IPv4. */
static bool set_host(struct listen_address *out, char *host, in_port_t port)
{
    size_t length = strlen(host);

    if (length == 0) {
        set_ipv6(out, port);
        out->socket.ipv6.sin6_addr = in6addr_any;
        out->all = true;
        return true;
    }
    if (host[0] != '[') {
        set_ipv4(out, port);
        return inet_pton(AF_INET, host, &out->socket.ipv4.sin_addr) == 1;
    }
    if (host[length - 1] != ']')
        return false;
    host[length - 1] = '\0';
    set_ipv6(out, port);
    return inet_pton(AF_INET6, host + 1, &out->socket.ipv6.sin6_addr) == 1;
}

int listen_address_parse(const char *text, struct listen_address *out, struct error *err)
{
    struct listen_address address = {0};
    const char *colon = strrchr(text, ':');
    char host[INET6_ADDRSTRLEN + 2];
    size_t host_length;
    int port;

    if (colon == NULL)
        return error_set(err, ERR_INVALID, "listen address \"%s\": no port; write host:port", text);
    host_length = (size_t)(colon - text);
    port = parse_port(colon + 1);
    if (port < 0)
        return error_set(err, ERR_INVALID, "listen address \"%s\": the port is not 0 to %d", text,
                         PORT_MAX);
    if (host_length >= sizeof host)
        return error_set(err, ERR_INVALID, "listen address \"%s\": the host is too long", text);
    memcpy(host, text, host_length);
    host[host_length] = '\0';
    if (!set_host(&address, host, htons((in_port_t)port)))
        return error_set(err, ERR_INVALID,
                         "listen address \"%s\": the host is not an IPv4 address, an IPv6 address "
                         "in [], or nothing (all addresses)",
                         text);
    *out = address;
    return 0;
}

static bool is_loopback_ipv4(in_addr_t address)
{
    return ntohl(address) >> 24 == IN_LOOPBACKNET;
}

bool listen_address_is_loopback(const struct listen_address *address)
{
    const struct in6_addr *ipv6 = &address->socket.ipv6.sin6_addr;
    in_addr_t mapped;

    if (address->socket.any.sa_family == AF_INET)
        return is_loopback_ipv4(address->socket.ipv4.sin_addr.s_addr);
    memcpy(&mapped, ipv6->s6_addr + 12, sizeof mapped);
    return IN6_IS_ADDR_LOOPBACK(ipv6) || (IN6_IS_ADDR_V4MAPPED(ipv6) && is_loopback_ipv4(mapped));
}

/* One attempt; the descriptor, or -1 with errno set. */
static int open_socket(const struct listen_address *address)
{
    int fd = socket(address->socket.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1, off = 0, saved;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->socket.any.sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, &address->socket.any, address->length) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

int listen_address_open(const struct listen_address *address, int *out, struct error *err)
{
    int fd = open_socket(address);

    /* A kernel without IPv6 refuses the family or the address; all of IPv4 is what is left. */
    if (fd < 0 && address->all && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) {
        struct listen_address ipv4 = {0};

        set_ipv4(&ipv4, address->socket.ipv6.sin6_port);
        fd = open_socket(&ipv4);
    }
    if (fd < 0)
        return error_set(err, ERR_IO, "%s", strerrordesc_np(errno));
    *out = fd;
    return 0;
}

unsigned listen_address_port(int socket)
{
    struct listen_address bound = {.length = sizeof bound.socket};

    if (getsockname(socket, &bound.socket.any, &bound.length) != 0)
        return 0;
    /* The port is at the same place in both families. */
    return ntohs(bound.socket.ipv4.sin_port);
}
