/* SPDX-License-Identifier: Apache-2.0 */
#include "support/placement_checker.h"
#include "support/test.h"

#include <stdlib.h>

/* Two nodes of 2 devices with 1000 MiB, 100 cores and 2 slots each. */
struct world {
    struct api_model *model;
    struct placement_checker *checker;
};

static struct world world_new(void)
{
    struct world world = {.model = api_model_new(0)};

    api_model_put_node(
        world.model,
        &(struct api_node_spec){.name = "n1", .devices = 2, .memory_mib = 1000, .slots = 2});
    api_model_put_node(
        world.model,
        &(struct api_node_spec){.name = "n2", .devices = 2, .memory_mib = 1000, .slots = 2});
    world.checker = placement_checker_new(world.model, API_SCHEDULER);
    return world;
}

static void world_free(struct world *world)
{
    placement_checker_free(world->checker);
    api_model_free(world->model);
}

/* What a pod asks for and gets: `count` devices beginning with GPU-n1-<first>. */
struct deal {
    const char *name;
    unsigned count, first;
    uint64_t mib; /* 0 = asks for whole devices; the record says 1000 */
    unsigned cores;
    const char *mode;
};

static char *record_text(const struct deal *deal, const char *node, const char *uid)
{
    struct buf out = buf_with_max(4096);

    buf_addf(&out,
             "{\"version\":1,\"node\":\"%s\",\"podUID\":\"%s\",\"tier\":0,\"degraded\":false,"
             "\"containers\":[{\"name\":\"main\",\"kind\":\"app\",\"devices\":[",
             node, uid);
    for (unsigned i = 0; i < deal->count; i++)
        buf_addf(&out,
                 "%s{\"id\":\"GPU-n1-%u\",\"memoryMiB\":%u,\"cores\":%u,\"slots\":1,\"mode\":"
                 "\"%s\"}",
                 i > 0 ? "," : "", deal->first + i, deal->mib > 0 ? (unsigned)deal->mib : 1000u,
                 deal->cores, deal->mode);
    buf_add_text(&out, "]}]}");
    return buf_steal(&out);
}

static void create(struct world *world, const struct deal *deal)
{
    api_model_create_pod(world->model,
                         &(struct api_pod_spec){.name = deal->name,
                                                .devices = deal->count,
                                                .memory_mib = deal->mib,
                                                .cores = deal->mib > 0 ? deal->cores : 0});
}

static const char *uid_of(const struct world *world, const char *pod)
{
    return api_model_find(world->model, API_POD, "default", pod)->uid;
}

/* As a Binding does it, annotation and node in one write. */
static void bind_with(struct world *world, const char *pod, const char *node, const char *record)
{
    AUTO_FREE char *path = xasprintf("/api/v1/namespaces/default/pods/%s/binding", pod);
    AUTO(buf_clear) struct buf body = buf_with_max(1 << 16);
    AUTO(model_answer_clear) struct model_answer answer = {0};
    struct model_request request = {.method = "POST", .path = path};

    buf_addf(&body,
             "{\"metadata\":{\"name\":\"%s\",\"annotations\":{\"topofit.io/allocation\":", pod);
    buf_add_json_string(&body, record);
    buf_addf(&body, "}},\"target\":{\"name\":\"%s\"}}", node);
    request.body = buf_text(&body);
    request.body_length = body.length;
    api_model_answer(world->model, &request, 0, &answer);
    assert_int_equal(answer.status, 201);
}

static void place(struct world *world, struct deal deal)
{
    AUTO_FREE char *record = NULL;

    create(world, &deal);
    record = record_text(&deal, "n1", uid_of(world, deal.name));
    bind_with(world, deal.name, "n1", record);
}

static void expect_well(struct world *world)
{
    const char *wrong = placement_checker_check(world->checker);

    if (wrong != NULL)
        fail_msg("%s", wrong);
}

static void expect_wrong(struct world *world, const char *part)
{
    const char *wrong = placement_checker_check(world->checker);

    assert_non_null(wrong);
    assert_contains(wrong, part);
    /* It was said once, and counts as it is. */
    expect_well(world);
}

/* --- what is well ---------------------------------------------------------------------------- */

