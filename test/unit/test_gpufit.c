/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/gpufit.h"

/* One device of 16384 MiB, 100 cores, 4 slots, and what is different about it. */
struct device_case {
    enum reason want;
    struct wish wish;
    enum isolation_mode isolation;
    bool unhealthy, cordoned, conflicted;
    uint64_t used_mib;
    uint16_t used_cores, tenants;
    enum isolation_mode present; /* of the tenants */
    const char *use_devices, *avoid_devices, *use_products, *avoid_products;
};

static void list_words(const char *comma_list, struct word_list *out)
{
    char item[64];

    while (comma_list != NULL && text_next_item(&comma_list, item, sizeof item))
        assert_true(word_list_add(out, item));
}

static enum reason first_obstacle(const struct device_case *given)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 1, 16384, 4);
    AUTO(request_clear) struct request request = request_of(given->wish);
    struct node_use use = use_none(node);

    node->devices[0].healthy = !given->unhealthy;
    node->devices[0].cordoned = given->cordoned;
    text_unref(node->devices[0].product);
    node->devices[0].product = text_new("NVIDIA A100-SXM4-80GB");
    use.devices[0] = (struct device_use){.memory_mib = given->used_mib,
                                         .cores = given->used_cores,
                                         .slots = given->tenants,
                                         .mode = given->present,
                                         .exclusive = given->used_cores >= 100,
                                         .conflicted = given->conflicted};
    request.isolation = given->isolation;
    list_words(given->use_devices, &request.use_devices);
    list_words(given->avoid_devices, &request.avoid_devices);
    list_words(given->use_products, &request.use_products);
    list_words(given->avoid_products, &request.avoid_products);
    return gpufit_device(
        &(struct fit_question){
            .node = node, .use = &use, .request = &request, .ask = &request.asks[0]},
        0, NULL);
}

static void check_cases(const struct device_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        enum reason got = first_obstacle(&cases[i]);

        if (got != cases[i].want)
            fail_msg("case %zu: %s instead of %s", i, reason_name(got), reason_name(cases[i].want));
    }
}

#define PART(mib_) {.count = 1, .mib = (mib_)}
#define SOFT_TENANT .tenants = 1, .present = ISOLATION_SOFT

static void test_gpufit_device__names_each_obstacle(void **state)
{
    static const struct device_case cases[] = {
        {.want = REASON_OK, .wish = PART(4000)},
        {.want = REASON_OK, .wish = {.count = 1}},
        {.want = REASON_OK, .wish = PART(4000), .used_mib = 12384, SOFT_TENANT},
        {.want = REASON_UNHEALTHY, .wish = PART(1), .unhealthy = true},
        {.want = REASON_CORDONED, .wish = PART(1), .cordoned = true},
        {.want = REASON_CONFLICT, .wish = PART(1), .conflicted = true},
        {.want = REASON_NOT_SELECTED, .wish = PART(1), .use_devices = "GPU-1,GPU-2"},
        {.want = REASON_OK, .wish = PART(1), .use_devices = "GPU-1, gpu-0"},
        {.want = REASON_NOT_SELECTED, .wish = PART(1), .avoid_devices = "gpu-0"},
        {.want = REASON_PRODUCT, .wish = PART(1), .use_products = "A10"},
        {.want = REASON_OK, .wish = PART(1), .use_products = "H100, a100"},
        {.want = REASON_PRODUCT, .wish = PART(1), .avoid_products = "A100"},
        {.want = REASON_OK, .wish = PART(1), .avoid_products = "A10"},
        {.want = REASON_DEVICE_TOO_SMALL, .wish = PART(16385)},
        {.want = REASON_DEVICE_TOO_SMALL, .wish = {.count = 1, .mib = 1, .cores = 101}},
        {.want = REASON_PARTITIONS, .wish = PART(1), .isolation = ISOLATION_PARTITIONED},
        {.want = REASON_MEMORY, .wish = PART(4001), .used_mib = 12384, SOFT_TENANT},
        {.want = REASON_CORES,
         .wish = {.count = 1, .mib = 1, .cores = 50},
         .used_cores = 60,
         SOFT_TENANT},
        {.want = REASON_OK,
         .wish = {.count = 1, .mib = 1, .cores = 40},
         .used_cores = 60,
         SOFT_TENANT},
        {.want = REASON_EXCLUSIVE, .wish = PART(1), .used_cores = 100, SOFT_TENANT},
        {.want = REASON_EXCLUSIVE,
         .wish = {.count = 1, .mib = 1, .cores = 100},
         .used_mib = 1,
         SOFT_TENANT},
        {.want = REASON_ISOLATION, .wish = PART(1), .isolation = ISOLATION_HARD, SOFT_TENANT},
        {.want = REASON_ISOLATION, .wish = PART(1), .tenants = 1, .present = ISOLATION_SHARED},
        {.want = REASON_SLOTS, .wish = PART(1), .tenants = 4, .present = ISOLATION_SOFT},
    };

    (void)state;
    check_cases(cases, ARRAY_LEN(cases));
}

