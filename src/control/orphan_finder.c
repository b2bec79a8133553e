/* SPDX-License-Identifier: Apache-2.0 */
/* orphan_finder - bookings of ours that succeeded, and whose pod is never shown. */
#include "topofit/orphan_finder.h"

#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

struct orphan_finder {
    struct cluster *cluster;
    uint64_t due_ms;
    char **uids; /* who was alone at the last look */
    size_t count;
};

struct orphan_finder *orphan_finder_new(struct cluster *cluster)
{
    struct orphan_finder *finder = xcalloc(1, sizeof *finder);

    finder->cluster = cluster;
    return finder;
}

static void forget(struct orphan_finder *finder)
{
    for (size_t i = 0; i < finder->count; i++)
        free(finder->uids[i]);
    free(steal_ptr(&finder->uids));
    finder->count = 0;
}

void orphan_finder_free(struct orphan_finder *finder)
{
    if (finder == NULL)
        return;
    forget(finder);
    free(finder);
}

static bool was_there(const struct orphan_finder *finder, const char *uid)
{
    for (size_t i = 0; i < finder->count; i++) {
        if (strcmp(finder->uids[i], uid) == 0)
            return true;
    }
    return false;
}

bool orphan_finder_look(struct orphan_finder *finder, bool watch_is_open, uint64_t now_ms)
{
    bool found = false;
    size_t count;
    char **uids;

    if (!watch_is_open)
        forget(finder);
    if (now_ms < finder->due_ms || !watch_is_open)
        return false;
    finder->due_ms = now_ms + ORPHAN_LOOK_MS;
    uids = cluster_picture_orphans(finder->cluster, &count);
    for (size_t i = 0; i < count && !found; i++)
        found = was_there(finder, uids[i]);
    forget(finder);
    finder->uids = uids;
    finder->count = count;
    return found;
}

uint64_t orphan_finder_next_due_ms(const struct orphan_finder *finder)
{
    return finder->due_ms;
}
