/* SPDX-License-Identifier: Apache-2.0 */
/* HAMi's device list; the module's header is private to src/dialect. */
#include "support/test.h"

#include "../../src/dialect/hami_list.h"

static void read_and_write(const char *text, const char *expected)
{
    AUTO(hami_list_clear) struct hami_list list = {0};
    AUTO(buf_clear) struct buf out = buf_with_max(4096);
    struct error err = {0};

    assert_ok(hami_list_read(text, &list, &err), &err);
    hami_list_write(&list, &out);
    assert_string_equal(buf_text(&out), expected);
}

static void test_hami_list_read__what_is_read_is_written_as_it_was(void **state)
{
    static const char *const lists[] = {
        "",
        ";",
        ";;",
        "GPU-0fc3eda5-e98b-a25b-5b0d-cf5c855d1448,NVIDIA,3000,0:;",
        "GPU-aaa,NVIDIA,3000,50:;GPU-bbb,NVIDIA,4000,60:;",
        ";device-0,MLU,256000,1:;",
        "00000000-03-00.0,XPU,24576,25:;",
        "GPU-a,NVIDIA,1000,0:GPU-b,NVIDIA,1000,0:;",
        "GPU-03f69c50-207a-2038-9b45-23cac89cb67a[0-1],NVIDIA,5120,14:;",
        "7-0,Vastai,2147483647,0:;;",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        read_and_write(lists[i], lists[i]);
}

static void test_hami_list_read__takes_each_field(void **state)
{
    AUTO(hami_list_clear) struct hami_list list = {0};
    struct error err = {0};
    const struct hami_line *line;

    (void)state;
    assert_ok(hami_list_read(";GPU-a[2-10],NVIDIA,3000,50:GPU-b,NVIDIA,4000,0:;", &list, &err),
              &err);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.slots[0].count, 0);
    assert_int_equal(list.slots[1].count, 2);
    assert_int_equal(hami_list_lines(&list), 2);
    line = &list.slots[1].lines[0];
    assert_string_equal(line->id, "GPU-a");
    assert_string_equal(line->type, "NVIDIA");
    assert_int_equal(line->memory_mib, 3000);
    assert_int_equal(line->cores, 50);
    assert_int_equal(line->template_index, 2);
    assert_int_equal(line->slot_index, 10);
    assert_int_equal(list.slots[1].lines[1].template_index, HAMI_NO_TEMPLATE);
}

static void test_hami_list_read__fields_behind_the_fourth_are_not_looked_at(void **state)
{
    (void)state;
    read_and_write("GPU-a,NVIDIA,3000,0,more,and more:;", "GPU-a,NVIDIA,3000,0:;");
}

static void test_hami_list_read__an_empty_device_is_none(void **state)
{
    (void)state;
    read_and_write("GPU-a,NVIDIA,3000,0::;:;", "GPU-a,NVIDIA,3000,0:;;");
}

static void test_hami_list_read__a_list_cut_anywhere_is_refused(void **state)
{
    static const char whole[] = "GPU-a,NVIDIA,3000,50:GPU-b,NVIDIA,4000,0:;";

    (void)state;
    for (size_t length = 1; length < strlen(whole); length++) {
        AUTO_FREE char *cut = xstrndup(whole, length);
        AUTO(hami_list_clear) struct hami_list list = {0};
        struct error err = {0};

        assert_int_equal(hami_list_read(cut, &list, &err), -ERR_INVALID);
        assert_null(list.slots);
    }
}

static void test_hami_list_read__a_wrong_field_is_refused_with_its_place(void **state)
{
    static const struct {
        const char *text, *place;
    } cases[] = {
        {"GPU-a,NVIDIA,3000:;", "container 0: device 0: id, type"},
        {";GPU-a,NVIDIA,3000,0:GPU-b:;", "container 1: device 1: id, type"},
        {",NVIDIA,3000,0:;", "the id"},
        {"GPU-a,,3000,0:;", "the type"},
        {"GPU-a,NVIDIA,,0:;", "whole numbers"},
        {"GPU-a,NVIDIA,-1,0:;", "whole numbers"},
        {"GPU-a,NVIDIA,3000,x:;", "whole numbers"},
        {"GPU-a,NVIDIA,3000,1.5:;", "whole numbers"},
        {"GPU-a,NVIDIA,2147483648,0:;", "whole numbers"},
        {"GPU-a,NVIDIA,99999999999999999999,0:;", "whole numbers"},
        {"GPU-a[,NVIDIA,3000,0:;", "the id"},
        {"GPU-a[1],NVIDIA,3000,0:;", "the id"},
        {"GPU-a[1-2]x,NVIDIA,3000,0:;", "the id"},
        {"[1-2],NVIDIA,3000,0:;", "the id"},
        {"GPU-a],NVIDIA,3000,0:;", "the id"},
        {"GPU-]a[1-2],NVIDIA,3000,0:;", "the id"},
        {"GPU a,NVIDIA,3000,0:;", "the id"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(hami_list_clear) struct hami_list list = {0};
        struct error err = {0};

        assert_int_equal(hami_list_read(cases[i].text, &list, &err), -ERR_INVALID);
        assert_contains(err.text, cases[i].place);
    }
}

static void test_hami_list_read__more_than_a_pod_can_have_is_refused(void **state)
{
    AUTO(buf_clear) struct buf slots = buf_with_max(4096), lines = buf_with_max(4096);
    AUTO(hami_list_clear) struct hami_list list = {0};
    struct error err = {0};

    (void)state;
    for (unsigned i = 0; i < 65; i++) {
        buf_add_byte(&slots, ';');
        buf_add_text(&lines, "a,b,1,1:");
    }
    buf_add_byte(&lines, ';');
    assert_int_equal(hami_list_read(buf_text(&slots), &list, &err), -ERR_LIMIT);
    error_clear(&err);
    assert_int_equal(hami_list_read(buf_text(&lines), &list, &err), -ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hami_list_read__what_is_read_is_written_as_it_was),
        cmocka_unit_test(test_hami_list_read__takes_each_field),
        cmocka_unit_test(test_hami_list_read__fields_behind_the_fourth_are_not_looked_at),
        cmocka_unit_test(test_hami_list_read__an_empty_device_is_none),
        cmocka_unit_test(test_hami_list_read__a_list_cut_anywhere_is_refused),
        cmocka_unit_test(test_hami_list_read__a_wrong_field_is_refused_with_its_place),
        cmocka_unit_test(test_hami_list_read__more_than_a_pod_can_have_is_refused),
    };

    return cmocka_run_group_tests_name("hami_list", tests, NULL, NULL);
}
