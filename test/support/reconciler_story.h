/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reconciler_story - a cluster that its reflectors keep, a reconciler, and a made-up time.
 *
 * The test plays the API server: it looks at story->request and says what is answered.
 */
#ifndef TOPOFIT_RECONCILER_STORY_H
#define TOPOFIT_RECONCILER_STORY_H

#include "support/test.h"

#include "topofit/intake.h"
#include "topofit/reconciler.h"

#define ASK_PAUSE_MS 2000u /* between two comparisons that somebody asks for */
#define T0 1000000u

#define NODE_SIZED(name, mib) \
    "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u-" name "\",\"resourceVersion\":\"3\"," \
    "\"annotations\":{\"topofit.io/inventory\":\"{\\\"devices\\\":[{\\\"id\\\":\\\"GPU-0\\\"," \
    "\\\"memoryMiB\\\":" mib "}]}\"}}}"
#define NODE(name) NODE_SIZED(name, "16384")
/* Bound to n1; its record gives it so many MiB of the only device there. */
#define POD(name, mib) \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name \
    "\",\"namespace\":\"d\",\"uid\":\"u-" name "\",\"resourceVersion\":\"7\",\"annotations\":{" \
    "\"topofit.io/allocation\":\"{\\\"version\\\":1,\\\"podUID\\\":\\\"u-" name \
    "\\\",\\\"node\\\":\\\"n1\\\",\\\"tier\\\":0," \
    "\\\"degraded\\\":false,\\\"containers\\\":[{\\\"name\\\":\\\"main\\\",\\\"kind\\\":\\\"app" \
    "\\\",\\\"devices\\\":[{\\\"id\\\":\\\"GPU-0\\\",\\\"memoryMiB\\\":" mib \
    ",\\\"cores\\\":0,\\\"slots\\\":1,\\\"mode\\\":\\\"soft\\\"}]}]}\"}},\"spec\":{\"nodeName\":" \
    "\"n1\",\"containers\":[]},\"status\":{\"phase\":\"Running\"}}"
#define LIST(kind, version, token, items) \
    "{\"kind\":\"" kind \
    "List\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"" version \
    "\",\"continue\":\"" token "\"},\"items\":[" items "]}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define STATUS(code) \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"the message\",\"reason\":\"X\"," \
    "\"code\":" code "}"

#define NODES NODE("n1") "," NODE("n2")
#define PODS POD("a", "4000") "," POD("b", "4000")
#define PATH(resource, version) \
    "/api/v1/" resource "?limit=500&resourceVersion=" version "&resourceVersionMatch=Exact"
#define SAME_NODES LIST("Node", "10", "", NODES)
#define SAME_PODS LIST("Pod", "20", "", PODS)

struct story {
    struct cluster *cluster;
    struct intake *intake;
    struct reflector *nodes, *pods;
    struct reconciler *reconciler;
    uint64_t now_ms;
    struct api_request request; /* the last one */
};

/* Both lists are there: nodes n1 and n2 (version 10), pods a and b (20); no watch is open yet. */
struct story *reconciler_story_listed(uint64_t interval_ms);

/* Both watches are open. Compared only when asked. */
struct story *reconciler_story_new(void);
void reconciler_story_free(struct story **place);

/* What the server does for a reflector: answer its list, open its watch, tell an event. */
void answer_list(struct story *story, struct reflector *reflector, const char *text);
void open_watch(struct story *story, struct reflector *reflector);
void tell_event(struct story *story, struct reflector *reflector, const char *event);

/* What the reconciler asks, and what becomes of that. */
bool next_question(struct story *story);
void expect_question(struct story *story, const char *path);
void begin_reply(struct story *story, int status, const char *body);
void reply_to_question(struct story *story, int status, const char *body);

/* Ask, and let the server have these nodes and pods. */
const struct reconciler_report *compare(struct story *story, const char *nodes, const char *pods);
void expect_equal(const struct reconciler_report *report);

/* What an event that was lost or taken wrongly leaves in memory. */
void lose_pod(struct story *story);  /* d/a */
void lose_node(struct story *story); /* n2 */

#endif
