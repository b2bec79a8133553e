/* SPDX-License-Identifier: Apache-2.0 */
/* config - the configuration: one table of keys. */
#include "topofit/config.h"

#include "topofit/listen_address.h"
#include "topofit/log.h"
#include "topofit/mem.h"
#include "topofit/quantity.h"
#include "topofit/text.h"
#include "topofit/yaml.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SUGGESTION_DISTANCE 3

enum key_type {
    KEY_TEXT,
    KEY_ADDRESS, /* a text: see listen_address.h */
    KEY_NUMBER,
    KEY_DURATION, /* "500ms", "6s", "2m"; kept in ms */
    KEY_BOOL,
    KEY_CHOICE,
};

struct word {
    const char *text;
    int value;
};

struct key {
    const char *name; /* "group.key" */
    enum key_type type;
    size_t offset;
    const char *fallback; /* the default, as a person would write it */
    uint64_t min, max;    /* of numbers and durations */
    const struct word *words;
    const char *purpose;
};

static const struct word failed_nodes_words[] = {{"auto", FAILED_NODES_AUTO},
                                                 {"always", FAILED_NODES_ALWAYS},
                                                 {"never", FAILED_NODES_NEVER},
                                                 {0}};
static const struct word mode_words[] = {
    {"soft", TOPOLOGY_SOFT}, {"hard", TOPOLOGY_HARD}, {"off", TOPOLOGY_OFF}, {0}};
static const struct word source_words[] = {
    {"auto", SOURCE_AUTO}, {"vendor", SOURCE_VENDOR}, {"numa", SOURCE_NUMA}, {0}};
static const struct word unknown_words[] = {
    {"treat-as-worst", UNKNOWN_AS_WORST}, {"reject", UNKNOWN_REJECT}, {0}};
static const struct word packing_words[] = {
    {"binpack", PACKING_BINPACK}, {"spread", PACKING_SPREAD}, {0}};
static const struct word level_words[] = {{"debug", LOG_LEVEL_DEBUG},
                                          {"info", LOG_LEVEL_INFO},
                                          {"warn", LOG_LEVEL_WARN},
                                          {"error", LOG_LEVEL_ERROR},
                                          {0}};
static const struct word format_words[] = {
    {"text", LOG_FORMAT_TEXT}, {"json", LOG_FORMAT_JSON}, {0}};

#define AT(field) offsetof(struct config, field)

