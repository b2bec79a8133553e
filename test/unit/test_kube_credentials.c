/* SPDX-License-Identifier: Apache-2.0 */
#include "support/pki.h"
#include "support/scratch.h"
#include "support/test.h"

#include "topofit/kube_credentials.h"

#include <stdlib.h>
#include <unistd.h>

/* Credentials in files, and what was told of them. */
struct stage {
    char *folder;
    struct pki_pair authority, client;
    struct kube_config config;
    struct kube_credentials *credentials;
    unsigned warnings, notes;
    char last[ERROR_TEXT_MAX + 100];
};

static void on_log(void *ctx, enum log_level level, const char *text)
{
    struct stage *stage = ctx;

    if (level == LOG_LEVEL_WARN)
        stage->warnings++;
    else
        stage->notes++;
    snprintf(stage->last, sizeof stage->last, "%s", text);
}

static int set_up(void **state)
{
    struct stage *stage = xcalloc(1, sizeof *stage);

    stage->folder = scratch_make();
    stage->authority = pki_authority("a");
    stage->client = pki_issue(&stage->authority, "c");
    stage->config.server = xstrdup("https://api");
    *state = stage;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *stage = *state;

    kube_credentials_free(stage->credentials);
    kube_config_clear(&stage->config);
    pki_pair_clear(&stage->authority);
    pki_pair_clear(&stage->client);
    scratch_remove(stage->folder);
    free(stage);
    return 0;
}

static void begin(struct stage *stage)
{
    stage->credentials = kube_credentials_new(&stage->config);
    kube_credentials_set_log(stage->credentials, on_log, stage);
}

static void look(struct stage *stage, uint64_t now_ms)
{
    struct error err = {0};

    if (kube_credentials_look(stage->credentials, now_ms, 0, &err) != CREDENTIAL_READY)
        fail_msg("not ready: %s", err.text);
}

static void use_token_file(struct stage *stage, const char *text)
{
    stage->config.token_file = scratch_path(stage->folder, "token");
    scratch_put(stage->folder, "token", text);
    begin(stage);
}

static void put_pair(struct stage *stage, const struct pki_pair *pair)
{
    scratch_put(stage->folder, "c.crt", pair->certificate);
    scratch_put(stage->folder, "c.key", pair->key);
}

static void use_pair_files(struct stage *stage)
{
    stage->config.client_certificate.file = scratch_path(stage->folder, "c.crt");
    stage->config.client_key.file = scratch_path(stage->folder, "c.key");
    stage->config.client_certificate.text = xstrdup(stage->client.certificate);
    stage->config.client_key.text = xstrdup(stage->client.key);
    put_pair(stage, &stage->client);
    begin(stage);
    look(stage, 0);
}

static void use_ca_file(struct stage *stage)
{
    stage->config.ca.file = scratch_path(stage->folder, "ca.crt");
    stage->config.ca.text = xstrdup(stage->authority.certificate);
    scratch_put(stage->folder, "ca.crt", stage->authority.certificate);
    begin(stage);
    look(stage, 0);
}

static void assert_authorization(const struct stage *stage, const char *want)
{
    AUTO_FREE char *value = kube_credentials_authorization(stage->credentials);

    assert_string_equal(value, want);
}

/* --- the token ------------------------------------------------------------------------------- */

static void test_look__reads_the_token_file_each_minute(void **state)
{
    struct stage *stage = *state;

    use_token_file(stage, "one");
    look(stage, 1000);
    scratch_put(stage->folder, "token", "two");
    look(stage, 60999);
    assert_authorization(stage, "Bearer one");
    look(stage, 61000);
    assert_authorization(stage, "Bearer two");
}

static void test_look__reads_the_token_file_at_once_after_a_401(void **state)
{
    struct stage *stage = *state;

    use_token_file(stage, "one");
    look(stage, 0);
    scratch_put(stage->folder, "token", "two");
    kube_credentials_on_answer(stage->credentials, 0, 403, 1);
    look(stage, 1);
    assert_authorization(stage, "Bearer one");
    kube_credentials_on_answer(stage->credentials, 0, 401, 1);
    look(stage, 1);
    assert_authorization(stage, "Bearer two");
}

