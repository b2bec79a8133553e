/* SPDX-License-Identifier: Apache-2.0 */
/* What one pod takes of its namespace's quota. */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/quota.h"

#define CONTAINERS_MAX 4

/* Containers, each on so many devices of 10000 MiB and 100 cores. */
struct pod_case {
    struct wish wishes[CONTAINERS_MAX];
    size_t count;
    bool init_done;
    uint64_t mib, cores;
};

static const struct pod_case cases[] = {
    {{{.count = 2, .mib = 4000}}, 1, false, 8000, 0},
    {{{.count = 2, .percent = 33, .cores = 10}}, 1, false, 6600, 20},
    {{{.count = 3}}, 1, false, 30000, 300}, /* whole devices */
    {{{.count = 1, .mib = 1000}, {.count = 2, .mib = 500, .cores = 5}}, 2, false, 2000, 10},
    {{{.kind = CONTAINER_INIT, .count = 2, .mib = 3000}, {.count = 1, .mib = 1000}},
     2,
     false,
     6000,
     0},
    {{{.kind = CONTAINER_INIT, .count = 2, .mib = 3000}, {.count = 1, .mib = 1000}},
     2,
     true,
     1000,
     0},
    {{{.kind = CONTAINER_INIT, .count = 1, .mib = 700},
      {.kind = CONTAINER_SIDECAR, .count = 1, .mib = 500},
      {.kind = CONTAINER_INIT, .count = 1, .mib = 600},
      {.count = 1, .mib = 400}},
     4,
     false,
     1100,
     0}, /* the second init beside the sidecar */
    {{{.count = 0}}, 1, false, 0, 0},
};

static struct request request_of_case(const struct pod_case *pod)
{
    struct request request;

    request_init(&request);
    for (size_t i = 0; i < pod->count; i++)
        request_wish(&request, pod->wishes[i]);
    return request;
}

/* Each container on devices of its own. */
static void record_of_case(const struct pod_case *pod, const struct request *request,
                           struct allocation *out)
{
    unsigned device = 0;

    allocation_init(out);
    for (size_t i = 0; i < pod->count; i++) {
        allocation_add_container(out, request->containers[i].name, pod->wishes[i].kind);
        for (unsigned k = 0; k < pod->wishes[i].count; k++) {
            const struct ask ask = {.memory_kind = pod->wishes[i].mib > 0       ? MEMORY_MIB
                                                   : pod->wishes[i].percent > 0 ? MEMORY_PERCENT
                                                                                : MEMORY_WHOLE,
                                    .memory = pod->wishes[i].mib + pod->wishes[i].percent,
                                    .cores = pod->wishes[i].cores};
            AUTO_FREE char *id = xasprintf("GPU-%u", device++);

            record_line(out, id, ask_memory_mib(request, &ask, 10000),
                        ask_cores(request, &ask, 100), ISOLATION_SOFT);
        }
    }
}

static void assert_charged(const struct pod_case *pod, const struct charge *charges, size_t count)
{
    if (pod->mib == 0) {
        assert_int_equal(count, 0);
        return;
    }
    assert_int_equal(count, 1);
    assert_ptr_equal(charges[0].class, &test_class);
    assert_int_equal(charges[0].amounts[QUOTA_MEMORY], pod->mib);
    assert_int_equal(charges[0].amounts[QUOTA_CORES], pod->cores);
}

static void test_charges_of_record__are_the_most_of_its_phases_over_all_devices(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(request_clear) struct request request = request_of_case(&cases[i]);
        AUTO(allocation_clear) struct allocation record;
        struct charge charges[CHARGES_MAX];

        record_of_case(&cases[i], &request, &record);
        assert_charged(&cases[i], charges,
                       charges_of_record(&request, &record, cases[i].init_done, charges));
    }
}

static struct device_size ten_thousand(const void *ctx, const struct device_class *class)
{
    (void)ctx, (void)class;
    return (struct device_size){.memory_mib = 10000, .cores = 100};
}

static void test_charges_of_request__are_those_of_the_record_it_gets(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(request_clear) struct request request = request_of_case(&cases[i]);
        struct charge charges[CHARGES_MAX];

        assert_charged(
            &cases[i], charges,
            charges_of_request(&request, cases[i].init_done, ten_thousand, NULL, charges));
    }
}

static void test_charges_of_record__what_no_container_asked_for_counts_as_the_last_ask(void **state)
{
    AUTO(request_clear) struct request request = request_of((struct wish){.count = 1, .mib = 5});
    AUTO(allocation_clear) struct allocation record;
    struct charge charges[CHARGES_MAX];

    (void)state;
    allocation_init(&record);
    allocation_add_container(&record, "c0", CONTAINER_APP);
    record_line(&record, "GPU-0", 5, 0, ISOLATION_SOFT);
    record_line(&record, "GPU-1", 7, 0, ISOLATION_SOFT);
    allocation_add_container(&record, "nobody knows it", CONTAINER_APP);
    record_line(&record, "GPU-1", 11, 0, ISOLATION_SOFT);
    assert_int_equal(charges_of_record(&request, &record, true, charges), 1);
    assert_int_equal(charges[0].amounts[QUOTA_MEMORY], 12);
}

static void test_charges_of_record__absurd_amounts_do_not_wrap_around(void **state)
{
    AUTO(request_clear) struct request request = request_of((struct wish){.count = 2, .mib = 5});
    AUTO(allocation_clear) struct allocation record;
    struct charge charges[CHARGES_MAX];

    (void)state;
    allocation_init(&record);
    allocation_add_container(&record, "c0", CONTAINER_APP);
    record_line(&record, "GPU-0", UINT64_MAX, 0, ISOLATION_SOFT);
    record_line(&record, "GPU-1", 2, 0, ISOLATION_SOFT);
    charges_of_record(&request, &record, true, charges);
    assert_true(charges[0].amounts[QUOTA_MEMORY] == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_charges_of_record__are_the_most_of_its_phases_over_all_devices),
        cmocka_unit_test(test_charges_of_request__are_those_of_the_record_it_gets),
        cmocka_unit_test(
            test_charges_of_record__what_no_container_asked_for_counts_as_the_last_ask),
        cmocka_unit_test(test_charges_of_record__absurd_amounts_do_not_wrap_around),
    };

    return cmocka_run_group_tests_name("charge", tests, NULL, NULL);
}