static const struct key keys[] = {
    {"extender.listen", KEY_ADDRESS, AT(extender_listen), "127.0.0.1:9901", 0, 0, NULL,
     "address and port for kube-scheduler's calls"},
    {"extender.threads", KEY_NUMBER, AT(extender_threads), "2", 1, 64, NULL,
     "threads that answer calls"},
    {"extender.connectionsMax", KEY_NUMBER, AT(extender_connections_max), "1024", 16, 65535, NULL,
     "connections open at once"},
    {"extender.bodyMaxMiB", KEY_NUMBER, AT(extender_body_max_mib), "16", 1, 512, NULL,
     "largest request; raise it only for nodeCacheCapable: false"},
    {"extender.requestTimeout", KEY_DURATION, AT(extender_request_timeout_ms), "10s", 100, 600000,
     NULL, "a client that sends its request longer than this is cut"},
    {"extender.bindTimeout", KEY_DURATION, AT(extender_bind_timeout_ms), "6s", 100, 600000, NULL,
     "how long a Binding may take; keep it below the scheduler's httpTimeout"},
    {"extender.failedNodes", KEY_CHOICE, AT(extender_failed_nodes), "auto", 0, 0,
     failed_nodes_words, "report refusals that eviction could cure as FailedNodes"},
    {"extender.tlsCertFile", KEY_TEXT, AT(extender_tls_cert_file), "", 0, 0, NULL,
     "certificate of the port, then those that signed it (PEM); empty: not encrypted"},
    {"extender.tlsKeyFile", KEY_TEXT, AT(extender_tls_key_file), "", 0, 0, NULL,
     "private key of the certificate (PEM)"},
    {"extender.clientCaFile", KEY_TEXT, AT(extender_client_ca_file), "", 0, 0, NULL,
     "CA certificates (PEM); clients must show a certificate signed by one; empty: none"},
    {"extender.allowUnauthenticated", KEY_BOOL, AT(extender_allow_unauthenticated), "false", 0, 0,
     NULL, "listen beyond the loopback address without clientCaFile; others must guard the port"},
    {"admin.listen", KEY_ADDRESS, AT(admin_listen), "127.0.0.1:9902", 0, 0, NULL,
     "address and port for health, metrics and debug"},
    {"admin.tlsCertFile", KEY_TEXT, AT(admin_tls_cert_file), "", 0, 0, NULL,
     "certificate of the port, then those that signed it (PEM); empty: not encrypted"},
    {"admin.tlsKeyFile", KEY_TEXT, AT(admin_tls_key_file), "", 0, 0, NULL,
     "private key of the certificate (PEM)"},
    {"kube.kubeconfig", KEY_TEXT, AT(kube_kubeconfig), "", 0, 0, NULL,
     "kubeconfig file; empty: $KUBECONFIG, the pod's account, ~/.kube/config"},
    {"kube.bindsMax", KEY_NUMBER, AT(kube_binds_max), "256", 1, 4096, NULL,
     "Bindings in flight at once; more are refused and retried by the scheduler"},
    {"kube.watchList", KEY_BOOL, AT(kube_watch_list), "true", 0, 0, NULL,
     "ask for lists as streams where the API server can do that"},
    {"kube.wakePods", KEY_BOOL, AT(kube_wake_pods), "true", 0, 0, NULL,
     "change a node's annotation when a waiting pod may fit and the scheduler cannot know"},
    {"kube.reconcileInterval", KEY_DURATION, AT(kube_reconcile_interval_ms), "10m", 0, 86400000,
     NULL, "how often memory is compared with the API server; 0s: only when asked"},
    {"leaderElection.enabled", KEY_BOOL, AT(lease_enabled), "true", 0, 0, NULL,
     "bind only while holding a Lease; also guards a restart against its predecessor"},
    {"leaderElection.namespace", KEY_TEXT, AT(lease_namespace), "", 0, 0, NULL,
     "namespace of the Lease; empty: that of the pod or the kubeconfig, else kube-system"},
    {"leaderElection.name", KEY_TEXT, AT(lease_name), "topofit", 0, 0, NULL,
     "name of the Lease; the same for all replicas"},
    {"leaderElection.leaseDuration", KEY_DURATION, AT(lease_duration_ms), "15s", 1000, 3600000,
     NULL, "others wait so long before they take over from a leader that is gone"},
    {"leaderElection.renewDeadline", KEY_DURATION, AT(lease_renew_deadline_ms), "10s", 500, 3600000,
     NULL, "a leader that could not renew for so long stops binding"},
    {"leaderElection.retryPeriod", KEY_DURATION, AT(lease_retry_period_ms), "2s", 100, 600000, NULL,
     "between two attempts to take or renew the Lease"},
    {"events.enabled", KEY_BOOL, AT(events_enabled), "true", 0, 0, NULL,
     "write Events about pods and nodes"},
    {"events.perSecond", KEY_NUMBER, AT(events_per_second), "5", 1, 1000, NULL,
     "requests for Events in the long run"},
    {"events.burst", KEY_NUMBER, AT(events_burst), "50", 1, 10000, NULL,
     "requests for Events at once"},
    {"topology.mode", KEY_CHOICE, AT(topology_mode), "soft", 0, 0, mode_words,
     "soft ranks, hard refuses, pods may choose; off ignores links for all pods"},
    {"topology.source", KEY_CHOICE, AT(topology_source), "auto", 0, 0, source_words,
     "which facts count: links and NUMA, links alone, NUMA alone"},
    {"topology.maxTier", KEY_NUMBER, AT(topology_max_tier), "1", 0, 3, NULL,
     "worst tier that hard mode allows inside a set"},
    {"topology.unknown", KEY_CHOICE, AT(topology_unknown), "treat-as-worst", 0, 0, unknown_words,
     "hard mode on nodes that report neither links nor NUMA"},
    {"topology.leastDamage", KEY_BOOL, AT(topology_least_damage), "true", 0, 0, NULL,
     "a single GPU is taken where the rest loses least"},
    {"packing.device", KEY_CHOICE, AT(packing_device), "binpack", 0, 0, packing_words,
     "which GPUs of a node to fill first"},
    {"packing.node", KEY_CHOICE, AT(packing_node), "binpack", 0, 0, packing_words,
     "which nodes to fill first"},
    {"log.level", KEY_CHOICE, AT(log_level), "info", 0, 0, level_words,
     "least level that is written"},
    {"log.format", KEY_CHOICE, AT(log_format), "text", 0, 0, format_words, "form of log lines"},
};

