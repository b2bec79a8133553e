/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reason - why a node or a device is no candidate. A closed list; adding one is adding a row.
 *
 * Texts are constant: kube-scheduler counts nodes by equal text and retries a pod at once when its
 * text changes, so numbers never go here but into struct verdict (plan.h). `curable` says whether
 * evicting pods could cure it. Each row has an anchor in docs/reference/reasons.md, which a test
 * holds.
 */
#ifndef TOPOFIT_REASON_H
#define TOPOFIT_REASON_H

#include <stdbool.h>

/*
 * X(identifier, name, curable, text) in the order in which they are looked at.
 * source: docs/reference/reasons.md
 */
#define REASONS(X) \
    X(OK, "OK", false, "fits") \
    X(BAD_REQUEST, "BadRequest", false, "the pod's GPU request cannot be read") \
    X(NODE_UNKNOWN, "NodeUnknown", false, "node not in the extender's cache yet") \
    X(UNSETTLED, "BindingUnsettled", false, \
      "an earlier binding of the pod to another node is not settled") \
    X(NO_INVENTORY, "NoInventory", false, "node reports no GPU inventory") \
    X(NO_CLASS, "NoDevicesOfClass", false, "node has no GPU of the kind asked for") \
    X(TOO_FEW_DEVICES, "TooFewDevices", false, "node has fewer GPUs than asked for") \
    X(COUNTS, "CountNotAllowed", false, "GPUs of this kind are not given out in this number") \
    X(UNHEALTHY, "Unhealthy", false, "GPU unhealthy") \
    X(CORDONED, "Cordoned", false, "GPU cordoned by an administrator") \
    X(CONFLICT, "RecordConflict", false, "GPU booked by contradicting records") \
    X(NOT_SELECTED, "DeviceNotSelected", false, "GPU excluded by the pod's device lists") \
    X(PRODUCT, "ProductNotSelected", false, "GPU product not the one asked for") \
    X(DEVICE_TOO_SMALL, "DeviceTooSmall", false, "GPU smaller than the amount asked for") \
    X(DIVIDED, "DeviceDivided", false, "GPU is divided into partitions and the pod wants none") \
    X(PARTITIONS, "NoPartitions", false, "GPU offers no partitions") \
    X(PROFILE, "NoSuchProfile", false, \
      "GPU has no partition profile of the name or size asked for") \
    X(CONTAINERS, "ContainersDoNotFit", false, \
      "the pod's containers do not fit on the node's GPUs together") \
    X(MEMORY, "InsufficientMemory", true, "not enough free GPU memory (MiB)") \
    X(CORES, "InsufficientCores", true, "not enough free GPU cores") \
    X(EXCLUSIVE, "ExclusiveTenant", true, "GPU cores held or wanted exclusively") \
    X(ISOLATION, "IsolationMode", true, "GPU in use under another isolation mode") \
    X(PLACEMENT, "NoPlacement", true, "no place on a GPU for the partition asked for") \
    X(APPLICATION, "ApplicationClass", true, "GPU in use by another application class") \
    X(SERVICE, "ServiceClass", true, "GPU in use under another service class") \
    X(SLICE_SIZE, "SliceSize", true, "GPU split into slices of another size") \
    X(SLOTS, "InsufficientSlots", true, "no free sharing slot on a GPU") \
    X(HANDLES, "HandleLimit", true, "node has no handles left for more GPU slices") \
    X(UNATTRIBUTED, "UnattributedUse", true, "GPUs in use by pods without a readable record") \
    X(SETS, "NoAllowedSet", true, "no free set of GPUs that this kind may be given out in") \
    X(TOPOLOGY, "TopologyUnsatisfied", true, "no GPU set within the allowed topology tier") \
    X(QUOTA, "QuotaExceeded", true, "GPU quota of the namespace exceeded") \
    X(NOMINATED, "HeldForNominatedPod", true, "GPUs held for a nominated pod") \
    X(SET_NEVER, "SetNever", false, \
      "node can never form a set of GPUs that this kind is given out in") \
    X(QUOTA_TOO_SMALL, "QuotaTooSmall", false, "GPU quota of the namespace smaller than the pod") \
    X(TOPOLOGY_UNKNOWN, "TopologyUnknown", false, "GPU topology unknown and demanded") \
    X(TOPOLOGY_NEVER, "TopologyNever", false, "node can never form the GPU set demanded")

enum reason {
#define X(id, name, curable, text) REASON_##id,
    REASONS(X)
#undef X
        REASON_COUNT
};

/* "InsufficientMemory": for records, metrics and documentation. Static storage. */
const char *reason_name(enum reason reason);

/* The sentence kube-scheduler shows to users. Static storage; no '%', no numbers. */
const char *reason_text(enum reason reason);

/* Could evicting pods cure it? */
bool reason_is_curable(enum reason reason);

#endif
