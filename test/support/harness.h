/* SPDX-License-Identifier: Apache-2.0 */
/*
 * harness - the extender between a made-up API server and a made-up kube-scheduler.
 *
 * The API server keeps nodes and pods as JSON. What it shows is read by the same readers as in
 * production, and what a Binding writes into a pod is read back from the pod's annotations.
 * Questions are request bodies, answers are read from answer bodies. Every answer is held against
 * what is true of all answers: each node in exactly one group, texts that are there, scores 0..10.
 *
 * ask_body, ask_bind_body and the port may be used from several threads, the rest by one.
 */
#ifndef TOPOFIT_TEST_HARNESS_H
#define TOPOFIT_TEST_HARNESS_H

#include "support/test.h"

#include "topofit/extender.h"

#include <jansson.h>

#include <pthread.h>

#define HARNESS_UNCLEAR_MAX 8 /* jobs whose end is not known yet */
#define HARNESS_NAME_MAX 256  /* bytes of a node name, with the NUL */

/* What the port does with a Binding. */
enum port_script {
    PORT_EXECUTES = 0, /* the API server binds, the watch shows the pod, the job is BIND_BOUND */
    PORT_HOLDS,        /* the job waits for the test: api_executes, end_job */
    PORT_IS_FULL,      /* the job is refused */
    PORT_FAILS,        /* the job is taken, and is BIND_FAILED without a Binding */
    PORT_SETTLES_AND_IS_FULL, /* the same, and just before that settle_job(settles_as) */
};

struct harness {
    struct extender extender; /* its options may be changed at any time */
    struct cluster *cluster;  /* the extender's */
    struct class_table classes;
    json_t *nodes;            /* of the API server, by name */
    json_t *pods;             /* by name; all live in namespace default */
    pthread_mutex_t api_lock; /* guards pods while Bindings are executed */
    enum port_script port;
    enum bind_outcome settles_as;
    struct bind_job *job;                          /* held; owned */
    struct bind_job *unclear[HARNESS_UNCLEAR_MAX]; /* ended unclear, not settled; oldest first */
    size_t unclear_count;
    unsigned submitted; /* jobs the port was given */
    bool sends_nodes;   /* questions carry Nodes instead of NodeNames */
    char *answer;       /* body of the last filter or prioritize call */
    json_t *parsed;     /* the same */
    char *bound;        /* Error of the last bind call; NULL while it is not answered */
};

/* An empty cluster that is synced, the default policy, curable refusals in FailedNodes. */
struct harness *harness_new(void);
void harness_free(struct harness **place);

/* A fresh daemon against the same API server. Its lists have not arrived: relist() for that. */
void harness_restart(struct harness *harness);

/* --- the API server: nodes and pods ---------------------------------------------------------- */

struct node_spec {
    const char *name;
    unsigned count;
    uint64_t memory_mib;
    const uint64_t *memory_each; /* [count] instead of memory_mib, or NULL */
    int slots, cores;            /* 0 = 10 and 100; negative = none */
    const int *numa;             /* [count], or NULL for unknown */
    const char *product;
    const char *class;     /* NULL = nvidia */
    const char *links;     /* fast pairs, "0-2 1-3"; all others are slow. NULL: nothing known */
    const char *topology;  /* the annotation as it is, instead of links */
    const char *unhealthy; /* indices, "0 3" */
    const char *cordoned;  /* "GPU-n1-0,GPU-n1-3" */
    const char *plugin;    /* who hands the devices out: "hami" */
};

/*
 * Create or change a node, and show it to the watch: api_node(h, "n1", 8, 81920, .slots = 2).
 * Devices are called GPU-<node>-<index>. With count 0 the node has no inventory.
 */
#define api_node(harness, node_name, devices, mib, ...) \
    harness_put_node(harness, &(struct node_spec){.name = (node_name), \
                                                  .count = (devices), \
                                                  .memory_mib = (mib)__VA_OPT__(, ) __VA_ARGS__})
void harness_put_node(struct harness *harness, const struct node_spec *spec);

/* The node as JSON, for a change by hand (borrowed); show it with watch_node. */
json_t *api_node_json(const struct harness *harness, const char *name);
void watch_node(struct harness *harness, const char *name);
void api_delete_node(struct harness *harness, const char *name);

struct pod_spec {
    const char *name;
    const char *wants;          /* see below */
    const char *uid;            /* NULL = "uid-<name>" */
    const char *node;           /* spec.nodeName, for a pod that somebody else bound */
    const char *annotations[8]; /* key, value, key, value */
    int priority;
    const char *started; /* status.startTime, or NULL */
    bool unseen;         /* the watch is late: watch_pod() shows it */
};

/*
 * Create a pod and show it to the watch: api_pod(h, "a", "gpu 2, mem 4000, cores 30"). Containers
 * are separated by ';' and may begin with "init" or "sidecar"; "none" asks for nothing. An amount
 * goes to the API server as it is written: "mem 16Gi". Words: gpu, mem, pct, cores, cpu, and
 * full names of resources: "metax-tech.com/sgpu 1".
 */
#define api_pod(harness, pod_name, what, ...) \
    harness_put_pod(harness, &(struct pod_spec){.name = (pod_name), \
                                                .wants = (what)__VA_OPT__(, ) __VA_ARGS__})
void harness_put_pod(struct harness *harness, const struct pod_spec *spec);