/* Every choice is kept as an enum of this size. */
_Static_assert(sizeof(enum log_level) == sizeof(int), "enums are not of the size of int");
_Static_assert(ARRAY_LEN(keys) <= CONFIG_KEYS_MAX, "CONFIG_KEYS_MAX is too small");

/* --- values ---------------------------------------------------------------------------------- */

static void *field_of(const struct config *config, const struct key *key)
{
    return (char *)(uintptr_t)config + key->offset;
}

static int refuse_words(const struct key *key, const char *value, struct error *err)
{
    AUTO(buf_clear) struct buf expected = buf_with_max(256);

    for (const struct word *word = key->words; word->text != NULL; word++)
        buf_addf(&expected, "%s%s", expected.length > 0 ? ", " : "", word->text);
    return error_set(err, ERR_INVALID, "%s is \"%.60s\": expected one of %s", key->name, value,
                     buf_text(&expected));
}

static int set_choice(const struct key *key, const char *value, void *field, struct error *err)
{
    for (const struct word *word = key->words; word->text != NULL; word++) {
        if (strcmp(word->text, value) == 0) {
            memcpy(field, &word->value, sizeof word->value);
            return 0;
        }
    }
    return refuse_words(key, value, err);
}

static int set_bool(const struct key *key, const char *value, bool *field, struct error *err)
{
    if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
        return error_set(err, ERR_INVALID, "%s is \"%.60s\": expected true or false", key->name,
                         value);
    *field = value[0] == 't';
    return 0;
}

static int set_number(const struct key *key, const char *value, uint64_t *field, struct error *err)
{
    struct error why = {0};
    uint64_t number = 0;

    if (quantity_parse_count(value, &number, &why) < 0 || number < key->min || number > key->max)
        return error_set(err, ERR_INVALID,
                         "%s is \"%.60s\": expected a number from %" PRIu64 " to %" PRIu64,
                         key->name, value, key->min, key->max);
    *field = number;
    return 0;
}

static int set_duration(const struct key *key, const char *value, uint64_t *field,
                        struct error *err)
{
    static const struct {
        const char *unit;
        uint64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}};
    size_t digits = strspn(value, "0123456789");

    for (size_t i = 0; digits > 0 && digits < 10 && i < ARRAY_LEN(units); i++) {
        uint64_t ms = strtoull(value, NULL, 10) * units[i].ms;

        if (strcmp(value + digits, units[i].unit) == 0 && ms >= key->min && ms <= key->max) {
            *field = ms;
            return 0;
        }
    }
    return error_set(err, ERR_INVALID,
                     "%s is \"%.60s\": expected a duration such as 500ms, 6s or 2m, from %" PRIu64
                     "ms to %" PRIu64 "ms",
                     key->name, value, key->min, key->max);
}

