/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/config.h"
#include "topofit/log.h"

#include <jansson.h>

static int read_config(struct config *config, const char *yaml, struct error *err)
{
    return config_read(config, yaml, strlen(yaml), err);
}

static void test_config_defaults__suit_a_first_user(void **state)
{
    AUTO(config_clear) struct config config;
    struct decide_policy policy, expected = decide_policy_default();

    (void)state;
    config_defaults(&config);
    assert_string_equal(config.extender_listen, "127.0.0.1:9901");
    assert_string_equal(config.admin_listen, "127.0.0.1:9902");
    assert_string_equal(config.kube_kubeconfig, "");
    assert_int_equal(config.log_level, LOG_LEVEL_INFO);
    assert_in_range(config.extender_bind_timeout_ms, 1000, 9999);
    policy = config_policy(&config);
    assert_int_equal(policy.topology.mode, expected.topology.mode);
    assert_int_equal(policy.topology.source, expected.topology.source);
    assert_int_equal(policy.topology.max_tier, expected.topology.max_tier);
    assert_int_equal(policy.topology.unknown, expected.topology.unknown);
    assert_int_equal(policy.topology.least_damage, expected.topology.least_damage);
    assert_int_equal(policy.packing, expected.packing);
    assert_int_equal(policy.device_order, expected.device_order);
    assert_int_equal(policy.scores, expected.scores);
    for (size_t i = 0; config_key(i) != NULL; i++)
        assert_string_equal(config.sources[i], "default");
}

static void test_config_read__sets_what_is_given_and_leaves_the_rest(void **state)
{
    AUTO(config_clear) struct config config;
    struct error err = {0};
    struct decide_policy policy;

    (void)state;
    config_defaults(&config);
    assert_ok(read_config(&config,
                          "# a comment\n"
                          "extender:\n"
                          "  listen: 0.0.0.0:80\n"
                          "  failedNodes: always\n"
                          "topology:\n"
                          "  mode: hard\n"
                          "  maxTier: 0\n"
                          "  source: vendor\n"
                          "  unknown: reject\n"
                          "  leastDamage: false\n"
                          "packing: {device: spread, policy: topology-first, scores: graded}\n",
                          &err),
              &err);
    policy = config_policy(&config);
    assert_string_equal(config.extender_listen, "0.0.0.0:80");
    assert_int_equal(config.extender_failed_nodes, FAILED_NODES_ALWAYS);
    assert_int_equal(policy.topology.mode, TOPOLOGY_HARD);
    assert_int_equal(policy.topology.max_tier, TIER_INTERCONNECT); /* W6 */
    assert_int_equal(policy.topology.source, SOURCE_VENDOR);
    assert_int_equal(policy.topology.unknown, UNKNOWN_REJECT);
    assert_false(policy.topology.least_damage);
    assert_int_equal(policy.device_order, DEVICES_SPREAD);
    assert_int_equal(policy.packing, PACKING_TOPOLOGY_FIRST);
    assert_int_equal(policy.scores, RANK_GRADED);
    assert_string_equal(config.admin_listen, "127.0.0.1:9902");
}

static void test_config_read__nothing_is_a_configuration(void **state)
{
    static const char *const texts[] = {"", "\n", "# only a comment\n", "extender: {}\n"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO(config_clear) struct config config;
        struct error err = {0};

        config_defaults(&config);
        assert_ok(read_config(&config, texts[i], &err), &err);
    }
}

