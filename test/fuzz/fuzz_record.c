/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any allocation record: read or refused; what was read is written and read again as it was, and
 * books something on every device that its running containers name.
 */
#include "topofit/dialect.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const struct class_table no_classes;
static const struct request no_request;

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_round_trip(const struct allocation *record)
{
    AUTO(kube_pod_clear) struct kube_pod kube;
    AUTO(allocation_clear) struct allocation again = {0};
    struct error err = {0};

    kube_pod_init(&kube);
    dialect_native.write_record(&(struct dialect_placement){.allocation = record},
                                &kube.meta.annotations);
    if (dialect_native.read_record(&kube, &no_classes, &no_request, &again, &err) != 1)
        abort();
    assert(allocation_equal(record, &again) && record->tier == again.tier);
}

static void check_grants(const struct allocation *record)
{
    struct grant early[DEVICE_MAX], late[DEVICE_MAX];
    size_t count = allocation_grants(record, false, early, ARRAY_LEN(early));

    assert(allocation_grants(record, true, late, ARRAY_LEN(late)) == count);
    for (size_t i = 0; i < count; i++) {
        assert(early[i].slots > 0 && early[i].mode != ISOLATION_NONE);
        assert(early[i].memory_mib >= late[i].memory_mib && early[i].cores >= late[i].cores);
        assert((late[i].slots == 0) == (late[i].mode == ISOLATION_NONE));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO_FREE char *text = xstrndup((const char *)bytes, size);
    AUTO(kube_pod_clear) struct kube_pod kube;
    AUTO(allocation_clear) struct allocation record = {0};
    struct error err = {0};
    int result;

    kube_pod_init(&kube);
    kube_pairs_add(&kube.meta.annotations, dialect_record_key(), text);
    result = dialect_native.read_record(&kube, &no_classes, &no_request, &record, &err);
    assert((result < 0) == (err.code != ERR_NONE));
    if (result == 1) {
        check_round_trip(&record);
        check_grants(&record);
    }
    return 0;
}