static void set_text(const char *value, void *field)
{
    mem_free_pointer(field);
    *(char **)field = xstrdup(value);
}

static int set_address(const struct key *key, const char *value, void *field, struct error *err)
{
    struct listen_address address;

    if (listen_address_parse(value, &address, err) < 0)
        return error_wrap(err, "%s", key->name);
    set_text(value, field);
    return 0;
}

static int set_value(struct config *config, const struct key *key, const char *value,
                     struct error *err)
{
    void *field = field_of(config, key);

    switch (key->type) {
    case KEY_TEXT:
        set_text(value, field);
        return 0;
    case KEY_ADDRESS:
        return set_address(key, value, field, err);
    case KEY_NUMBER:
        return set_number(key, value, field, err);
    case KEY_DURATION:
        return set_duration(key, value, field, err);
    case KEY_BOOL:
        return set_bool(key, value, field, err);
    case KEY_CHOICE:
        return set_choice(key, value, field, err);
    }
    return 0;
}

static const struct key *find_key(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    }
    return NULL;
}

void config_defaults(struct config *out)
{
    *out = (struct config){0};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct error err = {0};

        if (set_value(out, &keys[i], keys[i].fallback, &err) < 0)
            abort(); /* a default outside its own limits: test_config holds this */
        out->sources[i] = "default";
    }
}

void config_clear(struct config *config)
{
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (keys[i].type == KEY_TEXT || keys[i].type == KEY_ADDRESS)
            mem_free_pointer(field_of(config, &keys[i]));
    }
}

int config_set(struct config *config, const char *key_name, const char *value, struct error *err)
{
    const struct key *key = find_key(key_name);

    if (key == NULL)
        return error_set(err, ERR_NOT_FOUND, "there is no configuration key %s", key_name);
    if (set_value(config, key, value, err) < 0)
        return -(int)err->code;
    config->sources[key - keys] = "flag";
    return 0;
}

/* --- reloading ------------------------------------------------------------------------------- */

/* Groups and keys that may change at any time; all of them are numbers and choices. */
static const char *const reloadable[] = {
    "extender.bindTimeout", "extender.failedNodes", "topology.", "packing.", "log.",
};

static bool may_reload(const struct key *key)
{
    for (size_t i = 0; i < ARRAY_LEN(reloadable); i++) {
        if (strncmp(key->name, reloadable[i], strlen(reloadable[i])) == 0)
            return true;
    }
    return false;
}

static size_t field_size(const struct key *key)
{
    switch (key->type) {
    case KEY_TEXT:
    case KEY_ADDRESS:
        return 0;
    case KEY_NUMBER:
    case KEY_DURATION:
        return sizeof(uint64_t);
    case KEY_BOOL:
        return sizeof(bool);
    case KEY_CHOICE:
        return sizeof(int);
    }
    return 0;
}

static bool key_differs(const struct config *a, const struct config *b, const struct key *key)
{
    if (field_size(key) == 0)
        return strcmp(*(char **)field_of(a, key), *(char **)field_of(b, key)) != 0;
    return memcmp(field_of(a, key), field_of(b, key), field_size(key)) != 0;
}

size_t config_reload(struct config *config, const struct config *fresh,
                     void (*on_fixed)(void *ctx, const char *key), void *ctx)
{
    size_t taken = 0;

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const struct key *key = &keys[i];

        if (!key_differs(config, fresh, key))
            continue;
        if (may_reload(key)) {
            memcpy(field_of(config, key), field_of(fresh, key), field_size(key));
            config->sources[i] = fresh->sources[i];
            taken++;
        } else if (on_fixed != NULL) {
            on_fixed(ctx, key->name);
        }
    }
    return taken;
}

/* --- reading YAML ---------------------------------------------------------------------------- */

