/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include <stdlib.h>

char *test_read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    char *bytes;
    size_t size = 0;

    if (file == NULL)
        fail_msg("cannot open %s", path);
    bytes = xmalloc(4 << 20);
    size = fread(bytes, 1, (4 << 20) - 1, file);
    fclose(file);
    bytes[size] = '\0';
    if (length != NULL)
        *length = size;
    return bytes;
}
