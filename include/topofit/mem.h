/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mem - allocation that cannot fail, and cleanup at the end of a scope.
 *
 * Running out of memory ends the process with one line on stderr: one place, no untested branches.
 * Sizes that come from outside are bounded before they get here.
 *
 * x_init/x_clear work on the caller's storage, x_new/x_free on the heap, x_ref/x_unref on shared
 * immutable objects; all three closers accept NULL or zeroed memory. A `const char *` field is
 * borrowed, a `char *` field is owned; a function that takes an argument over says `steal`.
 */
#ifndef TOPOFIT_MEM_H
#define TOPOFIT_MEM_H

#include <stddef.h>

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

/* Run `clear(&variable)` when the variable leaves its scope. */
#define AUTO(clear) __attribute__((cleanup(clear)))

/* Free a heap pointer when it leaves its scope: AUTO_FREE char *text = xstrdup("x"); */
#define AUTO_FREE AUTO(mem_free_pointer)

/* Zeroed memory for one or `count` objects of `size` bytes. Aborts on overflow. Never NULL. */
void *xcalloc(size_t count, size_t size);

/* As malloc and realloc, never NULL. xreallocarray aborts when count * size overflows. */
void *xmalloc(size_t size);
void *xreallocarray(void *memory, size_t count, size_t size);

/* A copy of a string, or of `length` bytes of it with a NUL behind. The caller frees it. */
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t length);

/* A formatted string of any length. The caller frees it. */
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Make room for one more element in a growing array.
 *
 * items     the array or NULL; it may move.
 * count     elements in use.
 * capacity  elements allocated; updated.
 * return    the array, with room for at least count + 1 elements of `size` bytes.
 */
void *mem_grow(void *items, size_t count, size_t *capacity, size_t size);

/* Take the value out of a pointer variable, leaving NULL: return steal_ptr(&text); */
#define steal_ptr(pointer) ((__typeof__(*(pointer)))mem_take((void *)(pointer)))
void *mem_take(void *pointer);

/* For AUTO_FREE: `pointer` is the address of a pointer variable. */
void mem_free_pointer(void *pointer);

/*
 * What the allocator takes for a block of `size` bytes, its own share included, and for a string
 * with its NUL (0 for NULL): for bounds on what outsiders can make large.
 */
size_t mem_block_bytes(size_t size);
size_t mem_text_bytes(const char *text);

#endif
