/* SPDX-License-Identifier: Apache-2.0 */
/* kube_path - the request paths of the Kubernetes API that we use. */
#include "topofit/kube_path.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define NAME_MAX_LENGTH 253

const char *kube_path_resource(enum kube_kind kind)
{
    switch (kind) {
    case KUBE_NODE:
        return "nodes";
    case KUBE_POD:
        return "pods";
    case KUBE_QUOTA:
        return "resourcequotas";
    }
    return "";
}

static bool is_unreserved(unsigned char byte)
{
    return (byte < 0x80 && isalnum(byte)) || (byte != '\0' && strchr("-._~", byte) != NULL);
}

static void add_encoded(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (is_unreserved((unsigned char)*text))
            buf_add_byte(out, *text);
        else
            buf_addf(out, "%%%02X", (unsigned)(unsigned char)*text);
    }
}

static void add_parameter(struct buf *out, char separator, const char *name, const char *value)
{
    if (value == NULL)
        return;
    buf_addf(out, "%c%s=", separator, name);
    add_encoded(out, value);
}

void kube_path_list(struct buf *out, enum kube_kind kind, const char *selector, unsigned limit,
                    const char *token)
{
    buf_reset(out);
    buf_addf(out, "/api/v1/%s?limit=%u", kube_path_resource(kind), limit);
    add_parameter(out, '&', "fieldSelector", selector);
    add_parameter(out, '&', "continue", token);
}

void kube_path_watch(struct buf *out, enum kube_kind kind, const char *selector,
                     const char *version, unsigned timeout_s)
{
    buf_reset(out);
    buf_addf(out, "/api/v1/%s?watch=1&allowWatchBookmarks=true&timeoutSeconds=%u",
             kube_path_resource(kind), timeout_s);
    add_parameter(out, '&', "fieldSelector", selector);
    add_parameter(out, '&', "resourceVersion", version);
}

void kube_path_streamed_list(struct buf *out, enum kube_kind kind, const char *selector,
                             unsigned timeout_s)
{
    kube_path_watch(out, kind, selector, NULL, timeout_s);
    buf_add_text(out, "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
}

void kube_path_list_at(struct buf *out, enum kube_kind kind, const char *selector,
                       const char *version, unsigned limit, const char *token)
{
    kube_path_list(out, kind, selector, limit, token);
    if (token != NULL) /* which carries the version */
        return;
    add_parameter(out, '&', "resourceVersion", version);
    buf_add_text(out, "&resourceVersionMatch=Exact");
}

void kube_path_pod(struct buf *out, const char *namespace, const char *name)
{
    buf_reset(out);
    buf_add_text(out, "/api/v1/namespaces/");
    add_encoded(out, namespace);
    buf_add_text(out, "/pods/");
    add_encoded(out, name);
}

void kube_path_binding(struct buf *out, const char *namespace, const char *name,
                       uint64_t timeout_ms)
{
    kube_path_pod(out, namespace, name);
    buf_addf(out, "/binding?timeout=%" PRIu64 "ms", timeout_ms);
}

void kube_path_leases(struct buf *out, const char *namespace)
{
    buf_reset(out);
    buf_add_text(out, "/apis/coordination.k8s.io/v1/namespaces/");
    add_encoded(out, namespace);
    buf_add_text(out, "/leases");
}

void kube_path_lease(struct buf *out, const char *namespace, const char *name)
{
    kube_path_leases(out, namespace);
    buf_add_byte(out, '/');
    add_encoded(out, name);
}

void kube_path_events(struct buf *out, const char *namespace, const char *name)
{
    buf_reset(out);
    buf_add_text(out, "/apis/events.k8s.io/v1/namespaces/");
    add_encoded(out, namespace);
    buf_add_text(out, "/events");
    if (name == NULL)
        return;
    buf_add_byte(out, '/');
    add_encoded(out, name);
}

void kube_path_node(struct buf *out, const char *name)
{
    buf_reset(out);
    buf_add_text(out, "/api/v1/nodes/");
    add_encoded(out, name);
}

void kube_path_node_in_time(struct buf *out, const char *name, uint64_t timeout_ms)
{
    kube_path_node(out, name);
    buf_addf(out, "?timeout=%" PRIu64 "ms", timeout_ms);
}

bool kube_path_is_name(const char *text)
{
    size_t length = strlen(text);

    if (length == 0 || length > NAME_MAX_LENGTH || text[0] == '.')
        return false;
    return strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.") == length;
}
