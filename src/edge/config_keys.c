/* SPDX-License-Identifier: Apache-2.0 */
/* config_keys - the table of keys. */
#include "config_keys.h"

#include "topofit/lease.h"
#include "topofit/mem.h"

#include <stddef.h>

static const struct word failed_nodes_words[] = {{"auto", FAILED_NODES_AUTO},
                                                 {"always", FAILED_NODES_ALWAYS},
                                                 {"never", FAILED_NODES_NEVER},
                                                 {0}};
static const struct word answers_words[] = {
    {"fitting", FILTER_ANSWERS_FITTING}, {"best", FILTER_ANSWERS_BEST}, {0}};
static const struct word mode_words[] = {
    {"soft", TOPOLOGY_SOFT}, {"hard", TOPOLOGY_HARD}, {"off", TOPOLOGY_OFF}, {0}};
static const struct word source_words[] = {
    {"auto", SOURCE_AUTO}, {"vendor", SOURCE_VENDOR}, {"numa", SOURCE_NUMA}, {0}};
static const struct word unknown_words[] = {
    {"treat-as-worst", UNKNOWN_AS_WORST}, {"reject", UNKNOWN_REJECT}, {0}};
static const struct word policy_words[] = {
#define X(name, policy) {name, policy},
    PACKING_POLICIES(X)
#undef X
        {0}};
static const struct word device_words[] = {
    {"auto", DEVICES_AUTO}, {"binpack", DEVICES_BINPACK}, {"spread", DEVICES_SPREAD}, {0}};
static const struct word score_words[] = {{"winner", RANK_WINNER}, {"graded", RANK_GRADED}, {0}};
static const struct word words_words[] = {
    {"topofit", EVENT_WORDS_TOPOFIT}, {"hami", EVENT_WORDS_HAMI}, {0}};
static const struct word takes_over_words[] = {{"default-scheduler", TAKES_OVER_DEFAULT},
                                               {"any", TAKES_OVER_ANY},
                                               {"none", TAKES_OVER_NONE},
                                               {0}};
static const struct word privileged_words[] = {
    {"deny", PRIVILEGED_DENY}, {"ignore", PRIVILEGED_IGNORE}, {"warn", PRIVILEGED_WARN}, {0}};
static const struct word delivery_words[] = {
    {"none", DELIVERY_NONE}, {"downward-api", DELIVERY_DOWNWARD_API}, {0}};
static const struct word core_policy_words[] = {{"default", CORE_POLICY_DEFAULT},
                                                {"force", CORE_POLICY_FORCE},
                                                {"disable", CORE_POLICY_DISABLE},
                                                {0}};
static const struct word level_words[] = {{"debug", LOG_LEVEL_DEBUG},
                                          {"info", LOG_LEVEL_INFO},
                                          {"warn", LOG_LEVEL_WARN},
                                          {"error", LOG_LEVEL_ERROR},
                                          {0}};
static const struct word format_words[] = {
    {"text", LOG_FORMAT_TEXT}, {"json", LOG_FORMAT_JSON}, {0}};

#define AT(field) offsetof(struct config, field)

