/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_story - a lock keeper with its binder, a made-up time, and the jobs that were given to it.
 *
 * The test plays the API server: it shows nodes and pods, looks at what is sent, and says what is
 * answered.
 */
#ifndef TOPOFIT_LOCK_STORY_H
#define TOPOFIT_LOCK_STORY_H

#include "support/test.h"

#include "topofit/lock_keeper.h"

#define T0 1000000u
#define UNIX_MS 1754459502000u /* 2025-08-06T05:51:42Z, when it is T0 */
#define DEADLINE_MS 6000u      /* of jobs, from their submission */
#define LOCK_TIMEOUT_MS 300000u
#define LOCK_KEY "hami.io/mutex.lock"
#define DSMLU_KEY "cambricon.com/dsmlu.lock"
#define LOCK_OF(pod) "2025-08-06T05:51:42Z,default," pod
#define JOBS_MAX 16

struct lock_story {
    struct cluster *cluster;
    struct binder *binder;
    struct lock_keeper *keeper;
    uint64_t now_ms;
    struct sent_request {
        uint64_t id;
        bool is_binding;
        char method[8], path[512], body[2048];
    } sent; /* the last one */
    unsigned requests;
    struct job_end {
        struct lock_story *story;
        unsigned done, settled;
        enum bind_outcome outcome, settled_outcome;
        char text[ERROR_TEXT_MAX];
    } ends[JOBS_MAX];
    size_t job_count;
};

struct lock_story *lock_story_new(void);
void lock_story_free(struct lock_story **place);

/* The watch shows a node, with that lock or (NULL) none. A list shows several, and nothing else. */
void show_node(struct lock_story *story, const char *node, unsigned version, const char *lock);
void show_list(struct lock_story *story, const char *node, unsigned version, const char *lock);
/* The watch shows a node with a lock of either kind, or (NULL) without. */
void show_node_locks(struct lock_story *story, const char *node, unsigned version, const char *hami,
                     const char *dsmlu);
void show_node_gone(struct lock_story *story, const char *node);

/* The watch shows a pod of namespace default: on a node ("": unbound). phase is that of Binding. */
void show_pod(struct lock_story *story, const char *name, const char *node, const char *phase);
void show_pod_gone(struct lock_story *story, const char *name);

/* A Binding of default/pod is wanted, for HAMi's plugin. return how it ends. */
struct job_end *want_bind(struct lock_story *story, const char *pod, const char *node);
struct job_end *want_bind_with(struct lock_story *story, const char *pod, const char *node,
                               enum node_lock lock);

/* Take the next request, of the keeper or the binder, if there is one now: story->sent. */
bool next_sent(struct lock_story *story);
/* The same, letting time pass until there is one, at most for so long. */
bool wait_sent(struct lock_story *story, uint64_t most_ms);

#define expect_sent(story, want_method, part_of_path) \
    do { \
        assert_true(next_sent(story)); \
        assert_string_equal((story)->sent.method, want_method); \
        assert_contains((story)->sent.path, part_of_path); \
    } while (0)

/* What becomes of the last request. */
void reply_with(struct lock_story *story, int status, const char *body);
/* 200 with the node as it is then. */
void reply_node(struct lock_story *story, const char *node, unsigned version, const char *lock);
void reply_node_locks(struct lock_story *story, const char *node, unsigned version,
                      const char *hami, const char *dsmlu);
/* 200 with a pod, as in show_pod. */
void reply_pod(struct lock_story *story, const char *name, const char *node, const char *phase);
void reply_refusal(struct lock_story *story, int status);
void lose_answer(struct lock_story *story);

/* The whole way: the lock is written at `version`, and the Binding is done. */
void lock_and_bind(struct lock_story *story, const char *pod, const char *node, unsigned version);

#endif
