/* SPDX-License-Identifier: Apache-2.0 */
/* refusal_text - what kube-scheduler is told of a refusal. */
#include "refusal_text.h"

#include "topofit/buf.h"
#include "topofit/mem.h"

#include <string.h>

#define TEXT_MAX 320

/* The products of a node, each once. */
static void list_products(const struct node *node, struct buf *out)
{
    for (unsigned i = 0; i < node->device_count; i++) {
        const char *product = node->devices[i].product->chars;
        bool seen = false;

        for (unsigned k = 0; k < i && !seen; k++)
            seen = strcmp(node->devices[k].product->chars, product) == 0;
        if (!seen)
            buf_addf(out, "%s%s", out->length > 0 ? ", " : "", product[0] ? product : "no name");
    }
}

static char *product_text(const struct request *request, const struct node *node)
{
    AUTO(buf_clear) struct buf found = buf_with_max(TEXT_MAX);
    AUTO(buf_clear) struct buf wanted = buf_with_max(TEXT_MAX);
    char words[101];

    list_products(node, &found);
    word_list_join(&request->use_products, words, sizeof words);
    buf_add_text(&wanted, words);
    word_list_join(&request->avoid_products, words, sizeof words);
    if (words[0] != '\0')
        buf_addf(&wanted, "%snot %s", wanted.length > 0 ? " and " : "", words);
    return xasprintf("%s: wanted %s, node has %s", reason_text(REASON_PRODUCT), buf_text(&wanted),
                     buf_text(&found));
}

char *refusal_text(const struct request *request, const struct node *node,
                   const struct verdict *verdict)
{
    const char *text = reason_text(verdict->reason);

    if (verdict->reason == REASON_BAD_REQUEST)
        return xasprintf("%s: %.280s", text, request->problem);
    if (verdict->reason == REASON_PRODUCT)
        return product_text(request, node);
    if (verdict->reason == REASON_TOPOLOGY || verdict->reason == REASON_TOPOLOGY_NEVER)
        return xasprintf("%s (maxAllowed=%d)", text, (int)verdict->allowed_tier);
    if (verdict->quota.class != NULL)
        return xasprintf("%s (limits.%s)", text,
                         quota_resource(verdict->quota.class, verdict->quota.kind));
    return xstrdup(text);
}
