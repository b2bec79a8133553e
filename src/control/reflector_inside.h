/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reflector_inside - what the two files of the reflector share: reflector.c decides what to send
 * and how to go on, reflector_read.c reads what arrives.
 */
#ifndef TOPOFIT_REFLECTOR_INSIDE_H
#define TOPOFIT_REFLECTOR_INSIDE_H

#include "topofit/backoff.h"
#include "topofit/buf.h"
#include "topofit/reflector.h"
#include "topofit/watch_stream.h"

#define EVENT_MAX_BYTES (8u << 20) /* etcd keeps objects below 2 MB */

enum stage {
    LISTING = 0, /* in pages */
    STREAMING,   /* a list that comes as the beginning of a watch */
    WATCHING,
};

/* How to go on. */
enum way {
    LIST_ANEW, /* from the beginning: as a stream where the server can, else in pages */
    WATCH_ON,  /* from the position that the copy stands at */
};

enum exchange {
    IDLE = 0,   /* nothing in flight; the next request goes out at send_at_ms */
    SENT,       /* no status yet */
    READING,    /* the body of a 200 */
    REFUSED,    /* the body that explains another status */
    CANCELLING, /* given up; the caller has to be told */
};

struct reflector {
    struct reflector_options options;
    struct reflector_counters counters;
    struct backoff backoff;
    struct jitter jitter;

    uint64_t lists_done;
    bool is_unproven; /* something failed, and nothing has shown since that all is well */
    char problem[ERROR_TEXT_MAX]; /* what failed; "" once proven */

    enum stage stage;
    enum exchange exchange;
    uint64_t send_at_ms;
    uint64_t sent_ms, heard_ms; /* of the request in flight */
    uint64_t end_by_ms;         /* a watch is over by then */
    uint64_t body_bytes;        /* of the answer in flight */
    uint64_t watch_events;      /* of the watch in flight */
    bool last_was_lost;         /* the last request broke: its connection may be dead */
    int status;
    unsigned retry_after_s;

    char *version;          /* position of the watch; NULL before the first list */
    char *list_version;     /* position of the list's first page, or NULL */
    char *continue_token;   /* of the next page, NULL for the first */
    unsigned pages;         /* of this list, so far */
    uint64_t list_began_ms; /* when its first page was asked for */

    bool one_page;           /* pages expired under way: ask for everything at once */
    bool streams_refused;    /* the server does not stream lists */
    unsigned streams_broken; /* streamed lists that came to nothing since the last complete list */

    struct kube_list_reader *reader;
    struct watch_stream stream;
    struct buf refusal;
    struct buf path;
};

/* "nodes" or "pods". */
const char *reflector_resource(const struct reflector *reflector);

/* The next request goes out at send_at_ms; one that is still in flight is dropped. */
void reflector_go_on(struct reflector *reflector, enum way way, uint64_t send_at_ms);

/*
 * What came is no streamed list, but may be a watch of a server that does not know the question:
 * list at once, in pages.
 */
void reflector_list_in_pages(struct reflector *reflector, uint64_t now_ms);

/* The list is complete, and the copy stands at `steal_version`. */
void reflector_commit_list(struct reflector *reflector, char *steal_version);

/* A list or a watch came to something: what failed before is over. */
void reflector_prove(struct reflector *reflector);

/* Something went wrong, the text says what: wait, then go on. */
void reflector_fail(struct reflector *reflector, enum way way, uint64_t now_ms, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));

/* The watch position is too old: list, at once if the watch was of any use before. */
void reflector_lose_position(struct reflector *reflector, uint64_t now_ms, const char *message);

/* For the list reader: an item of a page. ctx is the reflector. */
void reflector_take_item(void *ctx, struct kube_object *object);

/* The next bytes of the body of a 200. */
void reflector_read_list(struct reflector *reflector, const char *bytes, size_t length,
                         uint64_t now_ms);
void reflector_read_watch(struct reflector *reflector, const char *bytes, size_t length,
                          uint64_t now_ms);

#endif
