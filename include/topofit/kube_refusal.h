/* SPDX-License-Identifier: Apache-2.0 */
/* kube_refusal - what the body of a failed call says, whoever wrote it. */
#ifndef TOPOFIT_KUBE_REFUSAL_H
#define TOPOFIT_KUBE_REFUSAL_H

#include <stddef.h>

#include "topofit/kube_json.h"

/*
 * Read the explanation of a failed call. Never fails: proxies and load balancers answer too.
 *
 * out  a Status of the API server as it is; for anything else code is 0, which tells that the API
 *      server did not write it, and the message is the first line of the body, cut to a length
 *      for people, or "no explanation".
 */
void kube_refusal_read(const char *bytes, size_t length, struct kube_status *out);

#endif
