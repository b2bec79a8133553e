/* SPDX-License-Identifier: Apache-2.0 */
/* hami_csv - register annotations of older plugins: fields by commas, devices by colons. */
#include "hami_node.h"

#include "topofit/buf.h"
#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 10 /* one more than there can be */

/* id, count, memory, cores, type, numa, health, and of newer plugins index, mode */
enum field { ID, COUNT, MEMORY, CORES, TYPE, NUMA, HEALTH, OLD_FIELDS, INDEX = OLD_FIELDS, MODE };
#define NEW_FIELDS (MODE + 1)

/* Cut an entry at its commas, in place. */
static size_t split(char *entry, char *fields[FIELDS_MAX])
{
    size_t count = 0;

    while (count < FIELDS_MAX) {
        char *comma = strchr(entry, ',');

        fields[count++] = entry;
        if (comma == NULL)
            break;
        *comma = '\0';
        entry = comma + 1;
    }
    return count;
}

static bool read_number(const char *text, long long min, long long max, long long *out)
{
    char *end;

    if (text[0] == '\0' || strspn(text, "-0123456789") != strlen(text) || strlen(text) > 18)
        return false;
    *out = strtoll(text, &end, 10);
    return *end == '\0' && *out >= min && *out <= max;
}

/* As Go's strconv.ParseBool. */
static bool read_health(const char *text, bool *out)
{
    static const char *const words[] = {"0",     "1",    "f",     "t",    "F",     "T",
                                        "FALSE", "TRUE", "false", "true", "False", "True"};

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcmp(words[i], text) == 0) {
            *out = i % 2 == 1;
            return true;
        }
    }
    return false;
}

static const char *read_entry(char *entry, struct hami_device *out)
{
    char *fields[FIELDS_MAX];
    size_t count = split(entry, fields);

    if (count != OLD_FIELDS && count != NEW_FIELDS)
        return "must have 7 or 9 fields";
    *out = (struct hami_device){.id = fields[ID], .type = fields[TYPE], .index = -1, .mode = ""};
    if (!read_number(fields[COUNT], 0, DEVICE_SLOTS_MAX, &out->slots) ||
        !read_number(fields[MEMORY], 0, DEVICE_MEMORY_MIB_MAX, &out->memory_mib) ||
        !read_number(fields[CORES], 0, DEVICE_CORES_MAX, &out->cores) ||
        !read_number(fields[NUMA], NUMA_UNKNOWN, DEVICE_NUMA_MAX, &out->numa))
        return "count, memory, cores and NUMA node must be whole numbers";
    if (!read_health(fields[HEALTH], &out->healthy))
        return "health must be true or false";
    if (count == NEW_FIELDS) {
        if (!read_number(fields[INDEX], 0, DEVICE_INDEX_MAX, &out->index))
            return "index must be a whole number";
        out->mode = fields[MODE];
    }
    return NULL;
}

bool hami_read_csv(const struct hami_reading *reading, const char *text)
{
    size_t entry = 0;

    for (const char *end; (end = strchr(text, ':')) != NULL; text = end + 1) {
        AUTO_FREE char *copy = xstrndup(text, (size_t)(end - text));
        struct hami_device found;
        const char *wrong;

        if (copy[0] == '\0')
            continue;
        wrong = read_entry(copy, &found);
        if (wrong != NULL)
            hami_note(reading, entry, wrong);
        else
            hami_add_device(reading, entry, &found);
        entry++;
    }
    if (text[0] != '\0')
        hami_note(reading, entry, "is cut short: \":\" is expected behind it");
    return entry > 0;
}
