/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isolation - which isolation modes may meet on a device.
 *
 * Pure. The rule that the ledger's invariant "one isolation mode on a device" comes from.
 */
#ifndef TOPOFIT_ISOLATION_H
#define TOPOFIT_ISOLATION_H

#include <stdbool.h>

#include "topofit/isolation_mode.h"

/*
 * May a tenant of mode `wanted` join a device whose tenants have mode `present`
 * (ISOLATION_NONE = it has none)? Nobody joins a tenant that has the device whole.
 */
bool isolation_may_join(enum isolation_mode present, enum isolation_mode wanted);

#endif
