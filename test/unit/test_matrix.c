/* SPDX-License-Identifier: Apache-2.0 */
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

/* Assert that a text is refused with these words in the error. */
static void assert_refused(const char *text, const char *words)
{
    struct error err = {0};
    struct matrix matrix = {0};

    assert_int_equal(matrix_read(text, strlen(text), &matrix, &err), -(int)ERR_INVALID);
    assert_contains(err.text, words);
    assert_null(matrix.graph);
}

static void assert_link(const struct matrix *matrix, unsigned a, unsigned b, const char *name)
{
    assert_string_equal(peers_link(matrix->graph, a, b)->name, name);
    assert_string_equal(peers_link(matrix->graph, b, a)->name, name);
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

/* --- as printed
 * ------------------------------------------------------------------------------------------- */

/* Underlined header, tabs, padded cells, network devices, two NUMA columns, a legend. */
static const char verbatim[] =
    "\t\x1b[4mGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\r\n"
    "GPU0\t X \tNV18\tPIX\tSYS\t0-47,96-143\t0\t\tN/A\r\n"
    "GPU1\tNV18\t X \tSYS\tPIX\t48-95,144-191\t1\t\tN/A\r\n"
    "NIC0\tPIX\tSYS\t X \tSYS\t\t\t\t\r\n"
    "NIC1\tSYS\tPIX\tSYS\t X \t\t\t\t\r\n"
    "\r\n"
    "Legend:\r\n"
    "\r\n"
    "  X    = Self\r\n"
    "  NV#  = Connection traversing a bonded set of # NVLinks\r\n"
    "\r\n"
    "NIC Legend:\r\n"
    "  NIC0: mlx5_0\r\n";

static void test_matrix_read__reads_verbatim_output(void **state)
{
    struct matrix matrix = read_text(verbatim);

    (void)state;
    assert_int_equal(matrix.graph->n, 2);
    assert_link(&matrix, 0, 1, "NV18");
    assert_int_equal(peers_link(matrix.graph, 0, 1)->gbps, 900);
    assert_numa(&matrix, "0,1");
    assert_string_equal(matrix.warning, "");
    matrix_clear(&matrix);
}

/* Where the NUMA node stands, in every form seen. */
static void test_matrix_read__finds_the_numa_node(void **state)
{
    static const struct {
        const char *text, *numa;
    } cases[] = {
        /* blanks for tabs */
        {"GPU0 GPU1 CPU Affinity NUMA Affinity\nGPU0 X PIX 0-3 1\nGPU1 PIX X 4-7 0\n", "1,0"},
        {"GPU0 GPU1 CPU Affinity NUMA Affinity GPU NUMA ID\n"
         "GPU0 X PIX 0-3 1 N/A\nGPU1 PIX X 4-7 0 N/A\n",
         "1,0"},
        /* ranges and lists: the first id; the device's own memory node does not count */
        {"GPU0 GPU1 CPU Affinity NUMA Affinity GPU NUMA ID\n"
         "GPU0 X NV18 0-71 0,3-9,11-17 2\nGPU1 NV18 X 72-143 1,19-25 10\n",
         "0,1"},
        {"GPU0 GPU1 NUMA Affinity\nGPU0 X PIX 0-1\nGPU1 PIX X N/A\n", "0,-1"},
        /* no CPU affinity in the row */
        {"GPU0 GPU1 CPU Affinity NUMA Affinity\nGPU0 X PIX 1\nGPU1 PIX X 0\n", "1,0"},
        {"\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\tX\tPIX\t\t1\nGPU1\tPIX\tX\t\t0\n",
         "1,0"},
        /* no NUMA node in the row, told by tabs */
        {"\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
         "GPU0\tX\tPIX\t0-3\t\tN/A\nGPU1\tPIX\tX\t4-7\t\tN/A\n",
         "-1,-1"},
        /* CPU lists that are cut off, and lists with blanks */
        {"GPU0 GPU1 CPU Affinity NUMA Affinity\nGPU0 X PIX 0,2,4,6, 0\nGPU1 PIX X 1, 3, 5 1\n",
         "0,1"},
        /* old drivers have no NUMA column; nothing is derived from the CPUs */
        {"GPU0 GPU1 CPU Affinity\nGPU0 X PIX 0-13\nGPU1 PIX X 0-13\n", "-1,-1"},
        {"GPU0 GPU1\nGPU0 X PIX\nGPU1 PIX X\n", "-1,-1"},
        /* MetaX has the node first */
        {"GPU0 GPU1 Node Affinity CPU Affinity\nGPU0 X MX 3 0-15\nGPU1 MX X 4 16-31\n", "3,4"},
        /* network devices between */
        {"GPU0 GPU1 mlx5_0 mlx5_1 CPU Affinity NUMA Affinity\n"
         "GPU0 X PIX NODE SYS 0-3 1\nGPU1 PIX X SYS NODE 4-7 0\nmlx5_0 NODE SYS X SYS\n",
         "1,0"},
        {"GPU0 GPU1 NUMA\nGPU0 X PIX banana\nGPU1 PIX X 99999\n", "-1,-1"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct matrix matrix = read_text(cases[i].text);

        assert_numa(&matrix, cases[i].numa);
        matrix_clear(&matrix);
    }
}

static void test_matrix_read__joins_wrapped_lines(void **state)
{
    struct matrix matrix = read_text("      GPU0  GPU1  GPU2\n"
                                     "GPU3  CPU Affinity  NUMA\n"
                                     "Affinity\n"
                                     "GPU0  X     NV1   NV2\n"
                                     "NV2   0-7   0\n"
                                     "GPU1  NV1   X     NV2   SYS\n"
                                     "0-7   1\n"
                                     "GPU2  NV2   NV2   X     NV1   8-15\n"
                                     "2\n"
                                     "GPU3  NV2   SYS   NV1\n"
                                     "X     8-15  3\n");

    (void)state;
    assert_int_equal(matrix.graph->n, 4);
    assert_link(&matrix, 0, 3, "NV2");
    assert_link(&matrix, 1, 3, "SYS");
    assert_link(&matrix, 2, 3, "NV1");
    assert_numa(&matrix, "0,1,2,3");
    matrix_clear(&matrix);
}

static void test_matrix_read__reads_a_view_of_some_devices(void **state)
{
    struct matrix matrix = read_text("\tGPU2\tGPU5\tCPU Affinity\tNUMA Affinity\n"
                                     "GPU5\tNV12\tX\t0-3\t1\n" /* rows in any order */
                                     "GPU2\tX\tNV12\t0-3\t0\n");

    (void)state;
    assert_int_equal(matrix.indices[0], 2);
    assert_int_equal(matrix.indices[1], 5);
    assert_numa(&matrix, "0,1");
    matrix_clear(&matrix);
}

static void test_matrix_read__reads_one_device(void **state)
{
    static const char *const texts[] = {
        "\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-15\t1\n",
        "GPU0 NUMA\nGPU0 X 1",
        "GPU0 NIC0 NUMA\nGPU0 X PIX 1\nNIC0 PIX X\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct matrix matrix = read_text(texts[i]);

        assert_int_equal(matrix.graph->n, 1);
        assert_numa(&matrix, "1");
        matrix_clear(&matrix);
    }
}

static void test_matrix_read__reads_names_of_other_vendors(void **state)
{
    static const char *const names[] = {"NPU", "MLU", "XPU", "ND", "Card", "gcu"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *n = names[i];
        AUTO_FREE char *text =
            xasprintf("%s0 %s1 CPU Affinity\n%s0 X HCCS 0-3\n%s1 HCCS X 4-7\n", n, n, n, n);
        struct matrix matrix = read_text(text);

        assert_link(&matrix, 0, 1, "HCCS");
        matrix_clear(&matrix);
    }
}

static void test_matrix_read__skips_what_stands_around_the_table(void **state)
{
    struct matrix matrix = read_text("$ nvidia-smi topo -m\n"
                                     "# a note\n"
                                     "\n"
                                     "     GPU0 GPU1 NUMA\n"
                                     "# between\n"
                                     "GPU0 X    PHB  0\n"
                                     "\n"
                                     "GPU1 PHB  X    0\n"
                                     "Legend:\n"
                                     "GPU0 GPU1\n"
                                     "GPU0 X SYS\n");

    (void)state;
    assert_link(&matrix, 0, 1, "PHB");
    matrix_clear(&matrix);
}

/* rocm-smi --showtopo: weights first, zeros on the diagonal, further tables behind. */
static void test_matrix_read__reads_amd_weights(void **state)
{
    struct matrix matrix = read_text("====== Weight between two GPUs ======\n"
                                     "       GPU0   GPU1   GPU2\n"
                                     "GPU0   0      15     72\n"
                                     "GPU1   15     0      40\n"
                                     "GPU2   72     40     0\n"
                                     "\n"
                                     "====== Hops between two GPUs ======\n"
                                     "       GPU0   GPU1   GPU2\n"
                                     "GPU0   0      1      3\n");

    (void)state;
    assert_int_equal(peers_link(matrix.graph, 0, 1)->tier, TIER_INTERCONNECT);
    assert_int_equal(peers_link(matrix.graph, 1, 2)->tier, TIER_NUMA);
    assert_int_equal(peers_link(matrix.graph, 0, 2)->tier, TIER_CROSS);
    assert_string_equal(matrix.warning, "");
    matrix_clear(&matrix);
}

static void test_matrix_read__takes_an_unknown_word_as_the_slowest_and_says_where(void **state)
{
    struct matrix matrix = read_text("     GPU0 GPU1 GPU2\n"
                                     "GPU0 X    WARP PIX\n"
                                     "GPU1 WARP X    FOO\n"
                                     "GPU2 PIX  FOO  X\n");

    (void)state;
    assert_int_equal(peers_tier(matrix.graph, SOURCE_VENDOR, 0, 1), TIER_UNKNOWN);
    assert_link(&matrix, 0, 1, "WARP");
    assert_contains(matrix.warning, "line 2, column 11: link WARP");
    matrix_clear(&matrix);
}

static void test_matrix_read__the_better_of_two_ends_counts(void **state)
{
    struct matrix matrix = read_text("GPU0 GPU1\nGPU0 X SYS\nGPU1 NV2 X\n");

    (void)state;
    assert_link(&matrix, 0, 1, "NV2");
    matrix_clear(&matrix);
}

/* --- refusals
 * --------------------------------------------------------------------------------------------- */

static void test_matrix_read__refuses_with_line_and_column(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "line 1, column 1: no header of devices"},
        {"# only\n# comments\n", "line 3, column 1: no header of devices"},
        {"no matrix here\n", "line 2, column 1: no header"},
        {"NIC0 NIC1\nNIC0 X PIX\nNIC1 PIX X\n", "no header of devices"},
        {"\n GPU0 X NV1\n", "line 2, column 2: no header of devices before the row of GPU0"},
        {"GPU0 GPU1\n", "line 2, column 1: the row of GPU0 is missing"},
        {"GPU0 GPU1\nGPU0 X NV1\n", "line 3, column 1: the row of GPU1 is missing"},
        {"GPU0 GPU1\nGPU0 X\nGPU1 NV1 X\n", "line 2, column 7: the row of GPU0 has 1 of 2 links"},
        {"GPU0 GPU1\nGPU0 X NV1\nGPU1 NV1", "line 3, column 9: the row of GPU1 has 1 of 2 links"},
        {"GPU0 GPU1\nGPU0\nGPU1 NV1 X\n", "the row of GPU0 has 0 of 2 links"},
        {"GPU0 GPU1\nGPU0 X NV1\nGPU0 X NV1\n", "line 3, column 1: GPU0 has two rows"},
        {"GPU0 GPU1\nGPU0 X NV1\nGPU7 NV1 X\n", "line 3, column 1: GPU7 is not in the header"},
        {"GPU0 GPU1\nGPU7 X NV1\n", "line 2, column 1: GPU7 is not in the header"},
        {"GPU0 GPU1 GPU0\n", "line 1, column 11: GPU0 is there twice"},
        {"GPU0 GPU1\nGPU0 NV1 X\n", "line 2, column 6: GPU0 with itself is X, not NV1"},
        {"GPU0 GPU1\nGPU0 X X\n", "line 2, column 8: GPU0 with GPU1 cannot be X"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_refused(cases[i].text, cases[i].words);
}

static void test_matrix_read__refuses_more_devices_than_a_node_may_have(void **state)
{
    char text[1024];
    size_t length = 0;

    (void)state;
    for (unsigned i = 0; i <= DEVICE_MAX; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "GPU%u ", i);
    assert_refused(text, "more than 64 devices");
}

static void test_matrix_read__refuses_a_text_beyond_the_limit(void **state)
{
    AUTO_FREE char *text = xcalloc(1, MATRIX_BYTES_MAX + 1);
    struct error err = {0};
    struct matrix matrix;

    (void)state;
    assert_int_equal(matrix_read(text, MATRIX_BYTES_MAX + 1, &matrix, &err), -(int)ERR_LIMIT);
}

static void test_matrix_read__survives_every_truncation(void **state)
{
    (void)state;
    for (size_t length = 0; length < sizeof(verbatim); length++) {
        AUTO_FREE char *text = xstrndup(verbatim, length);
        struct error err = {0};
        struct matrix matrix = {0};

        if (matrix_read(text, length, &matrix, &err) < 0)
            assert_contains(err.text, "line ");
        else
            assert_int_equal(matrix.graph->n, 2);
        matrix_clear(&matrix);
    }
}

/* --- words
 * -------------------------------------------------------------------------------------------------
 */

static void test_matrix_link__knows_tier_and_nominal_bandwidth(void **state)
{
    static const struct {
        const char *word;
        enum tier tier;
        unsigned gbps;
    } cases[] = {
        {"NV1", TIER_INTERCONNECT, 50},   {"NV18", TIER_INTERCONNECT, 900},
        {"XGMI", TIER_INTERCONNECT, 128}, {"HCCS", TIER_INTERCONNECT, 56},
        {"MX", TIER_INTERCONNECT, 50},    {"MT2", TIER_INTERCONNECT, 100},
        {"NL", TIER_INTERCONNECT, 96},    {"HOP2", TIER_INTERCONNECT, 48},
        {"HOP4", TIER_INTERCONNECT, 24},  {"15", TIER_INTERCONNECT, 128},
        {"30", TIER_INTERCONNECT, 64},    {"52", TIER_CROSS, 12},
        {"SOC", TIER_CROSS, 12},          {"PCIE", TIER_CROSS, 12},
        {"SPB", TIER_NUMA, 32},           {"MPB", TIER_NUMA, 28},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct link link;

        assert_true(matrix_link(cases[i].word, &link));
        assert_string_equal(link.name, cases[i].word);
        assert_int_equal(link.tier, cases[i].tier);
        assert_int_equal(link.gbps, cases[i].gbps);
    }
}

static void test_matrix_link__orders_pcie_classes_below_one_nvlink(void **state)
{
    static const char *const words[] = {"NV1", "PSB", "PIX", "PXB", "PHB", "NODE", "SYS"};
    struct link better, worse;

    (void)state;
    for (size_t i = 0; i + 1 < ARRAY_LEN(words); i++) {
        assert_true(matrix_link(words[i], &better));
        assert_true(matrix_link(words[i + 1], &worse));
        assert_true(better.gbps > worse.gbps);
        assert_true(better.tier <= worse.tier);
    }
}

static void test_matrix_link__does_not_know_other_words(void **state)
{
    static const char *const words[] = {"",    "X",     "NV",    "NV0",  "NV1x", "NV99999",
                                        "pix", "N/A",   "3",     "HOP",  "GPU0", "NV-1",
                                        "-",   "99999", "PIXEL", "NODE2"};
    struct link link;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        assert_false(matrix_link(words[i], &link));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrix_read__reads_verbatim_output),
        cmocka_unit_test(test_matrix_read__finds_the_numa_node),
        cmocka_unit_test(test_matrix_read__joins_wrapped_lines),
        cmocka_unit_test(test_matrix_read__reads_a_view_of_some_devices),
        cmocka_unit_test(test_matrix_read__reads_one_device),
        cmocka_unit_test(test_matrix_read__reads_names_of_other_vendors),
        cmocka_unit_test(test_matrix_read__skips_what_stands_around_the_table),
        cmocka_unit_test(test_matrix_read__reads_amd_weights),
        cmocka_unit_test(test_matrix_read__takes_an_unknown_word_as_the_slowest_and_says_where),
        cmocka_unit_test(test_matrix_read__the_better_of_two_ends_counts),
        cmocka_unit_test(test_matrix_read__refuses_with_line_and_column),
        cmocka_unit_test(test_matrix_read__refuses_more_devices_than_a_node_may_have),
        cmocka_unit_test(test_matrix_read__refuses_a_text_beyond_the_limit),
        cmocka_unit_test(test_matrix_read__survives_every_truncation),
        cmocka_unit_test(test_matrix_link__knows_tier_and_nominal_bandwidth),
        cmocka_unit_test(test_matrix_link__orders_pcie_classes_below_one_nvlink),
        cmocka_unit_test(test_matrix_link__does_not_know_other_words),
    };

    return cmocka_run_group_tests_name("matrix", tests, NULL, NULL);
}
