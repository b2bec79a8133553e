/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/kube_path.h"

static void test_paths__encode_everything_variable(void **state)
{
    AUTO(buf_clear) struct buf path = buf_with_max(4096);

    (void)state;
    kube_path_list(&path, KUBE_NODE, NULL, 0, NULL);
    assert_string_equal(buf_text(&path), "/api/v1/nodes?limit=0");
    kube_path_list(&path, KUBE_POD, "a!=b,c=d", 500, "x/+=\xc3\xa4");
    assert_string_equal(
        buf_text(&path),
        "/api/v1/pods?limit=500&fieldSelector=a%21%3Db%2Cc%3Dd&continue=x%2F%2B%3D%C3%A4");
    kube_path_watch(&path, KUBE_NODE, NULL, "1 2", 301);
    assert_string_equal(
        buf_text(&path),
        "/api/v1/nodes?watch=1&allowWatchBookmarks=true&timeoutSeconds=301&resourceVersion=1%202");
    kube_path_pod(&path, "n/s", "p?d");
    assert_string_equal(buf_text(&path), "/api/v1/namespaces/n%2Fs/pods/p%3Fd");
    kube_path_binding(&path, "ns", "pod.a-1", 2500);
    assert_string_equal(buf_text(&path),
                        "/api/v1/namespaces/ns/pods/pod.a-1/binding?timeout=2500ms");
    kube_path_lease(&path, "n/s", "topofit");
    assert_string_equal(buf_text(&path),
                        "/apis/coordination.k8s.io/v1/namespaces/n%2Fs/leases/topofit");
    kube_path_events(&path, "n/s", NULL);
    assert_string_equal(buf_text(&path), "/apis/events.k8s.io/v1/namespaces/n%2Fs/events");
    kube_path_events(&path, "ns", "a?b");
    assert_string_equal(buf_text(&path), "/apis/events.k8s.io/v1/namespaces/ns/events/a%3Fb");
    kube_path_node(&path, "n/0");
    assert_string_equal(buf_text(&path), "/api/v1/nodes/n%2F0");
}

static void test_is_name__takes_dns_names_only(void **state)
{
    static const struct {
        const char *text;
        bool want;
    } cases[] = {
        {"a", true},    {"0", true},    {"web-7f9c.x", true}, {"", false},
        {".", false},   {"..", false},  {".a", false},        {"A", false},
        {"a/b", false}, {"a b", false}, {"a%2f", false},      {"\xc3\xa4", false},
    };
    char longest[255];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(kube_path_is_name(cases[i].text), cases[i].want);
    memset(longest, 'a', sizeof longest);
    longest[254] = '\0';
    assert_false(kube_path_is_name(longest));
    longest[253] = '\0';
    assert_true(kube_path_is_name(longest));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths__encode_everything_variable),
        cmocka_unit_test(test_is_name__takes_dns_names_only),
    };

    return cmocka_run_group_tests_name("kube_path", tests, NULL, NULL);
}
