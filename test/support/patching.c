/* SPDX-License-Identifier: Apache-2.0 */
#include "support/patching.h"

#include "support/test.h"

#include <stdbool.h>
#include <stdlib.h>

/* The next part of a pointer without its escapes, or NULL behind the last. Free it. */
static char *next_part(const char **at)
{
    size_t length = 0;
    char *part;

    if (**at != '/')
        return NULL;
    (*at)++;
    part = xmalloc(strlen(*at) + 1);
    for (; **at != '\0' && **at != '/'; (*at)++) {
        part[length] = **at;
        if (**at == '~') {
            (*at)++;
            assert_true(**at == '0' || **at == '1');
            part[length] = **at == '0' ? '~' : '/';
        }
        length++;
    }
    part[length] = '\0';
    return part;
}

/* An index as the RFC wants it: digits without a leading zero, up to `last`. */
static size_t index_of(const char *part, size_t last)
{
    char *end;
    size_t index = strtoul(part, &end, 10);

    assert_true(part[0] >= '0' && part[0] <= '9' && *end == '\0');
    assert_true(part[0] != '0' || part[1] == '\0');
    assert_in_range(index, 0, last);
    return index;
}

static json_t *child(json_t *parent, const char *part)
{
    json_t *found;

    if (json_is_array(parent)) {
        assert_true(json_array_size(parent) > 0);
        return json_array_get(parent, index_of(part, json_array_size(parent) - 1));
    }
    found = json_object_get(parent, part);
    assert_non_null(found);
    return found;
}

static void edit_array(json_t *array, const char *part, const char *op, json_t *value)
{
    size_t size = json_array_size(array);

    if (strcmp(op, "add") == 0) {
        assert_int_equal(json_array_insert(array, index_of(part, size), value), 0);
        return;
    }
    assert_true(size > 0);
    if (strcmp(op, "remove") == 0)
        assert_int_equal(json_array_remove(array, index_of(part, size - 1)), 0);
    else
        assert_int_equal(json_array_set(array, index_of(part, size - 1), value), 0);
}

static void edit_object(json_t *object, const char *part, const char *op, json_t *value)
{
    bool is_there = json_object_get(object, part) != NULL;

    if (strcmp(op, "add") != 0)
        assert_true(is_there);
    if (strcmp(op, "remove") == 0)
        assert_int_equal(json_object_del(object, part), 0);
    else
        assert_int_equal(json_object_set(object, part, value), 0);
}

static void apply_one(json_t **document, const json_t *operation)
{
    const char *op = json_string_value(json_object_get(operation, "op"));
    const char *at = json_string_value(json_object_get(operation, "path"));
    json_t *value = json_object_get(operation, "value");
    json_t *parent = *document;
    char *part;

    assert_non_null(op);
    assert_non_null(at);
    assert_true((strcmp(op, "remove") == 0) == (value == NULL));
    part = next_part(&at);
    if (part == NULL) { /* the document itself */
        assert_string_equal(op, "replace");
        json_decref(*document);
        *document = json_deep_copy(value);
        return;
    }
    while (*at != '\0') {
        parent = child(parent, part);
        free(part);
        part = next_part(&at);
    }
    assert_true(json_is_array(parent) || json_is_object(parent));
    if (json_is_array(parent))
        edit_array(parent, part, op, value);
    else
        edit_object(parent, part, op, value);
    free(part);
}

json_t *patching_apply(const json_t *document, const json_t *operations)
{
    json_t *result = json_deep_copy(document);
    size_t index;
    json_t *operation;

    assert_true(json_is_array(operations));
    json_array_foreach((json_t *)operations, index, operation)
    {
        apply_one(&result, operation);
    }
    return result;
}