const struct key config_keys[] = {
    {"extender.listen", KEY_ADDRESS, FIXED, AT(extender_listen), "127.0.0.1:9901", 0, 0, NULL,
     "address and port for kube-scheduler's calls"},
    {"extender.threads", KEY_NUMBER, FIXED, AT(extender_threads), "2", 1, 64, NULL,
     "threads that answer calls"},
    {"extender.connectionsMax", KEY_NUMBER, FIXED, AT(extender_connections_max), "1024", 16, 65535,
     NULL, "connections open at once"},
    {"extender.clientConnectionsMax", KEY_NUMBER, FIXED, AT(extender_client_connections_max), "512",
     1, 65535, NULL, "connections of one client address open at once; further ones are closed"},
    {"extender.bodyMaxMiB", KEY_NUMBER, FIXED, AT(extender_body_max_mib), "16", 1, 512, NULL,
     "largest request; raise it only for nodeCacheCapable: false"},
    {"extender.bodiesMaxMiB", KEY_NUMBER, FIXED, AT(extender_bodies_max_mib), "128", 1, 8192, NULL,
     "requests and answers of all connections together; more are answered with 503"},
    {"extender.requestTimeout", KEY_DURATION, FIXED, AT(extender_request_timeout_ms), "10s", 100,
     600000, NULL, "a client that sends its request longer than this is cut"},
    {"extender.bindTimeout", KEY_DURATION, RELOADED, AT(extender_bind_timeout_ms), "6s", 100,
     600000, NULL, "how long a Binding may take; keep it below the scheduler's httpTimeout"},
    {"extender.failedNodes", KEY_CHOICE, RELOADED, AT(extender_failed_nodes), "auto", 0, 0,
     failed_nodes_words, "report refusals that eviction could cure as FailedNodes"},
    {"extender.filterAnswers", KEY_CHOICE, RELOADED, AT(extender_filter_answers), "fitting", 0, 0,
     answers_words, "best: filter keeps the best node alone, for who does not ask prioritize"},
    {"extender.tlsCertFile", KEY_FILE, FIXED, AT(extender_tls_cert_file), "", 0, 0, NULL,
     "certificate of the port, then those that signed it (PEM); empty: not encrypted"},
    {"extender.tlsKeyFile", KEY_FILE, FIXED, AT(extender_tls_key_file), "", 0, 0, NULL,
     "private key of the certificate (PEM)"},
    {"extender.clientCaFile", KEY_FILE, FIXED, AT(extender_client_ca_file), "", 0, 0, NULL,
     "CA certificates (PEM); clients must show a certificate signed by one; empty: none"},
    {"extender.allowUnauthenticated", KEY_BOOL, FIXED, AT(extender_allow_unauthenticated), "false",
     0, 0, NULL,
     "listen beyond the loopback address without clientCaFile; others must guard the port"},
    {"admin.listen", KEY_ADDRESS, FIXED, AT(admin_listen), "127.0.0.1:9902", 0, 0, NULL,
     "address and port for health, metrics and debug"},
    {"admin.tlsCertFile", KEY_FILE, FIXED, AT(admin_tls_cert_file), "", 0, 0, NULL,
     "certificate of the port, then those that signed it (PEM); empty: not encrypted"},
    {"admin.tlsKeyFile", KEY_FILE, FIXED, AT(admin_tls_key_file), "", 0, 0, NULL,
     "private key of the certificate (PEM)"},
    {"kube.kubeconfig", KEY_FILE, FIXED, AT(kube_kubeconfig), "", 0, 0, NULL,
     "kubeconfig file; empty: $KUBECONFIG, the pod's account, ~/.kube/config"},
    {"kube.bindsMax", KEY_NUMBER, FIXED, AT(kube_binds_max), "256", 1, 4096, NULL,
     "Bindings in flight at once; more are refused and retried by the scheduler"},
    {"kube.watchList", KEY_BOOL, FIXED, AT(kube_watch_list), "true", 0, 0, NULL,
     "ask for lists as streams where the API server can do that"},
    {"kube.wakePods", KEY_BOOL, FIXED, AT(kube_wake_pods), "true", 0, 0, NULL,
     "change a node's annotation when a waiting pod may fit and the scheduler cannot know"},
    {"kube.nodeLockTimeout", KEY_DURATION, FIXED, AT(kube_node_lock_timeout_ms), "5m", 1000,
     86400000, NULL, "a lock on a node that stands unchanged for so long means nothing any more"},
    {"kube.reconcileInterval", KEY_DURATION, FIXED, AT(kube_reconcile_interval_ms), "10m", 0,
     86400000, NULL, "how often memory is compared with the API server; 0s: only when asked"},
    {"classes.files", KEY_FILES, FIXED, AT(classes_files), "", 0, 0, NULL,
     "class files (YAML) that change built-in device classes or add some"},
    {"leaderElection.enabled", KEY_BOOL, FIXED, AT(lease_enabled), "true", 0, 0, NULL,
     "bind only while holding a Lease; also guards a restart against its predecessor"},
    {"leaderElection.namespace", KEY_TEXT, FIXED, AT(lease_namespace), "", 0, 0, NULL,
     "namespace of the Lease; empty: that of the pod or the kubeconfig, else kube-system"},
    {"leaderElection.name", KEY_TEXT, FIXED, AT(lease_name), "topofit", 0, 0, NULL,
     "name of the Lease; the same for all replicas"},
    {"leaderElection.leaseDuration", KEY_DURATION, FIXED, AT(lease_duration_ms), "15s", 1000,
     LEASE_DURATION_MAX_MS, NULL,
     "others wait so long before they take over from a leader that is gone"},
    {"leaderElection.renewDeadline", KEY_DURATION, FIXED, AT(lease_renew_deadline_ms), "10s", 500,
     LEASE_DURATION_MAX_MS, NULL, "a leader that could not renew for so long stops binding"},
    {"leaderElection.retryPeriod", KEY_DURATION, FIXED, AT(lease_retry_period_ms), "2s", 100,
     LEASE_DURATION_MAX_MS, NULL, "between two attempts to take or renew the Lease"},
    {"events.enabled", KEY_BOOL, FIXED, AT(events_enabled), "true", 0, 0, NULL,
     "write Events about pods and nodes"},
    {"events.perSecond", KEY_NUMBER, FIXED, AT(events_per_second), "5", 1, 1000, NULL,
     "requests for Events in the long run"},
    {"events.burst", KEY_NUMBER, FIXED, AT(events_burst), "50", 1, 10000, NULL,
     "requests for Events at once"},
    {"events.words", KEY_CHOICE, RELOADED, AT(event_words), "topofit", 0, 0, words_words,
     "whose reasons and notes Events have; hami: for dashboards that match those"},
    {"quota.enabled", KEY_BOOL, FIXED, AT(quota_enabled), "true", 0, 0, NULL,
     "keep namespaces within their ResourceQuotas on device memory and cores"},
    {"topology.mode", KEY_CHOICE, RELOADED, AT(topology_mode), "soft", 0, 0, mode_words,
     "soft ranks, hard refuses, pods may choose; off ignores links for all pods"},
    {"topology.source", KEY_CHOICE, RELOADED, AT(topology_source), "auto", 0, 0, source_words,
     "which facts count: links and NUMA, links alone, NUMA alone"},
    {"topology.maxTier", KEY_NUMBER, RELOADED, AT(topology_max_tier), "1", 0, 3, NULL,
     "worst tier that hard mode allows inside a set"},
    {"topology.unknown", KEY_CHOICE, RELOADED, AT(topology_unknown), "treat-as-worst", 0, 0,
     unknown_words, "hard mode on nodes that report neither links nor NUMA"},
    {"topology.leastDamage", KEY_BOOL, RELOADED, AT(topology_least_damage), "true", 0, 0, NULL,
     "a single GPU is taken where the rest loses least"},
    {"packing.policy", KEY_CHOICE, RELOADED, AT(packing_policy), "pack", 0, 0, policy_words,
     "which node is best of those that meet a pod's demands alike"},
    {"packing.device", KEY_CHOICE, RELOADED, AT(packing_device), "auto", 0, 0, device_words,
     "which GPUs of a node to fill first; auto: as the policy goes"},
    {"packing.scores", KEY_CHOICE, RELOADED, AT(packing_scores), "winner", 0, 0, score_words,
     "winner: the best node alone gets 10; graded: by quality, for others to have a say"},
    {"packing.workloadFile", KEY_FILE, FIXED, AT(packing_workload_file), "", 0, 0, NULL,
     "jobs that usually come (CSV); empty: learned from the pods that arrive"},
    {"webhook.enabled", KEY_BOOL, RELOADED, AT(webhook_enabled), "true", 0, 0, NULL,
     "answer the API server's reviews of pods that are created"},
    {"webhook.schedulerName", KEY_TEXT, FIXED, AT(webhook_scheduler_name), "", 0, 0, NULL,
     "scheduler that pods with devices are given; empty: the name is left as it is"},
    {"webhook.resources", KEY_TEXTS, FIXED, AT(webhook_resources), "", 0, 0, NULL,
     "the extender's managedResources: pods that name none of them are left alone; empty: those of "
     "all classes"},
    {"webhook.takesOver", KEY_CHOICE, RELOADED, AT(webhook_takes_over), "default-scheduler", 0, 0,
     takes_over_words, "whose pods are looked after, beside those that name schedulerName"},
    {"webhook.privileged", KEY_CHOICE, RELOADED, AT(webhook_privileged), "deny", 0, 0,
     privileged_words, "pods with devices that have a privileged container"},
    {"webhook.delivery", KEY_CHOICE, RELOADED, AT(webhook_delivery), "none", 0, 0, delivery_words,
     "how the chosen devices get into a container when nothing on the node sees to it"},
    {"webhook.guardVisibleDevices", KEY_TEXT, FIXED, AT(webhook_guarded_classes), "", 0, 0, NULL,
     "classes, as nvidia, whose devices no container sees that asks for none; empty: off"},
    {"webhook.corePolicy", KEY_CHOICE, RELOADED, AT(webhook_core_policy), "default", 0, 0,
     core_policy_words, "whether HAMi's library in the container limits cores"},
    {"webhook.runtimeClassName", KEY_TEXT, FIXED, AT(webhook_runtime_class_name), "", 0, 0, NULL,
     "runtime class for pods whose devices need one; empty: none"},
    {"webhook.listen", KEY_TEXT, FIXED, AT(webhook_listen), "", 0, 0, NULL,
     "address and port for reviews alone; empty: the extender's port answers them"},
    {"webhook.tlsCertFile", KEY_FILE, FIXED, AT(webhook_tls_cert_file), "", 0, 0, NULL,
     "certificate of that port, then those that signed it (PEM)"},
    {"webhook.tlsKeyFile", KEY_FILE, FIXED, AT(webhook_tls_key_file), "", 0, 0, NULL,
     "private key of the certificate (PEM)"},
    {"log.level", KEY_CHOICE, RELOADED, AT(log_level), "info", 0, 0, level_words,
     "least level that is written"},
    {"log.format", KEY_CHOICE, RELOADED, AT(log_format), "text", 0, 0, format_words,
     "form of log lines"},
};

/* Every choice is kept as an enum of this size. */
_Static_assert(sizeof(enum log_level) == sizeof(int), "enums are not of the size of int");
_Static_assert(ARRAY_LEN(config_keys) <= CONFIG_KEYS_MAX, "CONFIG_KEYS_MAX is too small");

const size_t config_key_count = ARRAY_LEN(config_keys);