static void test_check__is_content_with_what_fits(void **state)
{
    struct world world = world_new();

    (void)state;
    place(&world, (struct deal){"a", 1, 0, 400, 30, "soft"});
    place(&world, (struct deal){"b", 1, 0, 600, 70, "soft"});
    place(&world, (struct deal){"c", 1, 1, 0, 100, "shared"});
    expect_well(&world);
    assert_int_equal(placement_checker_held_count(world.checker), 3);
    world_free(&world);
}

static void test_check__lets_a_finished_or_deleted_pod_go(void **state)
{
    struct world world = world_new();

    (void)state;
    place(&world, (struct deal){"a", 1, 0, 0, 100, "shared"});
    api_model_set_phase(world.model, "default", "a", "Succeeded");
    place(&world, (struct deal){"b", 1, 0, 0, 100, "shared"});
    api_model_remove_pod(world.model, "default", "b");
    place(&world, (struct deal){"c", 1, 0, 0, 100, "shared"});
    expect_well(&world);
    world_free(&world);
}

static void test_check__is_content_with_pods_of_others_and_without_devices(void **state)
{
    struct world world = world_new();

    (void)state;
    api_model_create_pod(world.model,
                         &(struct api_pod_spec){.name = "a", .devices = 1, .scheduler = "other"});
    api_model_create_pod(world.model, &(struct api_pod_spec){.name = "b"});
    api_model_bind_elsewhere(world.model, "default", "a", "n1");
    api_model_bind_elsewhere(world.model, "default", "b", "n1");
    expect_well(&world);
    world_free(&world);
}

static void test_check__does_not_blame_anybody_for_a_node_that_shrinks(void **state)
{
    struct world world = world_new();

    (void)state;
    place(&world, (struct deal){"a", 1, 1, 0, 100, "shared"});
    api_model_put_node(world.model, &(struct api_node_spec){.name = "n1", .devices = 1});
    expect_well(&world);
    api_model_remove_node(world.model, "n1");
    expect_well(&world);
    world_free(&world);
}

/* --- devices --------------------------------------------------------------------------------- */

static void test_check__finds_memory_given_twice(void **state)
{
    struct world world = world_new();

    (void)state;
    place(&world, (struct deal){"a", 1, 0, 600, 0, "soft"});
    place(&world, (struct deal){"b", 1, 0, 401, 0, "soft"});
    expect_wrong(&world, "GPU-n1-0 of n1 gives 1001 MiB");
    world_free(&world);
}

static void test_check__finds_too_many_cores_and_slots(void **state)
{
    struct world world = world_new();

    (void)state;
    place(&world, (struct deal){"a", 1, 0, 100, 60, "soft"});
    place(&world, (struct deal){"b", 1, 0, 100, 41, "soft"});
    expect_wrong(&world, "101 cores");
    place(&world, (struct deal){"c", 1, 1, 100, 1, "soft"});
    place(&world, (struct deal){"d", 1, 1, 100, 1, "soft"});
    expect_well(&world);
    place(&world, (struct deal){"e", 1, 1, 100, 1, "soft"});
    expect_wrong(&world, "3 slots");
    world_free(&world);
}

static void test_check__finds_company_that_must_not_be(void **state)
{
    struct world world = world_new();

    (void)state;
    place(&world, (struct deal){"a", 1, 0, 100, 0, "soft"});
    place(&world, (struct deal){"b", 1, 0, 100, 0, "hard"});
    expect_wrong(&world, "default/b has it hard, and default/a soft");
    place(&world, (struct deal){"c", 1, 1, 100, 100, "soft"});
    place(&world, (struct deal){"d", 1, 1, 100, 0, "soft"});
    expect_wrong(&world, "one of them has all cores");
    world_free(&world);
}

static void test_check__counts_terminating_pods(void **state)
{
    struct world world = world_new();

    (void)state;
    place(&world, (struct deal){"a", 1, 0, 0, 100, "shared"});
    api_model_delete_pod(world.model, "default", "a", 30);
    place(&world, (struct deal){"b", 1, 0, 0, 100, "shared"});
    expect_wrong(&world, "GPU-n1-0");
    world_free(&world);
}

static void test_check__finds_what_was_wrong_for_a_moment(void **state)
{
    struct world world = world_new();

    (void)state;
    place(&world, (struct deal){"a", 1, 0, 0, 100, "shared"});
    place(&world, (struct deal){"b", 1, 0, 0, 100, "shared"});
    api_model_remove_pod(world.model, "default", "a");
    expect_wrong(&world, "default/a");
    world_free(&world);
}

