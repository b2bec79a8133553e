/* SPDX-License-Identifier: Apache-2.0 */
/* Any answer that should be a Lease; what is read writes again, and reads the same. */
#include "topofit/lease_json.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Overlong UTF-8 passes yajl, and is written as what it is not; all else stays as it is. */
static bool is_same(const char *a, const char *b)
{
    while (*a != '\0' && (unsigned char)*a < 0x80 && *a == *b)
        a++, b++;
    return *a == *b || (unsigned char)*a >= 0x80;
}

static void write_again(const struct lease_record *record)
{
    AUTO(buf_clear) struct buf out = buf_with_max(LEASE_JSON_MAX_BYTES);
    AUTO(lease_record_clear) struct lease_record again = {0};
    struct lease_view view = lease_record_view(record);
    struct error err = {0};

    lease_json_write(&out, &view);
    assert(!out.overflowed);
    assert(lease_json_read(out.data, out.length, &again, &err) == 0);
    assert(is_same(record->holder, again.holder));
    assert(is_same(record->wanted_by, again.wanted_by));
    assert(is_same(record->renew_time, again.renew_time));
    assert(is_same(record->meta.resource_version, again.meta.resource_version));
    assert(record->duration_s == again.duration_s && record->transitions == again.transitions);
    /* Labels that come twice come once when they are written; the last ones count. */
    for (size_t i = 0; i < again.meta.labels.count; i++)
        assert(kube_pairs_get(&record->meta.labels, again.meta.labels.items[i].key) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO(lease_record_clear) struct lease_record record = {0};
    struct error err = {0};

    if (lease_json_read((const char *)bytes, size, &record, &err) == 0)
        write_again(&record);
    return 0;
}
