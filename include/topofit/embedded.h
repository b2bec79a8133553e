/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embedded - a cluster from a dump: nodes and pods in memory, Bindings that stay in memory.
 *
 * For trying, tests and bug reports. Reads what `kubectl get nodes,pods -A -o yaml` (or json)
 * prints, and plain files of several YAML documents.
 */
#ifndef TOPOFIT_EMBEDDED_H
#define TOPOFIT_EMBEDDED_H

#include <stddef.h>

#include "topofit/cluster.h"
#include "topofit/device_class.h"
#include "topofit/error.h"
#include "topofit/extender.h"
#include "topofit/kube_json.h"

#define EMBEDDED_BYTES_MAX (512u << 20)

/*
 * Fill a cluster from the text of a dump; it is synced afterwards.
 *
 * errors  ERR_INVALID with the place of what cannot be read, or when there is no node.
 */
int embedded_read(struct cluster *cluster, const struct class_table *classes, const char *bytes,
                  size_t length, struct error *err);

/* Each object of a YAML or JSON text, in order. errors: as embedded_read. */
int embedded_each_object(const char *bytes, size_t length, kube_on_object on_object, void *ctx,
                         struct error *err);

/* A port whose Bindings succeed at once: the pod is bound in the cluster. */
struct embedded_port {
    struct cluster *cluster;
    const struct class_table *classes;
};
struct bind_port embedded_bind_port(struct embedded_port *port);

#endif