static void test_check__starts_anew_when_the_log_was_cut(void **state)
{
    struct world world = world_new();

    (void)state;
    place(&world, (struct deal){"a", 1, 0, 0, 100, "shared"});
    expect_well(&world);
    place(&world, (struct deal){"b", 1, 1, 0, 100, "shared"});
    place(&world, (struct deal){"c", 1, 1, 0, 100, "shared"});
    api_model_compact(world.model);
    expect_wrong(&world, "GPU-n1-1");
    assert_int_equal(placement_checker_held_count(world.checker), 3);
    world_free(&world);
}

static void test_check__finds_a_device_the_node_never_had(void **state)
{
    struct world world = world_new();

    (void)state;
    place(&world, (struct deal){"a", 1, 7, 0, 100, "shared"});
    expect_wrong(&world, "GPU-n1-7, which node n1 never had");
    world_free(&world);
}

/* --- records --------------------------------------------------------------------------------- */

static void test_check__finds_a_bound_pod_without_a_record(void **state)
{
    struct world world = world_new();

    (void)state;
    create(&world, &(struct deal){.name = "a", .count = 1});
    api_model_bind_elsewhere(world.model, "default", "a", "n1");
    expect_wrong(&world, "default/a is bound to n1 without a record");
    world_free(&world);
}

static void test_check__finds_records_of_other_nodes_and_pods(void **state)
{
    struct world world = world_new();
    const struct deal deal = {"a", 1, 0, 0, 100, "shared"}, other = {"b", 1, 1, 0, 100, "shared"};
    AUTO_FREE char *of_node = NULL;
    AUTO_FREE char *of_pod = NULL;

    (void)state;
    create(&world, &deal);
    create(&world, &other);
    of_node = record_text(&deal, "n2", uid_of(&world, "a"));
    of_pod = record_text(&other, "n1", uid_of(&world, "a"));
    bind_with(&world, "a", "n1", of_node);
    expect_wrong(&world, "the record names node \"n2\"");
    bind_with(&world, "b", "n1", of_pod);
    expect_wrong(&world, "the record names uid");
    world_free(&world);
}

static void test_check__finds_records_that_are_unreadable_or_give_less(void **state)
{
    struct world world = world_new();
    const struct deal less = {"b", 1, 0, 0, 100, "shared"};
    AUTO_FREE char *record = NULL;

    (void)state;
    create(&world, &(struct deal){.name = "a", .count = 1});
    bind_with(&world, "a", "n1", "{\"version\":1");
    expect_wrong(&world, "the record cannot be read");
    create(&world, &(struct deal){.name = "b", .count = 2});
    record = record_text(&less, "n1", uid_of(&world, "b"));
    bind_with(&world, "b", "n1", record);
    expect_wrong(&world, "has 1 devices by the record, and asks for 2");
    world_free(&world);
}

static void test_check__finds_other_memory_than_asked_for(void **state)
{
    struct world world = world_new();
    const struct deal deal = {"a", 1, 0, 300, 0, "soft"};
    AUTO_FREE char *record = NULL;

    (void)state;
    create(&world, &(struct deal){.name = "a", .count = 1, .mib = 400});
    record = record_text(&deal, "n1", uid_of(&world, "a"));
    bind_with(&world, "a", "n1", record);
    expect_wrong(&world, "not the memory or cores that were asked for");
    world_free(&world);
}

static const char PHASES[] =
    "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"schedulerName\":\"" API_SCHEDULER "\","
    "\"initContainers\":[{\"name\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}],"
    "\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\","
    "\"nvidia.com/gpumem\":\"300\"}}}]}}";

static void test_check__counts_the_greatest_phase_not_the_sum(void **state)
{
    struct world world = world_new();
    AUTO_FREE char *record = NULL;

    (void)state;
    {
        AUTO_FREE char *pod = xasprintf(PHASES, "a");

        api_model_create(world.model, API_POD, pod);
    }
    record = xasprintf(
        "{\"version\":1,\"node\":\"n1\",\"podUID\":\"%s\",\"containers\":["
        "{\"name\":\"i\",\"kind\":\"init\",\"devices\":[{\"id\":\"GPU-n1-0\",\"memoryMiB\":1000,"
        "\"cores\":100,\"slots\":1,\"mode\":\"shared\"}]},"
        "{\"name\":\"c\",\"kind\":\"app\",\"devices\":[{\"id\":\"GPU-n1-0\",\"memoryMiB\":300,"
        "\"cores\":0,\"slots\":1,\"mode\":\"soft\"}]}]}",
        uid_of(&world, "a"));
    bind_with(&world, "a", "n1", record);
    expect_well(&world);
    place(&world, (struct deal){"b", 1, 0, 100, 0, "soft"});
    expect_wrong(&world, "GPU-n1-0");
    world_free(&world);
}

