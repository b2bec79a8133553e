/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names_skim - the list of node names in a body, read where it stands.
 *
 * As far as the body and the list of likely names are the same text, names are taken over without
 * being looked at one by one.
 */
#include "names_skim.h"

#include "topofit/mem.h"
#include "topofit/plain_text.h"

#include <stdlib.h>
#include <string.h>

#define NEAR \
    3 /* names further on in the likely list that are tried: some nodes may be left out \
       */

#define ASTRAY_MAX 64
#define BACK_ON_TRACK 4 /* names in the likely order in a row */

/* The list being read. */
struct list {
    const char *bytes;
    size_t length, at; /* of the body; next byte */
    const struct likely_names *likely;
    size_t expected; /* position in the likely list of the next name */
    size_t astray;   /* names to take at once when they are not where they are likely */
    size_t turn;     /* in the likely order, of the next name; SIZE_MAX: there is none to follow */
    struct names_skim found;
    size_t capacity;
};

/* About as many as there are: most names have some 16 bytes with quotes and comma, or more. */
static size_t guess_count(size_t bytes)
{
    return bytes / 16 < EXTENDER_NODES_MAX ? bytes / 16 + 1 : EXTENDER_NODES_MAX;
}

static void make_room(struct list *list, size_t count)
{
    struct names_skim *found = &list->found;

    if (found->count + count <= list->capacity)
        return;
    list->capacity = list->capacity * 2 + count;
    found->names = xreallocarray(found->names, list->capacity, sizeof *found->names);
    if (list->likely != NULL)
        found->positions =
            xreallocarray(found->positions, list->capacity, sizeof *found->positions);
}

/* Take over names from the likely list while their text, both quotes included, is the same. */
static bool take_likely(struct list *list, size_t first)
{
    const struct name_list *likely = &list->likely->list;
    struct names_skim *found = &list->found;
    size_t start, left, same, next = first;

    if (first >= likely->count)
        return false;
    start = likely->places[first].start - 1;
    left = list->length - list->at;
    left = left < likely->length - start ? left : likely->length - start;
    same = common_span(list->bytes + list->at, likely->text + start, left);
    if (same < likely->places[first].length + strlen("\"\"") ||
        likely->places[first].length > EXTENDER_NAME_MAX)
        return false;
    make_room(list, likely->count - first);
    for (; next < likely->count; next++) {
        struct name_at place = likely->places[next];

        if (place.start + place.length + 1 - start > same || place.length > EXTENDER_NAME_MAX)
            break;
        place.start += (uint32_t)(list->at - start);
        found->names[found->count] = place;
        found->positions[found->count++] = (uint32_t)next;
    }
    list->at = found->names[found->count - 1].start + found->names[found->count - 1].length + 1;
    list->expected = next;
    return true;
}

/* Take the names that stand here as long as they come in the likely order, from that turn on. */
static bool take_in_turn(struct list *list, size_t first)
{
    const struct likely_names *likely = list->likely;
    struct names_skim *found = &list->found;
    size_t turn = first, at = list->at;

    if (first >= likely->order_count)
        return false;
    make_room(list, likely->order_count - first);
    do {
        struct name_at place;

        if (likely->order[turn] >= likely->list.count)
            break;
        place = likely->list.places[likely->order[turn]];
        if (list->length - at < place.length + strlen("\"\",") ||
            place.length > EXTENDER_NAME_MAX ||
            !is_same_text(list->bytes + at, likely->list.text + place.start - 1, place.length + 2))
            break;
        found->names[found->count] = (struct name_at){(uint32_t)at + 1, place.length};
        found->positions[found->count++] = likely->order[turn++];
        list->at = at + place.length + 2;
        at = list->at + 1;
    } while (turn < likely->order_count && list->bytes[list->at] == ',');
    list->turn = turn > first ? turn : list->turn;
    return turn > first;
}

/* Take the name that stands here, whatever it is; where it is in the likely list is left open. */
static bool take_any(struct list *list)
{
    const char *name = list->bytes + list->at + 1;
    size_t span = plain_span(name, list->length - list->at - 1);
    struct names_skim *found = &list->found;

    if (list->at + span + 2 >= list->length || name[span] != '"' || span > EXTENDER_NAME_MAX)
        return false;
    make_room(list, 1);
    found->names[found->count++] = (struct name_at){(uint32_t)list->at + 1, (uint32_t)span};
    list->at += span + 2;
    return true;
}

