/* SPDX-License-Identifier: Apache-2.0 */
/* http_framing - is it certain where a request ends? */
#include "http_framing.h"

#include "topofit/text.h"

#include <microhttpd.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct fields {
    bool is_odd; /* a name is no token: "Content-Length " is not seen by the library */
    unsigned length_count, coding_count;
    const char *length, *coding;
};

/* source: RFC 9110, section 5.6.2 */
static bool is_token(const char *name)
{
    for (const char *at = name; *at != '\0'; at++) {
        if (*at <= ' ' || *at > '~' || strchr("\"(),/:;<=>?@[\\]{}", *at) != NULL)
            return false;
    }
    return name[0] != '\0';
}

static enum MHD_Result collect(void *ctx, enum MHD_ValueKind kind, const char *key,
                               const char *value)
{
    struct fields *fields = ctx;

    (void)kind;
    fields->is_odd = fields->is_odd || !is_token(key);
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
    if (fields.is_odd)
        return refuse(MHD_HTTP_BAD_REQUEST, "the name of a header field is not a word");
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
