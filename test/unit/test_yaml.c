/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/yaml.h"

static struct yaml_value *read_yaml(const char *text)
{
    struct yaml_value *value = NULL;
    struct error err = {0};

    assert_ok(yaml_read(text, strlen(text), &value, &err), &err);
    return value;
}

static struct error yaml_error(const char *text, size_t length)
{
    struct yaml_value *value = NULL;
    struct error err = {0};

    assert_true(yaml_read(text, length, &value, &err) < 0);
    assert_null(value);
    return err;
}

static void test_yaml_read__builds_the_documents_as_a_list(void **state)
{
    AUTO(yaml_free_pointer)
    struct yaml_value *all = read_yaml("# first\na: 1\n---\n- x\n- y\n---\n...\n");

    (void)state;
    assert_int_equal(all->type, YAML_LIST);
    assert_int_equal(all->count, 3);
    assert_int_equal(all->members[0].value->type, YAML_MAP);
    assert_int_equal(all->members[1].value->type, YAML_LIST);
    assert_int_equal(all->members[1].value->count, 2);
    assert_int_equal(all->members[2].value->type, YAML_SCALAR);
    assert_string_equal(all->members[2].value->text, "");
    assert_null(all->members[0].key);
}

static void test_yaml_read__finds_no_document_in_an_empty_text(void **state)
{
    static const char *const cases[] = {"", "\n", "# only words\n"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(yaml_free_pointer) struct yaml_value *all = read_yaml(cases[i]);

        assert_int_equal(all->count, 0);
    }
}

static void test_yaml_read__knows_where_keys_and_values_stand(void **state)
{
    AUTO(yaml_free_pointer)
    struct yaml_value *all = read_yaml("a:\n  b: one\n  \"c d\": [x,  'y']\n");
    const struct yaml_value *a = yaml_get(all->members[0].value, "a");
    const struct yaml_value *list = yaml_get(a, "c d");

    (void)state;
    assert_int_equal(a->line, 2);
    assert_int_equal(a->column, 3);
    assert_int_equal(a->members[1].line, 3);
    assert_int_equal(a->members[1].column, 3);
    assert_string_equal(a->members[1].key, "c d");
    assert_int_equal(list->members[1].value->line, 3);
    assert_int_equal(list->members[1].value->column, 15);
    assert_true(list->members[1].value->quoted);
    assert_false(list->members[0].value->quoted);
}

static void test_yaml_read__takes_blocks_for_quoted(void **state)
{
    AUTO(yaml_free_pointer) struct yaml_value *all = read_yaml("a: |\n  12\nb: >-\n  x\n  y\n");
    const struct yaml_value *map = all->members[0].value;

    (void)state;
    assert_true(yaml_get(map, "a")->quoted);
    assert_string_equal(yaml_get(map, "a")->text, "12\n");
    assert_string_equal(yaml_get(map, "b")->text, "x y");
}

static void test_yaml_read__refuses_with_line_and_column(void **state)
{
    static const struct {
        const char *text;
        const char *part;
    } cases[] = {
        {"a: 1\n\tb: 2\n", "line 2, column 1: "},
        {"a: [1, 2\nb: 3\n", "line 2, column "},
        {"a: 'x\n", "line 2, column 1: found unexpected end of stream"},
        {"a: &x 1\n", "line 1, column 4: anchors"},
        {"a: *x\n", "line 1, column 4: anchors"},
        {"a: &x {b: 1}\n", "anchors"},
        {"a: &x [b]\n", "-o json"},
        {"a: !!str 1\n", "line 1, column 4: tags"},
        {"a: !x [1]\n", "tags"},
        {"a: 1\nb: 2\na: 3\n", "line 3, column 1: \"a\" is there already"},
        {"x: {k: 1, l: 2, \"k\": 3}\n", "line 1, column 17: \"k\" is there already"},
        {"? [a]\n: b\n", "line 1, column 3: a key should be a plain word"},
        {"? {a: b}\n: c\n", "a key should be a plain word"},
        {"a: \"x\\0y\"\n", "line 1, column 4: a NUL"},
        {"\"x\\0y\": a\n", "a NUL"},
        {"a: \xff\n", "byte "},
        {"a: b: c\n", "line 1, column 5: "},
        {"- a\nb: c\n", "line 2, column 1: "},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = yaml_error(cases[i].text, strlen(cases[i].text));

        assert_int_equal(err.code, ERR_INVALID);
        assert_contains(err.text, cases[i].part);
    }
}

static void test_yaml_read__limits_the_depth(void **state)
{
    char text[2 * YAML_DEPTH_MAX];
    struct yaml_value *value = NULL;
    struct error err = {0};

    (void)state;
    memset(text, '[', YAML_DEPTH_MAX);
    memset(text + YAML_DEPTH_MAX, ']', YAML_DEPTH_MAX);
    assert_ok(yaml_read(text, sizeof text, &value, &err), &err);
    yaml_value_free(value);
    memset(text, '[', YAML_DEPTH_MAX + 1);
    err = yaml_error(text, sizeof text);
    assert_contains(err.text, "too many levels");
}

