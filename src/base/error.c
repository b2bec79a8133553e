/* SPDX-License-Identifier: Apache-2.0 */
/* error - why an operation failed, on the caller's stack. */
#include "topofit/error.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *err, enum error_code code, const char *format, ...)
{
    va_list args;

    assert(err->code == ERR_NONE && code != ERR_NONE);
    err->code = code;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return -(int)code;
}

int error_wrap(struct error *err, const char *format, ...)
{
    char inner[ERROR_TEXT_MAX];
    va_list args;
    size_t used;

    assert(err->code != ERR_NONE);
    memcpy(inner, err->text, sizeof inner);
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    used = strlen(err->text);
    snprintf(err->text + used, sizeof err->text - used, ": %s", inner);
    return error_pass(err);
}

int error_pass(const struct error *err)
{
    assert(err->code != ERR_NONE);
    return -(int)err->code;
}

enum error_code error_code_of(int errno_value)
{
    if (errno_value == ENOENT || errno_value == ENOTDIR)
        return ERR_NOT_FOUND;
    return errno_value == EACCES || errno_value == EPERM ? ERR_DENIED : ERR_IO;
}

void error_clear(struct error *err)
{
    err->code = ERR_NONE;
    err->text[0] = '\0';
}
