/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/exec_credential_json.h"

#define V1 "client.authentication.k8s.io/v1"
#define ANSWER(status) \
    "{\"apiVersion\": \"" V1 "\", \"kind\": \"ExecCredential\", \"spec\": {\"interactive\": " \
    "false}, \"status\": {" status "}}\n"
#define CERTIFICATE "-----BEGIN CERTIFICATE-----\\nAA==\\n-----END CERTIFICATE-----\\n"
#define KEY "-----BEGIN EC PRIVATE KEY-----\\nAA==\\n-----END EC PRIVATE KEY-----\\n"

static int read_text(const char *text, struct exec_answer *out, struct error *err)
{
    return exec_credential_json_read(text, strlen(text), V1, out, err);
}

static void test_read__takes_a_token(void **state)
{
    AUTO(exec_answer_clear) struct exec_answer answer = {0};
    struct error err = {0};

    (void)state;
    assert_ok(read_text(ANSWER("\"token\": \"abc.def\", \"clientKeyData\": \"\""), &answer, &err),
              &err);
    assert_string_equal(answer.token, "abc.def");
    assert_null(answer.certificate);
    assert_null(answer.key);
    assert_true(answer.expires_unix_s == INT64_MAX);
}

static void test_read__takes_a_certificate_and_its_key(void **state)
{
    AUTO(exec_answer_clear) struct exec_answer answer = {0};
    struct error err = {0};

    (void)state;
    assert_ok(read_text(ANSWER("\"clientCertificateData\": \"" CERTIFICATE
                               "\", \"clientKeyData\": \"" KEY "\", \"token\": null"),
                        &answer, &err),
              &err);
    assert_null(answer.token);
    assert_contains(answer.certificate, "CERTIFICATE-----\nAA==\n");
    assert_contains(answer.key, "EC PRIVATE KEY-----\nAA==\n");
}

static void test_read__understands_times_of_rfc_3339(void **state)
{
    static const struct {
        const char *text;
        int64_t want_unix_s;
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2026-11-30T10:00:00Z", 1796032800},
        {"2026-11-30t10:00:00.999999999z", 1796032800},
        {"2026-11-30T11:30:00+01:30", 1796032800},
        {"2026-11-30T02:00:00.5-08:00", 1796032800},
        {"2024-02-29T23:59:60Z", 1709251200},
        {"0001-01-01T00:00:00Z", -62135596800},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(exec_answer_clear) struct exec_answer answer = {0};
        AUTO_FREE char *text =
            xasprintf(ANSWER("\"token\": \"a\", \"expirationTimestamp\": \"%s\""), cases[i].text);
        struct error err = {0};

        assert_ok(read_text(text, &answer, &err), &err);
        if (answer.expires_unix_s != cases[i].want_unix_s)
            fail_msg("%s: %lld", cases[i].text, (long long)answer.expires_unix_s);
    }
}

static void test_read__refuses_what_is_no_time(void **state)
{
    static const char *const cases[] = {
        "soon",
        "2026-11-30",
        "2026-11-30 10:00:00Z",
        "2026-11-30T10:00:00",
        "2026-11-30T10:00Z",
        "2026-13-30T10:00:00Z",
        "2026-11-30T24:00:00Z",
        "2026-11-30T10:00:00.Z",
        "2026-11-30T10:00:00Zx",
        "2026-11-30T10:00:00+1:00",
        "2026-11-30T10:00:00+24:00",
        "2026-11-30T10:00:00+01:00 ",
        "+026-11-30T10:00:00Z",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *text =
            xasprintf(ANSWER("\"token\": \"a\", \"expirationTimestamp\": \"%s\""), cases[i]);
        struct exec_answer answer = {0};
        struct error err = {0};

        assert_int_equal(read_text(text, &answer, &err), -ERR_INVALID);
        assert_contains(err.text, "is not a time");
        assert_null(answer.token);
    }
}

static void test_read__says_why_an_answer_is_no_credential(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", "no credential: "},
        {"token", "no credential: "},
        {"{}", "its kind is \"\""},
        {"{\"kind\": \"Status\"}", "its kind is \"Status\""},
        {"{\"kind\": \"ExecCredential\"}", "its apiVersion is \"\", not " V1},
        {"{\"kind\": \"ExecCredential\", \"apiVersion\": \"client.authentication.k8s.io/v1beta1\"}",
         "v1beta1\", not " V1},
        {"{\"kind\": \"ExecCredential\", \"apiVersion\": \"" V1 "\"}", "no status"},
        {ANSWER(""), "neither a token nor a certificate"},
        {ANSWER("\"token\": \"\""), "neither a token nor a certificate"},
        {ANSWER("\"token\": 5"), "a string was expected"},
        {ANSWER("\"token\": \"a\\r\\nX: y\""), "odd characters"},
        {ANSWER("\"token\": \"a b\""), "odd characters"},
        {ANSWER("\"token\": \"a\\u0000b\""), "NUL"},
        {ANSWER("\"clientKeyData\": \"" KEY "\""), "no clientCertificateData"},
        {ANSWER("\"clientCertificateData\": \"" CERTIFICATE "\""), "no clientKeyData"},
        {ANSWER("\"clientCertificateData\": \"QUJD\", \"clientKeyData\": \"" KEY "\""),
         "not a PEM text"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct exec_answer answer = {0};
        struct error err = {0};

        assert_int_equal(read_text(cases[i].text, &answer, &err), -ERR_INVALID);
        assert_contains(err.text, cases[i].want);
        assert_null(answer.token);
    }
}

static void test_write_info__says_that_nobody_can_be_asked(void **state)
{
    AUTO(buf_clear) struct buf text = buf_with_max(4096);

    (void)state;
    exec_credential_json_write_info(V1, NULL, &text);
    assert_string_equal(buf_text(&text), "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
                                         "\",\"spec\":{\"interactive\":false}}");
}

static void test_write_info__describes_the_cluster(void **state)
{
    static const struct exec_cluster cluster = {
        .server = "https://h",
        .tls_server_name = "n\"",
        .proxy_url = "http://p",
        .insecure = true,
        .ca = "foob",
        .config = "{\"a\":1}",
    };
    AUTO(buf_clear) struct buf text = buf_with_max(4096);

    (void)state;
    exec_credential_json_write_info(V1, &cluster, &text);
    assert_contains(buf_text(&text),
                    "{\"interactive\":false,\"cluster\":{\"server\":\"https://h\","
                    "\"tls-server-name\":\"n\\\"\",\"certificate-authority-data\":\"Zm9vYg==\","
                    "\"proxy-url\":\"http://p\",\"insecure-skip-tls-verify\":true,"
                    "\"config\":{\"a\":1}}}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read__takes_a_token),
        cmocka_unit_test(test_read__takes_a_certificate_and_its_key),
        cmocka_unit_test(test_read__understands_times_of_rfc_3339),
        cmocka_unit_test(test_read__refuses_what_is_no_time),
        cmocka_unit_test(test_read__says_why_an_answer_is_no_credential),
        cmocka_unit_test(test_write_info__says_that_nobody_can_be_asked),
        cmocka_unit_test(test_write_info__describes_the_cluster),
    };

    return cmocka_run_group_tests_name("exec_credential_json", tests, NULL, NULL);
}