/* Each row has its own obstacle and all those that are looked at later. */
static void test_gpufit_device__the_order_of_obstacles_is_that_of_the_table(void **state)
{
#define FULL .used_mib = 16384, .used_cores = 100, .tenants = 4, .present = ISOLATION_HARD
    static const struct device_case cases[] = {
        {.want = REASON_UNHEALTHY,
         .wish = {.count = 1, .mib = 20000},
         .unhealthy = true,
         .cordoned = true,
         .conflicted = true,
         .use_devices = "x",
         .use_products = "x",
         FULL},
        {.want = REASON_CORDONED,
         .wish = {.count = 1, .mib = 20000},
         .cordoned = true,
         .conflicted = true,
         .use_devices = "x",
         .use_products = "x",
         FULL},
        {.want = REASON_CONFLICT,
         .wish = {.count = 1, .mib = 20000},
         .conflicted = true,
         .use_devices = "x",
         .use_products = "x",
         FULL},
        {.want = REASON_NOT_SELECTED,
         .wish = {.count = 1, .mib = 20000},
         .use_devices = "x",
         .use_products = "x",
         FULL},
        {.want = REASON_PRODUCT, .wish = {.count = 1, .mib = 20000}, .use_products = "x", FULL},
        {.want = REASON_DEVICE_TOO_SMALL,
         .wish = {.count = 1, .mib = 20000},
         .isolation = ISOLATION_PARTITIONED,
         FULL},
        {.want = REASON_PARTITIONS,
         .wish = {.count = 1, .mib = 1},
         .isolation = ISOLATION_PARTITIONED,
         FULL},
        {.want = REASON_MEMORY, .wish = {.count = 1, .mib = 1, .cores = 1}, FULL},
        {.want = REASON_CORES,
         .wish = {.count = 1, .mib = 1, .cores = 1},
         .used_cores = 100,
         .tenants = 4,
         .present = ISOLATION_HARD},
        {.want = REASON_EXCLUSIVE,
         .wish = {.count = 1, .mib = 1},
         .used_cores = 100,
         .tenants = 4,
         .present = ISOLATION_HARD},
        {.want = REASON_ISOLATION,
         .wish = {.count = 1, .mib = 1},
         .tenants = 4,
         .present = ISOLATION_HARD},
    };

    (void)state;
    check_cases(cases, ARRAY_LEN(cases));
    for (size_t i = 1; i < ARRAY_LEN(cases); i++)
        assert_true(cases[i - 1].want < cases[i].want);
}

static void test_gpufit_device__f38_a_device_of_no_size_is_never_given_out(void **state)
{
    (void)state;
    for (int what = 0; what < 3; what++) {
        AUTO(node_unref_pointer) struct node *node = node_plain("n", 1, 1000, 1);
        struct node_use use = use_none(node);
        struct device *device = &node->devices[0];

        device->memory_mib = what == 0 ? 0 : 1000;
        device->cores = what == 1 ? 0 : 100;
        device->slots = what == 2 ? 0 : 1;
        for (int kind = 0; kind < 3; kind++) {
            AUTO(request_clear)
            struct request request = request_of(
                (struct wish){.count = 1, .mib = kind == 1 ? 1 : 0, .percent = kind == 2 ? 50 : 0});

            assert_int_equal(gpufit_device(&(struct fit_question){.node = node,
                                                                  .use = &use,
                                                                  .request = &request,
                                                                  .ask = &request.asks[0]},
                                           0, NULL),
                             REASON_DEVICE_TOO_SMALL);
        }
    }
}

