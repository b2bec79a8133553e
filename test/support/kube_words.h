/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_words - nodes and pods as Kubernetes would tell them, in a few words each, for tests of the
 * dialects.
 */
#ifndef TOPOFIT_TEST_KUBE_WORDS_H
#define TOPOFIT_TEST_KUBE_WORDS_H

#include "topofit/kube_object.h"
#include "topofit/node.h"

/* A node with these native annotations (NULL: without), read by the dialects. */
struct node *node_told(const char *inventory, const char *topology, const char *cordoned);

/* Append a container; amounts are "resource=amount" with blanks between. */
void kube_pod_ask(struct kube_pod *pod, enum container_kind kind, const char *amounts);

void kube_pod_annotate(struct kube_pod *pod, const char *key, const char *value);

#endif
