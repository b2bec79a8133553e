/* SPDX-License-Identifier: Apache-2.0 */
/* connection - one client of the hostile server; for server.c and connection.c only. */
#ifndef TOPOFIT_CHAOS_CONNECTION_H
#define TOPOFIT_CHAOS_CONNECTION_H

#include "server.h"

enum connection_stage {
    STAGE_READING = 0, /* for a request to be complete */
    STAGE_WAITING,     /* until due_ms; then what `then` says */
    STAGE_SENDING,     /* there is, or will be, more of the body */
    STAGE_FLUSHING,    /* all is in `out` */
    STAGE_DEAD,        /* to be freed by the server */
};

enum connection_end { END_KEEPS = 0, END_CLOSES, END_RESETS };

struct connection {
    struct connection *next;
    struct server *server;
    struct loop_source source;
    enum connection_stage stage;
    struct buf in, out;
    size_t out_at;

    /* the exchange */
    char *method, *path, *type, *body;
    size_t body_length;
    struct fault fault;
    struct api_watch *watch;
    bool is_stream;     /* chunked */
    struct buf content; /* of the answer, as far as it is known */
    size_t content_at;
    bool is_complete; /* no more content comes */
    uint64_t counted; /* bytes of content since the fault began */
    uint64_t due_ms;  /* of a wait, a drip, a bookmark */
    uint64_t heals_ms;
    enum connection_end end; /* once all is flushed */
    bool waits_to_send;      /* WAITING ends with the answer, not with the connection */
};

/* A socket that was accepted. */
struct connection *connection_new(struct server *server, int fd);
void connection_free(struct connection *connection);

/* Send what may be sent now; do what is due. return when it is due again. */
uint64_t connection_tick(struct connection *connection, uint64_t now_ms);

/* What a late execution has brought. */
void connection_take_answer(struct connection *connection, struct model_answer *answer);

bool connection_is_stream(const struct connection *connection);
void connection_end_stream(struct connection *connection);
void connection_reset(struct connection *connection);
void connection_hurt(struct connection *connection, const struct fault *fault);

/* --- of server.c ----------------------------------------------------------------------------- */

struct fault server_choose_fault(struct server *server, const char *method, const char *path);
void server_execute(struct server *server, const struct connection *request,
                    struct model_answer *out);
void server_execute_late(struct server *server, struct connection *request, uint64_t at_ms);
void server_forget_connection(struct server *server, const struct connection *connection);
struct loop *server_loop(struct server *server);

#endif