static void find_positions(struct list *list, size_t first)
{
    struct names_skim *found = &list->found;

    list->likely->find(list->likely->ctx, list->bytes, found->names + first, found->count - first,
                       found->positions + first);
    for (size_t i = first; i < found->count; i++) {
        size_t position = found->positions[i];

        if (position == NAME_NOWHERE)
            continue;
        found->jumps += position < list->expected || position >= list->expected + NEAR;
        list->expected = position + 1;
    }
}

/*
 * Take some names that are not where they are likely. The longer that goes on, the more of them at
 * a time: they are found together.
 */
static bool take_astray(struct list *list)
{
    size_t first = list->found.count;
    bool taken = take_any(list);

    for (size_t i = 1; taken && i < list->astray && list->length - list->at > 1 &&
                       memcmp(list->bytes + list->at, ",\"", 2) == 0;
         i++) {
        list->at++;
        taken = take_any(list);
    }
    if (list->likely != NULL)
        find_positions(list, first);
    list->astray = list->astray < ASTRAY_MAX ? list->astray * 2 : ASTRAY_MAX;
    return taken;
}

/* One who leaves the likely order is taken to go on along the list. */
static void leave_order(struct list *list)
{
    if (list->found.count > 0)
        list->expected = list->found.positions[list->found.count - 1] + 1;
    list->turn = SIZE_MAX;
}

static bool take_names(struct list *list)
{
    size_t before = list->found.count;

    for (size_t i = 0; list->turn != SIZE_MAX && i < NEAR; i++) {
        if (take_in_turn(list, list->turn + i))
            return true;
    }
    if (list->turn != SIZE_MAX)
        leave_order(list);
    for (size_t i = 0; list->likely != NULL && i < NEAR; i++) {
        if (!take_likely(list, list->expected + i))
            continue;
        if (list->found.count - before >= BACK_ON_TRACK)
            list->astray = 1;
        return true;
    }
    return take_astray(list);
}

/* Read the names from behind the bracket. return false when the list is not of the one form. */
static bool read_names(struct list *list)
{
    const char *bytes = list->bytes;

    make_room(list, guess_count(list->length - list->at));
    if (list->at < list->length && bytes[list->at] == ']') {
        list->at++;
        return true;
    }
    while (list->at < list->length && bytes[list->at] == '"') {
        if (!take_names(list) || list->found.count > EXTENDER_NODES_MAX || list->at >= list->length)
            return false;
        list->at++;
        if (bytes[list->at - 1] != ',')
            return bytes[list->at - 1] == ']';
    }
    return false;
}

/* Is the list as a whole the likely one? That is how kube-scheduler asks about all nodes. */
static bool is_likely_list(const struct list *list)
{
    const struct name_list *likely = list->likely != NULL ? &list->likely->list : NULL;

    return likely != NULL && likely->count > 0 && likely->count <= EXTENDER_NODES_MAX &&
           likely->longest <= EXTENDER_NAME_MAX && likely->length <= list->length - list->at &&
           list->bytes[list->at + likely->length - 1] == ']' &&
           memcmp(list->bytes + list->at, likely->text, likely->length - 1) == 0;
}

static void take_likely_list(struct list *list)
{
    struct names_skim *found = &list->found;

    found->shift = list->at;
    found->count = list->likely->list.count;
    found->positions = xreallocarray(NULL, found->count, sizeof *found->positions);
    for (size_t i = 0; i < found->count; i++)
        found->positions[i] = (uint32_t)i;
    list->at += list->likely->list.length;
}

size_t names_skim(const char *bytes, size_t length, size_t start, const struct likely_names *likely,
                  struct names_skim *out)
{
    struct list list = {
        .bytes = bytes, .length = length, .at = start + 1, .likely = likely, .astray = 1};

    list.turn = likely != NULL && likely->order != NULL ? 0 : SIZE_MAX;
    if (length <= UINT32_MAX && is_likely_list(&list)) {
        take_likely_list(&list);
    } else if (length > UINT32_MAX || !read_names(&list)) {
        free(list.found.names);
        free(list.found.positions);
        return 0;
    }
    *out = list.found;
    return list.at - start;
}