static void test_yaml_read__limits_the_number_of_values(void **state)
{
    size_t length = 2 * ((size_t)YAML_VALUES_MAX + 2);
    char *text = xmalloc(length);
    struct error err;

    (void)state;
    for (size_t i = 0; i < length; i += 2) {
        text[i] = i == 0 ? '[' : 'a';
        text[i + 1] = i == 0 ? '\n' : ',';
    }
    err = yaml_error(text, length);
    assert_int_equal(err.code, ERR_LIMIT);
    mem_free_pointer(&text);
}

static void test_yaml_get__finds_members_of_maps_only(void **state)
{
    AUTO(yaml_free_pointer) struct yaml_value *all = read_yaml("a: 1\n");
    const struct yaml_value *map = all->members[0].value;

    (void)state;
    assert_string_equal(yaml_get(map, "a")->text, "1");
    assert_null(yaml_get(map, "b"));
    assert_null(yaml_get(all, "a"));
    assert_null(yaml_get(yaml_get(map, "a"), "a"));
}

static void assert_json(const char *yaml, const char *want)
{
    AUTO(yaml_free_pointer) struct yaml_value *all = read_yaml(yaml);
    AUTO(buf_clear) struct buf out = buf_with_max(1 << 16);

    yaml_write_json(all, &out);
    assert_string_equal(buf_text(&out), want);
}

static void test_yaml_write_json__types_plain_scalars(void **state)
{
    static const struct {
        const char *yaml, *json;
    } cases[] = {
        {"8", "[8]"},
        {"-8", "[-8]"},
        {"+8", "[8]"},
        {"0", "[0]"},
        {"1.50", "[1.50]"},
        {".5", "[0.5]"},
        {"-.5e3", "[-0.5e3]"},
        {"5.", "[5]"},
        {"5.e1", "[5e1]"},
        {"1e+3", "[1e+3]"},
        {"123456789012345678901234567890", "[123456789012345678901234567890]"},
        {"true", "[true]"},
        {"False", "[false]"},
        {"~", "[null]"},
        {"null", "[null]"},
        {"a:", "[{\"a\":null}]"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_json(cases[i].yaml, cases[i].json);
}

static void test_yaml_write_json__keeps_everything_else_a_string(void **state)
{
    static const char *const cases[] = {
        "yes",  "no",   "on",    "off",   "tRUE",       "nULL",  "0x1F",
        "0o17", "010",  "00",    "1_000", "1e",         "e3",    ".",
        "+",    "--1",  "1.2.3", "12:30", ".inf",       ".nan",  "2026-11-30T04:05:34Z",
        "16Gi", "500m", "1e3x",  "GPU-0", "2026-11-30", "012.5",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *yaml = xasprintf("{a: %s}", cases[i]);
        AUTO_FREE char *want = xasprintf("[{\"a\":\"%s\"}]", cases[i]);

        assert_json(yaml, want);
    }
}

static void test_yaml_write_json__keeps_quoted_words_strings(void **state)
{
    (void)state;
    assert_json("a: \"8\"\nb: 'true'\nc: \"\"\nd: '~'\ne: |-\n  7\n8: x\n",
                "[{\"a\":\"8\",\"b\":\"true\",\"c\":\"\",\"d\":\"~\",\"e\":\"7\",\"8\":\"x\"}]");
}

static void test_yaml_write_json__writes_nested_values(void **state)
{
    (void)state;
    assert_json("a:\n- 1\n- {b: \"q\\\"\", c: []}\n- - 2\n---\n{}\n",
                "[{\"a\":[1,{\"b\":\"q\\\"\",\"c\":[]},[2]]},{}]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_yaml_read__builds_the_documents_as_a_list),
        cmocka_unit_test(test_yaml_read__finds_no_document_in_an_empty_text),
        cmocka_unit_test(test_yaml_read__knows_where_keys_and_values_stand),
        cmocka_unit_test(test_yaml_read__takes_blocks_for_quoted),
        cmocka_unit_test(test_yaml_read__refuses_with_line_and_column),
        cmocka_unit_test(test_yaml_read__limits_the_depth),
        cmocka_unit_test(test_yaml_read__limits_the_number_of_values),
        cmocka_unit_test(test_yaml_get__finds_members_of_maps_only),
        cmocka_unit_test(test_yaml_write_json__types_plain_scalars),
        cmocka_unit_test(test_yaml_write_json__keeps_everything_else_a_string),
        cmocka_unit_test(test_yaml_write_json__keeps_quoted_words_strings),
        cmocka_unit_test(test_yaml_write_json__writes_nested_values),
    };

    return cmocka_run_group_tests_name("yaml", tests, NULL, NULL);
}
