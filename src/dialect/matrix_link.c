/* SPDX-License-Identifier: Apache-2.0 */
/* matrix_link - what the words in a matrix mean. The table is docs/concepts/topology.md#matrix. */
#include "topofit/matrix.h"
#include "topofit/mem.h"

#include <string.h>

/*
 * Nominal GB/s, both directions, for comparing only: PCIe classes in their order and all below one
 * NVLink; vendor links without a published figure count as one NVLink.
 */
static const struct {
    const char *word;
    enum tier tier;
    uint16_t gbps;
} link_words[] = {
    {"PSB", TIER_NUMA, 36},           /* one board */
    {"PIX", TIER_NUMA, 32},           /* one PCIe switch */
    {"SPB", TIER_NUMA, 32},           /* Moore Threads: single bridge */
    {"PXB", TIER_NUMA, 28},           /* several PCIe switches */
    {"MPB", TIER_NUMA, 28},           /* Moore Threads: multiple bridges */
    {"PHB", TIER_NUMA, 24},           /* PCIe host bridge */
    {"NODE", TIER_NUMA, 20},          /* host bridges of one NUMA node */
    {"SYS", TIER_CROSS, 12},          /* between sockets */
    {"SOC", TIER_CROSS, 12},          /* old drivers: SYS */
    {"PCIE", TIER_CROSS, 12},         /* AMD: not xGMI, says no more */
    {"XGMI", TIER_INTERCONNECT, 128}, /* MI300X: 7 links of 128 */
    {"HCCS", TIER_INTERCONNECT, 56},  /* Ascend 910B: 392 over 7 peers */
    {"HCCS_SW", TIER_INTERCONNECT, 56},
    {"SIO", TIER_INTERCONNECT, 100}, /* Ascend: two dies of one card */
    {"MX", TIER_INTERCONNECT, 50},
    {"XPUL", TIER_INTERCONNECT, 50},
    {"MLULINK", TIER_INTERCONNECT, 50},
    {"NL", TIER_INTERCONNECT, 96}, /* Neuron: 384 over 4 neighbours */
};

#define NVLINK_GBPS 50
#define MTLINK_GBPS 50
#define NEURON_GBPS 96
#define XGMI_GBPS 128

/* The decimal number that a word ends in, after `prefix`. return 0 for anything else. */
static unsigned number_after(const char *word, const char *prefix)
{
    size_t length = strlen(prefix);
    unsigned number = 0;

    if (strncmp(word, prefix, length) != 0)
        return 0;
    for (word += length; *word >= '0' && *word <= '9' && number < 1000; word++)
        number = number * 10 + (unsigned)(*word - '0');
    return *word == '\0' && number < 1000 ? number : 0;
}

/* AMD prints weights instead of words: 15 for each xGMI hop, else 20 for each PCIe segment. */
static bool read_weight(const char *word, struct link *link)
{
    unsigned weight = number_after(word, "");

    if (weight < 15)
        return false;
    if (weight % 15 == 0 && weight <= 45) {
        link->tier = TIER_INTERCONNECT;
        link->gbps = (uint16_t)(XGMI_GBPS * 15 / weight);
    } else {
        link->tier = weight <= 40 ? TIER_NUMA : TIER_CROSS;
        link->gbps = weight <= 40 ? 20 : 12;
    }
    return true;
}

/* Words that carry a number: links side by side, or hops in a row. */
static bool read_counted(const char *word, struct link *link)
{
    unsigned nvlinks = number_after(word, "NV"), mtlinks = number_after(word, "MT");
    unsigned hops = number_after(word, "HOP");

    link->tier = TIER_INTERCONNECT;
    if (nvlinks > 0)
        link->gbps = (uint16_t)(nvlinks * NVLINK_GBPS);
    else if (mtlinks > 0)
        link->gbps = (uint16_t)(mtlinks * MTLINK_GBPS);
    else if (hops > 0)
        link->gbps = (uint16_t)(NEURON_GBPS / hops);
    else
        return read_weight(word, link);
    return true;
}

static bool read_named(const char *word, struct link *link)
{
    for (size_t i = 0; i < ARRAY_LEN(link_words); i++) {
        /* A node of 64 devices has thousands of words; most differ in their first letter. */
        if (word[0] == link_words[i].word[0] && strcmp(word, link_words[i].word) == 0) {
            link->tier = link_words[i].tier;
            link->gbps = link_words[i].gbps;
            return true;
        }
    }
    return false;
}

bool matrix_link(const char *word, struct link *out)
{
    struct link link = {0};

    if (!read_named(word, &link) && !read_counted(word, &link))
        return false;
    memcpy(link.name, word, strnlen(word, LINK_NAME_MAX - 1));
    *out = link;
    return true;
}
