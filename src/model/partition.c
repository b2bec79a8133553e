/* SPDX-License-Identifier: Apache-2.0 */
/* partition - into what a device can be divided by its hardware, and what of that is taken. */
#include "topofit/partition.h"

#include "topofit/mem.h"
#include "topofit/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SLICES_MASK ((UINT32_C(1) << PARTITION_SLICES_MAX) - 1)

/* --- tables ---------------------------------------------------------------------------------- */

struct partition_table *partition_table_new(unsigned slices, unsigned compute)
{
    struct partition_table *table = xcalloc(1, sizeof *table);

    assert(slices <= PARTITION_SLICES_MAX && compute < PARTITION_COMPUTE_BAD);
    table->references = 1;
    table->slices = (uint8_t)slices;
    table->compute = (uint8_t)compute;
    return table;
}

struct partition_table *partition_table_ref(struct partition_table *table)
{
    if (table != NULL)
        __atomic_add_fetch(&table->references, 1, __ATOMIC_RELAXED);
    return table;
}

void partition_table_unref(struct partition_table *table)
{
    if (table != NULL && __atomic_sub_fetch(&table->references, 1, __ATOMIC_ACQ_REL) == 0)
        free(table);
}

void partition_table_unref_pointer(struct partition_table **table)
{
    partition_table_unref(*table);
}

static bool is_larger(const struct partition_profile *a, const struct partition_profile *b)
{
    return a->memory_mib != b->memory_mib ? a->memory_mib > b->memory_mib : a->compute > b->compute;
}

/* Note a profile that differs from those before it in what it has, the largest first. */
static void add_shape(struct partition_table *table, uint8_t position)
{
    const struct partition_profile *profile = &table->profiles[position];
    unsigned at = table->shape_count;

    for (unsigned i = 0; i < table->shape_count; i++) {
        const struct partition_profile *other = &table->profiles[table->shapes[i]];

        if (other->memory_mib == profile->memory_mib && other->compute == profile->compute)
            return;
    }
    for (; at > 0 && is_larger(profile, &table->profiles[table->shapes[at - 1]]); at--)
        table->shapes[at] = table->shapes[at - 1];
    table->shapes[at] = position;
    table->shape_count++;
}

/* Do all legal places lie within the device? */
static bool starts_are_inside(const struct partition_table *table,
                              const struct partition_profile *profile)
{
    uint32_t starts = profile->starts;

    return starts != 0 && profile->width <= table->slices &&
           starts >> (table->slices - profile->width + 1) == 0;
}

/* The same name may stand in several groups of a geometry. */
static bool has_name(const struct partition_table *table, const struct partition_profile *profile)
{
    for (unsigned i = 0; i < table->count; i++) {
        if (table->profiles[i].group == profile->group &&
            partition_name_equal(table->profiles[i].name, profile->name))
            return true;
    }
    return false;
}

static const char *find_fault(const struct partition_table *table,
                              const struct partition_profile *profile)
{
    if (profile->name[0] == '\0' || has_name(table, profile))
        return "must have a name that no other has, but for other groups";
    if (profile->memory_mib == 0 || profile->width == 0 || !starts_are_inside(table, profile))
        return "must have memory, a width and places that lie within the device";
    if (table->compute > 0 && profile->compute > table->compute)
        return "must not have more compute slices than the device";
    if (profile->max > PARTITION_LIMITS_MAX - table->limits_used)
        return "has a `max` too many: there is room for 16 over all profiles";
    return NULL;
}

const char *partition_table_add(struct partition_table *table,
                                const struct partition_profile *profile)
{
    struct partition_profile row = *profile;
    const char *fault;

    if (table->count == PARTITION_PROFILES_MAX)
        return "is one too many: a device has at most 16";
    fault = find_fault(table, profile);
    if (fault != NULL)
        return fault;
    row.limit_at = (uint8_t)(PARTITION_SLICES_MAX + table->limits_used);
    table->limits_used = (uint8_t)(table->limits_used + profile->max);
    table->profiles[table->count] = row;
    add_shape(table, table->count);
    table->count++;
    return NULL;
}

static bool profile_equal(const struct partition_profile *a, const struct partition_profile *b)
{
    return strcmp(a->name, b->name) == 0 && a->memory_mib == b->memory_mib &&
           a->cores == b->cores && a->width == b->width && a->compute == b->compute &&
           a->starts == b->starts && a->max == b->max && a->group == b->group;
}

bool partition_table_equal(const struct partition_table *a, const struct partition_table *b)
{
    if (a == b || a == NULL || b == NULL)
        return a == b;
    if (a->slices != b->slices || a->compute != b->compute || a->count != b->count)
        return false;
    for (unsigned i = 0; i < a->count; i++) {
        if (!profile_equal(&a->profiles[i], &b->profiles[i]))
            return false;
    }
    return true;
}

