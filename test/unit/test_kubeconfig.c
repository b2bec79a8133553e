/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/kubeconfig.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PEM "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
/* PEM in base64 */
#define PEM64 "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBQUEKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="

/* A whole file around the members of one cluster and one user. */
#define FILE_OF(cluster, user) \
    "apiVersion: v1\nkind: Config\ncurrent-context: here\n" \
    "contexts:\n- name: there\n  context: {cluster: c2, user: u2}\n" \
    "- name: here\n  context: {cluster: c1, user: u1, namespace: x}\n" \
    "clusters:\n- name: c1\n  cluster: {" cluster "}\n" \
    "- name: c2\n  cluster: {server: 'https://other:1'}\n" \
    "users:\n- name: u2\n  user: {token: wrong}\n- name: u1\n  user: {" user "}\n"
#define SERVER "server: 'https://10.0.0.1:6443'"

static int parse(const char *text, struct kube_config *out, struct error *err)
{
    return kubeconfig_parse(text, strlen(text), "/etc/kube/config", out, err);
}

static void test_parse__takes_the_cluster_and_user_of_the_current_context(void **state)
{
    AUTO(kube_config_clear) struct kube_config config = {0};
    struct error err = {0};

    (void)state;
    assert_ok(parse(FILE_OF(SERVER, "token: abc"), &config, &err), &err);
    assert_string_equal(config.server, "https://10.0.0.1:6443");
    assert_string_equal(config.token, "abc");
    assert_string_equal(config.origin, "kubeconfig /etc/kube/config");
    assert_false(config.insecure);
    assert_null(config.ca.text);
    assert_null(config.ca.file);
    assert_null(config.tls_server_name);
}

static void test_parse__cuts_slashes_off_the_server_and_keeps_its_path(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {FILE_OF("server: 'https://h/'", ""), "https://h"},
        {FILE_OF("server: 'https://h/k8s/clusters/c-1//'", ""), "https://h/k8s/clusters/c-1"},
        {FILE_OF("server: 'https://[fd00::1]:6443'", ""), "https://[fd00::1]:6443"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(kube_config_clear) struct kube_config config = {0};
        struct error err = {0};

        assert_ok(parse(cases[i].text, &config, &err), &err);
        assert_string_equal(config.server, cases[i].want);
    }
}

static void test_parse__prefers_inline_data_and_decodes_it(void **state)
{
    AUTO(kube_config_clear) struct kube_config config = {0};
    struct error err = {0};

    (void)state;
    assert_ok(parse(FILE_OF(SERVER ", certificate-authority: ca.crt"
                                   ", certificate-authority-data: " PEM64
                                   ", tls-server-name: kube.example",
                            "client-certificate-data: " PEM64 ", client-key-data: " PEM64),
                    &config, &err),
              &err);
    assert_string_equal(config.ca.text, PEM);
    assert_null(config.ca.file);
    assert_string_equal(config.tls_server_name, "kube.example");
    assert_string_equal(config.client_certificate.text, PEM);
    assert_string_equal(config.client_key.text, PEM);
}

static void test_parse__finds_files_relative_to_the_kubeconfig(void **state)
{
    AUTO(kube_config_clear) struct kube_config config = {0};
    struct error err = {0};

    (void)state;
    assert_ok(parse(FILE_OF(SERVER ", certificate-authority: pki/ca.crt",
                            "client-certificate: /abs/c.crt, client-key: ../c.key, tokenFile: t"),
                    &config, &err),
              &err);
    assert_string_equal(config.ca.file, "/etc/kube/pki/ca.crt");
    assert_string_equal(config.client_certificate.file, "/abs/c.crt");
    assert_string_equal(config.client_key.file, "/etc/kube/../c.key");
    assert_string_equal(config.token_file, "/etc/kube/t");
}

static void test_parse__treats_null_and_empty_members_as_absent(void **state)
{
    AUTO(kube_config_clear) struct kube_config config = {0};
    struct error err = {0};

    (void)state;
    assert_ok(parse(FILE_OF(SERVER ", certificate-authority: '', proxy-url: ~",
                            "token: null, exec: , username: ''"),
                    &config, &err),
              &err);
    assert_null(config.token);
    assert_null(config.ca.file);
}

static void test_parse__drops_credentials_for_plain_http(void **state)
{
    AUTO(kube_config_clear) struct kube_config config = {0};
    struct error err = {0};

    (void)state;
    assert_ok(parse(FILE_OF("server: 'http://127.0.0.1:8001'", "token: abc"), &config, &err), &err);
    assert_null(config.token);
}

static void test_parse__needs_no_user(void **state)
{
    AUTO(kube_config_clear) struct kube_config config = {0};
    struct error err = {0};

    (void)state;
    assert_ok(parse("{current-context: a, contexts: [{name: a, context: {cluster: b}}], "
                    "clusters: [{name: b, cluster: {" SERVER "}}]}",
                    &config, &err),
              &err);
    assert_null(config.token);
}

