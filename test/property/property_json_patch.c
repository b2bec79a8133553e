/* SPDX-License-Identifier: Apache-2.0 */
/*
 * property_json_patch - applied to the one tree, the patch gives the other.
 */
#include "support/builders.h"
#include "support/patching.h"
#include "support/test.h"

#include "topofit/json_patch.h"

#define SEEDS 20000
#define DEPTH_MAX 4
#define WIDTH_MAX 5

/* Names that need escaping, prefixes of each other, and those that look like indices. */
static const char *const names[] = {"a", "b", "", "/", "~", "~0", "~1", "a/b", "0", "1", "-"};

static json_t *tree_at_random(uint64_t *state, unsigned depth)
{
    unsigned kind = chance_below(state, depth == 0 ? 3 : 6);
    json_t *tree;

    if (kind == 0)
        return json_integer(chance_below(state, 3));
    if (kind == 1)
        return json_string(names[chance_below(state, ARRAY_LEN(names))]);
    if (kind == 2)
        return chance_one_in(state, 2) ? json_null() : json_true();
    tree = kind == 3 ? json_object() : json_array();
    for (unsigned i = chance_below(state, WIDTH_MAX); i > 0; i--) {
        json_t *value = tree_at_random(state, depth - 1);

        if (kind == 3)
            json_object_set_new(tree, names[chance_below(state, ARRAY_LEN(names))], value);
        else
            json_array_append_new(tree, value);
    }
    return tree;
}

/* The same tree, or one in which something was put in, taken out or replaced here and there. */
static json_t *edited(uint64_t *state, const json_t *tree, unsigned depth)
{
    const char *key;
    json_t *value, *result;
    size_t index;

    if (chance_one_in(state, 12) || (!json_is_object(tree) && !json_is_array(tree)))
        return chance_one_in(state, 2) ? tree_at_random(state, depth) : json_deep_copy(tree);
    result = json_is_object(tree) ? json_object() : json_array();
    json_object_foreach((json_t *)tree, key, value)
    {
        if (!chance_one_in(state, 8))
            json_object_set_new(result, key, edited(state, value, depth > 0 ? depth - 1 : 0));
    }
    json_array_foreach((json_t *)tree, index, value)
    {
        if (chance_one_in(state, 8))
            json_array_append_new(result, tree_at_random(state, 1));
        if (!chance_one_in(state, 8))
            json_array_append_new(result, edited(state, value, depth > 0 ? depth - 1 : 0));
    }
    if (json_is_object(tree) && chance_one_in(state, 4))
        json_object_set_new(result, names[chance_below(state, ARRAY_LEN(names))],
                            tree_at_random(state, 1));
    return result;
}

static void check(uint64_t seed, const json_t *from, const json_t *to)
{
    json_auto_t *patch = json_patch_between(from, to);
    json_auto_t *patched = patching_apply(from, patch);

    if (!json_equal(patched, to) || (json_array_size(patch) == 0) != json_equal(from, to))
        fail_msg("seed %lu: the patch does not give the other tree", (unsigned long)seed);
}

static void test_json_patch_between__gives_the_other_tree(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t chance = seed;
        json_auto_t *from = tree_at_random(&chance, DEPTH_MAX);
        json_auto_t *near = edited(&chance, from, DEPTH_MAX);
        json_auto_t *far = tree_at_random(&chance, DEPTH_MAX);

        check(seed, from, near);
        check(seed, near, from);
        check(seed, from, far);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_patch_between__gives_the_other_tree),
    };

    return cmocka_run_group_tests_name("property_json_patch", tests, NULL, NULL);
}
