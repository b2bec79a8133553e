/* SPDX-License-Identifier: Apache-2.0 */
/* plant - mistakes put in on purpose. */
#include "plant.h"

#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *text, *what;
} plants[PLANT_KINDS] = {
#define X(name, text, what) {text, what},
    PLANTS(X)
#undef X
};

const char *plant_text(enum plant plant)
{
    return plants[plant].text;
}

const char *plant_what(enum plant plant)
{
    return plants[plant].what;
}

bool plant_find(const char *text, enum plant *out)
{
    for (size_t i = 0; i < PLANT_KINDS; i++) {
        if (strcmp(plants[i].text, text) == 0) {
            *out = (enum plant)i;
            return true;
        }
    }
    return false;
}

/* Take "uid":"...", out of the metadata of a Binding. */
static void strip_uid(char *body, size_t *length)
{
    char *uid = strstr(body, "\"uid\":\"");
    char *end = uid != NULL ? strchr(uid + strlen("\"uid\":\""), '"') : NULL;

    if (end == NULL)
        return;
    end++;
    if (*end == ',')
        end++;
    else if (uid > body && uid[-1] == ',')
        uid--;
    memmove(uid, end, strlen(end) + 1);
    *length = strlen(body);
}

/* Ask for any state the server has at hand. */
static void ask_for_any(char **path)
{
    char *old = *path;

    if (strstr(old, "/pods?") == NULL || strstr(old, "resourceVersion=") != NULL ||
        strstr(old, "continue=") != NULL)
        return;
    *path = xasprintf("%s&resourceVersion=0", old);
    free(old);
}

void plant_request(struct world *world, char **path, char *body, size_t *body_length)
{
    if (plant_is(world, PLANT_UID_CHECK) && body != NULL && strstr(*path, "/binding") != NULL)
        strip_uid(body, body_length);
    if (plant_is(world, PLANT_TRUST_FIRST_LIST))
        ask_for_any(path);
}

bool plant_swallows(struct world *world, const struct buf *line)
{
    static const char deleted[] = "{\"type\":\"DELETED\"";

    return plant_is(world, PLANT_DROP_DELETE) && line->length > strlen(deleted) &&
           memcmp(line->data, deleted, strlen(deleted)) == 0 && chance_hits(&world->chance, 2000);
}
