/* SPDX-License-Identifier: Apache-2.0 */
/* isolation - which isolation modes may meet on a device. */
#include "topofit/isolation.h"

bool isolation_may_join(enum isolation_mode present, enum isolation_mode wanted)
{
    if (present == ISOLATION_NONE)
        return true;
    return present == wanted && present != ISOLATION_SHARED;
}