static int refuse_key(const char *name, const struct yaml_member *member, struct error *err)
{
    const char *nearest = NULL;
    unsigned best = SUGGESTION_DISTANCE + 1;

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        unsigned distance = text_distance(name, keys[i].name, SUGGESTION_DISTANCE);

        if (distance < best) {
            best = distance;
            nearest = keys[i].name;
        }
    }
    return error_set(err, ERR_INVALID, "line %u, column %u: unknown key %s%s%s%s", member->line,
                     member->column, name, nearest ? "; did you mean " : "", nearest ? nearest : "",
                     nearest ? "?" : "");
}

static int read_key(struct config *config, const char *group, const struct yaml_member *member,
                    struct error *err)
{
    AUTO_FREE char *name = xasprintf("%.64s.%.64s", group, member->key);
    const struct key *key = find_key(name);

    if (key == NULL)
        return refuse_key(name, member, err);
    if (member->value->type != YAML_SCALAR)
        return error_set(err, ERR_INVALID, "line %u, column %u: %s must be a single value",
                         member->value->line, member->value->column, name);
    if (set_value(config, key, member->value->text, err) < 0)
        return error_wrap(err, "line %u, column %u", member->value->line, member->value->column);
    config->sources[key - keys] = "file";
    return 0;
}

/* The length of the group's name at the beginning of a key. */
static size_t group_length(const struct key *key)
{
    return strcspn(key->name, ".");
}

static bool is_group(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        size_t length = group_length(&keys[i]);

        if (strncmp(keys[i].name, name, length) == 0 && name[length] == '\0')
            return true;
    }
    return false;
}

static bool begins_group(size_t i)
{
    size_t length = group_length(&keys[i]) + 1;

    return i == 0 || strncmp(keys[i].name, keys[i - 1].name, length) != 0;
}

static int refuse_group(const struct yaml_member *group, struct error *err)
{
    AUTO(buf_clear) struct buf known = buf_with_max(256);

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (begins_group(i))
            buf_addf(&known, "%s%.*s", i > 0 ? ", " : "", (int)group_length(&keys[i]),
                     keys[i].name);
    }
    return error_set(err, ERR_INVALID, "line %u, column %u: unknown group %.64s; there are %s",
                     group->line, group->column, group->key, buf_text(&known));
}

static int read_group(struct config *config, const struct yaml_member *group, struct error *err)
{
    if (!is_group(group->key))
        return refuse_group(group, err);
    if (group->value->type != YAML_MAP)
        return error_set(err, ERR_INVALID, "line %u, column %u: %s must hold keys",
                         group->value->line, group->value->column, group->key);
    for (size_t i = 0; i < group->value->count; i++) {
        if (read_key(config, group->key, &group->value->members[i], err) < 0)
            return -(int)err->code;
    }
    return 0;
}

int config_read(struct config *config, const char *yaml, size_t length, struct error *err)
{
    AUTO(yaml_free_pointer) struct yaml_value *documents = NULL;
    const struct yaml_value *root;

    if (yaml_read(yaml, length, &documents, err) < 0)
        return -(int)err->code;
    if (documents->count == 0)
        return 0;
    root = documents->members[0].value;
    if (documents->count > 1 || root->type != YAML_MAP)
        return error_set(err, ERR_INVALID,
                         "line %u: one YAML document with groups of keys is expected", root->line);
    for (size_t i = 0; i < root->count; i++) {
        if (read_group(config, &root->members[i], err) < 0)
            return -(int)err->code;
    }
    return 0;
}

/* --- values that must fit together ----------------------------------------------------------- */

static int check_pair(const char *group, const char *cert_file, const char *key_file,
                      struct error *err)
{
    bool has_cert = cert_file[0] != '\0';

    if (has_cert == (key_file[0] != '\0'))
        return 0;
    return error_set(err, ERR_INVALID, "%s.%s is set and %s.%s is not: give both, or neither",
                     group, has_cert ? "tlsCertFile" : "tlsKeyFile", group,
                     has_cert ? "tlsKeyFile" : "tlsCertFile");
}

