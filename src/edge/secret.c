/* SPDX-License-Identifier: Apache-2.0 */
/* secret - numbers that nobody else can know. */
#include "topofit/secret.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/random.h>

void secret_fill(void *out, size_t bytes)
{
    assert(bytes <= SECRET_BYTES_MAX);
    if (getrandom(out, bytes, 0) != (ssize_t)bytes)
        abort(); /* cannot fail for so few bytes once the kernel is up */
}

uint64_t secret_number(void)
{
    uint64_t number;

    secret_fill(&number, sizeof number);
    return number;
}
