/* SPDX-License-Identifier: Apache-2.0 */
/* hami - the annotations of HAMi's scheduler and device plugins. docs/reference/hami.md */
#include "cordon.h"
#include "hami_demands.h"
#include "hami_node.h"
#include "hami_record.h"
#include "topofit/dialect.h"
#include "topofit/node_lock.h"

static const char *const annotations[] = {
    KEY_HAMI_CORDON, KEY_HAMI_NODE, KEY_HAMI_TIME, BIND_TIME_KEY, BIND_PHASE_KEY, NULL,
};

const struct dialect dialect_hami = {
    .name = "hami",
    .annotations = annotations,
    .read_node = hami_read_node,
    .read_demands = hami_read_demands,
    .read_record = hami_read_record,
    .is_record_key = hami_is_record_key,
    .write_record = hami_write_record,
};
