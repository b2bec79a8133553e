/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/buf.h"
#include "topofit/kube_json.h"

#include <stdlib.h>

static const char *body_of(const char *exchange)
{
    const char *status = strstr(exchange, "-> HTTP ");

    assert_non_null(status);
    return strchr(status, '\n') + 1;
}

/* One word per object: what a reader's user sees. */
static void note_object(void *ctx, struct kube_object *object)
{
    const struct kube_meta *meta = kube_object_meta(object);

    buf_addf(ctx, "%s@%s%s%s ", meta->name, meta->resource_version,
             object->kind == KUBE_POD && object->pod.node_name[0] != '\0' ? ">" : "",
             object->kind == KUBE_POD ? object->pod.node_name : "");
}

/* Feed in pieces of random sizes up to `piece`, from a fixed seed. */
static int feed(struct kube_list_reader *reader, const char *json, size_t piece, unsigned *seed,
                struct error *err)
{
    size_t length = strlen(json);

    for (size_t at = 0; at < length;) {
        size_t rest = length - at;
        size_t step = 1 + (size_t)rand_r(seed) % piece;

        if (step > rest)
            step = rest;
        if (kube_list_reader_feed(reader, json + at, step, err) < 0)
            return -(int)err->code;
        at += step;
    }
    return 0;
}

static void assert_list(enum kube_kind kind, const char *json, const char *want_objects,
                        const char *want_version, const char *want_token)
{
    unsigned seed = 1;

    for (size_t piece = 1; piece < 5000; piece = piece * 3 + 1) {
        AUTO(buf_clear) struct buf objects = buf_with_max(10000);
        AUTO(kube_list_meta_clear) struct kube_list_meta meta = {0};
        struct kube_list_reader *reader = kube_list_reader_new(kind, note_object, &objects);
        struct error err = {0};

        assert_ok(feed(reader, json, piece, &seed, &err), &err);
        assert_ok(kube_list_reader_finish(reader, &meta, &err), &err);
        kube_list_reader_free(reader);
        assert_string_equal(buf_text(&objects), want_objects);
        assert_string_equal(meta.resource_version, want_version);
        assert_string_equal(meta.continue_token, want_token);
    }
}

static struct error list_error(enum kube_kind kind, const char *json)
{
    AUTO(buf_clear) struct buf objects = buf_with_max(10000);
    AUTO(kube_list_meta_clear) struct kube_list_meta meta = {0};
    struct kube_list_reader *reader = kube_list_reader_new(kind, note_object, &objects);
    struct error err = {0};

    if (kube_list_reader_feed(reader, json, strlen(json), &err) == 0)
        assert_true(kube_list_reader_finish(reader, &meta, &err) < 0);
    assert_null(meta.resource_version);
    kube_list_reader_free(reader);
    return err;
}

static void test_kube_list_reader__reads_the_pages_of_a_real_server(void **state)
{
    static const struct {
        const char *file, *objects, *version, *token;
    } cases[] = {
        {TEST_DATA "/captured/api/list-page1.txt", "p1@215>n0 ", "216",
         "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MjE2LCJzdGFydCI6Ii9wMVx1MDAwMCJ9"},
        {TEST_DATA "/captured/api/list-page2.txt", "p2@216 ", "216", ""},
        {TEST_DATA "/captured/api/list-rv0.txt", "p1@215>n0 p2@216 ", "216", ""},
        {TEST_DATA "/captured/api/list-selector-bound.txt", "p1@215>n0 ", "216", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *exchange = test_read_file(cases[i].file, NULL);

        assert_list(KUBE_POD, body_of(exchange), cases[i].objects, cases[i].version,
                    cases[i].token);
    }
}

static void test_kube_list_reader__reads_nodes_with_the_kind_behind_the_items(void **state)
{
    (void)state;
    assert_list(KUBE_NODE,
                "{\"items\":[{\"metadata\":{\"name\":\"n1\",\"resourceVersion\":\"3\"}},"
                "{\"kind\":\"Node\",\"metadata\":{\"resourceVersion\":\"4\",\"name\":\"n2\"}}],"
                "\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"9\"}}",
                "n1@3 n2@4 ", "9", "");
}

static void test_kube_list_reader__takes_an_empty_list(void **state)
{
    (void)state;
    assert_list(KUBE_POD, "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[]}", "", "9", "");
    assert_list(KUBE_POD, "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":null}", "", "9", "");
}

/* An empty answer that passes for an empty cluster would free every device. */
static void test_kube_list_reader__refuses_what_is_no_complete_list(void **state)
{
    static const struct {
        const char *json;
        const char *part;
    } cases[] = {
        {"{}", "without items"},
        {"{\"metadata\":{\"resourceVersion\":\"9\"}}", "without items"},
        {"{\"items\":[]}", "without a resourceVersion"},
        {"{\"kind\":\"Status\",\"metadata\":{},\"status\":\"Failure\"}", "not a \"Status\""},
        {"{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[]}",
         "not a \"NodeList\""},
        {"{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[{}]}", "without a name"},
        {"{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[{\"kind\":\"Node\",\"metadata\":{"
         "\"name\":\"n\"}}]}",
         "not a \"Node\""},
        {"{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":{}}", "a list was expected"},
        {"{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":7}", "a list was expected"},
        {"{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[", "byte "},
        {"", "byte 0"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = list_error(KUBE_POD, cases[i].json);

        assert_int_equal(err.code, ERR_INVALID);
        assert_contains(err.text, cases[i].part);
    }
}

static void test_kube_list_reader__frees_an_item_that_stays_open(void **state)
{
    AUTO(buf_clear) struct buf objects = buf_with_max(100);
    struct kube_list_reader *reader = kube_list_reader_new(KUBE_POD, note_object, &objects);
    static const char json[] =
        "{\"items\":[{\"status\":{\"containerStatuses\":[{\"name\":\"c\"}]},"
        "\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"labels\":{\"a\":\"b\"";
    struct error err = {0};

    (void)state;
    assert_ok(kube_list_reader_feed(reader, json, strlen(json), &err), &err);
    kube_list_reader_free(reader);
    assert_string_equal(buf_text(&objects), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kube_list_reader__reads_the_pages_of_a_real_server),
        cmocka_unit_test(test_kube_list_reader__reads_nodes_with_the_kind_behind_the_items),
        cmocka_unit_test(test_kube_list_reader__takes_an_empty_list),
        cmocka_unit_test(test_kube_list_reader__refuses_what_is_no_complete_list),
        cmocka_unit_test(test_kube_list_reader__frees_an_item_that_stays_open),
    };

    return cmocka_run_group_tests_name("kube_list_json", tests, NULL, NULL);
}
