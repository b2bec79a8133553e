/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_framing - is it certain where a request ends? Private to http.
 *
 * The library takes the first of several answers to that question; a proxy in front may take
 * another one, and then one client's bytes become another's request. So what is ambiguous is
 * refused. source: RFC 9112 sections 6.1 and 6.3.
 */
#ifndef TOPOFIT_EDGE_HTTP_FRAMING_H
#define TOPOFIT_EDGE_HTTP_FRAMING_H

#include <stdint.h>

struct MHD_Connection;

struct http_framing {
    unsigned refusal;        /* status to refuse the request with, 0 when it is fine */
    const char *problem;     /* why, for people; static */
    uint64_t content_length; /* as stated; 0 when chunked or without body */
};

/* Judge the header fields of a request. */
struct http_framing http_framing_judge(struct MHD_Connection *connection);

#endif
