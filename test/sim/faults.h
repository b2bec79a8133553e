/* SPDX-License-Identifier: Apache-2.0 */
/*
 * faults - what goes wrong, how often, and how often it did.
 *
 * Every round of a seed chooses anew which faults there are and how likely each is.
 */
#ifndef TOPOFIT_SIM_FAULTS_H
#define TOPOFIT_SIM_FAULTS_H

#include "chance.h"

/* name, greatest probability in 1/10,000 each time it could happen, what it is */
#define FAULTS(X) \
    X(REFUSED, 300, "requests refused by the network, not sent") \
    X(LOST_BEFORE, 300, "requests lost before they arrived") \
    X(LOST_AFTER, 300, "answers lost after execution, connection reset") \
    X(SILENT_BEFORE, 100, "requests that vanish without a word") \
    X(SILENT_AFTER, 100, "answers that vanish without a word") \
    X(SLOW_REQUEST, 400, "requests on their way for up to 5 s") \
    X(SLOW_SERVER, 200, "requests worked on for up to 70 s") \
    X(SLOW_ANSWER, 300, "answers on their way for up to 20 s") \
    X(CUT_ANSWER, 300, "answers cut at some byte") \
    X(PIECES, 4000, "answers that come in pieces") \
    X(DOUBLED, 200, "answers told twice") \
    X(BUSY_SERVER, 300, "429 with Retry-After") \
    X(DENIED, 100, "401 and 403") \
    X(BROKEN_SERVER, 300, "500, 503 and 504 without execution") \
    X(FALSE_FAILURE, 200, "500 and 504 after execution") \
    X(DOUBT, 3000, "pods whose Binding and state nobody can tell for up to 30 s") \
    X(SHORT_WATCH, 500, "watches that end at once") \
    X(CUT_WATCH, 100, "watches cut at some byte") \
    X(ENDED_WATCH, 100, "watches ended cleanly") \
    X(HALF_OPEN_WATCH, 20, "watches that fall silent for good") \
    X(FAILED_WATCH, 50, "watches that end with an ERROR event") \
    X(SLOW_WATCH, 1000, "events of watches late by up to 10 s") \
    X(NO_WATCH_LIST, 3000, "rounds of servers that refuse streamed lists") \
    X(COMPACTION, 60, "compactions: old positions are 410") \
    X(SERVER_DOWN, 15, "API server down for a while") \
    X(PARTITION, 60, "replicas cut off from the API server, one way or both") \
    X(CRASH, 10, "replicas killed between two steps") \
    X(CRASH_BETWEEN_WISHES, 20, "replicas killed between two requests") \
    X(CRASH_IN_BIND, 100, "replicas killed within a bind call") \
    X(STOP, 8, "replicas stopped in good order") \
    X(PAUSE, 10, "replicas paused for up to a minute") \
    X(PAUSE_BETWEEN_WISHES, 20, "replicas paused between two requests") \
    X(CLOCK_JUMP, 20, "unix clocks set") \
    X(QUEUE_GAP, 1000, "bind jobs that wait for up to a minute before the machine takes them") \
    X(TURNOVER, 6000, "Bindings under way when the lead is about to change") \
    X(RECONCILE, 50, "comparisons asked for") \
    X(QUESTION_LOST, 200, "questions of kube-scheduler lost on their way") \
    X(VERDICT_LOST, 200, "answers to kube-scheduler lost") \
    X(SLOW_QUESTION, 300, "questions on their way for up to 20 s") \
    X(SLOW_VERDICT, 300, "answers to kube-scheduler late by up to 20 s") \
    X(OTHER_REPLICA, 500, "kube-scheduler turns to another replica") \
    X(BIND_TWICE, 300, "bind calls sent twice") \
    X(SLOW_PLUGIN, 500, "device plugins that take up to 30 s") \
    X(PLUGIN_CRASH, 300, "device plugins that die with the lock") \
    X(PLUGIN_FAILS, 200, "device plugins that cannot hand out") \
    X(RIVAL_DIES, 1500, "other schedulers that die with the lock") \
    X(SCHEDULER_RESTART, 10, "kube-scheduler restarted") \
    X(LATE_SCHEDULER, 1000, "events that kube-scheduler sees up to 10 s late")

enum fault {
#define X(name, most, what) FAULT_##name,
    FAULTS(X)
#undef X
};
#define FAULT_KINDS (FAULT_LATE_SCHEDULER + 1)

struct faults {
    unsigned parts[FAULT_KINDS]; /* of 10,000 */
    uint64_t hits[FAULT_KINDS];
};

/* Choose for a round. */
void faults_draw(struct faults *faults, struct jitter *chance);
/* None from now on. */
void faults_stop(struct faults *faults);

const char *fault_text(enum fault fault);

#endif
