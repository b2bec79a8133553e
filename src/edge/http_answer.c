/* SPDX-License-Identifier: Apache-2.0 */
/* http_answer - answers: what they look like, and how they get to the server thread. */
#include "http_call.h"
#include "topofit/http_budget.h"
#include "topofit/mem.h"

#include <microhttpd.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define PROBLEM_MAX_BYTES 16384

static void add_headers(struct MHD_Response *response, const char *content_type)
{
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
}

struct MHD_Response *http_response(const char *content_type, const char *body, size_t length)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(length, (void *)body, MHD_RESPMEM_MUST_COPY);

    if (response != NULL)
        add_headers(response, content_type);
    return response;
}

static struct MHD_Response *stealing_response(const char *content_type, char *steal_body,
                                              size_t length)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(length, steal_body, MHD_RESPMEM_MUST_FREE);

    if (response != NULL)
        add_headers(response, content_type);
    else
        free(steal_body);
    return response;
}

struct MHD_Response *http_problem_response(unsigned status, const char *title, const char *detail)
{
    AUTO(buf_clear) struct buf body = buf_with_max(PROBLEM_MAX_BYTES);

    buf_add_text(&body, "{\"title\":");
    buf_add_json_string(&body, title);
    buf_addf(&body, ",\"status\":%u,\"detail\":", status);
    buf_add_json_string(&body, detail);
    buf_add_text(&body, "}");
    if (body.overflowed) {
        buf_reset(&body);
        buf_addf(&body, "{\"status\":%u}", status);
    }
    return http_response("application/problem+json", buf_text(&body), body.length);
}

static void answer(struct http_call *call, unsigned status, struct MHD_Response *response)
{
    /* From the exchange on the server thread may finish with the call and free it. */
    struct http_server *server = call->server;
    struct MHD_Connection *connection = call->connection;
    enum call_state before;

    http_server_hold(server);
    call->status = status;
    call->response = response;
    before = atomic_exchange(&call->state, CALL_ANSWERED);
    assert(before != CALL_ANSWERED);
    if (before == CALL_SUSPENDED)
        MHD_resume_connection(connection);
    http_server_release(server);
}

/* Take an answer's length from the budget. return false when there is no room: it is refused. */
static bool take_budget(struct http_call *call, size_t length)
{
    if (http_budget_grow(call->budget, 0, length)) {
        call->answer_bytes = length;
        return true;
    }
    http_problem(call, 503, "too much at once",
                 "too many large requests and answers are under way");
    return false;
}

void http_answer(struct http_call *call, unsigned status, const char *content_type,
                 const char *body, size_t length)
{
    if (take_budget(call, length))
        answer(call, status, http_response(content_type, body, length));
}

void http_answer_steal(struct http_call *call, unsigned status, const char *content_type,
                       char *steal_body, size_t length)
{
    if (take_budget(call, length))
        answer(call, status, stealing_response(content_type, steal_body, length));
    else
        free(steal_body);
}

void http_problem(struct http_call *call, unsigned status, const char *title, const char *detail)
{
    answer(call, status, http_problem_response(status, title, detail));
}

const char *http_query(const struct http_request *request, const char *name)
{
    const char *value = NULL;

    if (MHD_lookup_connection_value_n(request->call->connection, MHD_GET_ARGUMENT_KIND, name,
                                      strlen(name), &value, NULL) == MHD_NO)
        return NULL;
    return value != NULL ? value : "";
}

const char *http_header(const struct http_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->call->connection, MHD_HEADER_KIND, name);
}
