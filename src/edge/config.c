/* SPDX-License-Identifier: Apache-2.0 */
/* config - the configuration: one table of keys. */
#include "topofit/config.h"

#include "config_keys.h"
#include "topofit/lease.h"
#include "topofit/listen_address.h"
#include "topofit/log.h"
#include "topofit/mem.h"
#include "topofit/quantity.h"
#include "topofit/text.h"
#include "topofit/yaml.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SUGGESTION_DISTANCE 3

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

static const struct {
    const char *unit;
    uint64_t ms;
} duration_units[] = {{"m", 60000}, {"s", 1000}, {"ms", 1}};

/* As people write it: in the greatest unit of which it is a whole number; nothing is "0s". */
static void write_duration(uint64_t ms, struct buf *out)
{
    size_t i = ms == 0 ? 1 : 0;

    while (ms % duration_units[i].ms != 0)
        i++;
    buf_addf(out, "%" PRIu64 "%s", ms / duration_units[i].ms, duration_units[i].unit);
}

static int set_duration(const struct key *key, const char *value, uint64_t *field,
                        struct error *err)
{
    AUTO(buf_clear) struct buf range = buf_with_max(100);
    size_t digits = strspn(value, "0123456789");

    for (size_t i = 0; digits > 0 && digits < 10 && i < ARRAY_LEN(duration_units); i++) {
        uint64_t ms = strtoull(value, NULL, 10) * duration_units[i].ms;

        if (strcmp(value + digits, duration_units[i].unit) == 0 && ms >= key->min &&
            ms <= key->max) {
            *field = ms;
            return 0;
        }
    }
    buf_add_text(&range, "from ");
    write_duration(key->min, &range);
    buf_add_text(&range, " to ");
    write_duration(key->max, &range);
    return error_set(err, ERR_INVALID,
                     "%s is \"%.60s\": expected a duration such as 500ms, 6s or 2m, %s", key->name,
                     value, buf_text(&range));
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

static void clear_texts(struct config_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        free(texts->items[i]);
    free(texts->items);
    *texts = (struct config_texts){0};
}

static void add_text(const char *value, struct config_texts *texts)
{
    texts->items = xreallocarray(texts->items, texts->count + 1, sizeof *texts->items);
    texts->items[texts->count++] = xstrdup(value);
}

/* A list of one item; of none for the empty text. */
static void set_texts(const char *value, struct config_texts *texts)
{
    clear_texts(texts);
    if (value[0] != '\0')
        add_text(value, texts);
}

static bool is_list(enum key_type type)
{
    return type == KEY_TEXTS || type == KEY_FILES;
}

static int set_value(struct config *config, const struct key *key, const char *value,
                     struct error *err)
{
    void *field = field_of(config, key);

