/* SPDX-License-Identifier: Apache-2.0 */
/* views - what people ask; what the node and the pod views share. */
#include "views.h"

#include "topofit/mem.h"

#include <stdio.h>
#include <stdlib.h>

#define API_VERSION "debug.topofit.io/v1"

json_t *view_string(const char *text)
{
    json_t *value = json_string(text);

    /* Not UTF-8: names from outside are never trusted to be. */
    return value != NULL ? value : json_string("?");
}

json_t *view_document(const char *kind, struct moment now)
{
    json_t *document = json_object();
    char when[MOMENT_TEXT_BYTES];

    moment_write(now.unix_ms, 0, when);
    json_object_set_new(document, "kind", json_string(kind));
    json_object_set_new(document, "apiVersion", json_string(API_VERSION));
    json_object_set_new(document, "generatedAt", json_string(when));
    return document;
}

void view_write(json_t *steal_document, struct buf *out)
{
    AUTO_FREE char *text = json_dumps(steal_document, JSON_INDENT(2));

    buf_add_text(out, text);
    buf_add_byte(out, '\n');
    json_decref(steal_document);
}

const char *holding_state_name(enum holding_state state)
{
    switch (state) {
    case HOLDING_RESERVED:
        return "reserved";
    case HOLDING_UNKNOWN:
        return "unknown";
    case HOLDING_BOUND:
        return "bound";
    }
    return "";
}
