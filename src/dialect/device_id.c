/* SPDX-License-Identifier: Apache-2.0 */
/* device_id - which words can be ids of devices. */
#include "device_id.h"

#include "topofit/mem.h"
#include "topofit/text.h"

#include <string.h>

bool device_id_ok(const char *id)
{
    static const char *const taken[] = {"all", "none", "void"};
    size_t length =
        strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/-");

    for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
        if (text_equal_nocase(id, taken[i]))
            return false;
    }
    return length > 0 && length <= DEVICE_ID_BYTES_MAX && id[length] == '\0';
}
