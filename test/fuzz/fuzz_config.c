/* SPDX-License-Identifier: Apache-2.0 */
/* Any configuration: refused with a place, or accepted, and then shown in a form that is accepted.
 */
#include "topofit/config.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_shown(const struct config *config)
{
    AUTO(buf_clear) struct buf shown = buf_with_max(CONFIG_BYTES_MAX * 8);
    AUTO(config_clear) struct config again;
    struct error err = {0};

    config_write_yaml(config, &shown);
    assert(!shown.overflowed);
    config_defaults(&again);
    if (config_read(&again, buf_text(&shown), shown.length, &err) < 0)
        abort();
    assert(again.extender_bind_timeout_ms == config->extender_bind_timeout_ms);
    assert(again.topology_max_tier == config->topology_max_tier && again.topology_max_tier <= 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO(config_clear) struct config config;
    struct error err = {0};
    int result;

    config_defaults(&config);
    result = config_read(&config, (const char *)bytes, size, &err);
    assert((result < 0) == (err.code != ERR_NONE));
    if (result == 0)
        check_shown(&config);
    return 0;
}
