/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reflector_story - a reflector of pods, a made-up time, and what its sink was told.
 *
 * The test plays the API server: it looks at story->path and says what is answered.
 */
#ifndef TOPOFIT_REFLECTOR_STORY_H
#define TOPOFIT_REFLECTOR_STORY_H

#include "support/test.h"

#include "topofit/buf.h"
#include "topofit/reflector.h"

#define T0 1000000u /* when every story begins */

struct story {
    struct reflector *reflector;
    uint64_t now_ms;
    struct buf told; /* "begin item:a commit is:b gone:c " */
    char path[512];  /* of the last request */
    bool fresh;      /* it wanted a fresh connection */
    uint64_t wait_until_ms;
};

struct story *story_new(void);
void story_free(struct story **place);

/* A reflector of another kind or seed in the place of the story's own. */
void story_replace(struct story *story, enum kube_kind kind, uint64_t seed);

/* A story whose reflector has asked for its first list as a stream. */
struct story *story_streaming(void);

/* A story that has its list (version 10) and a watch open that is older than a second. */
struct story *story_watching(void);

/* Ask what to do; path, fresh and wait_until_ms are what the answer says. */
enum reflector_action next(struct story *story);

/* What the server does. */
void answer_begins(struct story *story, int status);
void bytes(struct story *story, const char *text);
void answer_ends(struct story *story);
void answer(struct story *story, int status, const char *body);
void breaks(struct story *story, const char *why);

const struct reflector_counters *counters(const struct story *story);

/* The next request goes out after the wait of a first back-off; story->path is its path then. */
void expect_request_after_backoff(struct story *story);

#define assert_path(story, begin) assert_memory_equal((story)->path, begin, strlen(begin))

#define POD(name, version) \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name \
    "\",\"namespace\":\"d\",\"uid\":\"u-" name "\",\"resourceVersion\":\"" version \
    "\"},\"spec\":{\"containers\":[]},\"status\":{\"phase\":\"Pending\"}}"
#define EVENT(type, name, version) "{\"type\":\"" type "\",\"object\":" POD(name, version) "}\n"
#define BOOKMARK(version) \
    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{" \
    "\"resourceVersion\":\"" version "\"},\"spec\":{\"containers\":null},\"status\":{}}}\n"
#define LIST(version, token, items) \
    "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"" version \
    "\",\"continue\":\"" token "\"},\"items\":[" items "]}\n"
#define STATUS(reason, code) \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\"," \
    "\"message\":\"the message\",\"reason\":\"" reason "\",\"code\":" code "}"
#define ERROR_EVENT(reason, code) "{\"type\":\"ERROR\",\"object\":" STATUS(reason, code) "}\n"

/* The bookmark behind the last object of a streamed list. */
#define LIST_END(version) \
    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{" \
    "\"resourceVersion\":\"" version \
    "\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}},\"spec\":{\"containers\":null}," \
    "\"status\":{}}}\n"

#define LIST_PATH "/api/v1/pods?limit=500&fieldSelector=status.phase%21%3DFailed"
#define WATCH_PATH "/api/v1/pods?watch=1"

#endif