static void test_parse__takes_json(void **state)
{
    AUTO(kube_config_clear) struct kube_config config = {0};
    struct error err = {0};

    (void)state;
    assert_ok(parse("{\"current-context\": \"a\",\n\"contexts\": [{\"name\": \"a\", \"context\": "
                    "{\"cluster\": \"b\"}}],\n\"clusters\": [{\"name\": \"b\", \"cluster\": "
                    "{\"server\": \"https://h\", \"insecure-skip-tls-verify\": true}}]}",
                    &config, &err),
              &err);
    assert_true(config.insecure);
}

static void test_parse__names_what_is_wrong(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", "not a map"},
        {"- a", "not a map"},
        {"a: [", "line"},
        {"kind: Config", "no current-context"},
        {"current-context: a", "no \"a\" in contexts"},
        {"{current-context: a, contexts: [{name: a}]}", "no map of name context"},
        {"{current-context: a, contexts: [{name: a, context: {user: u}}]}", "names no cluster"},
        {"{current-context: a, contexts: [{name: a, context: {cluster: b}}]}",
         "no \"b\" in clusters"},
        {FILE_OF("x: y", ""), "has no server"},
        {FILE_OF("server: 10.0.0.1", ""), "neither https:// nor http://"},
        {FILE_OF("server: 'https://u:p@h'", ""), "not a plain address"},
        {FILE_OF("server: {a: b}", ""), "not a text: server"},
        {FILE_OF("server: 'https:///'", ""), "not a plain address"},
        {FILE_OF("server: 'https://'", ""), "not a plain address"},
        {FILE_OF("server: 'https://:443'", ""), "not a plain address"},
        {FILE_OF("server: 'https://h:'", ""), "not a plain address"},
        {FILE_OF("server: 'https://h:65536'", ""), "not a plain address"},
        {FILE_OF("server: 'https://h:1a'", ""), "not a plain address"},
        {FILE_OF("server: 'https://[]:1'", ""), "not a plain address"},
        {FILE_OF("server: 'https://[::1'", ""), "not a plain address"},
        {FILE_OF("server: 'https://[::1]x'", ""), "not a plain address"},
        {FILE_OF(SERVER ", certificate-authority-data: '%%%'", ""), "certificate-authority-data"},
        {FILE_OF(SERVER ", certificate-authority-data: aGFsbG8=", ""), "not a PEM text"},
        {FILE_OF(SERVER ", insecure-skip-tls-verify: perhaps", ""), "neither true nor false"},
        {FILE_OF(SERVER ", insecure-skip-tls-verify: true, certificate-authority: x", ""),
         "keep one of them"},
        {FILE_OF(SERVER ", proxy-url: 'http://p'", ""), "not supported yet: proxy-url"},
        {FILE_OF(SERVER, "exec: {command: aws}"), "line 18, column"},
        {FILE_OF(SERVER, "exec: {command: aws}"), "not supported yet: exec"},
        {FILE_OF(SERVER, "auth-provider: {name: gcp}"), "not supported yet: auth-provider"},
        {FILE_OF(SERVER, "as: someone"), "not supported yet: as"},
        {FILE_OF(SERVER, "username: u, password: p"), "not supported yet: username"},
        {FILE_OF(SERVER, "client-key: k"), "no client-certificate"},
        {FILE_OF(SERVER, "client-certificate: c"), "no client-key"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct kube_config config = {0};
        struct error err = {0};

        assert_int_equal(parse(cases[i].text, &config, &err), -ERR_INVALID);
        assert_contains(err.text, "kubeconfig /etc/kube/config");
        assert_contains(err.text, cases[i].want);
        assert_null(config.server);
    }
}

/* --- where it is looked for ------------------------------------------------------------------ */

/* A folder of its own, removed afterwards. */
struct folder {
    char path[64];
    struct kube_environment environment;
};

static void put(const struct folder *folder, const char *name, const char *text)
{
    AUTO_FREE char *path = xasprintf("%s/%s", folder->path, name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int set_up(void **state)
{
    struct folder *folder = xcalloc(1, sizeof *folder);
    AUTO_FREE char *kube = NULL;

    snprintf(folder->path, sizeof folder->path, "/tmp/test_kubeconfig.XXXXXX");
    assert_non_null(mkdtemp(folder->path));
    kube = xasprintf("%s/.kube", folder->path);
    assert_int_equal(mkdir(kube, 0700), 0);
    folder->environment = (struct kube_environment){.account_dir = folder->path};
    *state = folder;
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"token", "ca.crt", "config", ".kube/config", ".kube", ""};
    struct folder *folder = *state;

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO_FREE char *path = xasprintf("%s/%s", folder->path, names[i]);

        remove(path);
    }
    free(folder);
    return 0;
}

