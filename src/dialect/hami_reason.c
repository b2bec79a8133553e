/* SPDX-License-Identifier: Apache-2.0 */
/* hami_reason - the words of HAMi's scheduler for our reasons, for those who match its Events. */
#include "topofit/hami_reason.h"

#include "topofit/mem.h"

static const char *const words[] = {
    [REASON_OK] = "NodeFitPod",
    [REASON_BAD_REQUEST] = "NodeUnfitPod",
    [REASON_NODE_UNKNOWN] = "NodeUnfitPod",
    [REASON_UNSETTLED] = "NodeUnfitPod",
    [REASON_NO_INVENTORY] = "NodeInsufficientDevice",
    [REASON_NO_CLASS] = "NodeInsufficientDevice",
    [REASON_TOO_FEW_DEVICES] = "NodeInsufficientDevice",
    [REASON_COUNTS] = "NumaNotFit",
    [REASON_UNHEALTHY] = "CardNotHealth",
    [REASON_CORDONED] = "CardCordoned",
    [REASON_CONFLICT] = "CardNotHealth",
    [REASON_NOT_SELECTED] = "CardUuidMismatch",
    [REASON_PRODUCT] = "CardTypeMismatch",
    [REASON_DEVICE_TOO_SMALL] = "CardInsufficientMemory",
    [REASON_DIVIDED] = "CardTypeMismatch",
    [REASON_PARTITIONS] = "CardTypeMismatch",
    [REASON_PROFILE] = "CardMigTopologyInfeasible",
    [REASON_CONTAINERS] = "AllocatedCardsInsufficientRequest",
    [REASON_MEMORY] = "CardInsufficientMemory",
    [REASON_CORES] = "CardInsufficientCore",
    [REASON_EXCLUSIVE] = "ExclusiveDeviceAllocateConflict",
    [REASON_ISOLATION] = "ModeNotFit",
    [REASON_PLACEMENT] = "CardMigTopologyInfeasible",
    [REASON_APPLICATION] = "CardAppClassMismatch",
    [REASON_SERVICE] = "CardQosPolicyMismatch",
    [REASON_SLICE_SIZE] = "CardInsufficientMemory",
    [REASON_SLOTS] = "CardTimeSlicingExhausted",
    [REASON_HANDLES] = "CardTimeSlicingExhausted",
    [REASON_UNATTRIBUTED] = "AllocatedCardsInsufficientRequest",
    [REASON_SETS] = "NumaNotFit",
    [REASON_TOPOLOGY] = "NumaNotFit",
    [REASON_QUOTA] = "ResourceQuotaNotFit",
    [REASON_NOMINATED] = "NodeUnfitPod",
    [REASON_SET_NEVER] = "NumaNotFit",
    [REASON_QUOTA_TOO_SMALL] = "ResourceQuotaNotFit",
    [REASON_TOPOLOGY_UNKNOWN] = "NumaNotFit",
    [REASON_TOPOLOGY_NEVER] = "NumaNotFit",
};
_Static_assert(ARRAY_LEN(words) == REASON_COUNT, "a reason without a word of HAMi's");

const char *hami_reason_word(enum reason reason)
{
    return words[reason];
}
