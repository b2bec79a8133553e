/* SPDX-License-Identifier: Apache-2.0 */
/* hami_list - HAMi's device list: what the containers of a pod have of one vendor's devices. */
#include "hami_list.h"

#include "device_id.h"
#include "topofit/mem.h"
#include "topofit/request.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TYPE_MAX 256
#define FIELDS 4

/* --- building -------------------------------------------------------------------------------- */

struct hami_slot *hami_list_add_slot(struct hami_list *list)
{
    list->slots = xreallocarray(list->slots, list->count + 1, sizeof *list->slots);
    list->slots[list->count] = (struct hami_slot){0};
    return &list->slots[list->count++];
}

struct hami_line *hami_list_add_line(struct hami_list *list, const char *id, const char *type)
{
    struct hami_slot *slot = &list->slots[list->count - 1];
    struct hami_line *line;

    slot->lines = xreallocarray(slot->lines, slot->count + 1, sizeof *slot->lines);
    line = &slot->lines[slot->count++];
    *line = (struct hami_line){.id = xstrdup(id),
                               .type = xstrdup(type),
                               .template_index = HAMI_NO_TEMPLATE,
                               .slot_index = HAMI_NO_TEMPLATE};
    return line;
}

size_t hami_list_lines(const struct hami_list *list)
{
    size_t lines = 0;

    for (size_t i = 0; i < list->count; i++)
        lines += list->slots[i].count;
    return lines;
}

void hami_list_clear(struct hami_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        for (size_t k = 0; k < list->slots[i].count; k++) {
            free(list->slots[i].lines[k].id);
            free(list->slots[i].lines[k].type);
        }
        free(list->slots[i].lines);
    }
    free(list->slots);
    *list = (struct hami_list){0};
}

/* --- reading --------------------------------------------------------------------------------- */

/* A piece of the text. */
struct span {
    const char *start;
    size_t length;
};

/* The piece up to the next `end`, which is stepped over. return false when there is no `end`. */
static bool next_span(const char **at, const char *limit, char end, struct span *out)
{
    const char *found = memchr(*at, end, (size_t)(limit - *at));

    if (found == NULL)
        return false;
    *out = (struct span){*at, (size_t)(found - *at)};
    *at = found + 1;
    return true;
}

/* The fields of a device; the last one that is looked at may be followed by others. */
static bool split_fields(struct span device, struct span fields[FIELDS])
{
    const char *at = device.start, *limit = device.start + device.length;

    for (size_t i = 0; i + 1 < FIELDS; i++) {
        if (!next_span(&at, limit, ',', &fields[i]))
            return false;
    }
    if (!next_span(&at, limit, ',', &fields[FIELDS - 1]))
        fields[FIELDS - 1] = (struct span){at, (size_t)(limit - at)};
    return true;
}

/* Digits alone, up to INT32_MAX. */
static bool read_number(struct span field, uint64_t *out)
{
    uint64_t number = 0;

    if (field.length == 0 || field.length > 10)
        return false;
    for (size_t i = 0; i < field.length; i++) {
        if (field.start[i] < '0' || field.start[i] > '9')
            return false;
        number = number * 10 + (uint64_t)(field.start[i] - '0');
    }
    *out = number;
    return number <= INT32_MAX;
}

/*
 * Take the suffix "[2-0]" off an id. return false for brackets that are none: HAMi finds the device
 * by what stands before them, so nothing else may be meant.
 */
static bool take_suffix(struct span *id, struct hami_line *line)
{
    const char *at = id->start, *limit = id->start + id->length;
    struct span base, template_index, slot_index;
    uint64_t template_number = 0, slot_number = 0;

    if (!next_span(&at, limit, '[', &base))
        return true;
    if (!next_span(&at, limit, '-', &template_index) || !next_span(&at, limit, ']', &slot_index) ||
        at != limit || !read_number(template_index, &template_number) ||
        !read_number(slot_index, &slot_number))
        return false;
    *id = base;
    line->template_index = (int)template_number;
    line->slot_index = (int)slot_number;
    return true;
}

static int read_line(struct span device, struct hami_list *out, struct error *err)
{
    struct hami_line parts = {.template_index = HAMI_NO_TEMPLATE, .slot_index = HAMI_NO_TEMPLATE};
    struct span fields[FIELDS];
    uint64_t memory_mib = 0, cores = 0;
    AUTO_FREE char *id = NULL;
    AUTO_FREE char *type = NULL;
    struct hami_line *line;

    if (!split_fields(device, fields))
        return error_set(err, ERR_INVALID, "id, type, memory and cores are expected");
    if (!take_suffix(&fields[0], &parts))
        return error_set(err, ERR_INVALID, "the id is not one");
    id = xstrndup(fields[0].start, fields[0].length);
    if (!device_id_ok(id))
        return error_set(err, ERR_INVALID, "the id is not one");
    if (fields[1].length == 0 || fields[1].length > TYPE_MAX)
        return error_set(err, ERR_INVALID, "the type is missing or too long");
    if (!read_number(fields[2], &memory_mib) || !read_number(fields[3], &cores))
        return error_set(err, ERR_INVALID, "memory and cores must be whole numbers");
    if (out->slots[out->count - 1].count == DEVICE_MAX)
        return error_set(err, ERR_LIMIT, "more than %d devices", DEVICE_MAX);
    type = xstrndup(fields[1].start, fields[1].length);
    line = hami_list_add_line(out, id, type);
    line->memory_mib = memory_mib;
    line->cores = (uint32_t)cores;
    line->template_index = parts.template_index;
    line->slot_index = parts.slot_index;
    return 0;
}

static int read_slot(struct span container, struct hami_list *out, struct error *err)
{
    const char *at = container.start, *limit = container.start + container.length;
    struct span device;

    hami_list_add_slot(out);
    while (next_span(&at, limit, ':', &device)) {
        if (device.length > 0 && read_line(device, out, err) < 0)
            return error_wrap(err, "device %zu", out->slots[out->count - 1].count);
    }
    if (at != limit)
        return error_set(err, ERR_INVALID, "the last device is cut short");
    return 0;
}

int hami_list_read(const char *text, struct hami_list *out, struct error *err)
{
    AUTO(hami_list_clear) struct hami_list list = {0};
    const char *at = text, *limit = text + strlen(text);
    struct span container;

    while (next_span(&at, limit, ';', &container)) {
        if (list.count == REQUEST_CONTAINERS_MAX)
            return error_set(err, ERR_LIMIT, "more than %d containers", REQUEST_CONTAINERS_MAX);
        if (read_slot(container, &list, err) < 0)
            return error_wrap(err, "container %zu", list.count - 1);
    }
    if (at != limit)
        return error_set(err, ERR_INVALID, "the list is cut short behind container %zu",
                         list.count);
    *out = list;
    list = (struct hami_list){0};
    return 0;
}

/* --- writing --------------------------------------------------------------------------------- */

static void write_line(const struct hami_line *line, struct buf *out)
{
    buf_add_text(out, line->id);
    if (line->template_index != HAMI_NO_TEMPLATE)
        buf_addf(out, "[%d-%d]", line->template_index, line->slot_index);
    buf_addf(out, ",%s,%" PRIu64 ",%" PRIu32 ":", line->type, line->memory_mib, line->cores);
}

void hami_list_write(const struct hami_list *list, struct buf *out)
{
    for (size_t i = 0; i < list->count; i++) {
        for (size_t k = 0; k < list->slots[i].count; k++)
            write_line(&list->slots[i].lines[k], out);
        buf_add_byte(out, ';');
    }
}