bool config_is_unguarded(const struct config *config)
{
    struct error err = {0};
    struct listen_address address;

    /* The address was parsed when it was set. */
    return config->extender_client_ca_file[0] == '\0' &&
           listen_address_parse(config->extender_listen, &address, &err) == 0 &&
           !listen_address_is_loopback(&address);
}

int config_check(const struct config *config, struct error *err)
{
    if (check_pair("extender", config->extender_tls_cert_file, config->extender_tls_key_file, err) <
            0 ||
        check_pair("admin", config->admin_tls_cert_file, config->admin_tls_key_file, err) < 0)
        return -(int)err->code;
    if (config->extender_client_ca_file[0] != '\0' && config->extender_tls_cert_file[0] == '\0')
        return error_set(err, ERR_INVALID,
                         "extender.clientCaFile is set and extender.tlsCertFile is not: client "
                         "certificates are shown over TLS; give tlsCertFile and tlsKeyFile too");
    if (config_is_unguarded(config) && !config->extender_allow_unauthenticated)
        return error_set(err, ERR_INVALID,
                         "extender.listen is %.60s: who reaches that address could bind pods. "
                         "Listen on 127.0.0.1, or set extender.clientCaFile (with tlsCertFile and "
                         "tlsKeyFile), or, if something else lets only kube-scheduler through, "
                         "extender.allowUnauthenticated: true",
                         config->extender_listen);
    return 0;
}

struct decide_policy config_policy(const struct config *config)
{
    return (struct decide_policy){
        .topology = {.mode = config->topology_mode,
                     .source = config->topology_source,
                     .max_tier = (enum tier)config->topology_max_tier,
                     .unknown = config->topology_unknown,
                     .least_damage = config->topology_least_damage},
        .device_packing = config->packing_device,
        .node_packing = config->packing_node,
    };
}

/* --- showing --------------------------------------------------------------------------------- */

static const char *word_of(const struct key *key, const void *field)
{
    int value;

    memcpy(&value, field, sizeof value);
    for (const struct word *word = key->words; word->text != NULL; word++) {
        if (word->value == value)
            return word->text;
    }
    return "";
}

/* A value as JSON, which is YAML too. */
static void write_value(const struct config *config, const struct key *key, struct buf *out)
{
    const void *field = field_of(config, key);

    switch (key->type) {
    case KEY_TEXT:
    case KEY_ADDRESS:
        buf_add_json_string(out, *(char *const *)field);
        return;
    case KEY_NUMBER:
        buf_addf(out, "%" PRIu64, *(const uint64_t *)field);
        return;
    case KEY_DURATION:
        buf_addf(out, "\"%" PRIu64 "ms\"", *(const uint64_t *)field);
        return;
    case KEY_BOOL:
        buf_add_text(out, *(const bool *)field ? "true" : "false");
        return;
    case KEY_CHOICE:
        buf_add_json_string(out, word_of(key, field));
        return;
    }
}

void config_write_json(const struct config *config, struct buf *out)
{
    buf_add_text(out, "{");
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        buf_addf(out, "%s\n  \"%s\": {\"value\": ", i > 0 ? "," : "", keys[i].name);
        write_value(config, &keys[i], out);
        buf_addf(out, ", \"source\": \"%s\"}", config->sources[i]);
    }
    buf_add_text(out, "\n}\n");
}

void config_write_yaml(const struct config *config, struct buf *out)
{
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        size_t length = group_length(&keys[i]);

        if (begins_group(i))
            buf_addf(out, "%.*s:\n", (int)length, keys[i].name);
        buf_addf(out, "  # %s\n  %s: ", keys[i].purpose, keys[i].name + length + 1);
        write_value(config, &keys[i], out);
        buf_add_byte(out, '\n');
    }
}

const char *config_key(size_t number)
{
    return number < ARRAY_LEN(keys) ? keys[number].name : NULL;
}