static void test_gpufit_device__f07_exclusive_cores_and_whole_devices_against_sharers(void **state)
{
    enum { A, B, C, D, E, F };
    static const struct wish pods[] = {
        [A] = {.count = 1, .mib = 1000, .cores = 100},
        [B] = {.count = 1, .mib = 1000},
        [C] = {.count = 1, .mib = 1000, .cores = 60},
        [D] = {.count = 1, .mib = 1000, .cores = 50},
        [E] = {.count = 1},
        [F] = {.count = 1, .mib = 1000, .cores = 40},
    };
    static const struct {
        int there, comes;
        enum reason want;
    } cases[] = {
        {A, B, REASON_EXCLUSIVE}, {A, C, REASON_CORES},     {A, D, REASON_CORES},
        {A, E, REASON_MEMORY},    {B, A, REASON_EXCLUSIVE}, {B, E, REASON_MEMORY},
        {C, D, REASON_CORES},     {C, F, REASON_OK},
    };
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 1, 40960, 10);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(request_clear) struct request request = request_of(pods[cases[i].comes]);
        const struct wish *there = &pods[cases[i].there];
        struct node_use use = use_none(node);

        use_take(&use, node, 0, there->mib, there->cores, ISOLATION_SOFT);
        assert_int_equal(gpufit_device(&(struct fit_question){.node = node,
                                                              .use = &use,
                                                              .request = &request,
                                                              .ask = &request.asks[0]},
                                       0, NULL),
                         cases[i].want);
    }
}

static void test_gpufit_device__counts_what_the_pod_itself_takes(void **state)
{
    static const struct {
        struct own_use own;
        struct wish wish;
        unsigned tenants; /* other pods, each of 1 MiB and no cores */
        enum reason want;
    } cases[] = {
        {{.memory_mib = 500, .slots = 1}, {.count = 1, .mib = 500}, 0, REASON_OK},
        {{.memory_mib = 501, .slots = 1}, {.count = 1, .mib = 500}, 0, REASON_MEMORY},
        {{.cores = 60, .slots = 1}, {.count = 1, .mib = 1, .cores = 50}, 0, REASON_CORES},
        {{.cores = 100, .slots = 1, .exclusive = true},
         {.count = 1, .mib = 1},
         0,
         REASON_EXCLUSIVE},
        /* two halves leave room for a third that is promised none, in whatever order they come */
        {{.cores = 100, .slots = 1}, {.count = 1, .mib = 1}, 0, REASON_OK},
        {{.slots = 1}, {.count = 1, .mib = 1, .cores = 100}, 0, REASON_EXCLUSIVE},
        {{.slots = 2}, {.count = 1, .mib = 1}, 0, REASON_SLOTS},
        /* two containers with half of the cores each: together the pod is an exclusive tenant */
        {{.cores = 50, .slots = 1}, {.count = 1, .mib = 1, .cores = 50}, 0, REASON_OK},
        {{.cores = 50, .slots = 1}, {.count = 1, .mib = 1, .cores = 50}, 1, REASON_EXCLUSIVE},
        {{.cores = 50, .slots = 1}, {.count = 1, .mib = 1, .cores = 49}, 1, REASON_SLOTS},
    };
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 1, 1000, 2);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(request_clear) struct request request = request_of(cases[i].wish);
        struct node_use use = use_none(node);

        for (unsigned t = 0; t < cases[i].tenants; t++)
            use_take(&use, node, 0, 1, 0, ISOLATION_SOFT);
        assert_int_equal(gpufit_device(&(struct fit_question){.node = node,
                                                              .use = &use,
                                                              .request = &request,
                                                              .ask = &request.asks[0]},
                                       0, &cases[i].own),
                         cases[i].want);
    }
}

/* --- a node -------------------------------------------------------------------------------------
 */

struct judged {
    struct fit fit;
    struct verdict verdict;
};

static struct judged judge(const struct node *node, const struct node_use *use, struct wish wish)
{
    AUTO(request_clear) struct request request = request_of(wish);
    struct judged out;

    out.fit = gpufit_candidates(
        &(struct fit_question){
            .node = node, .use = use, .request = &request, .ask = &request.asks[0]},
        NULL, &out.verdict);
    return out;
}

