/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_path - the request paths of the Kubernetes API that we use.
 *
 * Everything variable is percent-encoded. resourceVersion and continue tokens are opaque: they are
 * sent back as they came. Each function replaces the contents of `out`.
 */
#ifndef TOPOFIT_KUBE_PATH_H
#define TOPOFIT_KUBE_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "topofit/buf.h"
#include "topofit/kube_json.h"

/* The plural by which people and RBAC rules call a kind: "nodes", "pods". */
const char *kube_path_resource(enum kube_kind kind);

/*
 * A page of a consistent list (resourceVersion is left out).
 *
 * selector  a field selector, or NULL.
 * limit     objects on a page; 0 for all on one.
 * token     the continue token of the page before, or NULL for the first page.
 */
void kube_path_list(struct buf *out, enum kube_kind kind, const char *selector, unsigned limit,
                    const char *token);

/* A watch with bookmarks that follows `version` and is ended by the server after timeout_s. */
void kube_path_watch(struct buf *out, enum kube_kind kind, const char *selector,
                     const char *version, unsigned timeout_s);

/* A watch that begins with all objects, as of now, and tells their end by a bookmark. */
void kube_path_streamed_list(struct buf *out, enum kube_kind kind, const char *selector,
                             unsigned timeout_s);

/* A page of the list as it was at `version`; token as above. */
void kube_path_list_at(struct buf *out, enum kube_kind kind, const char *selector,
                       const char *version, unsigned limit, const char *token);

void kube_path_pod(struct buf *out, const char *namespace, const char *name);

/*
 * The API server gives up a Binding that it could not execute within timeout_ms of its arrival, so
 * that one that was delayed on its way cannot surprise us much later.
 * source  k8s.io/apiserver/pkg/endpoints/filters/request_deadline.go
 */
void kube_path_binding(struct buf *out, const char *namespace, const char *name,
                       uint64_t timeout_ms);

void kube_path_leases(struct buf *out, const char *namespace);
void kube_path_lease(struct buf *out, const char *namespace, const char *name);
void kube_path_events(struct buf *out, const char *namespace, const char *name); /* NULL: all */
void kube_path_node(struct buf *out, const char *name);
/* The same for a write that the API server gives up as it does a Binding. */
void kube_path_node_in_time(struct buf *out, const char *name, uint64_t timeout_ms);

/* May the text stand in a path as the name of an object? (DNS subdomain, at most 253 characters.)
 */
bool kube_path_is_name(const char *text);

#endif
