/* SPDX-License-Identifier: Apache-2.0 */
/* Which lanes are looked at, and when; the module's headers are private to src/control. */
#include "support/test.h"

#include "../../src/control/lane_index.h"
#include "../../src/control/lock_keeper_inside.h"

#include <stdlib.h>

#define LANES 200

static void test_lane_index_take__gives_the_touched_in_order_and_each_once(void **state)
{
    AUTO(lane_index_clear) struct lane_index index = {0};
    struct lane lanes[3] = {0};

    (void)state;
    assert_null(lane_index_take(&index, 1000));
    assert_int_equal(lane_index_due_ms(&index), UINT64_MAX);
    lane_index_touch(&index, &lanes[2]);
    lane_index_touch(&index, &lanes[0]);
    lane_index_touch(&index, &lanes[2]);
    assert_int_equal(lane_index_due_ms(&index), 0);
    assert_ptr_equal(lane_index_take(&index, 0), &lanes[2]);
    assert_ptr_equal(lane_index_take(&index, 0), &lanes[0]);
    assert_null(lane_index_take(&index, 0));
}

static void test_lane_index_take__gives_those_whose_time_has_come_the_earliest_first(void **state)
{
    AUTO(lane_index_clear) struct lane_index index = {0};
    struct lane *lanes = calloc(LANES, sizeof *lanes);
    uint64_t before_ms = 0;

    (void)state;
    for (unsigned i = 0; i < LANES; i++) {
        lane_index_wait(&index, &lanes[i], 5);
        lane_index_wait(&index, &lanes[i], 10 + i * 7919 % 1000);
    }
    for (unsigned i = 0; i < LANES; i += 3)
        lane_index_drop(&index, &lanes[i]);
    assert_null(lane_index_take(&index, 9));
    for (unsigned left = LANES - (LANES + 2) / 3; left > 0; left--) {
        uint64_t due_ms = lane_index_due_ms(&index);
        struct lane *lane = lane_index_take(&index, due_ms);

        assert_non_null(lane);
        assert_true((lane - lanes) % 3 != 0);
        assert_int_equal(lane->marks.due_ms, due_ms);
        assert_true(due_ms >= before_ms);
        before_ms = due_ms;
    }
    assert_null(lane_index_take(&index, UINT64_MAX - 1));
    free(lanes);
}

static void test_lane_index_take__of_one_that_waits_and_was_touched_nothing_is_left(void **state)
{
    AUTO(lane_index_clear) struct lane_index index = {0};
    struct lane lane = {0};

    (void)state;
    lane_index_wait(&index, &lane, 100);
    lane_index_touch(&index, &lane);
    assert_ptr_equal(lane_index_take(&index, 0), &lane);
    assert_null(lane_index_take(&index, 100));
    lane_index_wait(&index, &lane, 100);
    lane_index_touch(&index, &lane);
    lane_index_drop(&index, &lane);
    assert_int_equal(lane_index_due_ms(&index), UINT64_MAX);
}

static void test_lane_index_answered__finds_each_request_once(void **state)
{
    AUTO(lane_index_clear) struct lane_index index = {0};
    struct lane lanes[5] = {0};
    static const unsigned order[] = {3, 0, 4, 1, 2};

    (void)state;
    for (unsigned i = 0; i < ARRAY_LEN(lanes); i++) {
        lanes[i].id = 10 + 2 * i;
        lane_index_sent(&index, &lanes[i]);
    }
    assert_null(lane_index_answered(&index, 11));
    assert_null(lane_index_answered(&index, 9));
    assert_null(lane_index_answered(&index, 19));
    for (unsigned i = 0; i < ARRAY_LEN(order); i++) {
        assert_ptr_equal(lane_index_answered(&index, lanes[order[i]].id), &lanes[order[i]]);
        assert_null(lane_index_answered(&index, lanes[order[i]].id));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lane_index_take__gives_the_touched_in_order_and_each_once),
        cmocka_unit_test(test_lane_index_take__gives_those_whose_time_has_come_the_earliest_first),
        cmocka_unit_test(test_lane_index_take__of_one_that_waits_and_was_touched_nothing_is_left),
        cmocka_unit_test(test_lane_index_answered__finds_each_request_once),
    };

    return cmocka_run_group_tests_name("lane_index", tests, NULL, NULL);
}