    switch (key->type) {
    case KEY_TEXT:
    case KEY_FILE:
        set_text(value, field);
        return 0;
    case KEY_TEXTS:
    case KEY_FILES:
        set_texts(value, field);
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
    for (size_t i = 0; i < config_key_count; i++) {
        if (strcmp(config_keys[i].name, name) == 0)
            return &config_keys[i];
    }
    return NULL;
}

void config_defaults(struct config *out)
{
    *out = (struct config){0};
    for (size_t i = 0; i < config_key_count; i++) {
        struct error err = {0};

        if (set_value(out, &config_keys[i], config_keys[i].fallback, &err) < 0)
            abort(); /* a default outside its own limits: test_config holds this */
        out->sources[i] = "default";
    }
}

void config_clear(struct config *config)
{
    for (size_t i = 0; i < config_key_count; i++) {
        if (config_keys[i].type == KEY_TEXT || config_keys[i].type == KEY_FILE ||
            config_keys[i].type == KEY_ADDRESS)
            mem_free_pointer(field_of(config, &config_keys[i]));
        if (is_list(config_keys[i].type))
            clear_texts(field_of(config, &config_keys[i]));
    }
}

int config_set(struct config *config, const char *key_name, const char *value, struct error *err)
{
    const struct key *key = find_key(key_name);

    if (key == NULL)
        return error_set(err, ERR_NOT_FOUND, "there is no configuration key %s", key_name);
    if (set_value(config, key, value, err) < 0)
        return error_pass(err);
    config->sources[key - config_keys] = "flag";
    return 0;
}

/* --- reloading ------------------------------------------------------------------------------- */

/* Of a value that is kept in the struct itself; 0: texts. */
static size_t field_size(const struct key *key)
{
    switch (key->type) {
    case KEY_TEXT:
    case KEY_FILE:
    case KEY_TEXTS:
    case KEY_FILES:
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

static bool texts_differ(const struct config_texts *a, const struct config_texts *b)
{
    if (a->count != b->count)
        return true;
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->items[i], b->items[i]) != 0)
            return true;
    }
    return false;
}

static bool key_differs(const struct config *a, const struct config *b, const struct key *key)
{
    if (is_list(key->type))
        return texts_differ(field_of(a, key), field_of(b, key));
    if (field_size(key) == 0)
        return strcmp(*(char **)field_of(a, key), *(char **)field_of(b, key)) != 0;
    return memcmp(field_of(a, key), field_of(b, key), field_size(key)) != 0;
}

size_t config_reload(struct config *config, const struct config *fresh,
                     void (*on_fixed)(void *ctx, const char *key), void *ctx)
{
    size_t taken = 0;

    for (size_t i = 0; i < config_key_count; i++) {
        const struct key *key = &config_keys[i];

        if (!key_differs(config, fresh, key))
            continue;
        if (key->life == RELOADED) {
            assert(field_size(key) > 0);
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

    for (size_t i = 0; i < config_key_count; i++) {
        unsigned distance = text_distance(name, config_keys[i].name, SUGGESTION_DISTANCE);

        if (distance < best) {
            best = distance;
            nearest = config_keys[i].name;
        }
    }
    return error_set(err, ERR_INVALID, "line %u, column %u: unknown key %s%s%s%s", member->line,
                     member->column, name, nearest ? "; did you mean " : "", nearest ? nearest : "",
                     nearest ? "?" : "");
}

/* A list of texts, or one text for a list of it alone. */
static int read_texts(const struct key *key, const struct yaml_value *value,
                      struct config_texts *texts, struct error *err)
{
    if (value->type == YAML_SCALAR) {
        set_texts(value->text, texts);
        return 0;
    }
    clear_texts(texts);
    for (size_t i = 0; i < value->count; i++) {
        const struct yaml_value *item = value->members[i].value;

        if (value->type != YAML_LIST || item->type != YAML_SCALAR || item->text[0] == '\0')
            return error_set(err, ERR_INVALID, "line %u, column %u: %s must be a list of texts",
                             item->line, item->column, key->name);
        add_text(item->text, texts);
    }
    return 0;
}

static int read_key(struct config *config, const char *group, const struct yaml_member *member,
                    struct error *err)
{
    AUTO_FREE char *name = xasprintf("%.64s.%.64s", group, member->key);
    const struct key *key = find_key(name);

    if (key == NULL)
        return refuse_key(name, member, err);
    if (is_list(key->type)) {
        if (read_texts(key, member->value, field_of(config, key), err) < 0)
            return error_pass(err);
        config->sources[key - config_keys] = "file";
        return 0;
    }
    if (member->value->type != YAML_SCALAR)
        return error_set(err, ERR_INVALID, "line %u, column %u: %s must be a single value",
                         member->value->line, member->value->column, name);
    if (set_value(config, key, member->value->text, err) < 0)
        return error_wrap(err, "line %u, column %u", member->value->line, member->value->column);
    config->sources[key - config_keys] = "file";
    return 0;
}

/* The length of the group's name at the beginning of a key. */
static size_t group_length(const struct key *key)
{
    return strcspn(key->name, ".");
}

static bool is_group(const char *name)
{
    for (size_t i = 0; i < config_key_count; i++) {
        size_t length = group_length(&config_keys[i]);

        if (strncmp(config_keys[i].name, name, length) == 0 && name[length] == '\0')
            return true;
    }
    return false;
}

static bool begins_group(size_t i)
{
    size_t length = group_length(&config_keys[i]) + 1;

    return i == 0 || strncmp(config_keys[i].name, config_keys[i - 1].name, length) != 0;
}

static int refuse_group(const struct yaml_member *group, struct error *err)
{
    AUTO(buf_clear) struct buf known = buf_with_max(256);

    for (size_t i = 0; i < config_key_count; i++) {
        if (begins_group(i))
            buf_addf(&known, "%s%.*s", i > 0 ? ", " : "", (int)group_length(&config_keys[i]),
                     config_keys[i].name);
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
            return error_pass(err);
    }
    return 0;
}

int config_read(struct config *config, const char *yaml, size_t length, struct error *err)
{
    AUTO(yaml_free_pointer) struct yaml_value *documents = NULL;
    const struct yaml_value *root;

    if (yaml_read(yaml, length, &documents, err) < 0)
        return error_pass(err);
    if (documents->count == 0)
        return 0;
    root = documents->members[0].value;
    if (documents->count > 1 || root->type != YAML_MAP)
        return error_set(err, ERR_INVALID,
                         "line %u: one YAML document with groups of keys is expected", root->line);
    for (size_t i = 0; i < root->count; i++) {
        if (read_group(config, &root->members[i], err) < 0)
            return error_pass(err);
    }
    return 0;
}

/* --- names of files -------------------------------------------------------------------------- */

static void put_beside(const char *folder, char **path)
{
    char *whole;

    if ((*path)[0] == '\0' || (*path)[0] == '/')
        return;
    whole = xasprintf("%s/%s", strcmp(folder, "/") == 0 ? "" : folder, *path);
    free(*path);
    *path = whole;
}

void config_files_beside(struct config *config, const char *path)
{
    const char *slash = strrchr(path, '/');
    AUTO_FREE char *said =
        slash == NULL ? xstrdup(".") : xasprintf("%.*s/", (int)(slash - path), path);
    AUTO_FREE char *folder = realpath(said, NULL);

    for (size_t i = 0; i < config_key_count && folder != NULL; i++) {
        void *field = field_of(config, &config_keys[i]);

        if (strcmp(config->sources[i], "file") != 0)
            continue;
        if (config_keys[i].type == KEY_FILE)
            put_beside(folder, field);
        for (size_t k = 0;
             config_keys[i].type == KEY_FILES && k < ((struct config_texts *)field)->count; k++)
            put_beside(folder, &((struct config_texts *)field)->items[k]);
    }
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

static int check_lease(const struct config *config, struct error *err)
{
    const struct lease_options options = {
        .namespace = config->lease_namespace[0] != '\0' ? config->lease_namespace : "default",
        .name = config->lease_name,
        .identity = "any",
        .duration_ms = config->lease_duration_ms,
        .renew_deadline_ms = config->lease_renew_deadline_ms,
        .retry_ms = config->lease_retry_period_ms,
    };

    if (config->lease_enabled && lease_check_options(&options, err) < 0)
        return error_wrap(err, "leaderElection (leaseDuration, renewDeadline, retryPeriod)");
    return 0;
}

static int check_webhook(const struct config *config, struct error *err)
{
    struct listen_address address;

    if (config->webhook_takes_over == TAKES_OVER_NONE && config->webhook_scheduler_name[0] == '\0')
        return error_set(
            err, ERR_INVALID,
            "webhook.takesOver is none and webhook.schedulerName is empty: no pod "
            "would be looked after; give schedulerName, or set webhook.enabled: false");
    if (check_pair("webhook", config->webhook_tls_cert_file, config->webhook_tls_key_file, err) < 0)
        return error_pass(err);
    if ((config->webhook_listen[0] == '\0') != (config->webhook_tls_cert_file[0] == '\0'))
        return error_set(err, ERR_INVALID,
                         "webhook.listen, webhook.tlsCertFile and webhook.tlsKeyFile: give all "
                         "three or none; the API server calls webhooks over TLS only");
    if (config->webhook_listen[0] != '\0' &&
        listen_address_parse(config->webhook_listen, &address, err) < 0)
        return error_wrap(err, "webhook.listen");
    return 0;
}

int config_check(const struct config *config, struct error *err)
{
    if (check_lease(config, err) < 0 || check_webhook(config, err) < 0)
        return error_pass(err);
    if (check_pair("extender", config->extender_tls_cert_file, config->extender_tls_key_file, err) <
            0 ||
        check_pair("admin", config->admin_tls_cert_file, config->admin_tls_key_file, err) < 0)
        return error_pass(err);
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
        .packing = config->packing_policy,
        .device_order = config->packing_device,
        .scores = config->packing_scores,
    };
}

struct admit_policy config_admit_policy(const struct config *config)
{
    return (struct admit_policy){.scheduler_name = config->webhook_scheduler_name,
                                 .runtime_class_name = config->webhook_runtime_class_name,
                                 .guarded_classes = config->webhook_guarded_classes,
                                 .resources = config->webhook_resources.items,
                                 .resource_count = config->webhook_resources.count,
                                 .takes_over = config->webhook_takes_over,
                                 .privileged = config->webhook_privileged,
                                 .delivery = config->webhook_delivery,
                                 .core_policy = config->webhook_core_policy};
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

static void write_texts(const struct config_texts *texts, struct buf *out)
{
    buf_add_byte(out, '[');
    for (size_t i = 0; i < texts->count; i++) {
        buf_add_text(out, i > 0 ? ", " : "");
        buf_add_json_string(out, texts->items[i]);
    }
    buf_add_byte(out, ']');
}

/* A value as JSON, which is YAML too. */
static void write_value(const struct config *config, const struct key *key, struct buf *out)
{
    const void *field = field_of(config, key);

    switch (key->type) {
    case KEY_TEXT:
    case KEY_FILE:
    case KEY_ADDRESS:
        buf_add_json_string(out, *(char *const *)field);
        return;
    case KEY_TEXTS:
    case KEY_FILES:
        write_texts(field, out);
        return;
    case KEY_NUMBER:
        buf_addf(out, "%" PRIu64, *(const uint64_t *)field);
        return;
    case KEY_DURATION:
        buf_add_text(out, "\"");
        write_duration(*(const uint64_t *)field, out);
        buf_add_text(out, "\"");
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
    for (size_t i = 0; i < config_key_count; i++) {
        buf_addf(out, "%s\n  \"%s\": {\"value\": ", i > 0 ? "," : "", config_keys[i].name);
        write_value(config, &config_keys[i], out);
        buf_addf(out, ", \"source\": \"%s\"}", config->sources[i]);
    }
    buf_add_text(out, "\n}\n");
}

void config_write_yaml(const struct config *config, struct buf *out)
{
    for (size_t i = 0; i < config_key_count; i++) {
        size_t length = group_length(&config_keys[i]);

        if (begins_group(i))
            buf_addf(out, "%.*s:\n", (int)length, config_keys[i].name);
        buf_addf(out, "  # %s\n  %s: ", config_keys[i].purpose, config_keys[i].name + length + 1);
        write_value(config, &config_keys[i], out);
        buf_add_byte(out, '\n');
    }
}

const char *config_key(size_t number)
{
    return number < config_key_count ? config_keys[number].name : NULL;
}
