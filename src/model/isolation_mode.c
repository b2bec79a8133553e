/* SPDX-License-Identifier: Apache-2.0 */
/* isolation_mode - how the tenants of one device are kept apart. */
#include "topofit/isolation_mode.h"

#include "topofit/mem.h"

#include <stddef.h>
#include <string.h>

static const char *const names[] = {
    [ISOLATION_NONE] = "",         [ISOLATION_SOFT] = "soft",
    [ISOLATION_HARD] = "hard",     [ISOLATION_PARTITIONED] = "partitioned",
    [ISOLATION_SHARED] = "shared",
};

const char *isolation_mode_name(enum isolation_mode mode)
{
    return names[mode];
}

enum isolation_mode isolation_mode_parse(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcmp(names[i], name) == 0)
            return (enum isolation_mode)i;
    }
    return ISOLATION_NONE;
}