static void test_gpufit_candidates__f02_counts_whole_devices(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 4, 16384, 10);
    struct node_use use = use_none(node);
    struct judged judged;

    (void)state;
    use_take(&use, node, 0, 16384, 100, ISOLATION_SHARED);
    use_take(&use, node, 1, 16384, 100, ISOLATION_SHARED);
    judged = judge(node, &use, (struct wish){.count = 3, .mib = 8000});
    assert_int_equal(judged.verdict.reason, REASON_MEMORY);
    assert_int_equal(judged.verdict.wanted, 3);
    assert_int_equal(judged.verdict.usable, 2);
    assert_int_equal(judged.verdict.wanted_mib, 8000);
    assert_int_equal(judged.verdict.devices[REASON_MEMORY], 2);
    assert_int_equal(judged.fit.candidates, 0xc);
    assert_int_equal(judged.fit.hopeful, 0xf);
}

static void test_gpufit_candidates__f44_never_is_told_from_not_now(void **state)
{
    static const struct {
        unsigned devices, unhealthy, busy, wanted;
        enum reason want;
    } cases[] = {
        {4, 0, 0, 5, REASON_TOO_FEW_DEVICES},
        {4, 2, 0, 3, REASON_UNHEALTHY}, /* eviction does not heal */
        {4, 2, 2, 2, REASON_MEMORY},    /* the healthy two can be freed */
        {4, 2, 2, 3, REASON_UNHEALTHY}, /* even then one is missing */
        {4, 1, 3, 3, REASON_MEMORY},
        {4, 0, 4, 4, REASON_MEMORY},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(node_unref_pointer) struct node *node = node_plain("n", cases[i].devices, 1000, 1);
        struct node_use use = use_none(node);

        for (unsigned d = 0; d < cases[i].unhealthy; d++)
            node->devices[d].healthy = false;
        for (unsigned d = 0; d < cases[i].busy; d++)
            use_take(&use, node, cases[i].unhealthy + d, 1000, 100, ISOLATION_SHARED);
        assert_int_equal(judge(node, &use, (struct wish){.count = cases[i].wanted}).verdict.reason,
                         cases[i].want);
    }
}

static void test_gpufit_candidates__names_the_obstacle_of_most_devices(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 5, 1000, 1);
    struct node_use use = use_none(node);
    struct judged judged;

    (void)state;
    use_take(&use, node, 0, 1000, 0, ISOLATION_SOFT); /* memory */
    use_take(&use, node, 1, 1, 0, ISOLATION_SOFT);    /* slots */
    use_take(&use, node, 2, 1, 0, ISOLATION_SOFT);
    use_take(&use, node, 3, 1000, 0, ISOLATION_SOFT);
    use_take(&use, node, 4, 1, 0, ISOLATION_SOFT);
    judged = judge(node, &use, (struct wish){.count = 1, .mib = 10});
    assert_int_equal(judged.verdict.reason, REASON_SLOTS);
    node->devices[4].healthy = false;
    judged = judge(node, &use, (struct wish){.count = 1, .mib = 10});
    assert_int_equal(judged.verdict.reason, REASON_MEMORY); /* two each: the earlier row */
}

static void test_gpufit_candidates__leaves_room_for_devices_nobody_can_name(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 4, 1000, 1);
    struct node_use use = use_none(node);

    (void)state;
    use.unattributed = 2;
    assert_int_equal(judge(node, &use, (struct wish){.count = 2}).verdict.reason, REASON_OK);
    assert_int_equal(judge(node, &use, (struct wish){.count = 3}).verdict.reason,
                     REASON_UNATTRIBUTED);
    assert_int_equal(judge(node, &use, (struct wish){.count = 3}).verdict.usable, 2);
    use.unattributed = 100;
    assert_int_equal(judge(node, &use, (struct wish){.count = 1}).verdict.usable, 0);
}

static void test_gpufit_candidates__no_inventory_and_no_device_of_the_class(void **state)
{
    AUTO(node_unref_pointer) struct node *bare = node_new("n", "u");
    AUTO(node_unref_pointer) struct node *empty = node_plain("n", 0, 0, 0);
    AUTO(node_unref_pointer) struct node *other = node_plain("n", 2, 1000, 1);
    struct node_use none = use_none(bare), use = use_none(other);
    const struct device_class class = {0};

    (void)state;
    assert_int_equal(judge(bare, &none, (struct wish){.count = 1}).verdict.reason,
                     REASON_NO_INVENTORY);
    assert_int_equal(judge(empty, &none, (struct wish){.count = 1}).verdict.reason,
                     REASON_NO_CLASS);
    other->devices[0].class = &class;
    assert_int_equal(judge(other, &use, (struct wish){.count = 2}).verdict.reason,
                     REASON_TOO_FEW_DEVICES);
    other->devices[1].class = &class;
    assert_int_equal(judge(other, &use, (struct wish){.count = 2}).verdict.reason, REASON_NO_CLASS);
}

