/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intake - what the API server tells, into the cluster: through the dialects into the model.
 *
 * No I/O. Lists are collected and replace everything when they are complete; a list that breaks
 * half way changes nothing. Not thread-safe: the thread that feeds the reflectors owns it.
 */
#ifndef TOPOFIT_INTAKE_H
#define TOPOFIT_INTAKE_H

#include "topofit/cluster.h"
#include "topofit/device_class.h"
#include "topofit/reflector.h"

struct intake;

/* Who is told of what is wrong when it is new; all may be NULL. */
struct intake_listener {
    void *ctx;
    void (*on_node_problem)(void *ctx, const char *node, const char *problem);
    void (*on_record_problem)(void *ctx, const struct pod *pod);
    void (*on_quota_remark)(void *ctx, const struct quota *quota, const char *remark);
    void (*on_conflict)(void *ctx, const struct conflict *conflict);
};

/* cluster and classes are borrowed; listener is copied. */
struct intake *intake_new(struct cluster *cluster, const struct class_table *classes,
                          const struct intake_listener *listener);
void intake_free(struct intake *intake);

const struct class_table *intake_classes(const struct intake *intake);

/* Where the reflectors of a kind put their objects. Valid as long as the intake. */
struct reflector_sink intake_nodes(struct intake *intake);
struct reflector_sink intake_pods(struct intake *intake);
struct reflector_sink intake_quotas(struct intake *intake);
struct reflector_sink intake_sink(struct intake *intake, enum kube_kind kind);

#endif