static void test_load__looks_in_four_places_in_order(void **state)
{
    struct folder *folder = *state;
    AUTO_FREE char *given = xasprintf("%s/config", folder->path);
    struct kube_environment *environment = &folder->environment;
    struct kube_config config = {0};
    struct error err = {0};

    assert_int_equal(kubeconfig_load(NULL, environment, &config, &err), -ERR_NOT_FOUND);
    assert_contains(err.text, "set KUBECONFIG");

    put(folder, ".kube/config", FILE_OF("server: 'https://home'", ""));
    environment->home = folder->path;
    error_clear(&err);
    assert_ok(kubeconfig_load(NULL, environment, &config, &err), &err);
    assert_string_equal(config.server, "https://home");
    kube_config_clear(&config);

    put(folder, "token", "secret\n");
    put(folder, "ca.crt", PEM);
    environment->service_host = "10.96.0.1";
    environment->service_port = "443";
    assert_ok(kubeconfig_load(NULL, environment, &config, &err), &err);
    assert_string_equal(config.server, "https://10.96.0.1:443");
    assert_string_equal(config.ca.text, PEM);
    kube_config_clear(&config);

    put(folder, "config", FILE_OF("server: 'https://variable'", ""));
    environment->kubeconfig = given;
    assert_ok(kubeconfig_load(NULL, environment, &config, &err), &err);
    assert_string_equal(config.server, "https://variable");
    kube_config_clear(&config);

    environment->kubeconfig = "/nonexistent";
    assert_ok(kubeconfig_load(given, environment, &config, &err), &err);
    assert_string_equal(config.server, "https://variable");
    kube_config_clear(&config);
}

static void test_load__brackets_the_ipv6_address_of_the_service(void **state)
{
    struct folder *folder = *state;
    AUTO(kube_config_clear) struct kube_config config = {0};
    struct error err = {0};

    put(folder, "token", "secret");
    put(folder, "ca.crt", PEM);
    folder->environment.service_host = "fd00::1";
    assert_ok(kubeconfig_load(NULL, &folder->environment, &config, &err), &err);
    assert_string_equal(config.server, "https://[fd00::1]:443");
}

static void test_load__names_a_file_that_is_missing_or_no_pem(void **state)
{
    struct folder *folder = *state;
    struct kube_config config = {0};
    struct error err = {0};

    put(folder, "token", "secret");
    folder->environment.service_host = "10.96.0.1";
    assert_int_equal(kubeconfig_load(NULL, &folder->environment, &config, &err), -ERR_NOT_FOUND);
    assert_contains(err.text, "ca.crt");
    put(folder, "ca.crt", "hello");
    error_clear(&err);
    assert_int_equal(kubeconfig_load(NULL, &folder->environment, &config, &err), -ERR_INVALID);
    assert_contains(err.text, "ca.crt: not a PEM file");
}

static void test_load__refuses_a_list_of_files(void **state)
{
    struct kube_environment environment = {.kubeconfig = "/a/config:/b/config"};
    struct kube_config config = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(kubeconfig_load(NULL, &environment, &config, &err), -ERR_INVALID);
    assert_contains(err.text, "not supported yet: /a/config:/b/config");
}

static void test_read_token__follows_its_file_and_trims_it(void **state)
{
    struct folder *folder = *state;
    AUTO_FREE char *path = xasprintf("%s/token", folder->path);
    char fixed[] = "fixed";
    struct kube_config config = {.token = fixed, .token_file = path};
    AUTO_FREE char *token = NULL;
    struct error err = {0};

    put(folder, "token", "  one\r\n");
    assert_ok(kube_config_read_token(&config, &token, &err), &err);
    assert_string_equal(token, "one");
    put(folder, "token", "two");
    assert_ok(kube_config_read_token(&config, &token, &err), &err);
    assert_string_equal(token, "two");
    put(folder, "token", "\n");
    assert_int_equal(kube_config_read_token(&config, &token, &err), -ERR_INVALID);
    assert_string_equal(token, "two");
    put(folder, "token", "a\nX-Header: b");
    error_clear(&err);
    assert_int_equal(kube_config_read_token(&config, &token, &err), -ERR_INVALID);
    config.token_file = NULL;
    error_clear(&err);
    assert_ok(kube_config_read_token(&config, &token, &err), &err);
    assert_string_equal(token, "fixed");
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse__takes_the_cluster_and_user_of_the_current_context),
        cmocka_unit_test(test_parse__cuts_slashes_off_the_server_and_keeps_its_path),
        cmocka_unit_test(test_parse__prefers_inline_data_and_decodes_it),
        cmocka_unit_test(test_parse__finds_files_relative_to_the_kubeconfig),
        cmocka_unit_test(test_parse__treats_null_and_empty_members_as_absent),
        cmocka_unit_test(test_parse__drops_credentials_for_plain_http),
        cmocka_unit_test(test_parse__needs_no_user),
        cmocka_unit_test(test_parse__takes_json),
        cmocka_unit_test(test_parse__names_what_is_wrong),
        IN_FOLDER(test_load__looks_in_four_places_in_order),
        IN_FOLDER(test_load__brackets_the_ipv6_address_of_the_service),
        IN_FOLDER(test_load__names_a_file_that_is_missing_or_no_pem),
        cmocka_unit_test(test_load__refuses_a_list_of_files),
        IN_FOLDER(test_read_token__follows_its_file_and_trims_it),
    };

    return cmocka_run_group_tests_name("kubeconfig", tests, NULL, NULL);
}
