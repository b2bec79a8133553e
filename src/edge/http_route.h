/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_route - which route answers a path and a method. Pure. Private to http.
 */
#ifndef TOPOFIT_EDGE_HTTP_ROUTE_H
#define TOPOFIT_EDGE_HTTP_ROUTE_H

#include "topofit/buf.h"
#include "topofit/http.h"

/* The route whose path fits best, whatever its method; NULL when none does. */
const struct http_route *http_route_find(const struct http_route *routes, size_t count,
                                         const char *path);

/* Of the routes that share `path`, the one for a method, or NULL. A HEAD is served as a GET. */
const struct http_route *http_route_method(const struct http_route *routes, size_t count,
                                           const char *path, const char *method);

/* The methods of the routes that share `path`, as the value of an Allow header. */
void http_route_allow(const struct http_route *routes, size_t count, const char *path,
                      struct buf *out);

#endif
