/* SPDX-License-Identifier: Apache-2.0 */
#include "support/patching.h"
#include "support/test.h"

#include "topofit/json_patch.h"

static json_t *tree(const char *text)
{
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);

    assert_non_null(json);
    return json;
}

/* From, to, and the patch that says so. Quotes are written as '. */
static const struct {
    const char *from, *to, *patch;
} cases[] = {
    {"{}", "{}", "[]"},
    {"{'a':1,'b':2}", "{'b':2,'a':1}", "[]"},
    {"{'a':1}", "{'a':2}", "[{'op':'replace','path':'/a','value':2}]"},
    {"{'a':1}", "{'a':'1'}", "[{'op':'replace','path':'/a','value':'1'}]"},
    {"{'a':1}", "{}", "[{'op':'remove','path':'/a'}]"},
    {"{}", "{'a':{'b':[1]}}", "[{'op':'add','path':'/a','value':{'b':[1]}}]"},
    {"{'a':null}", "{'a':{}}", "[{'op':'replace','path':'/a','value':{}}]"},
    /* RFC 6901: ~ and / inside names; the order of escaping matters for ~1. */
    {"{}", "{'nvidia.com/gpu':'1'}", "[{'op':'add','path':'/nvidia.com~1gpu','value':'1'}]"},
    {"{}", "{'a~b':1}", "[{'op':'add','path':'/a~0b','value':1}]"},
    {"{}", "{'~1':1}", "[{'op':'add','path':'/~01','value':1}]"},
    {"{'':{'':1}}", "{'':{'':2}}", "[{'op':'replace','path':'//','value':2}]"},
    {"[1,2,3]", "[2,3]", "[{'op':'remove','path':'/0'}]"},
    {"[1,2,3]", "[1,2]", "[{'op':'remove','path':'/2'}]"},
    {"[2,3]", "[1,2,3]", "[{'op':'add','path':'/0','value':1}]"},
    {"[1,4]", "[1,2,3,4]",
     "[{'op':'add','path':'/1','value':2},{'op':'add','path':'/2','value':3}]"},
    {"[1,2,3,4]", "[]",
     "[{'op':'remove','path':'/3'},{'op':'remove','path':'/2'},{'op':'remove','path':'/1'},"
     "{'op':'remove','path':'/0'}]"},
    {"[1,1]", "[1,1,1]", "[{'op':'add','path':'/2','value':1}]"},
    {"[{'n':1},{'n':2}]", "[{'n':1},{'n':3}]", "[{'op':'replace','path':'/1/n','value':3}]"},
    {"1", "{'a':1}", "[{'op':'replace','path':'','value':{'a':1}}]"},
};

static char *with_quotes(const char *text)
{
    char *copy = xstrdup(text);

    for (char *at = copy; *at != '\0'; at++) {
        if (*at == '\'')
            *at = '"';
    }
    return copy;
}

static void test_json_patch_between__says_what_was_done(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *from_text = with_quotes(cases[i].from);
        AUTO_FREE char *to_text = with_quotes(cases[i].to);
        AUTO_FREE char *patch_text = with_quotes(cases[i].patch);
        json_auto_t *from = tree(from_text), *to = tree(to_text), *wanted = tree(patch_text);
        json_auto_t *patch = json_patch_between(from, to);
        json_auto_t *patched = patching_apply(from, patch);

        if (!json_equal(patch, wanted)) {
            AUTO_FREE char *text = json_dumps(patch, JSON_COMPACT);

            fail_msg("%s -> %s gives %s", cases[i].from, cases[i].to, text);
        }
        assert_true(json_equal(patched, to));
    }
}

static void test_json_patch_between__leaves_both_trees_alone(void **state)
{
    json_auto_t *from = tree("{\"a\":[1,2],\"b\":{\"c\":1}}"), *to = tree("{\"a\":[2],\"d\":{}}");
    json_auto_t *from_before = json_deep_copy(from), *to_before = json_deep_copy(to);
    json_auto_t *patch = json_patch_between(from, to);

    (void)state;
    json_array_clear(patch);
    assert_true(json_equal(from, from_before));
    assert_true(json_equal(to, to_before));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_patch_between__says_what_was_done),
        cmocka_unit_test(test_json_patch_between__leaves_both_trees_alone),
    };

    return cmocka_run_group_tests_name("json_patch", tests, NULL, NULL);
}
