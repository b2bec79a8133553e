/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_matrix - any bytes give a finished symmetric graph or an error that says where. */
#include "topofit/matrix.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_graph(const struct matrix *matrix)
{
    const struct peer_graph *graph = matrix->graph;

    assert(graph->n >= 1 && graph->n <= DEVICE_MAX);
    assert(strlen(matrix->warning) < sizeof(matrix->warning));
    for (unsigned a = 0; a < graph->n; a++) {
        assert(peers_tier(graph, SOURCE_AUTO, a, a) == TIER_INTERCONNECT);
        for (unsigned b = 0; b < a; b++) {
            assert(peers_tier(graph, SOURCE_AUTO, a, b) == peers_tier(graph, SOURCE_AUTO, b, a));
            assert(peers_link(graph, a, b)->gbps == peers_link(graph, b, a)->gbps);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {0};
    struct matrix matrix;

    if (matrix_read((const char *)data, size, &matrix, &err) < 0) {
        assert(err.code == ERR_LIMIT || strncmp(err.text, "line ", 5) == 0);
        return 0;
    }
    assert(err.code == ERR_NONE);
    check_graph(&matrix);
    matrix_clear(&matrix);
    return 0;
}
