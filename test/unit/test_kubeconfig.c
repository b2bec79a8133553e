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
    const struct kubeconfig_text one = {"/etc/kube/config", text, strlen(text)};

    return kubeconfig_parse(&one, 1, out, err);
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

static void test_parse__takes_the_namespace_of_the_context(void **state)
{
    AUTO(kube_config_clear) struct kube_config config = {0};
    struct error err = {0};

    (void)state;
    assert_ok(
        parse("{current-context: a, contexts: [{name: a, context: {cluster: b, namespace: gpu}}],"
              " clusters: [{name: b, cluster: {server: 'https://h'}}]}",
              &config, &err),
        &err);
    assert_string_equal(config.namespace, "gpu");
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

static void test_parse__takes_proxies_of_three_kinds(void **state)
{
    static const char *const cases[] = {"http://p", "https://u:p%40@p:3128/",
                                        "socks5://[::1]:1080"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(kube_config_clear) struct kube_config config = {0};
        AUTO_FREE char *text = xasprintf(FILE_OF(SERVER ", proxy-url: '%s'", ""), cases[i]);
        struct error err = {0};

        assert_ok(parse(text, &config, &err), &err);
        assert_string_equal(config.proxy_url, cases[i]);
    }
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
        {FILE_OF(SERVER ", proxy-url: 'ftp://p'", ""), "neither http://, https:// nor socks5://"},
        {FILE_OF(SERVER ", proxy-url: 'http://'", ""), "proxy-url: not a plain address"},
        {FILE_OF(SERVER ", proxy-url: 'http://u:p@'", ""), "proxy-url: not a plain address"},
        {FILE_OF(SERVER, "auth-provider: {name: gcp}"), "line 18, column"},
        {FILE_OF(SERVER, "auth-provider: {name: gcp}"), "use exec instead: auth-provider"},
        {FILE_OF(SERVER, "password: p"), "a password and no username"},
        {FILE_OF(SERVER, "username: u, password: p, token: t"), "a token together with a username"},
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

/* --- who we act as --------------------------------------------------------------------------- */

static void test_parse__makes_headers_of_impersonation(void **state)
{
    static const struct {
        const char *name, *value;
    } want[] = {
        {"Impersonate-User", "system:serviceaccount:a:b"},
        {"Impersonate-Uid", "17"},
        {"Impersonate-Group", "g1"},
        {"Impersonate-Group", "g 2"},
        {"Impersonate-Extra-example.org%2Fscope", "one"},
        {"Impersonate-Extra-example.org%2Fscope", "two"},
    };
    AUTO(kube_config_clear) struct kube_config config = {0};
    struct error err = {0};

    (void)state;
    assert_ok(parse(FILE_OF(SERVER, "as: 'system:serviceaccount:a:b', as-uid: '17', "
                                    "as-groups: [g1, g 2], "
                                    "as-user-extra: {example.org/scope: [one, two]}, token: t"),
                    &config, &err),
              &err);
    assert_int_equal(config.impersonation.count, ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_string_equal(config.impersonation.items[i].key, want[i].name);
        assert_string_equal(config.impersonation.items[i].value, want[i].value);
    }
}

static void test_parse__acts_as_somebody_over_plain_http_too(void **state)
{
    AUTO(kube_config_clear) struct kube_config config = {0};
    struct error err = {0};

    (void)state;
    assert_ok(parse(FILE_OF("server: 'http://127.0.0.1:8001'", "as: a, username: u, password: p"),
                    &config, &err),
              &err);
    assert_int_equal(config.impersonation.count, 1);
    assert_null(config.password);
}

static void test_parse__names_what_is_wrong_with_impersonation(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {FILE_OF(SERVER, "as-groups: [a]"), "need as"},
        {FILE_OF(SERVER, "as: \"a\\r\\nX: y\""), "control character"},
        {FILE_OF(SERVER, "as: a, as-groups: {b: c}"), "neither a text nor a list"},
        {FILE_OF(SERVER, "as: a, as-user-extra: [b]"), "not a map: as-user-extra"},
        {FILE_OF(SERVER, "as: a, as-groups: [[b]]"), "not a text"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct kube_config config = {0};
        struct error err = {0};

        assert_int_equal(parse(cases[i].text, &config, &err), -ERR_INVALID);
        assert_contains(err.text, cases[i].want);
    }
}

/* --- exec ------------------------------------------------------------------------------------ */

#define V1 "apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never"
#define V1BETA1 "apiVersion: client.authentication.k8s.io/v1beta1"

static void test_parse__takes_an_exec_plugin(void **state)
{
    AUTO(kube_config_clear) struct kube_config config = {0};
    struct error err = {0};

    (void)state;
    assert_ok(
        parse(FILE_OF(SERVER ", extensions: [{name: other, extension: 1}, {name: "
                             "client.authentication.k8s.io/exec, extension: {a: [1, x]}}]",
                      "exec: {" V1 ", command: bin/get-token, args: [-v, ''], env: [{name: "
                      "A, value: b}, {name: C}], installHint: apt, provideClusterInfo: true}"),
              &config, &err),
        &err);
    assert_string_equal(config.exec->api_version, "client.authentication.k8s.io/v1");
    assert_string_equal(config.exec->command, "/etc/kube/bin/get-token");
    assert_int_equal(config.exec->argument_count, 2);
    assert_string_equal(config.exec->arguments[0], "-v");
    assert_string_equal(config.exec->arguments[1], "");
    assert_string_equal(kube_pairs_get(&config.exec->variables, "A"), "b");
    assert_string_equal(kube_pairs_get(&config.exec->variables, "C"), "");
    assert_string_equal(config.exec->install_hint, "apt");
    assert_true(config.exec->wants_cluster);
    assert_string_equal(config.exec_cluster, "{\"a\":[1,\"x\"]}");
}

static void test_parse__leaves_a_plain_command_to_the_path(void **state)
{
    AUTO(kube_config_clear) struct kube_config config = {0};
    struct error err = {0};

    (void)state;
    assert_ok(parse(FILE_OF(SERVER, "exec: {" V1BETA1 ", command: aws}"), &config, &err), &err);
    assert_string_equal(config.exec->command, "aws");
    assert_false(config.exec->wants_cluster);
}

static void test_parse__names_what_is_wrong_with_exec(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {FILE_OF(SERVER, "exec: x"), "not a map: exec"},
        {FILE_OF(SERVER, "exec: {command: a}"), "no apiVersion"},
        {FILE_OF(SERVER, "exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: a}"),
         "client.authentication.k8s.io/v1alpha1"},
        {FILE_OF(SERVER, "exec: {apiVersion: client.authentication.k8s.io/v1, command: a}"),
         "v1 requires interactiveMode"},
        {FILE_OF(SERVER, "exec: {" V1BETA1 ", command: a, interactiveMode: Always}"),
         "must ask a person"},
        {FILE_OF(SERVER, "exec: {" V1BETA1 ", command: a, interactiveMode: never}"),
         "neither Never"},
        {FILE_OF(SERVER, "exec: {" V1BETA1 "}"), "no command"},
        {FILE_OF(SERVER, "exec: {" V1BETA1 ", command: a, args: b}"), "not a list: args"},
        {FILE_OF(SERVER, "exec: {" V1BETA1 ", command: a, args: [{}]}"), "not a text in args"},
        {FILE_OF(SERVER, "exec: {" V1BETA1 ", command: a, env: {b: c}}"), "not a list: env"},
        {FILE_OF(SERVER, "exec: {" V1BETA1 ", command: a, env: [b]}"), "not a variable's name"},
        {FILE_OF(SERVER, "exec: {" V1BETA1 ", command: a, env: [{name: b=c}]}"),
         "not a variable's name"},
        {FILE_OF(SERVER, "exec: {" V1BETA1 ", command: a}, token: b"), "exec together with"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct kube_config config = {0};
        struct error err = {0};

        assert_int_equal(parse(cases[i].text, &config, &err), -ERR_INVALID);
        assert_contains(err.text, cases[i].want);
    }
}

/* --- several files --------------------------------------------------------------------------- */

/* A cluster, a context and a user of these names. */
#define PART(context, cluster, server, user, token) \
    "contexts: [{name: " context ", context: {cluster: " cluster ", user: " user "}}]\n" \
    "clusters: [{name: " cluster ", cluster: {server: 'https://" server "', " \
    "certificate-authority: ca.crt}}]\n" \
    "users: [{name: " user ", user: {tokenFile: " token "}}]\n"

static void test_parse__takes_of_several_files_the_first_that_has_it(void **state)
{
    static const struct kubeconfig_text texts[] = {
#define TEXT(path, text) {path, text, sizeof(text) - 1}
        TEXT("/a/config", PART("x", "shared", "first", "ua", "ta")),
        TEXT("/b/config", "current-context: y\n" PART("y", "shared", "second", "ub", "tb")),
        TEXT("/c/config", "current-context: x\n" PART("y", "other", "third", "uc", "tc")),
    };
    AUTO(kube_config_clear) struct kube_config config = {0};
    struct error err = {0};

    (void)state;
    assert_ok(kubeconfig_parse(texts, ARRAY_LEN(texts), &config, &err), &err);
    assert_string_equal(config.server, "https://first");
    assert_string_equal(config.ca.file, "/a/ca.crt");
    assert_string_equal(config.token_file, "/b/tb");
}

static void test_parse__names_the_file_of_several_that_is_wrong(void **state)
{
    static const struct kubeconfig_text texts[] = {
        TEXT("/a/config", "current-context: y"),
        TEXT("/b/config", PART("y", "c", "h:x", "u", "t")),
        TEXT("/c/config", "]"),
    };
    struct kube_config config = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(kubeconfig_parse(texts, 2, &config, &err), -ERR_INVALID);
    assert_contains(err.text, "kubeconfig /b/config: server \"https://h:x\"");
    error_clear(&err);
    assert_int_equal(kubeconfig_parse(texts, 3, &config, &err), -ERR_INVALID);
    assert_contains(err.text, "kubeconfig /c/config: line 1");
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
    static const char *const names[] = {"token",        "ca.crt", "namespace", "config",
                                        ".kube/config", ".kube",  ""};
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
    assert_contains(err.text, "~/.kube/config");
    assert_contains(err.text, "--cluster");

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

static void test_load__takes_the_namespace_of_the_pod(void **state)
{
    struct folder *folder = *state;
    AUTO(kube_config_clear) struct kube_config config = {0};
    struct error err = {0};

    put(folder, "token", "secret");
    put(folder, "ca.crt", PEM);
    put(folder, "namespace", "gpu\n");
    folder->environment.service_host = "10.96.0.1";
    assert_ok(kubeconfig_load(NULL, &folder->environment, &config, &err), &err);
    assert_string_equal(config.namespace, "gpu");
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

static void test_load__skips_the_files_of_a_list_that_are_missing(void **state)
{
    struct folder *folder = *state;
    AUTO(kube_config_clear) struct kube_config config = {0};
    AUTO_FREE char *list =
        xasprintf("/nonexistent::%s/config:%s/token", folder->path, folder->path);
    AUTO_FREE char *none = xasprintf("/nonexistent:%s/ca.crt", folder->path);
    struct error err = {0};

    put(folder, "config", FILE_OF("server: 'https://first'", ""));
    put(folder, "token", FILE_OF("server: 'https://second'", ""));
    folder->environment.kubeconfig = list;
    assert_ok(kubeconfig_load(NULL, &folder->environment, &config, &err), &err);
    assert_string_equal(config.server, "https://first");
    folder->environment.kubeconfig = none;
    assert_int_equal(kubeconfig_load(NULL, &folder->environment, &config, &err), -ERR_NOT_FOUND);
    assert_contains(err.text, "none of these exists: /nonexistent:");
    folder->environment.kubeconfig = "/nonexistent";
    error_clear(&err);
    assert_int_equal(kubeconfig_load(NULL, &folder->environment, &config, &err), -ERR_NOT_FOUND);
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
        cmocka_unit_test(test_parse__takes_the_namespace_of_the_context),
        cmocka_unit_test(test_parse__cuts_slashes_off_the_server_and_keeps_its_path),
        cmocka_unit_test(test_parse__prefers_inline_data_and_decodes_it),
        cmocka_unit_test(test_parse__finds_files_relative_to_the_kubeconfig),
        cmocka_unit_test(test_parse__treats_null_and_empty_members_as_absent),
        cmocka_unit_test(test_parse__drops_credentials_for_plain_http),
        cmocka_unit_test(test_parse__needs_no_user),
        cmocka_unit_test(test_parse__takes_json),
        cmocka_unit_test(test_parse__names_what_is_wrong),
        cmocka_unit_test(test_parse__makes_headers_of_impersonation),
        cmocka_unit_test(test_parse__acts_as_somebody_over_plain_http_too),
        cmocka_unit_test(test_parse__names_what_is_wrong_with_impersonation),
        cmocka_unit_test(test_parse__takes_an_exec_plugin),
        cmocka_unit_test(test_parse__leaves_a_plain_command_to_the_path),
        cmocka_unit_test(test_parse__names_what_is_wrong_with_exec),
        cmocka_unit_test(test_parse__takes_of_several_files_the_first_that_has_it),
        cmocka_unit_test(test_parse__names_the_file_of_several_that_is_wrong),
        cmocka_unit_test(test_parse__takes_proxies_of_three_kinds),
        IN_FOLDER(test_load__looks_in_four_places_in_order),
        IN_FOLDER(test_load__takes_the_namespace_of_the_pod),
        IN_FOLDER(test_load__brackets_the_ipv6_address_of_the_service),
        IN_FOLDER(test_load__names_a_file_that_is_missing_or_no_pem),
        IN_FOLDER(test_load__skips_the_files_of_a_list_that_are_missing),
        IN_FOLDER(test_read_token__follows_its_file_and_trims_it),
    };

    return cmocka_run_group_tests_name("kubeconfig", tests, NULL, NULL);
}
