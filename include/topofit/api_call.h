/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_call - a request to the API server and its answer, as the machines in control see them.
 *
 * A machine says which request it wants sent, and is told later either the complete answer or that
 * it was lost. Plain data. Ids are chosen by the machine and never repeat within it.
 */
#ifndef TOPOFIT_API_CALL_H
#define TOPOFIT_API_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/kube_json.h"

/*
 * For so long at most the network holds up the bytes of a request that has a time limit: what it
 * did not take by then is thrown away with its connection. kube_client sees to it; binder and
 * controller reckon with it when they say until when a Binding may be executed.
 */
#define API_NETWORK_MS 5000u

#define API_PATH_BYTES_MAX 2048             /* of one object, with a query of ours */
#define API_LIST_PATH_BYTES_MAX (64u << 10) /* of a list: the server makes up the continuation */
#define API_REFUSAL_BYTES_MAX (64u << 10)   /* of the body that explains a failure */
#define API_RETRY_AFTER_MAX_S 30u           /* that we obey while somebody waits */

/* All strings are borrowed until the next call of the machine. */
struct api_request {
    uint64_t id;              /* to be named with the answer */
    const char *method;       /* "GET", "POST", "PUT", "PATCH" */
    const char *path;         /* with the query */
    const char *content_type; /* of the body; NULL: application/json */
    const char *body;         /* NULL when there is none */
    size_t body_length;
    uint64_t timeout_ms;   /* an answer that takes longer is lost */
    uint64_t body_by_ms;   /* monotonic: not to be executed when sent later; 0: whenever */
    bool fresh_connection; /* the last answer was lost: do not reuse its connection */
};

struct api_answer {
    int status;
    unsigned retry_after_s; /* of the header; 0 when absent */
    const char *body;
    size_t body_length;
};

/* Did it do what was asked (2xx)? */
bool api_answer_is_ok(const struct api_answer *answer);

/* What became of a request whose answer is not the one that was hoped for. */
enum api_fate {
    API_IN_DOUBT = 0, /* it may have been executed, or may be yet */
    API_REFUSED,      /* it was not and will not be: a 4xx that the API server itself wrote */
    API_TURNED_AWAY,  /* nor was it looked at (401, 429, whoever says so): it may be asked again */
};

struct api_refusal {
    enum api_fate fate;
    bool is_servers_own;       /* the API server wrote it, no proxy */
    unsigned retry_after_s;    /* of the header or the body, the longer one; 0: not asked for */
    struct kube_status status; /* see kube_refusal_read() */
};

/* Judge an answer that is not the one that was hoped for; any status will do. */
void api_answer_judge(const struct api_answer *answer, struct api_refusal *out);

#endif
