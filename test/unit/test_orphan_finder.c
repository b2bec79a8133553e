/* SPDX-License-Identifier: Apache-2.0 */
#include "support/small_cluster.h"
#include "support/test.h"

#include "topofit/orphan_finder.h"

#define T0 1000000u

struct story {
    struct cluster *cluster;
    struct orphan_finder *finder;
    uint64_t now_ms, token;
};

static void story_free(struct story *story)
{
    orphan_finder_free(story->finder);
    cluster_free(story->cluster);
}

/* A booking for a pod that the watch has not shown. */
static struct story story_booked(void)
{
    struct story story = {.cluster = small_cluster(1), .now_ms = T0};
    struct pod *pod = small_pod("ghost", "u-ghost", 4000);

    story.finder = orphan_finder_new(story.cluster);
    assert_int_equal(small_reserve(story.cluster, pod, "GPU-0", 4000, &story.token), 0);
    pod_unref(pod);
    return story;
}

static struct story story_confirmed(void)
{
    struct story story = story_booked();

    cluster_confirm(story.cluster, "u-ghost", story.token);
    return story;
}

/* The next look, with the watch open. */
static bool look(struct story *story)
{
    bool found = orphan_finder_look(story->finder, true, story->now_ms);

    story->now_ms += ORPHAN_LOOK_MS;
    return found;
}

static void test_look__finds_who_was_alone_at_the_last_one_already(void **state)
{
    AUTO(story_free) struct story story = story_confirmed();

    (void)state;
    assert_false(look(&story));
    assert_true(look(&story));
}

static void test_look__is_not_before_its_time(void **state)
{
    AUTO(story_free) struct story story = story_confirmed();

    (void)state;
    assert_false(orphan_finder_look(story.finder, true, T0));
    assert_int_equal(orphan_finder_next_due_ms(story.finder), T0 + ORPHAN_LOOK_MS);
    assert_false(orphan_finder_look(story.finder, true, T0 + ORPHAN_LOOK_MS - 1));
    assert_true(orphan_finder_look(story.finder, true, T0 + ORPHAN_LOOK_MS));
}

static void test_look__leaves_bookings_whose_binding_is_on_its_way(void **state)
{
    AUTO(story_free) struct story story = story_booked();

    (void)state;
    assert_false(look(&story));
    assert_false(look(&story));
}

static void test_look__leaves_pods_that_the_watch_has_shown(void **state)
{
    AUTO(story_free) struct story story = story_confirmed();

    (void)state;
    assert_false(look(&story));
    cluster_put_pod(story.cluster, small_bound_pod("ghost", "u-ghost", "n1", "GPU-0", 4000));
    assert_false(look(&story));
}

static void test_look__begins_anew_when_the_watch_was_closed(void **state)
{
    AUTO(story_free) struct story story = story_confirmed();

    (void)state;
    assert_false(look(&story));
    assert_false(orphan_finder_look(story.finder, false, story.now_ms));
    assert_false(look(&story));
    assert_true(look(&story));
}

static void test_list__asked_for_afterwards_gives_back_what_an_orphan_holds(void **state)
{
    AUTO(story_free) struct story story = story_confirmed();

    (void)state;
    assert_false(look(&story));
    assert_true(look(&story));
    cluster_announce_pod_list(story.cluster);
    cluster_replace_pods(story.cluster, NULL, 0);
    assert_int_equal(small_used_mib(story.cluster), 0);
    assert_false(look(&story));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_look__finds_who_was_alone_at_the_last_one_already),
        cmocka_unit_test(test_look__is_not_before_its_time),
        cmocka_unit_test(test_look__leaves_bookings_whose_binding_is_on_its_way),
        cmocka_unit_test(test_look__leaves_pods_that_the_watch_has_shown),
        cmocka_unit_test(test_look__begins_anew_when_the_watch_was_closed),
        cmocka_unit_test(test_list__asked_for_afterwards_gives_back_what_an_orphan_holds),
    };

    return cmocka_run_group_tests_name("orphan_finder", tests, NULL, NULL);
}