/* --- what was said --------------------------------------------------------------------------- */

static void test_answer__success_needs_a_bound_pod(void **state)
{
    struct world world = world_new();
    AUTO_FREE char *uid = NULL;

    (void)state;
    create(&world, &(struct deal){.name = "a", .count = 1});
    uid = xstrdup(uid_of(&world, "a"));
    assert_null(placement_checker_bind_answered(world.checker, uid, "n1", "no room"));
    assert_contains(placement_checker_bind_answered(world.checker, uid, "n1", ""), "never bound");
    world_free(&world);
}

static void test_answer__success_holds_though_the_pod_is_gone_meanwhile(void **state)
{
    struct world world = world_new();
    AUTO_FREE char *uid = NULL;

    (void)state;
    place(&world, (struct deal){"a", 1, 0, 0, 100, "shared"});
    uid = xstrdup(uid_of(&world, "a"));
    api_model_remove_pod(world.model, "default", "a");
    assert_null(placement_checker_bind_answered(world.checker, uid, "n1", ""));
    assert_contains(placement_checker_bind_answered(world.checker, uid, "n2", ""), "bound to n1");
    world_free(&world);
}

static void test_compare__finds_holdings_without_a_pod_and_pods_without_a_holding(void **state)
{
    struct world world = world_new();
    AUTO_FREE char *uid = NULL;

    (void)state;
    place(&world, (struct deal){"a", 1, 0, 0, 100, "shared"});
    uid = xstrdup(uid_of(&world, "a"));
    assert_null(placement_checker_compare(world.checker, &(struct placement_seen){uid, "n1"}, 1));
    assert_contains(placement_checker_compare(world.checker, NULL, 0), "nobody knows");
    assert_contains(
        placement_checker_compare(world.checker, &(struct placement_seen){uid, "n2"}, 1),
        "which is on \"n1\"");
    api_model_set_phase(world.model, "default", "a", "Failed");
    assert_contains(
        placement_checker_compare(world.checker, &(struct placement_seen){uid, "n1"}, 1),
        "has finished");
    api_model_remove_pod(world.model, "default", "a");
    assert_contains(
        placement_checker_compare(world.checker, &(struct placement_seen){uid, "n1"}, 1),
        "which is gone");
    world_free(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check__is_content_with_what_fits),
        cmocka_unit_test(test_check__lets_a_finished_or_deleted_pod_go),
        cmocka_unit_test(test_check__is_content_with_pods_of_others_and_without_devices),
        cmocka_unit_test(test_check__does_not_blame_anybody_for_a_node_that_shrinks),
        cmocka_unit_test(test_check__finds_memory_given_twice),
        cmocka_unit_test(test_check__finds_too_many_cores_and_slots),
        cmocka_unit_test(test_check__finds_company_that_must_not_be),
        cmocka_unit_test(test_check__counts_terminating_pods),
        cmocka_unit_test(test_check__finds_what_was_wrong_for_a_moment),
        cmocka_unit_test(test_check__starts_anew_when_the_log_was_cut),
        cmocka_unit_test(test_check__finds_a_device_the_node_never_had),
        cmocka_unit_test(test_check__finds_a_bound_pod_without_a_record),
        cmocka_unit_test(test_check__finds_records_of_other_nodes_and_pods),
        cmocka_unit_test(test_check__finds_records_that_are_unreadable_or_give_less),
        cmocka_unit_test(test_check__finds_other_memory_than_asked_for),
        cmocka_unit_test(test_check__counts_the_greatest_phase_not_the_sum),
        cmocka_unit_test(test_answer__success_needs_a_bound_pod),
        cmocka_unit_test(test_answer__success_holds_though_the_pod_is_gone_meanwhile),
        cmocka_unit_test(test_compare__finds_holdings_without_a_pod_and_pods_without_a_holding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
