/* SPDX-License-Identifier: Apache-2.0 */
/* http_route - which route answers a path and a method. */
#include "http_route.h"

#include <stdint.h>
#include <string.h>

/* How well a route fits a path; 0 is not at all. */
static size_t fit(const struct http_route *route, const char *path)
{
    size_t route_length = strlen(route->path);
    size_t length = strlen(path);

    if (strcmp(path, route->path) == 0)
        return SIZE_MAX;
    if (length <= route_length)
        return 0;
    if (route->any_prefix && strcmp(path + length - route_length, route->path) == 0)
        return SIZE_MAX - 1;
    if (route->is_prefix && strncmp(path, route->path, route_length) == 0)
        return route_length;
    return 0;
}

const struct http_route *http_route_find(const struct http_route *routes, size_t count,
                                         const char *path)
{
    const struct http_route *best = NULL;
    size_t best_fit = 0;

    for (size_t i = 0; i < count; i++) {
        size_t this_fit = fit(&routes[i], path);

        if (this_fit > best_fit) {
            best = &routes[i];
            best_fit = this_fit;
        }
    }
    return best;
}

const struct http_route *http_route_method(const struct http_route *routes, size_t count,
                                           const char *path, const char *method)
{
    const char *served_as = strcmp(method, "HEAD") == 0 ? "GET" : method;

    for (size_t i = 0; i < count; i++) {
        if (strcmp(routes[i].path, path) == 0 && strcmp(routes[i].method, served_as) == 0)
            return &routes[i];
    }
    return NULL;
}

void http_route_allow(const struct http_route *routes, size_t count, const char *path,
                      struct buf *out)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(routes[i].path, path) != 0)
            continue;
        buf_addf(out, "%s%s", out->length > 0 ? ", " : "", routes[i].method);
        if (strcmp(routes[i].method, "GET") == 0)
            buf_add_text(out, ", HEAD");
    }
}
