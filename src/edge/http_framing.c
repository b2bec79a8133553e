/* SPDX-License-Identifier: Apache-2.0 */
/* http_framing - is it certain where a request ends? */
#include "http_framing.h"

#include "topofit/text.h"

#include <microhttpd.h>

#include <stdlib.h>

struct fields {
    unsigned length_count, coding_count;
    const char *length, *coding;
};

static enum MHD_Result collect(void *ctx, enum MHD_ValueKind kind, const char *key,
                               const char *value)
{
    struct fields *fields = ctx;

    (void)kind;
    if (text_equal_nocase(key, MHD_HTTP_HEADER_CONTENT_LENGTH)) {
        fields->length_count++;
        fields->length = value;
    } else if (text_equal_nocase(key, MHD_HTTP_HEADER_TRANSFER_ENCODING)) {
        fields->coding_count++;
        fields->coding = value;
    }
    return MHD_YES;
}

static struct http_framing refuse(unsigned status, const char *problem)
{
    return (struct http_framing){.refusal = status, .problem = problem};
}

struct http_framing http_framing_judge(struct MHD_Connection *connection)
{
    struct fields fields = {0};
    struct http_framing framing = {0};

    MHD_get_connection_values(connection, MHD_HEADER_KIND, collect, &fields);
    if (fields.length_count > 0 && fields.coding_count > 0)
        return refuse(MHD_HTTP_BAD_REQUEST, "both Content-Length and Transfer-Encoding are given");
    if (fields.length_count > 1)
        return refuse(MHD_HTTP_BAD_REQUEST, "Content-Length is given more than once");
    if (fields.coding_count > 1)
        return refuse(MHD_HTTP_BAD_REQUEST, "Transfer-Encoding is given more than once");
    if (fields.coding != NULL && !text_equal_nocase(fields.coding, "chunked"))
        return refuse(MHD_HTTP_NOT_IMPLEMENTED, "the only Transfer-Encoding known is chunked");
    /* The library has refused what is no number. */
    if (fields.length != NULL)
        framing.content_length = strtoull(fields.length, NULL, 10);
    return framing;
}
