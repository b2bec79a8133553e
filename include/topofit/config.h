/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config - the configuration: one table of keys, read from YAML. A reload changes some of them.
 *
 * The table in config_keys.c is the only place that knows a key: its name, type, default, limits,
 * whether a reload takes it over, and what it is for. Reading, `check-config --list-keys`, /configz
 * and the test of the documentation come from it. Unknown keys are refused with line, column and
 * the nearest known key.
 */
#ifndef TOPOFIT_CONFIG_H
#define TOPOFIT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/admit.h"
#include "topofit/buf.h"
#include "topofit/decide.h"
#include "topofit/error.h"
#include "topofit/extender.h"
#include "topofit/log.h"
#include "topofit/rank.h"

#define CONFIG_BYTES_MAX (1u << 20)
#define CONFIG_KEYS_MAX 128

enum filter_answers { FILTER_ANSWERS_FITTING = 0, FILTER_ANSWERS_BEST };
enum failed_nodes { FAILED_NODES_AUTO = 0, FAILED_NODES_ALWAYS, FAILED_NODES_NEVER };

/* A list of texts, in the order of the file. */
struct config_texts {
    char **items;
    size_t count;
};

/* Values as the rest of the program wants them; strings are owned. */
struct config {
    char *extender_listen;
    uint64_t extender_threads;
    uint64_t extender_connections_max;
    uint64_t extender_client_connections_max;
    uint64_t extender_body_max_mib;
    uint64_t extender_bodies_max_mib;
    uint64_t extender_request_timeout_ms;
    uint64_t extender_bind_timeout_ms;
    enum failed_nodes extender_failed_nodes;
    enum filter_answers extender_filter_answers;
    char *extender_tls_cert_file; /* files: "" = none */
    char *extender_tls_key_file;
    char *extender_client_ca_file;
    bool extender_allow_unauthenticated;
    char *admin_listen;
    char *admin_tls_cert_file;
    char *admin_tls_key_file;
    char *kube_kubeconfig; /* "" = look for one */
    uint64_t kube_binds_max;
    bool kube_watch_list;
    bool quota_enabled;
    bool kube_wake_pods;
    uint64_t kube_node_lock_timeout_ms;
    uint64_t kube_reconcile_interval_ms; /* 0 = only when asked */
    bool lease_enabled;
    char *lease_namespace; /* "" = ours */
    char *lease_name;
    uint64_t lease_duration_ms, lease_renew_deadline_ms, lease_retry_period_ms;
    struct config_texts classes_files;
    bool events_enabled;
    uint64_t events_per_second, events_burst;
    enum event_words event_words;
    enum topology_mode topology_mode;
    enum topology_source topology_source;
    uint64_t topology_max_tier;
    enum unknown_topology topology_unknown;
    bool topology_least_damage;
    enum packing_policy packing_policy;
    enum device_order packing_device;
    enum rank_scores packing_scores;
    char *packing_workload_file; /* "" = learn the mix of pods */
    bool webhook_enabled;
    char *webhook_scheduler_name; /* "" = the name is left as it is */
    struct config_texts webhook_resources;
    enum admit_takes_over webhook_takes_over;
    enum admit_privileged webhook_privileged;
    enum admit_delivery webhook_delivery;
    char *webhook_guarded_classes; /* comma list */
    enum admit_core_policy webhook_core_policy;
    char *webhook_runtime_class_name; /* "" = none */
    char *webhook_listen;             /* "" = no port of its own */
    char *webhook_tls_cert_file;
    char *webhook_tls_key_file;
    enum log_level log_level;
    enum log_format log_format;

    const char *sources[CONFIG_KEYS_MAX]; /* per key: "default", "file" or "flag" */
};

/* All defaults. The caller clears the config. */
void config_defaults(struct config *out);
void config_clear(struct config *config);

/*
 * Read YAML over what is there. errors: ERR_INVALID with line and column; config keeps what was
 * read before the error.
 */
int config_read(struct config *config, const char *yaml, size_t length, struct error *err);

/*
 * Names of files that were read are relative to the file that says them: make them whole.
 *
 * path  of that file, which is there
 */
void config_files_beside(struct config *config, const char *path);

/*
 * Set one key by its full name ("extender.listen") from a flag. Of a list, its only item.
 *
 * errors  ERR_NOT_FOUND for a key that does not exist, ERR_INVALID for a value.
 */
int config_set(struct config *config, const char *key, const char *value, struct error *err);

/*
 * Take over from a fresh configuration what may change while the daemon runs.
 *
 * on_fixed  called at most once for each other key that differs: it needs a restart. The name is
 *           in static storage. May be NULL.
 * return    how many keys were taken over.
 */
size_t config_reload(struct config *config, const struct config *fresh,
                     void (*on_fixed)(void *ctx, const char *key), void *ctx);

/*
 * Values that are good each by itself and bad together: half a pair of TLS files, and an extender
 * port that others reach and nothing guards. To be asked once all values are set.
 *
 * errors  ERR_INVALID: which keys, and what to do.
 */
int config_check(const struct config *config, struct error *err);

/* Can others than the programs on this machine reach the extender, and bind pods unasked? */
bool config_is_unguarded(const struct config *config);

/* What decide needs of it. */
struct decide_policy config_policy(const struct config *config);

/* What the webhook needs of it; the texts are borrowed. */
struct admit_policy config_admit_policy(const struct config *config);

/* Every key with its value and source, as a JSON object or as YAML with comments. */
void config_write_json(const struct config *config, struct buf *out);
void config_write_yaml(const struct config *config, struct buf *out);

/* Step through the key names: NULL behind the last. */
const char *config_key(size_t number);

#endif
