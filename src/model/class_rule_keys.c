/* SPDX-License-Identifier: Apache-2.0 */
/* class_rule_keys - the keys of a class file that say how devices are given out and divided. */
#include "topofit/class_keys.h"
#include "topofit/mem.h"
#include "topofit/node.h"
#include "topofit/partition.h"
#include "topofit/peers.h"
#include "topofit/set_rule.h"

#define HANDLES_MAX 65535

#define IN(type, field) offsetof(type, field), sizeof(((type *)0)->field)

/* Every list looks alike to the reader. */
_Static_assert(sizeof(struct set_rules) == sizeof(struct class_list), "rules are no list");
_Static_assert(sizeof(struct set_crossings) == sizeof(struct class_list), "crossings are no list");
_Static_assert(sizeof(struct class_divisions) == sizeof(struct class_list), "ways are no list");
_Static_assert(sizeof(struct class_profiles) == sizeof(struct class_list), "profiles are no list");

static const struct class_word set_words[] = {{"peers", SET_PEERS},     {"runs", SET_RUNS},
                                              {"wings", SET_WINGS},     {"zones", SET_ZONES},
                                              {"modules", SET_MODULES}, {NULL, 0}};

static const struct class_word zone_words[] = {
    {"smallest", ZONES_SMALLEST}, {"largest", ZONES_LARGEST}, {NULL, 0}};

static const struct class_key crossing_keys[] = {
    {"devices", CLASS_NUMBERS, IN(struct set_crossing, devices), .required = true,
     .max = DEVICE_INDEX_MAX, .purpose = "indices of the devices of the set, ascending"},
};

static const struct class_shape crossing_shape = {crossing_keys, ARRAY_LEN(crossing_keys),
                                                  sizeof(struct set_crossing)};

static const struct class_key set_keys[] = {
    {"label", CLASS_TEXT, IN(struct set_rule, label),
     .purpose = "the rule is for nodes that have this label"},
    {"contains", CLASS_TEXT, IN(struct set_rule, contains),
     .purpose = "... with this text in its value, case aside"},
    {"product", CLASS_TEXT, IN(struct set_rule, product),
     .purpose = "the rule is for nodes whose first device has these words in its product"},
    {"kind", CLASS_WORD, IN(struct set_rule, kind), .fallback = "peers", .words = set_words,
     .purpose = "which devices may be given out together"},
    {"counts", CLASS_NUMBERS, IN(struct set_rule, counts), .min = 1, .max = DEVICE_MAX,
     .purpose = "how many devices there may be in a set; empty: any number"},
    {"aligned", CLASS_YES_NO, IN(struct set_rule, is_aligned),
     .purpose = "runs: the first index is a multiple of the count"},
    {"wraps", CLASS_YES_NO, IN(struct set_rule, wraps),
     .purpose = "runs: the last index is followed by the first"},
    {"width", CLASS_NUMBER, IN(struct set_rule, width), .max = DEVICE_MAX,
     .purpose = "wings, modules: devices of one, by index"},
    {"crossings", CLASS_ROWS, IN(struct set_rule, crossings), .rows = &crossing_shape,
     .purpose = "wings: the sets that may lie across them"},
    {"order", CLASS_WORD, IN(struct set_rule, zone_order), .fallback = "smallest",
     .words = zone_words, .purpose = "zones: which comes first of those that hold the set"},
    {"wholeOnly", CLASS_YES_NO, IN(struct set_rule, whole_only),
     .purpose = "zones: asks for less than all cores of devices take any"},
    {"sameDevices", CLASS_YES_NO, IN(struct set_rule, same_devices),
     .purpose = "all containers of a pod have the same devices"},
    {"oneTenant", CLASS_YES_NO, IN(struct set_rule, one_tenant),
     .purpose = "nobody joins a device, whatever its tenant takes of it"},
    {"equalSlices", CLASS_YES_NO, IN(struct set_rule, equal_slices),
     .purpose = "all slices of a device have the same memory"},
    {"matchService", CLASS_YES_NO, IN(struct set_rule, match_service),
     .purpose =
         "tenants of a device have the same service class, and applications that go together"},
    {"handlesMax", CLASS_NUMBER, IN(struct set_rule, handles_max), .max = HANDLES_MAX,
     .purpose = "devices of a node and slices they are split into, together; 0: any number"},
};

const struct class_shape set_rule_shape = {set_keys, ARRAY_LEN(set_keys), sizeof(struct set_rule)};

static const struct class_key profile_keys[] = {
    {"name", CLASS_TEXT, IN(struct class_profile, name), .required = true,
     .purpose = "as the vendor's tools call it"},
    {"memoryMiB", CLASS_NUMBER, IN(struct class_profile, memory_mib), .required = true, .min = 1,
     .max = CLASS_MEMORY_MIB_MAX, .purpose = "its memory"},
    {"cores", CLASS_NUMBER, IN(struct class_profile, cores), .max = DEVICE_CORES_MAX,
     .purpose = "core units of the device that it has"},
    {"width", CLASS_NUMBER, IN(struct class_profile, width), .fallback = "1", .min = 1,
     .max = PARTITION_SLICES_MAX, .purpose = "memory slices in a row"},
    {"compute", CLASS_NUMBER, IN(struct class_profile, compute), .max = PARTITION_SLICES_MAX,
     .purpose = "compute slices"},
    {"starts", CLASS_NUMBERS, IN(struct class_profile, starts), .required = true,
     .max = PARTITION_SLICES_MAX - 1, .purpose = "slices at which it may start"},
    {"max", CLASS_NUMBER, IN(struct class_profile, max), .max = PARTITION_LIMITS_MAX,
     .purpose = "of them at once on a device; 0: as many as fit"},
    {"group", CLASS_NUMBER, IN(struct class_profile, group), .max = PARTITION_SLICES_MAX,
     .purpose = "where a device is divided in one of a few ways: the way, from 1"},
};

static const struct class_shape profile_shape = {profile_keys, ARRAY_LEN(profile_keys),
                                                 sizeof(struct class_profile)};

static const struct class_key division_keys[] = {
    {"products", CLASS_TEXTS, IN(struct class_division, products), .required = true,
     .purpose = "words of the names of products"},
    {"slices", CLASS_NUMBER, IN(struct class_division, slices), .required = true, .min = 1,
     .max = PARTITION_SLICES_MAX, .purpose = "memory slices of the device, or places of all ways"},
    {"compute", CLASS_NUMBER, IN(struct class_division, compute), .max = PARTITION_SLICES_MAX,
     .purpose = "compute slices of the device; 0: no limit"},
    {"profiles", CLASS_ROWS, IN(struct class_division, profiles), .rows = &profile_shape,
     .required = true, .purpose = "the partitions that there may be"},
};

const struct class_shape class_division_shape = {division_keys, ARRAY_LEN(division_keys),
                                                 sizeof(struct class_division)};
