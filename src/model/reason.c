/* SPDX-License-Identifier: Apache-2.0 */
/* reason - why a node or a device is no candidate. */
#include "topofit/reason.h"

static const struct {
    const char *name;
    const char *text;
    bool curable;
} rows[] = {
#define X(id, name, curable, text) [REASON_##id] = {name, text, curable},
    REASONS(X)
#undef X
};

const char *reason_name(enum reason reason)
{
    return rows[reason].name;
}

const char *reason_text(enum reason reason)
{
    return rows[reason].text;
}

bool reason_is_curable(enum reason reason)
{
    return rows[reason].curable;
}