struct partition_table *partition_table_of_profiles(const struct partition_profile *profiles,
                                                    unsigned count, const char **out_fault)
{
    AUTO(partition_table_unref_pointer) struct partition_table *table = NULL;
    unsigned slices = 0, compute = 0, width = 0;

    for (unsigned i = 0; i < count; i++) {
        for (uint16_t starts = profiles[i].starts; starts != 0; starts &= (uint16_t)(starts - 1)) {
            unsigned end = (unsigned)__builtin_ctz(starts) + profiles[i].width;

            slices = end > slices ? end : slices;
        }
        if (profiles[i].group == 0 && profiles[i].compute > compute) {
            compute = profiles[i].compute;
            width = profiles[i].width;
        }
    }
    *out_fault = "must lie within 16 slices";
    if (slices > PARTITION_SLICES_MAX)
        return NULL;
    /* The largest of a list that leaves out the whole device tells nothing of all its compute. */
    table = partition_table_new(slices, width == slices ? compute : 0);
    for (unsigned i = 0; i < count; i++) {
        *out_fault = partition_table_add(table, &profiles[i]);
        if (*out_fault != NULL)
            return NULL;
    }
    *out_fault = NULL;
    return steal_ptr(&table);
}

/* --- from class files ------------------------------------------------------------------------ */

static const char *add_class_profile(const struct class_profile *from,
                                     struct partition_table *table)
{
    struct partition_profile profile = {.memory_mib = from->memory_mib,
                                        .cores = from->cores,
                                        .width = (uint8_t)from->width,
                                        .compute = (uint8_t)from->compute,
                                        .max = (uint8_t)from->max,
                                        .group = (uint8_t)from->group};

    if (from->name == NULL || strlen(from->name) >= sizeof profile.name)
        return "must have a name of at most 23 bytes";
    if (from->width > PARTITION_SLICES_MAX || from->compute >= PARTITION_COMPUTE_BAD ||
        from->max > PARTITION_LIMITS_MAX || from->group > UINT8_MAX)
        return "has a number that no device could have";
    memcpy(profile.name, from->name, strlen(from->name));
    for (size_t i = 0; i < from->starts.count; i++) {
        if (from->starts.items[i] >= PARTITION_SLICES_MAX)
            return "must start at slices 0 to 15";
        profile.starts = (uint16_t)(profile.starts | 1u << from->starts.items[i]);
    }
    return partition_table_add(table, &profile);
}

struct partition_table *partition_table_of(const struct class_division *division,
                                           const char **out_fault)
{
    AUTO(partition_table_unref_pointer) struct partition_table *table = NULL;

    *out_fault = "must have 1 to 16 slices, and less than 255 compute slices";
    if (division->slices < 1 || division->slices > PARTITION_SLICES_MAX ||
        division->compute >= PARTITION_COMPUTE_BAD)
        return NULL;
    table = partition_table_new(division->slices, division->compute);
    for (size_t i = 0; i < division->profiles.count; i++) {
        *out_fault = add_class_profile(&division->profiles.items[i], table);
        if (*out_fault != NULL)
            return NULL;
    }
    *out_fault = NULL;
    return steal_ptr(&table);
}

const struct class_division *division_for(const struct class_divisions *divisions,
                                          const char *product)
{
    for (size_t i = 0; i < divisions->count; i++) {
        const struct class_division *division = &divisions->items[i];

        for (size_t k = 0; k < division->products.count; k++) {
            if (text_has_words(product, division->products.items[k]))
                return division;
        }
    }
    return NULL;
}

/* --- names ----------------------------------------------------------------------------------- */