static void test_config_read__says_where_and_what_is_wrong(void **state)
{
    static const struct {
        const char *yaml, *problem;
    } cases[] = {
        {"extender:\n  lisen: x\n",
         "line 2, column 3: unknown key extender.lisen; did you mean extender.listen?"},
        {"topology:\n  maxtier: 1\n", "did you mean topology.maxTier?"},
        {"log:\n  somethingelse: 1\n", "line 2, column 3: unknown key log.somethingelse"},
        {"extendr:\n  listen: x\n", "line 1, column 1: unknown group extendr"},
        {"extender: 5\n", "line 1, column 11: extender must hold keys"},
        {"extender:\n", "extender must hold keys"},
        {"extender:\n  listen: [a]\n", "line 2, column 11: extender.listen must be a single value"},
        {"extender:\n  listen: localhost:9901\n", "line 2, column 11: extender.listen"},
        {"extender:\n  threads: 0\n", "line 2, column 12: extender.threads is \"0\": expected a "
                                      "number from 1 to 64"},
        {"topology:\n  mode: strict\n",
         "topology.mode is \"strict\": expected one of soft, hard, off"},
        {"packing:\n  policy: binpack\n",
         "line 2, column 11: packing.policy is \"binpack\": expected one of pack, spread, "
         "topology-first"},
        {"packing:\n  device: pack\n",
         "packing.device is \"pack\": expected one of auto, binpack, spread"},
        {"packing:\n  scores: best\n",
         "packing.scores is \"best\": expected one of winner, graded"},
        {"packing:\n  node: spread\n", "unknown key packing.node"},
        {"topology:\n  leastDamage: yes\n", "expected true or false"},
        {"extender:\n  bindTimeout: 6\n", "expected a duration such as 500ms"},
        {"- a\n", "line 1: one YAML document with groups"},
        {"a: b\n---\nc: d\n", "one YAML document"},
        {"extender:\n  listen: a\n  listen: b\n", "line 3"},
        {"extender: {\n", "line"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(config_clear) struct config config;
        struct error err = {0};

        config_defaults(&config);
        assert_int_equal(read_config(&config, cases[i].yaml, &err), -ERR_INVALID);
        assert_contains(err.text, cases[i].problem);
    }
}

/* --- values -------------------------------------------------------------------------------------
 */

static int set(const char *key, const char *value)
{
    AUTO(config_clear) struct config config;
    struct error err = {0};
    int result;

    config_defaults(&config);
    result = config_set(&config, key, value, &err);
    if (result < 0)
        assert_contains(err.text, key);
    return result;
}

static void test_config_set__holds_every_limit(void **state)
{
    static const struct {
        const char *key, *below, *least, *most, *above;
    } cases[] = {
        {"extender.threads", "0", "1", "64", "65"},
        {"extender.connectionsMax", "15", "16", "65535", "65536"},
        {"extender.clientConnectionsMax", "0", "1", "65535", "65536"},
        {"extender.bodyMaxMiB", "0", "1", "512", "513"},
        {"extender.bodiesMaxMiB", "0", "1", "8192", "8193"},
        {"extender.requestTimeout", "99ms", "100ms", "10m", "601s"},
        {"extender.bindTimeout", "99ms", "100ms", "600s", "600001ms"},
        {"kube.bindsMax", "0", "1", "4096", "4097"},
        {"leaderElection.leaseDuration", "999ms", "1s", "10m", "600001ms"},
        {"leaderElection.renewDeadline", "499ms", "500ms", "10m", "600001ms"},
        {"leaderElection.retryPeriod", "99ms", "100ms", "10m", "600001ms"},
        {"topology.maxTier", "-1", "0", "3", "4"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(set(cases[i].key, cases[i].below), -ERR_INVALID);
        assert_int_equal(set(cases[i].key, cases[i].least), 0);
        assert_int_equal(set(cases[i].key, cases[i].most), 0);
        assert_int_equal(set(cases[i].key, cases[i].above), -ERR_INVALID);
    }
}

static void test_config_set__reads_durations_with_a_unit(void **state)
{
    static const struct {
        const char *text;
        uint64_t want_ms; /* 0: refused */
    } cases[] = {
        {"500ms", 500}, {"6s", 6000},
        {"2m", 120000}, {"6", 0},
        {"", 0},        {"s", 0},
        {"-1s", 0},     {"1.5s", 0},
        {"1 s", 0},     {"1h", 0},
        {"6S", 0},      {"6s ", 0},
        {"0x10s", 0},   {"99999999999999999999s", 0},
        {"1e3ms", 0},   {"007s", 7000},
        {"6sec", 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(config_clear) struct config config;
        struct error err = {0};

        config_defaults(&config);
        config.extender_bind_timeout_ms = 1;
        assert_int_equal(config_set(&config, "extender.bindTimeout", cases[i].text, &err),
                         cases[i].want_ms > 0 ? 0 : -ERR_INVALID);
        assert_int_equal(config.extender_bind_timeout_ms,
                         cases[i].want_ms > 0 ? cases[i].want_ms : 1);
    }
}

static void test_config_set__refuses_keys_that_do_not_exist(void **state)
{
    (void)state;
    assert_int_equal(set("extender", "x"), -ERR_NOT_FOUND);
    assert_int_equal(set("listen", "x"), -ERR_NOT_FOUND);
    assert_int_equal(set("", "x"), -ERR_NOT_FOUND);
}

static void test_config_read__takes_lists_of_texts(void **state)
{
    AUTO(config_clear) struct config config;
    AUTO(buf_clear) struct buf shown = buf_with_max(CONFIG_BYTES_MAX);
    struct error err = {0};

    (void)state;
    config_defaults(&config);
    assert_int_equal(config.classes_files.count, 0);
    assert_ok(read_config(&config, "classes: {files: [a.yaml, \"b c.yaml\"]}\n", &err), &err);
    assert_int_equal(config.classes_files.count, 2);
    assert_string_equal(config.classes_files.items[0], "a.yaml");
    assert_string_equal(config.classes_files.items[1], "b c.yaml");
    config_write_yaml(&config, &shown);
    assert_contains(buf_text(&shown), "files: [\"a.yaml\", \"b c.yaml\"]");
    assert_ok(read_config(&config, "classes: {files: c.yaml}\n", &err), &err);
    assert_int_equal(config.classes_files.count, 1);
    assert_ok(read_config(&config, "classes: {files: []}\n", &err), &err);
    assert_int_equal(config.classes_files.count, 0);
    assert_int_equal(read_config(&config, "classes:\n  files: [a, {b: c}]\n", &err), -ERR_INVALID);
    assert_contains(err.text, "line 2, column 14: classes.files must be a list of texts");
}

/* Another list needs a restart, as another text does. */
static void count_fixed(void *ctx, const char *key)
{
    assert_string_equal(key, "classes.files");
    ++*(unsigned *)ctx;
}

static void test_config_reload__names_a_list_that_differs(void **state)
{
    AUTO(config_clear) struct config config;
    AUTO(config_clear) struct config fresh;
    struct error err = {0};
    unsigned fixed = 0;

    (void)state;
    config_defaults(&config);
    config_defaults(&fresh);
    assert_ok(config_set(&fresh, "classes.files", "a.yaml", &err), &err);
    assert_int_equal(config_reload(&config, &fresh, count_fixed, &fixed), 0);
    assert_int_equal(fixed, 1);
    assert_ok(config_set(&config, "classes.files", "a.yaml", &err), &err);
    config_reload(&config, &fresh, count_fixed, &fixed);
    assert_int_equal(fixed, 1);
}

static const char *source_of(const struct config *config, const char *key)
{
    for (size_t i = 0; config_key(i) != NULL; i++) {
        if (strcmp(config_key(i), key) == 0)
            return config->sources[i];
    }
    return "";
}

static void test_config__knows_where_each_value_came_from(void **state)
{
    AUTO(config_clear) struct config config;
    struct error err = {0};

    (void)state;
    config_defaults(&config);
    read_config(&config, "log: {level: debug}\nextender: {listen: \"127.0.0.1:1\"}\n", &err);
    config_set(&config, "extender.listen", "127.0.0.1:2", &err);
    assert_string_equal(source_of(&config, "log.level"), "file");
    assert_string_equal(source_of(&config, "extender.listen"), "flag");
    assert_string_equal(source_of(&config, "admin.listen"), "default");
    assert_string_equal(config.extender_listen, "127.0.0.1:2");
}

/* --- values that must fit together --------------------------------------------------------------
 */

static void test_config_check__refuses_what_does_not_fit_together_and_says_what_to_do(void **state)
{
    static const struct {
        const char *yaml;
        const char *want[3]; /* parts of the message; none: it is fine */
    } cases[] = {
        {"", {0}},
        {"extender: {tlsCertFile: c, tlsKeyFile: k}\nadmin: {tlsCertFile: c, tlsKeyFile: k}", {0}},
        {"extender: {tlsCertFile: c, tlsKeyFile: k, clientCaFile: a}", {0}},
        {"extender: {tlsCertFile: c}", {"extender.tlsCertFile", "extender.tlsKeyFile", "both"}},
        {"extender: {tlsKeyFile: c}", {"extender.tlsCertFile", "extender.tlsKeyFile", "both"}},
        {"admin: {tlsCertFile: c}", {"admin.tlsCertFile", "admin.tlsKeyFile", "both"}},
        {"extender: {clientCaFile: a}", {"extender.clientCaFile", "tlsCertFile", "tlsKeyFile"}},
        {"extender: {listen: \":9901\"}",
         {"extender.listen is :9901", "extender.clientCaFile", "allowUnauthenticated: true"}},
        {"extender: {listen: \"10.0.0.1:9901\"}", {"extender.listen is 10.0.0.1:9901"}},
        {"extender: {listen: \":9901\", tlsCertFile: c, tlsKeyFile: k}", {"bind pods"}},
        {"extender: {listen: \":9901\", tlsCertFile: c, tlsKeyFile: k, clientCaFile: a}", {0}},
        {"extender: {listen: \":9901\", allowUnauthenticated: true}", {0}},
        {"extender: {listen: \"[::1]:9901\"}", {0}},
        {"admin: {listen: \":9902\"}", {0}},
        {"webhook: {listen: \":9903\", tlsCertFile: c, tlsKeyFile: k}", {0}},
        {"webhook: {listen: \":9903\"}", {"webhook.listen", "webhook.tlsKeyFile", "TLS only"}},
        {"webhook: {tlsCertFile: c, tlsKeyFile: k}", {"webhook.listen", "all three or none"}},
        {"webhook: {listen: \":9903\", tlsCertFile: c}", {"webhook.tlsKeyFile", "both"}},
        {"webhook: {listen: nowhere, tlsCertFile: c, tlsKeyFile: k}", {"webhook.listen"}},
        {"webhook: {takesOver: none}", {"webhook.schedulerName", "webhook.enabled: false"}},
        {"webhook: {takesOver: none, schedulerName: gpu}", {0}},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(config_clear) struct config config;
        struct error err = {0};

        config_defaults(&config);
        assert_ok(read_config(&config, cases[i].yaml, &err), &err);
        if ((config_check(&config, &err) < 0) != (cases[i].want[0] != NULL))
            fail_msg("%s: %s", cases[i].yaml, err.text);
        for (size_t k = 0; k < ARRAY_LEN(cases[i].want) && cases[i].want[k] != NULL; k++)
            assert_contains(err.text, cases[i].want[k]);
    }
}

static void test_config_is_unguarded__is_true_also_when_that_is_allowed(void **state)
{
    AUTO(config_clear) struct config config;
    struct error err = {0};

    (void)state;
    config_defaults(&config);
    assert_false(config_is_unguarded(&config));
    read_config(&config, "extender: {listen: \":9901\", allowUnauthenticated: true}", &err);
    assert_true(config_is_unguarded(&config));
    read_config(&config, "extender: {clientCaFile: a}", &err);
    assert_false(config_is_unguarded(&config));
}

/* --- showing ------------------------------------------------------------------------------------
 */

static void test_config_write_yaml__is_read_back_as_it_was(void **state)
{
    AUTO(config_clear) struct config config;
    AUTO(config_clear) struct config again;
    AUTO(buf_clear) struct buf first = buf_with_max(CONFIG_BYTES_MAX);
    AUTO(buf_clear) struct buf second = buf_with_max(CONFIG_BYTES_MAX);
    struct error err = {0};

    (void)state;
    config_defaults(&config);
    read_config(
        &config,
        "kube: {kubeconfig: \"a: \\\"b\\\" # c\"}\nextender: {bindTimeout: 7s, threads: 5}\n"
        "topology: {mode: off, leastDamage: false}\n",
        &err);
    config_write_yaml(&config, &first);
    config_defaults(&again);
    assert_ok(config_read(&again, buf_text(&first), first.length, &err), &err);
    config_write_yaml(&again, &second);
    assert_string_equal(buf_text(&first), buf_text(&second));
    assert_string_equal(again.kube_kubeconfig, "a: \"b\" # c");
    assert_int_equal(again.extender_bind_timeout_ms, 7000);
    assert_int_equal(again.topology_mode, TOPOLOGY_OFF);
}

static void test_config_write_yaml__durations_are_as_people_write_them(void **state)
{
    static const char *const cases[][2] = {{"0s", "0s"},     {"0ms", "0s"},  {"1500ms", "1500ms"},
                                           {"2000ms", "2s"}, {"90s", "90s"}, {"120s", "2m"},
                                           {"10m", "10m"},   {"60m", "60m"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(config_clear) struct config config;
        AUTO(buf_clear) struct buf out = buf_with_max(CONFIG_BYTES_MAX);
        AUTO_FREE char *line = xasprintf("\n  reconcileInterval: \"%s\"", cases[i][1]);
        struct error err = {0};

        config_defaults(&config);
        assert_ok(config_set(&config, "kube.reconcileInterval", cases[i][0], &err), &err);
        config_write_yaml(&config, &out);
        assert_contains(buf_text(&out), line);
    }
}

static void test_config_write_json__has_every_key_with_value_and_source(void **state)
{
    AUTO(config_clear) struct config config;
    AUTO(buf_clear) struct buf out = buf_with_max(CONFIG_BYTES_MAX);
    json_t *root;

    (void)state;
    config_defaults(&config);
    config_write_json(&config, &out);
    root = json_loads(buf_text(&out), JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    for (size_t i = 0; config_key(i) != NULL; i++) {
        const json_t *entry = json_object_get(root, config_key(i));

        assert_non_null(json_object_get(entry, "value"));
        assert_string_equal(json_string_value(json_object_get(entry, "source")), "default");
    }
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(root, "kube.bindsMax"), "value")), 256);
    json_decref(root);
}

struct fixed {
    unsigned count;
    char last[64];
};

static void note_fixed(void *ctx, const char *key)
{
    struct fixed *fixed = ctx;

    fixed->count++;
    snprintf(fixed->last, sizeof fixed->last, "%s", key);
}

static void test_config_reload__takes_over_what_may_change_and_names_the_rest(void **state)
{
    AUTO(config_clear) struct config config;
    AUTO(config_clear) struct config fresh;
    struct fixed fixed = {0};
    struct error err = {0};

    (void)state;
    config_defaults(&config);
    config_defaults(&fresh);
    config_set(&fresh, "topology.mode", "off", &err);
    config_set(&fresh, "extender.bindTimeout", "3s", &err);
    config_set(&fresh, "extender.listen", "127.0.0.1:1", &err);
    assert_int_equal(config_reload(&config, &fresh, note_fixed, &fixed), 2);
    assert_int_equal(config.topology_mode, TOPOLOGY_OFF);
    assert_int_equal(config.extender_bind_timeout_ms, 3000);
    assert_string_equal(config.extender_listen, "127.0.0.1:9901");
    assert_int_equal(fixed.count, 1);
    assert_string_equal(fixed.last, "extender.listen");
}

/* Another value than the default, whatever the type. */
static void set_otherwise(struct config *config, const char *key)
{
    static const char *const values[] = {
        "true",   "false",  "17",     "30s",   "127.0.0.1:1", "hard",   "numa",
        "spread", "graded", "reject", "debug", "json",        "always", "600ms",
        "2",      "any",    "warn",   "force", "hami",        "best",   "downward-api"};

    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        AUTO(buf_clear) struct buf before = buf_with_max(CONFIG_BYTES_MAX);
        AUTO(buf_clear) struct buf after = buf_with_max(CONFIG_BYTES_MAX);
        struct error err = {0};

        config_write_yaml(config, &before);
        config_set(config, key, values[i], &err);
        config_write_yaml(config, &after);
        if (strcmp(buf_text(&before), buf_text(&after)) != 0)
            return;
    }
    fail_msg("no other value of %s is tried here", key);
}

static void test_config_reload__takes_each_key_over_or_names_it(void **state)
{
    (void)state;
    for (size_t i = 0; config_key(i) != NULL; i++) {
        AUTO(config_clear) struct config config;
        AUTO(config_clear) struct config fresh;
        AUTO(buf_clear) struct buf taken = buf_with_max(CONFIG_BYTES_MAX);
        AUTO(buf_clear) struct buf wanted = buf_with_max(CONFIG_BYTES_MAX);
        struct fixed fixed = {0};

        config_defaults(&config);
        config_defaults(&fresh);
        set_otherwise(&fresh, config_key(i));
        if (config_reload(&config, &fresh, note_fixed, &fixed) == 0) {
            assert_int_equal(fixed.count, 1);
            assert_string_equal(fixed.last, config_key(i));
            continue;
        }
        config_write_json(&config, &taken);
        config_write_json(&fresh, &wanted);
        assert_string_equal(buf_text(&taken), buf_text(&wanted));
        assert_int_equal(fixed.count, 0);
    }
}

static void test_config_check__refuses_times_of_the_lease_that_do_not_fit(void **state)
{
    AUTO(config_clear) struct config config;
    struct error err = {0};

    (void)state;
    config_defaults(&config);
    assert_int_equal(config_check(&config, &err), 0);
    config_set(&config, "leaderElection.leaseDuration", "5s", &err);
    assert_int_equal(config_check(&config, &err), -ERR_INVALID);
    assert_contains(err.text, "leaderElection (leaseDuration, renewDeadline, retryPeriod)");
    error_clear(&err);
    config_set(&config, "leaderElection.enabled", "false", &err);
    assert_int_equal(config_check(&config, &err), 0);
}

static void test_config_reload__of_the_same_changes_nothing(void **state)
{
    AUTO(config_clear) struct config config;
    AUTO(config_clear) struct config fresh;
    struct fixed fixed = {0};

    (void)state;
    config_defaults(&config);
    config_defaults(&fresh);
    assert_int_equal(config_reload(&config, &fresh, note_fixed, &fixed), 0);
    assert_int_equal(fixed.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_defaults__suit_a_first_user),
        cmocka_unit_test(test_config_read__sets_what_is_given_and_leaves_the_rest),
        cmocka_unit_test(test_config_read__nothing_is_a_configuration),
        cmocka_unit_test(test_config_read__says_where_and_what_is_wrong),
        cmocka_unit_test(test_config_set__holds_every_limit),
        cmocka_unit_test(test_config_set__reads_durations_with_a_unit),
        cmocka_unit_test(test_config_set__refuses_keys_that_do_not_exist),
        cmocka_unit_test(test_config_read__takes_lists_of_texts),
        cmocka_unit_test(test_config_reload__names_a_list_that_differs),
        cmocka_unit_test(test_config__knows_where_each_value_came_from),
        cmocka_unit_test(test_config_check__refuses_what_does_not_fit_together_and_says_what_to_do),
        cmocka_unit_test(test_config_is_unguarded__is_true_also_when_that_is_allowed),
        cmocka_unit_test(test_config_write_yaml__is_read_back_as_it_was),
        cmocka_unit_test(test_config_reload__takes_over_what_may_change_and_names_the_rest),
        cmocka_unit_test(test_config_reload__takes_each_key_over_or_names_it),
        cmocka_unit_test(test_config_check__refuses_times_of_the_lease_that_do_not_fit),
        cmocka_unit_test(test_config_reload__of_the_same_changes_nothing),
        cmocka_unit_test(test_config_write_yaml__durations_are_as_people_write_them),
        cmocka_unit_test(test_config_write_json__has_every_key_with_value_and_source),
    };

    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
