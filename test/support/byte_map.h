/* SPDX-License-Identifier: Apache-2.0 */
/*
 * byte_map - which bytes of a struct hold something: a test flips one after the other and sees
 * whether that is noticed. So whoever adds a field, also one that falls into what was padding, has
 * to say what it is for. With a compiler that does not tell padding the map is empty.
 */
#ifndef TOPOFIT_TEST_BYTE_MAP_H
#define TOPOFIT_TEST_BYTE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define BYTE_MAP_MAX 512

struct byte_map {
    size_t size;
    unsigned char bits[BYTE_MAP_MAX];
};

#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
#define byte_map_clear_padding(object) __builtin_clear_padding(object)
#endif
#endif
#ifndef byte_map_clear_padding
#define byte_map_clear_padding(object) memset(object, 0, sizeof *(object))
#endif

/* All bytes of a type that are no padding. */
#define byte_map_init(map, type) \
    do { \
        type every; \
        _Static_assert(sizeof every <= BYTE_MAP_MAX, "the map is too small"); \
        memset(&every, 0xff, sizeof every); \
        byte_map_clear_padding(&every); \
        (map)->size = sizeof every; \
        memcpy((map)->bits, &every, sizeof every); \
    } while (0)

/* A field that need not be noticed, or only the low byte of which can hold anything. */
#define byte_map_skip(map, type, field) \
    memset((map)->bits + offsetof(type, field), 0, sizeof(((type *)NULL)->field))
#define byte_map_low_only(map, type, field) \
    memset((map)->bits + offsetof(type, field) + 1, 0, sizeof(((type *)NULL)->field) - 1)

/* The next byte from *at on; false when there is none. It is flipped in the object. */
static inline bool byte_map_flip(const struct byte_map *map, size_t *at, void *object)
{
    while (*at < map->size && map->bits[*at] == 0)
        ++*at;
    if (*at < map->size)
        ((unsigned char *)object)[*at] ^= 1;
    return *at < map->size;
}

#endif
