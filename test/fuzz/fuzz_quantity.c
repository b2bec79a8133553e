/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as an amount: within the range stated, and both meanings agree where there is no unit.
 */
#include "topofit/mem.h"
#include "topofit/quantity.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO_FREE char *text = xstrndup((const char *)bytes, size);
    struct error count_err = {0}, mib_err = {0};
    uint64_t count = 0, mib = 0;
    int count_result = quantity_parse_count(text, &count, &count_err);
    bool has_unit;
    int mib_result = quantity_parse_memory(text, &mib, &has_unit, &mib_err);

    if (count_result == 0) {
        assert(count <= UINT32_MAX);
        if (mib_result < 0) /* "1M": few bytes, or many MiB as the API server writes them */
            assert(mib_err.code == ERR_INVALID && strpbrk(text, "MGTPE") != NULL);
        else
            assert(mib <= count && (mib > 0) == (count > 0));
    }
    if (mib_result == 0) {
        assert(mib <= INT64_MAX);
        /* "0e5" is a zero too */
        assert(mib > 0 || strpbrk(text, "123456789") == NULL || strpbrk(text, "eE") != NULL);
    }
    return 0;
}
