/* SPDX-License-Identifier: Apache-2.0 */
/* What the cluster shares between nodes; its header is private to src/cluster. */
#include "support/builders.h"
#include "support/test.h"

#include "../../src/cluster/intern.h"

#define CHURN 20000     /* nodes that come and go, each with a word of its own */
#define WORDS_KEPT 4096 /* of them, far fewer may stay */
#define GRAPHS_KEPT 64

static void free_intern(struct intern **intern)
{
    intern_free(*intern);
}

/* A node with a label of its own and, of two devices, a wiring of its own. */
static struct node *odd_node(unsigned number)
{
    AUTO_FREE char *word = xasprintf("word-%u", number);
    struct node *node = node_plain("n", 2, 1000, 1);
    struct peer_graph *graph = peers_new(2);
    struct link link = {.tier = TIER_NUMA, .gbps = (uint16_t)(1 + number)};

    labels_add(node->labels, word, "x");
    peers_note_link(graph, 0, 1, &link);
    peers_finish(graph);
    node_steal_graph(node, graph);
    return node;
}

static void test_intern_node__forgets_what_no_node_has_any_more(void **state)
{
    AUTO(free_intern) struct intern *intern = intern_new(&test_key);

    (void)state;
    for (unsigned i = 0; i < CHURN; i++) {
        AUTO(node_unref_pointer) struct node *node = odd_node(i);

        intern_node(intern, node);
    }
    assert_in_range(intern_word_count(intern), 1, WORDS_KEPT);
    assert_in_range(intern_graph_count(intern), 1, GRAPHS_KEPT);
}

static void test_intern_node__keeps_what_nodes_have(void **state)
{
    AUTO(free_intern) struct intern *intern = intern_new(&test_key);
    AUTO(node_unref_pointer) struct node *first = odd_node(0);
    AUTO(node_unref_pointer) struct node *last = odd_node(0);

    (void)state;
    intern_node(intern, first);
    for (unsigned i = 1; i < CHURN; i++) {
        AUTO(node_unref_pointer) struct node *node = odd_node(i);

        intern_node(intern, node);
    }
    intern_node(intern, last);
    assert_ptr_equal(last->labels->items[0].key, first->labels->items[0].key);
    assert_ptr_equal(last->graph, first->graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intern_node__forgets_what_no_node_has_any_more),
        cmocka_unit_test(test_intern_node__keeps_what_nodes_have),
    };

    return cmocka_run_group_tests_name("intern", tests, NULL, NULL);
}
