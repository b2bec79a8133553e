/* SPDX-License-Identifier: Apache-2.0 */
/* json_patch - the difference between two JSON trees, as a patch. */
#include "topofit/json_patch.h"

#include "topofit/buf.h"

#include <assert.h>

#define PATH_MAX_BYTES (1u << 30) /* more than any document has that a listener takes */

/* The operations so far, and the pointer of the value that is being compared. */
struct patch {
    json_t *operations;
    struct buf path;
};

static void compare(struct patch *patch, const json_t *from, const json_t *to);

/* --- pointers -------------------------------------------------------------------------------- */

/* source: RFC 6901, section 3: "~" is written "~0", "/" is written "~1" */
static void enter_member(struct patch *patch, const char *key)
{
    buf_add_byte(&patch->path, '/');
    for (; *key != '\0'; key++) {
        if (*key == '~')
            buf_add_text(&patch->path, "~0");
        else if (*key == '/')
            buf_add_text(&patch->path, "~1");
        else
            buf_add_byte(&patch->path, *key);
    }
}

static void enter_element(struct patch *patch, size_t index)
{
    buf_addf(&patch->path, "/%zu", index);
}

static void leave(struct patch *patch, size_t length)
{
    patch->path.length = length;
    if (patch->path.data != NULL)
        patch->path.data[length] = '\0';
}

/* --- operations ------------------------------------------------------------------------------ */

/* value  NULL for remove; the operation has a reference to it. */
static void note(struct patch *patch, const char *operation, const json_t *value)
{
    json_t *entry = json_pack("{s:s, s:s}", "op", operation, "path", buf_text(&patch->path));

    if (value != NULL)
        json_object_set(entry, "value", (json_t *)value);
    json_array_append_new(patch->operations, entry);
}

static void compare_members(struct patch *patch, const json_t *from, const json_t *to)
{
    size_t here = patch->path.length;
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)from, key, value)
    {
        const json_t *wanted = json_object_get(to, key);

        enter_member(patch, key);
        if (wanted == NULL)
            note(patch, "remove", NULL);
        else
            compare(patch, value, wanted);
        leave(patch, here);
    }
    json_object_foreach((json_t *)to, key, value)
    {
        if (json_object_get(from, key) != NULL)
            continue;
        enter_member(patch, key);
        note(patch, "add", value);
        leave(patch, here);
    }
}

static void note_element(struct patch *patch, const char *operation, size_t index,
                         const json_t *value)
{
    size_t here = patch->path.length;

    enter_element(patch, index);
    note(patch, operation, value);
    leave(patch, here);
}

/* Elements from `start` on that are at the end of both lists. */
static size_t count_alike_ends(const json_t *from, const json_t *to, size_t start)
{
    size_t a = json_array_size(from), b = json_array_size(to), count = 0;

    while (a - count > start && b - count > start &&
           json_equal(json_array_get(from, a - count - 1), json_array_get(to, b - count - 1)))
        count++;
    return count;
}

static void compare_elements(struct patch *patch, const json_t *from, const json_t *to)
{
    size_t here = patch->path.length, at = 0, end, from_end, to_end;

    while (at < json_array_size(from) && at < json_array_size(to) &&
           json_equal(json_array_get(from, at), json_array_get(to, at)))
        at++;
    end = count_alike_ends(from, to, at);
    from_end = json_array_size(from) - end;
    to_end = json_array_size(to) - end;
    for (; at < from_end && at < to_end; at++) {
        enter_element(patch, at);
        compare(patch, json_array_get(from, at), json_array_get(to, at));
        leave(patch, here);
    }
    for (size_t left = from_end; left > at; left--)
        note_element(patch, "remove", left - 1, NULL);
    for (; at < to_end; at++)
        note_element(patch, "add", at, json_array_get(to, at));
}

static void compare(struct patch *patch, const json_t *from, const json_t *to)
{
    if (from == to)
        return;
    if (json_is_object(from) && json_is_object(to))
        compare_members(patch, from, to);
    else if (json_is_array(from) && json_is_array(to))
        compare_elements(patch, from, to);
    else if (!json_equal(from, to))
        note(patch, "replace", to);
}

json_t *json_patch_between(const json_t *from, const json_t *to)
{
    struct patch patch = {.operations = json_array(), .path = buf_with_max(PATH_MAX_BYTES)};

    compare(&patch, from, to);
    assert(!patch.path.overflowed);
    buf_clear(&patch.path);
    return patch.operations;
}