static char plain(char c)
{
    if (c == '+')
        return '.';
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool partition_name_equal(const char *a, const char *b)
{
    for (; *a != '\0' && plain(*a) == plain(*b); a++)
        b++;
    return plain(*a) == plain(*b);
}

int partition_find(const struct partition_table *table, const char *name)
{
    for (unsigned i = 0; i < table->count; i++) {
        if (partition_name_equal(table->profiles[i].name, name))
            return (int)i;
    }
    return -1;
}

int partition_geometry_start(const struct partition_table *table, unsigned group, unsigned position)
{
    uint16_t places = 0;

    for (unsigned i = 0; i < table->count; i++) {
        if (table->profiles[i].group == group + 1)
            places |= table->profiles[i].starts;
    }
    for (; position > 0 && places != 0; position--)
        places = (uint16_t)(places & (places - 1));
    return places != 0 ? __builtin_ctz(places) : -1;
}

/* The number at a text, and where it ends; at most 6 digits. */
static uint64_t read_digits(const char **at)
{
    uint64_t number = 0;

    for (unsigned i = 0; i < 6 && **at >= '0' && **at <= '9'; i++)
        number = number * 10 + (uint64_t)(*(*at)++ - '0');
    return number;
}

unsigned partition_name_compute(const char *name)
{
    uint64_t compute = read_digits(&name);

    return *name == 'g' && compute < PARTITION_COMPUTE_BAD ? (unsigned)compute : 0;
}

uint64_t partition_name_mib(const char *name)
{
    const char *at = strchr(name, '.');
    uint64_t size_gib;

    if (at == NULL || partition_name_compute(name) == 0)
        return 0;
    at++;
    size_gib = read_digits(&at);
    return strncasecmp(at, "gb", 2) == 0 ? size_gib * 1024 : 0;
}

/* --- places ---------------------------------------------------------------------------------- */

static uint32_t slices_of(unsigned start, unsigned width)
{
    return ((UINT32_C(1) << width) - 1) << start;
}

/* Is another way of dividing the device in use? */
static bool is_of_other_group(const struct partition_table *table, uint32_t taken, unsigned group)
{
    for (unsigned i = 0; group > 0 && i < table->count; i++) {
        if (table->profiles[i].group != group && (table->profiles[i].starts & taken) != 0)
            return true;
    }
    return false;
}

struct partition_use partition_at(const struct partition_table *table, struct partition_use taken,
                                  unsigned profile, unsigned start)
{
    static const struct partition_use nowhere;
    const struct partition_profile *row = &table->profiles[profile];
    uint32_t slices = slices_of(start, row->width);

    if ((row->starts >> start & 1) == 0 || (slices & taken.slices) != 0 ||
        is_of_other_group(table, taken.slices & SLICES_MASK, row->group))
        return nowhere;
    if (table->compute > 0 && (unsigned)taken.compute + row->compute > table->compute)
        return nowhere;
    if (row->max > 0) {
        uint32_t left = slices_of(row->limit_at, row->max) & ~taken.slices;

        if (left == 0)
            return nowhere;
        slices |= left & -left;
    }
    return (struct partition_use){slices, row->compute};
}

struct partition_use partition_add(struct partition_use taken, struct partition_use more)
{
    unsigned compute = (unsigned)taken.compute + more.compute;

    return (struct partition_use){
        taken.slices | more.slices,
        (uint8_t)(compute < PARTITION_COMPUTE_BAD ? compute : PARTITION_COMPUTE_BAD)};
}

/* They are all equally long, so taking the first free place each time makes the most. */
unsigned partition_most(const struct partition_table *table, struct partition_use taken,
                        unsigned profile)
{
    unsigned count = 0;

    for (uint32_t starts = table->profiles[profile].starts; starts != 0; starts &= starts - 1) {
        struct partition_use use =
            partition_at(table, taken, profile, (unsigned)__builtin_ctz(starts));

        if (use.slices == 0)
            continue;
        taken = partition_add(taken, use);
        count++;
    }
    return count;
}

bool partition_conflicts(const struct partition_table *table, struct partition_use taken,
                         struct partition_use more)
{
    if (table == NULL || more.slices == 0 || (taken.slices & more.slices) != 0)
        return true;
    if (more.compute == PARTITION_COMPUTE_BAD ||
        (table->compute > 0 && (unsigned)taken.compute + more.compute > table->compute))
        return true;
    if ((more.slices & SLICES_MASK) >> table->slices != 0)
        return true;
    for (unsigned i = 0; i < table->count; i++) {
        if ((table->profiles[i].starts & more.slices) != 0 &&
            is_of_other_group(table, (taken.slices | more.slices) & SLICES_MASK,
                              table->profiles[i].group))
            return true;
    }
    return false;
}

uint16_t partition_cores(const struct partition_table *table, unsigned profile,
                         uint16_t device_cores)
{
    const struct partition_profile *row = &table->profiles[profile];
    unsigned part =
        table->compute > 0 ? (unsigned)device_cores * row->compute / table->compute : device_cores;

    return row->cores < part ? row->cores : (uint16_t)part;
}

struct partition_placement partition_placement_of(const struct partition_table *table,
                                                  unsigned profile, unsigned start, uint32_t slices)
{
    const struct partition_profile *row = &table->profiles[profile];
    struct partition_placement out = {
        .start = (uint8_t)start, .size = row->width, .use = {slices, row->compute}};

    memcpy(out.profile, row->name, sizeof out.profile);
    return out;
}

struct partition_placement partition_placement_made(const char *profile, unsigned start,
                                                    unsigned size)
{
    struct partition_placement out = {.start = (uint8_t)start, .size = (uint8_t)size};
    size_t length = strnlen(profile, PARTITION_NAME_MAX - 1);

    memcpy(out.profile, profile, length);
    if (start < PARTITION_SLICES_MAX && size >= 1 && size <= PARTITION_SLICES_MAX - start)
        out.use = (struct partition_use){slices_of(start, size),
                                         (uint8_t)partition_name_compute(profile)};
    else
        out.use = (struct partition_use){SLICES_MASK, PARTITION_COMPUTE_BAD};
    return out;
}