json_t *api_pod_json(const struct harness *harness, const char *name);
void api_set_phase(struct harness *harness, const char *pod, const char *phase);
void api_set_deleting(struct harness *harness, const char *pod);
/* status.nominatedNodeName; NULL takes it away. */
void api_set_nominated(struct harness *harness, const char *pod, const char *node);

/* All init containers ended with exit code 0, all others run. Sidecars are not init containers. */
void api_finish_init(struct harness *harness, const char *pod);

/* The pod leaves the API server; the watch says nothing yet. return the object, for watch_gone. */
json_t *api_take_pod(struct harness *harness, const char *pod);
/* It leaves, and the watch shows that. */
void api_delete_pod(struct harness *harness, const char *pod);

/*
 * Create or change a ResourceQuota of the pods' namespace, and show it to the watch. hard: limits,
 * "nvidia.com/gpumem 10000, nvidia.com/gpucores 100"; amounts go as they are written.
 */
void api_quota(struct harness *harness, const char *name, const char *hard);
void api_delete_quota(struct harness *harness, const char *name);
/* What counts against the limit of a resource of that namespace; a limit there must be. */
uint64_t quota_used(const struct harness *harness, const char *resource);

/* --- the watch ------------------------------------------------------------------------------- */

void watch_pod(struct harness *harness, const char *pod);    /* ADDED or MODIFIED */
void watch_gone(struct harness *harness, const json_t *pod); /* DELETED */
void relist_nodes(struct harness *harness);
void relist_pods(struct harness *harness);

/* --- kube-scheduler: questions --------------------------------------------------------------- */

/* The body of a question; `nodes` are names with blanks between them. Free it. */
char *question_body(const struct harness *harness, const char *pod, const char *nodes);
char *bind_body(const struct harness *harness, const char *pod, const char *node);

/* The answer's body, or NULL with err set. Free it. */
typedef int (*extender_answers)(struct extender *extender, const char *bytes, size_t length,
                                struct moment now, struct buf *out, struct error *err);
char *ask_body(struct harness *harness, extender_answers ask, const char *body, struct error *err);
/* Error of the answer ("" = bound), which must have come at once. Free it. */
char *ask_bind_body(struct harness *harness, const char *body);

/* Ask, and hold the answer against what is true of all answers. The answer stays in harness. */
void ask_filter(struct harness *harness, const char *pod, const char *nodes);
void ask_prioritize(struct harness *harness, const char *pod, const char *nodes);

/* Of the last filter answer. Borrowed until the next question. */
const char *refusal_of(const struct harness *harness, const char *node); /* NULL when kept */
bool is_failed(const struct harness *harness, const char *node);         /* in FailedNodes */
bool is_unresolvable(const struct harness *harness, const char *node);

/* Of the last prioritize answer. */
int score_of(const struct harness *harness, const char *node);

/* Ask, and expect exactly these nodes to be kept, in the order asked. */
void expect_kept(struct harness *harness, const char *pod, const char *nodes, const char *kept);
/* Ask about one node, and expect a refusal. return its text. */
const char *expect_refused(struct harness *harness, const char *pod, const char *node);

/*
 * Ask whom to evict. Proposals are victims by node: "n1: p1 p2; n2:". Pods are sent whole when
 * harness->sends_nodes, else by uid; whom the API server does not have is sent as "uid-<name>".
 * The answer is held against what is true of all answers: each node asked about, each victim a
 * pod of lower priority on that node, once, the highest priority first.
 */
void ask_preempt(struct harness *harness, const char *pod, const char *proposals);
/* Expect these victims in this order on a node; NULL: the node is not in the answer. */
void expect_victims(const struct harness *harness, const char *node, const char *victims);
long long violations_of(const struct harness *harness, const char *node);
char *preempt_body(const struct harness *harness, const char *pod, const char *proposals);

/* Error of the answer, "" = bound; NULL while the port holds the job. Borrowed. */
const char *ask_bind(struct harness *harness, const char *pod, const char *node);

/* Filter keeps the node, and the bind on it succeeds. */
void place(struct harness *harness, const char *pod, const char *node);

/* --- the held job ---------------------------------------------------------------------------- */

/* The API server executes the Binding: pod bound and annotated. The watch is late. */
void api_executes(struct harness *harness);
/* The answer arrives (or not); harness->bound is the answer to kube-scheduler. */
void end_job(struct harness *harness, enum bind_outcome outcome, const char *text);
/* What became of the oldest job that ended unclear is found out. */
void settle_job(struct harness *harness, enum bind_outcome outcome);

/* --- what is held ---------------------------------------------------------------------------- */

/* Positions of the devices a pod holds; each of its containers must hold a device once only. */
device_mask devices_of(const struct harness *harness, const char *pod);
/* The only device it holds. */
unsigned device_of(const struct harness *harness, const char *pod);
/* MiB that its record books on a device, over all containers. */
uint64_t recorded_mib(const struct harness *harness, const char *pod, unsigned device);
bool holds(const struct harness *harness, const char *pod);

/* What is in use on a device, and on all devices of a node. */
struct device_use use_of(const struct harness *harness, const char *node, unsigned device);
uint64_t used_mib(const struct harness *harness, const char *node);
/* Core units in use on a node; never more than any of its devices has. */
uint64_t used_cores(const struct harness *harness, const char *node);

/* The detail of the last refusal in the decision record. Free it. */
char *detail_of(const struct harness *harness, const char *pod, const char *node);

/* The JSON view of a pod or of a node. json_decref it. */
json_t *pod_view(const struct harness *harness, const char *pod);
json_t *node_view(const struct harness *harness, const char *node);

#endif