static void test_gpufit_candidates__what_the_pod_itself_takes_is_no_hope(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 1, 16384, 10);
    AUTO(request_clear)
    struct request request = request_of((struct wish){.count = 1, .mib = 10000});
    struct node_use use = use_none(node);
    const struct own_use own = {.memory_mib = 10000, .slots = 1};
    struct verdict verdict;
    struct fit fit = gpufit_candidates(
        &(struct fit_question){
            .node = node, .use = &use, .request = &request, .ask = &request.asks[0]},
        &own, &verdict);

    (void)state;
    assert_int_equal(fit.hopeful, 0);
    assert_int_equal(verdict.reason, REASON_CONTAINERS);
}

static void test_gpufit_device__a_class_has_demands_of_its_own(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 2, 16384, 4);
    AUTO(request_clear)
    struct request request = request_of((struct wish){.count = 1, .mib = 1000});
    struct node_use use = use_none(node);
    const struct device_class other = test_class;
    const struct fit_question question = {
        .node = node, .use = &use, .request = &request, .ask = &request.asks[0]};

    (void)state;
    word_list_add(&class_selections_add(&request.selections, &other)->use_devices, "X-0");
    assert_int_equal(gpufit_device(&question, 0, NULL), REASON_OK);
    word_list_add(&class_selections_add(&request.selections, &test_class)->use_devices, "GPU-1");
    assert_int_equal(gpufit_device(&question, 0, NULL), REASON_NOT_SELECTED);
    assert_int_equal(gpufit_device(&question, 1, NULL), REASON_OK);
    word_list_add(&class_selections_add(&request.selections, &test_class)->avoid_products, "*");
    assert_int_equal(gpufit_device(&question, 1, NULL), REASON_PRODUCT);
}

static void test_gpufit_device__who_wants_idle_devices_joins_nobody(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 2, 16384, 4);
    AUTO(request_clear)
    struct request request = request_of((struct wish){.count = 1, .mib = 1000});
    struct node_use use = use_none(node);
    const struct fit_question question = {
        .node = node, .use = &use, .request = &request, .ask = &request.asks[0]};
    struct own_use own = {.slots = 1, .memory_mib = 1000};

    (void)state;
    request.wants_idle = true;
    use_take(&use, node, 0, 1000, 0, ISOLATION_SOFT);
    assert_int_equal(gpufit_device(&question, 0, NULL), REASON_EXCLUSIVE);
    assert_int_equal(gpufit_device(&question, 1, NULL), REASON_OK);
    assert_int_equal(gpufit_device(&question, 1, &own), REASON_OK); /* its own container is there */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpufit_device__names_each_obstacle),
        cmocka_unit_test(test_gpufit_device__the_order_of_obstacles_is_that_of_the_table),
        cmocka_unit_test(test_gpufit_device__f38_a_device_of_no_size_is_never_given_out),
        cmocka_unit_test(test_gpufit_device__f07_exclusive_cores_and_whole_devices_against_sharers),
        cmocka_unit_test(test_gpufit_device__counts_what_the_pod_itself_takes),
        cmocka_unit_test(test_gpufit_candidates__f02_counts_whole_devices),
        cmocka_unit_test(test_gpufit_candidates__f44_never_is_told_from_not_now),
        cmocka_unit_test(test_gpufit_candidates__names_the_obstacle_of_most_devices),
        cmocka_unit_test(test_gpufit_candidates__leaves_room_for_devices_nobody_can_name),
        cmocka_unit_test(test_gpufit_candidates__no_inventory_and_no_device_of_the_class),
        cmocka_unit_test(test_gpufit_candidates__what_the_pod_itself_takes_is_no_hope),
        cmocka_unit_test(test_gpufit_device__a_class_has_demands_of_its_own),
        cmocka_unit_test(test_gpufit_device__who_wants_idle_devices_joins_nobody),
    };

    return cmocka_run_group_tests_name("gpufit", tests, NULL, NULL);
}
