/* SPDX-License-Identifier: Apache-2.0 */
/* Any YAML text; what could be read is written as JSON, and that is JSON. */
#include "topofit/json.h"
#include "topofit/mem.h"
#include "topofit/yaml.h"

#include <assert.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const struct json_field nothing[] = {{0}};
    AUTO(yaml_free_pointer) struct yaml_value *value = NULL;
    AUTO(buf_clear) struct buf out = buf_with_max(64 << 20);
    struct error err = {0}, json_err = {0};

    if (yaml_read((const char *)bytes, size, &value, &err) < 0)
        return 0;
    for (size_t i = 0; i < value->count; i++)
        yaml_get(value->members[i].value, "metadata");
    buf_add_text(&out, "{\"documents\":");
    yaml_write_json(value, &out);
    buf_add_byte(&out, '}');
    assert(json_read(nothing, NULL, out.data, out.length, &json_err) == 0);
    return 0;
}
