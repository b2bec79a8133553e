/* SPDX-License-Identifier: Apache-2.0 */
/* The matrices in test/data/topologies: devices, link words and NUMA nodes of each. */
#include "support/test.h"

#include "topofit/matrix.h"

#include <stdlib.h>

static struct matrix read_text(const char *text)
{
    struct error err = {0};
    struct matrix matrix;

    assert_ok(matrix_read(text, strlen(text), &matrix, &err), &err);
    return matrix;
}

/* "0,0,1,-1" */
static void assert_numa(const struct matrix *matrix, const char *list)
{
    for (unsigned i = 0; i < matrix->graph->n; i++) {
        char *end;

        assert_int_equal(matrix->graph->numa[i], strtol(list, &end, 10));
        list = *end == ',' ? end + 1 : end;
    }
    assert_string_equal(list, "");
}

/* --- the captured matrices
 * ----------------------------------------------------------------------------- */

static const struct {
    const char *file;
    unsigned n;
    const char *kinds; /* all link words, each once */
    const char *numa;  /* -1: not known */
} captured[] = {
    {"01-dgx1-v100-hybrid-cube-mesh", 8, "NV1 NV2 SYS", "0,0,0,0,1,1,1,1"},
    {"02-dgx2-v100-nvswitch", 16, "NV6", "0,0,0,0,0,0,0,0,1,1,1,1,1,1,1,1"},
    {"03-dgx-a100-40gb-nps4", 8, "NV12", "3,3,1,1,7,7,5,5"},
    {"04-hgx-h100-8-2numa", 8, "NV18", "0,0,0,0,1,1,1,1"},
    {"05-h100-4-nv6-8numa", 4, "NV6", "3,1,7,5"},
    {"06-a100-4-nv4-redstone", 4, "NV4", "0,0,0,0"},
    {"07-pcie-8-pix-pxb-dual-socket", 8, "PIX PXB SYS", "0,0,0,0,1,1,1,1"},
    {"08-mixed-5-phb-node", 5, "NODE PHB SYS", "1,0,0,0,0"},
    {"09-l40s-4-node-sys", 4, "NODE SYS", "0,0,1,1"},
    {"10-gb200-nvl72-tray", 4, "NV18", "0,0,1,1"},
    {"11-8x4090-all-sys", 8, "SYS", "0,0,0,0,1,1,1,1"},
    {"12-2x5090-phb", 2, "PHB", "0,0"},
    {"14-hgx-8-nv18-2numa-b", 8, "NV18", "0,0,0,0,1,1,1,1"},
    {"15-hgx-b200-8-6numa", 8, "NV18", "0,0,2,2,3,3,5,5"},
    {"16-8xa40-nvlink-bridge-pairs", 8, "NODE NV4 SYS", "0,0,0,0,1,1,1,1"},
    {"18-8x-pcie-nv12-pairs", 8, "NODE NV12 SYS", "0,0,0,0,1,1,1,1"},
    {"20-3x-nv4-plus-single", 3, "NODE NV4", "1,1,1"},
    {"21-booster-4xa100-nv4", 4, "NV4", "0,0,0,0"},
    {"23-mi2xx-2x4-xgmi-pcie", 8, "PCIE XGMI", "0,0,0,0,1,1,1,1"},
    {"25-amd-4-pcie-weight52", 4, "PCIE", "-1,-1,-1,-1"},
    {"26-ascend910b-8-hccs", 8, "HCCS", "6,0,6,0,4,2,4,2"},
    {"27-metax-c500-2x4-mx-sys", 8, "MX SYS", "-1,-1,-1,-1,-1,-1,-1,-1"},
    {"29-metax-8-mx-full", 8, "MX", "0,0,2,2,4,4,6,6"},
    {"30-metax-4-mx", 4, "MX", "0,0,0,0"},
    {"32-hgx-b200-8-4numa", 8, "NV18", "0,0,1,1,2,2,3,3"},
    {"33-hgx-h200-8-2numa", 8, "NV18", "0,0,0,0,1,1,1,1"},
    {"34-2x-node", 2, "NODE", "0,0"},
    {"35-dgx-h100-8", 8, "NV18", "0,0,0,0,1,1,1,1"},
    {"37-8xp100-pix-phb-single-numa", 8, "PHB PIX", "0,0,0,0,0,0,0,0"},
    {"38-8-pix-phb-sys", 8, "PHB PIX SYS", "0,0,0,0,1,1,1,1"},
    {"40-8xa100-nv12-4numa", 8, "NV12", "0,0,1,1,2,2,3,3"},
    {"42-8xh800-nv8", 8, "NV8", "0,0,0,0,1,1,1,1"},
    {"43-8xa100-nv12-2numa", 8, "NV12", "0,0,0,0,1,1,1,1"},
    {"45-topo-pcie-view-all-sys", 8, "SYS", "0,0,0,0,1,1,1,1"},
    {"46-gb200-tray-plain-numa", 4, "NV18", "0,0,1,1"},
    {"47-mthreads-8-node-sys", 8, "NODE SYS", "0,0,0,0,1,1,1,1"},
    {"49-metax-c500-pcie", 8, "NODE PIX PXB", "0,0,0,0,0,0,0,0"},
    {"51-aws-trn1-trn2-16-torus", 16, "HOP2 HOP3 HOP4 NL",
     "-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1"},
    {"53-4x-node-single-numa-vm", 4, "NODE", "0,0,0,0"},
    {"54-2x-nv2", 2, "NV2", "0,0"},
};

static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);

    for (; words != NULL; words = strchr(words, ' ') ? strchr(words, ' ') + 1 : NULL) {
        if (strncmp(words, word, length) == 0 && (words[length] == ' ' || words[length] == '\0'))
            return true;
    }
    return false;
}

/* The link words seen, each counted once. */
static unsigned count_kinds(const struct peer_graph *graph, const char *kinds)
{
    char seen[256] = "";
    unsigned count = 0;

    for (unsigned a = 0; a < graph->n; a++) {
        for (unsigned b = 0; b < a; b++) {
            const char *name = peers_link(graph, a, b)->name;
            size_t length = strlen(seen);

            if (!has_word(kinds, name))
                fail_msg("%s is not one of %s", name, kinds);
            if (has_word(seen, name))
                continue;
            snprintf(seen + length, sizeof(seen) - length, "%s%s", count ? " " : "", name);
            count++;
        }
    }
    return count;
}

static void test_matrix_read__reads_every_captured_matrix(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(captured); i++) {
        AUTO_FREE char *path = xasprintf(TEST_DATA "/topologies/%s.txt", captured[i].file);
        AUTO_FREE char *text = test_read_file(path, NULL);
        struct matrix matrix = read_text(text);
        unsigned kinds = 1;

        for (const char *at = captured[i].kinds; *at != '\0'; at++)
            kinds += *at == ' ';
        assert_int_equal(matrix.graph->n, captured[i].n);
        assert_int_equal(count_kinds(matrix.graph, captured[i].kinds), kinds);
        assert_numa(&matrix, captured[i].numa);
        assert_string_equal(matrix.warning, "");
        for (unsigned device = 0; device < matrix.graph->n; device++)
            assert_int_equal(matrix.indices[device], device);
        matrix_clear(&matrix);
    }
    assert_int_equal(ARRAY_LEN(captured), 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrix_read__reads_every_captured_matrix),
    };

    return cmocka_run_group_tests_name("matrix_captured", tests, NULL, NULL);
}
