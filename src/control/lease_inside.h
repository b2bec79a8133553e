/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease_inside - what the lease knows and means to do next. For the lease's two files only: lease.c
 * sends and waits, lease_answer.c judges what was answered.
 */
#ifndef TOPOFIT_LEASE_INSIDE_H
#define TOPOFIT_LEASE_INSIDE_H

#include "topofit/buf.h"
#include "topofit/jitter.h"
#include "topofit/lease.h"
#include "topofit/lease_json.h"

enum call {
    CALL_NONE = 0,
    CALL_LOOK,    /* GET */
    CALL_CREATE,  /* POST with us as the holder */
    CALL_HOLD,    /* PUT with us as the holder: taking and renewing */
    CALL_WANT,    /* PUT that changes nothing but who wants it */
    CALL_RELEASE, /* PUT without a holder */
};

struct lease {
    char *namespace, *name, *identity;
    uint64_t duration_ms, renew_deadline_ms, retry_ms, timeout_ms;
    struct jitter jitter;
    struct buf path, body;

    /* The next request, and the one in flight. */
    enum call next, sent;
    uint64_t next_at_ms, sent_at_ms;
    uint64_t last_id;
    bool last_was_lost;
    bool is_pausing;   /* the next request begins a round */
    bool has_paused;   /* a round has come to an end */
    uint64_t round_ms; /* when the requests since the last pause began */
    bool has_looked;   /* after a write of this round that failed */

    /* The Lease as it was seen last. */
    struct lease_record record; /* version "" before the first look */
    bool is_absent;             /* there was none; the record is empty then */
    uint64_t observed_ms;       /* when we saw that it had changed */

    uint64_t held_until_ms; /* 0: not the leader */
    uint64_t term;          /* number of the present or last one; 0: none yet */

    /* The last write that would have made us the holder and was not answered. */
    bool in_doubt; /* and no look since */
    char doubt_time[MOMENT_TEXT_BYTES];
    uint64_t doubt_sent_ms;
    char written_time[MOMENT_TEXT_BYTES]; /* of the last write */
    unsigned writes;

    uint64_t wanted_until_ms, want_look_ms, want_write_ms; /* we were asked to lead; 0: never */
    uint64_t worked_until_ms;                              /* no handing over before; 0: no work */
    uint64_t yield_until_ms; /* we handed over: not to be taken back before; 0: did not */

    unsigned refusals; /* in a row */

    bool is_resigning, is_resigned;
    bool was_made_unreadable; /* the last creation was answered well, and not with a Lease */
    bool is_unsupported;      /* the server keeps no Leases */
    uint64_t resign_by_ms;

    struct lease_counters counters;
    char problem[ERROR_TEXT_MAX];
};

bool lease_names_us(const struct lease *lease);

/* We lead until then, or not any more. */
void lease_gain(struct lease *lease, uint64_t until_ms, uint64_t now_ms);
void lease_lose(struct lease *lease);

/* `call` is to be made at once, or after the pause between two rounds. */
void lease_go_on(struct lease *lease, enum call call, uint64_t now_ms);
void lease_pause(struct lease *lease, enum call call, uint64_t now_ms);
/* As a pause, and as long as the server asks for: but who leads would lose the lead over it. */
void lease_pause_asked(struct lease *lease, uint64_t asked_ms, uint64_t now_ms);
/* As a pause, but for troubles that only people can end. */
void lease_pause_long(struct lease *lease, uint64_t now_ms);

/* Look again at once after a write that failed; the second time in a round after a pause. */
void lease_look_again(struct lease *lease, uint64_t now_ms);

/* What to do next about the record as it is known. */
void lease_decide(struct lease *lease, uint64_t now_ms);

/* What became of the request of that kind. */
void lease_take_answer(struct lease *lease, enum call sent, const struct api_answer *answer,
                       uint64_t now_ms);
void lease_take_loss(struct lease *lease, enum call sent, bool was_sent, const char *why,
                     uint64_t now_ms);

#endif
