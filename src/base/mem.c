/* SPDX-License-Identifier: Apache-2.0 */
/* mem - allocation that cannot fail, and cleanup at the end of a scope. */
#include "topofit/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *memory, size_t size)
{
    if (memory == NULL) {
        fprintf(stderr, "topofit: out of memory (%zu bytes)\n", size);
        abort();
    }
    return memory;
}

/* malloc(0) may return NULL, which is no failure: ask for one byte. */
static size_t at_least_one(size_t size)
{
    return size > 0 ? size : 1;
}

/* All that was asked for, or the most there is to say. */
static size_t total(size_t count, size_t size)
{
    size_t bytes;

    return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

void *xcalloc(size_t count, size_t size)
{
    return checked(calloc(at_least_one(count), at_least_one(size)), total(count, size));
}

void *xmalloc(size_t size)
{
    return checked(malloc(at_least_one(size)), size);
}

void *xreallocarray(void *memory, size_t count, size_t size)
{
    return checked(reallocarray(memory, at_least_one(count), at_least_one(size)),
                   total(count, size));
}

char *xstrdup(const char *text)
{
    return xstrndup(text, strlen(text));
}

char *xstrndup(const char *text, size_t length)
{
    char *copy = xmalloc(length + 1);

    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *xasprintf(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    int length;

    va_start(args, format);
    length = vasprintf(&text, format, args);
    va_end(args);
    return checked(length < 0 ? NULL : text, 0);
}

void *mem_grow(void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return items;
    *capacity = *capacity < 8 ? 8 : *capacity * 2;
    return xreallocarray(items, *capacity, size);
}

void *mem_take(void *pointer)
{
    void **variable = pointer;
    void *value = *variable;

    *variable = NULL;
    return value;
}

void mem_free_pointer(void *pointer)
{
    free(mem_take(pointer));
}

/* A head before each block, sizes in steps of 16, and no block below 32. source: malloc(3), glibc
 */
size_t mem_block_bytes(size_t size)
{
    size_t bytes = (size + sizeof(size_t) + 15) / 16 * 16;

    return bytes > 32 ? bytes : 32;
}

size_t mem_text_bytes(const char *text)
{
    return text != NULL ? mem_block_bytes(strlen(text) + 1) : 0;
}