static void test_look__keeps_the_token_while_its_file_is_missing(void **state)
{
    struct stage *stage = *state;

    use_token_file(stage, "one");
    look(stage, 0);
    unlink(stage->config.token_file);
    look(stage, 60000);
    look(stage, 120000);
    assert_authorization(stage, "Bearer one");
    assert_int_equal(stage->warnings, 1);
    assert_contains(stage->last, "token: token: ");
    assert_contains(stage->last, "stays in use");
}

static void test_look__is_missing_without_any_token(void **state)
{
    struct stage *stage = *state;
    struct error err = {0};

    use_token_file(stage, " \n");
    assert_int_equal(kube_credentials_look(stage->credentials, 0, 0, &err), CREDENTIAL_MISSING);
    assert_contains(err.text, "is empty");
    scratch_put(stage->folder, "token", "one");
    look(stage, 1);
    assert_authorization(stage, "Bearer one");
}

static void test_authorization__is_basic_with_a_user_name(void **state)
{
    struct stage *stage = *state;

    stage->config.user_name = xstrdup("Aladdin");
    stage->config.password = xstrdup("open sesame");
    begin(stage);
    look(stage, 0);
    assert_authorization(stage, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
}

static void test_authorization__is_absent_without_credentials(void **state)
{
    struct stage *stage = *state;

    begin(stage);
    look(stage, 0);
    assert_null(kube_credentials_authorization(stage->credentials));
    assert_null(kube_credentials_certificate(stage->credentials));
    assert_null(kube_credentials_ca(stage->credentials));
}

/* --- certificates ---------------------------------------------------------------------------- */

static void test_look__takes_a_new_pair_within_half_a_minute(void **state)
{
    struct stage *stage = *state;
    AUTO(pki_pair_clear) struct pki_pair fresh = pki_issue(&stage->authority, "d");

    use_pair_files(stage);
    put_pair(stage, &fresh);
    look(stage, 29999);
    assert_string_equal(kube_credentials_certificate(stage->credentials),
                        stage->client.certificate);
    look(stage, 30000);
    assert_string_equal(kube_credentials_certificate(stage->credentials), fresh.certificate);
    assert_string_equal(kube_credentials_key(stage->credentials), fresh.key);
    assert_string_equal(stage->last, "client-certificate: read again");
    look(stage, 90000);
    assert_int_equal(stage->notes, 1);
}

static void test_look__takes_new_files_at_once_after_a_failure_or_a_401(void **state)
{
    struct stage *stage = *state;
    AUTO(pki_pair_clear) struct pki_pair fresh = pki_issue(&stage->authority, "d");

    use_pair_files(stage);
    put_pair(stage, &fresh);
    kube_credentials_on_failure(stage->credentials);
    look(stage, 1);
    assert_string_equal(kube_credentials_certificate(stage->credentials), fresh.certificate);
    put_pair(stage, &stage->client);
    kube_credentials_on_answer(stage->credentials, 0, 401, 1);
    look(stage, 2);
    assert_string_equal(kube_credentials_certificate(stage->credentials),
                        stage->client.certificate);
}

static void test_look__keeps_a_good_pair_over_a_broken_one_and_tells_it_once(void **state)
{
    struct stage *stage = *state;
    AUTO(pki_pair_clear) struct pki_pair fresh = pki_issue(&stage->authority, "d");

    use_pair_files(stage);
    scratch_put(stage->folder, "c.crt", fresh.certificate);
    look(stage, 30000);
    look(stage, 60000);
    assert_string_equal(kube_credentials_certificate(stage->credentials),
                        stage->client.certificate);
    assert_string_equal(kube_credentials_key(stage->credentials), stage->client.key);
    assert_int_equal(stage->warnings, 1);
    assert_contains(stage->last, "client-certificate: ");
    assert_contains(stage->last, "c.crt, ");
    assert_contains(stage->last, "do not belong together; what there was stays in use");
    scratch_put(stage->folder, "c.key", fresh.key);
    look(stage, 90000);
    assert_string_equal(kube_credentials_certificate(stage->credentials), fresh.certificate);
}

static void test_look__keeps_a_good_pair_while_a_file_is_missing(void **state)
{
    struct stage *stage = *state;

    use_pair_files(stage);
    unlink(stage->config.client_key.file);
    look(stage, 30000);
    look(stage, 60000);
    assert_string_equal(kube_credentials_key(stage->credentials), stage->client.key);
    assert_int_equal(stage->warnings, 1);
    assert_contains(stage->last, "No such file");
    /* The very file that was there: moved away and back. */
    scratch_put(stage->folder, "c.key", stage->client.key);
    look(stage, 90000);
    unlink(stage->config.client_key.file);
    look(stage, 120000);
    assert_int_equal(stage->warnings, 2);
}

static void test_look__follows_a_link_to_another_folder(void **state)
{
    struct stage *stage = *state;
    AUTO(pki_pair_clear) struct pki_pair fresh = pki_authority("b");
    AUTO_FREE char *link = scratch_path(stage->folder, "ca.crt");
    AUTO_FREE char *next = scratch_path(stage->folder, "next");

    scratch_put(stage->folder, "1", stage->authority.certificate);
    scratch_put(stage->folder, "2", fresh.certificate);
    assert_int_equal(symlink("1", link), 0);
    stage->config.ca.file = xstrdup(link);
    stage->config.ca.text = xstrdup(stage->authority.certificate);
    begin(stage);
    look(stage, 0);
    assert_int_equal(symlink("2", next), 0);
    assert_int_equal(rename(next, link), 0);
    look(stage, 30000);
    assert_string_equal(kube_credentials_ca(stage->credentials), fresh.certificate);
    assert_string_equal(stage->last, "certificate-authority: read again");
}

static void test_look__keeps_a_good_authority_over_a_broken_one(void **state)
{
    static const char *const broken[] = {
        "", "hello", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"};
    struct stage *stage = *state;

    use_ca_file(stage);
    for (unsigned i = 0; i < ARRAY_LEN(broken); i++) {
        scratch_put(stage->folder, "ca.crt", broken[i]);
        look(stage, 30000 * (i + 1));
        assert_string_equal(kube_credentials_ca(stage->credentials), stage->authority.certificate);
        assert_contains(stage->last, "ca.crt: ");
    }
    assert_in_range(stage->warnings, 1, ARRAY_LEN(broken));
}

static void test_look__leaves_inline_certificates_alone(void **state)
{
    struct stage *stage = *state;

    stage->config.ca.text = xstrdup("anything");
    stage->config.client_certificate.text = xstrdup("anything");
    stage->config.client_key.text = xstrdup("anything");
    begin(stage);
    look(stage, 0);
    look(stage, 30000);
    assert_string_equal(kube_credentials_ca(stage->credentials), "anything");
    assert_int_equal(stage->warnings, 0);
}

static void test_look__finds_files_that_changed_before_the_first_one(void **state)
{
    struct stage *stage = *state;
    AUTO(pki_pair_clear) struct pki_pair fresh = pki_issue(&stage->authority, "d");

    stage->config.client_certificate.file = scratch_path(stage->folder, "c.crt");
    stage->config.client_key.file = scratch_path(stage->folder, "c.key");
    stage->config.client_certificate.text = xstrdup(stage->client.certificate);
    stage->config.client_key.text = xstrdup(stage->client.key);
    put_pair(stage, &fresh);
    begin(stage);
    look(stage, 0);
    assert_string_equal(kube_credentials_certificate(stage->credentials), fresh.certificate);
}

int main(void)
{
#define ON_STAGE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_STAGE(test_look__reads_the_token_file_each_minute),
        ON_STAGE(test_look__reads_the_token_file_at_once_after_a_401),
        ON_STAGE(test_look__keeps_the_token_while_its_file_is_missing),
        ON_STAGE(test_look__is_missing_without_any_token),
        ON_STAGE(test_authorization__is_basic_with_a_user_name),
        ON_STAGE(test_authorization__is_absent_without_credentials),
        ON_STAGE(test_look__takes_a_new_pair_within_half_a_minute),
        ON_STAGE(test_look__takes_new_files_at_once_after_a_failure_or_a_401),
        ON_STAGE(test_look__keeps_a_good_pair_over_a_broken_one_and_tells_it_once),
        ON_STAGE(test_look__keeps_a_good_pair_while_a_file_is_missing),
        ON_STAGE(test_look__follows_a_link_to_another_folder),
        ON_STAGE(test_look__keeps_a_good_authority_over_a_broken_one),
        ON_STAGE(test_look__leaves_inline_certificates_alone),
        ON_STAGE(test_look__finds_files_that_changed_before_the_first_one),
    };

    return cmocka_run_group_tests_name("kube_credentials", tests, NULL, NULL);
}
