/* SPDX-License-Identifier: Apache-2.0 */
/* kube_refusal - what the body of a failed call says, whoever wrote it. */
#include "topofit/kube_refusal.h"

#include <stdbool.h>
#include <stdio.h>

#define LINE_MAX_LENGTH 160

static bool is_printable(char c)
{
    return c >= ' ' && c <= '~';
}

void kube_refusal_read(const char *bytes, size_t length, struct kube_status *out)
{
    struct kube_status status = {0};
    struct error err = {0};
    size_t used = 0;

    if (kube_json_read_status(bytes, length, &status, &err) == 0 && status.code != 0) {
        *out = status;
        return;
    }
    *out = (struct kube_status){0};
    while (used < length && used < LINE_MAX_LENGTH && is_printable(bytes[used]))
        used++;
    snprintf(out->message, sizeof out->message, "%.*s", (int)(used > 0 ? used : 14),
             used > 0 ? bytes : "no explanation");
}
