/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/kube_words.h"
#include "support/test.h"

#include "topofit/buf.h"
#include "topofit/dialect.h"

#include <stdlib.h>

#define KEY "topofit.io/allocation"
#define RECORD(containers) \
    "{\"version\":1,\"node\":\"n1\",\"tier\":1,\"degraded\":false,\"containers\":[" containers "]" \
    "}"
#define CONTAINER(devices) "{\"name\":\"main\",\"kind\":\"app\",\"devices\":[" devices "]}"
#define DEVICE "{\"id\":\"GPU-a\",\"memoryMiB\":4096,\"cores\":30,\"slots\":1,\"mode\":\"soft\"}"

static const struct class_table no_classes;
static const struct request no_request;

#define WITH(member) \
    "{\"id\":\"GPU-a\",\"memoryMiB\":4096,\"cores\":30,\"slots\":1,\"mode\":" \
    "\"partitioned\"," member "}"

static int read_record(const char *text, struct allocation *out, struct error *err)
{
    AUTO(kube_pod_clear) struct kube_pod pod;

    kube_pod_init(&pod);
    if (text != NULL)
        kube_pod_annotate(&pod, KEY, text);
    return dialect_native.read_record(&pod, &no_classes, &no_request, out, err);
}

static void test_read_record__reads_every_member(void **state)
{
    AUTO(allocation_clear) struct allocation record = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(read_record(RECORD(CONTAINER(DEVICE) ",{\"name\":\"s\",\"kind\":\"sidecar\","
                                                          "\"devices\":[],\"later\":1}"),
                                 &record, &err),
                     1);
    assert_string_equal(record.node, "n1");
    assert_int_equal(record.tier, TIER_NUMA);
    assert_int_equal(record.container_count, 2);
    assert_int_equal(record.containers[0].kind, CONTAINER_APP);
    assert_string_equal(record.containers[0].devices[0].id, "GPU-a");
    assert_int_equal(record.containers[0].devices[0].memory_mib, 4096);
    assert_int_equal(record.containers[0].devices[0].cores, 30);
    assert_int_equal(record.containers[0].devices[0].slots, 1);
    assert_int_equal(record.containers[0].devices[0].mode, ISOLATION_SOFT);
    assert_int_equal(record.containers[1].kind, CONTAINER_SIDECAR);
    assert_int_equal(record.containers[1].device_count, 0);
}

static void test_read_record__no_annotation_is_no_record(void **state)
{
    struct allocation record;
    struct error err = {0};

    (void)state;
    assert_int_equal(read_record(NULL, &record, &err), 0);
    assert_int_equal(err.code, ERR_NONE);
}

static void test_read_record__f38_refuses_what_it_cannot_read_with_its_place(void **state)
{
    static const struct {
        const char *text, *problem;
    } cases[] = {
        {"", "line 1"},
        {"GPU-a", "line 1"},
        {"null", KEY},
        {"[]", "version"},
        {"{}", "version"},
        {"{\"version\":2,\"node\":\"n1\"}", "version 2 is not known"},
        {"{\"version\":\"1\"}", "version"},
        {"{\"version\":1,\"tier\":0,\"containers\":[]}", "\"node\""},
        {"{\"version\":1,\"node\":\"\",\"tier\":0,\"containers\":[]}", "\"node\""},
        {"{\"version\":1,\"node\":\"n\",\"containers\":[]}", "\"tier\""},
        {"{\"version\":1,\"node\":\"n\",\"tier\":4,\"containers\":[]}", "\"tier\""},
        {"{\"version\":1,\"node\":\"n\",\"tier\":0}", "\"containers\""},
        {RECORD("7"), "container 0"},
        {RECORD("{\"name\":\"\",\"kind\":\"app\",\"devices\":[]}"), "container 0: \"name\""},
        {RECORD("{\"name\":\"m\",\"kind\":\"App\",\"devices\":[]}"), "kind \"App\""},
        {RECORD("{\"name\":\"m\",\"kind\":\"app\"}"), "\"devices\""},
        {RECORD(CONTAINER("null")), "\"id\""},
        {RECORD(CONTAINER(
             "{\"id\":\"a\",\"memoryMiB\":-1,\"cores\":0,\"slots\":1,\"mode\":\"soft\"}")),
         "\"memoryMiB\""},
        {RECORD(CONTAINER(
             "{\"id\":\"a\",\"memoryMiB\":1,\"cores\":65536,\"slots\":1,\"mode\":\"soft\"}")),
         "\"cores\""},
        {RECORD(
             CONTAINER("{\"id\":\"a\",\"memoryMiB\":1,\"cores\":0,\"slots\":0,\"mode\":\"soft\"}")),
         "slots"},
        {RECORD(CONTAINER("{\"id\":\"a\",\"memoryMiB\":1,\"cores\":0,\"slots\":1,\"mode\":\"\"}")),
         "\"mode\""},
        {RECORD(
             CONTAINER("{\"id\":\"a\",\"memoryMiB\":1,\"cores\":0,\"slots\":1,\"mode\":\"own\"}")),
         "mode"},
        {RECORD(CONTAINER(DEVICE)) "x", "end of file"},
        {RECORD(CONTAINER(WITH("\"partition\":7"))), "\"partition\""},
        {RECORD(CONTAINER(WITH("\"partition\":{\"profile\":\"1g.5gb\",\"start\":16,\"size\":1,"
                               "\"compute\":1,\"slices\":1}"))),
         "\"start\""},
        {RECORD(CONTAINER(WITH("\"partition\":{\"profile\":\"1g.5gb\",\"start\":6,\"size\":1,"
                               "\"compute\":1,\"slices\":32}"))),
         "\"slices\""},
        {RECORD(CONTAINER(WITH("\"service\":\"best\""))), "service \"best\""},
        {RECORD(CONTAINER(WITH("\"application\":\"\""))), "application \"\""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct allocation record;
        struct error err = {0};

        assert_int_equal(read_record(cases[i].text, &record, &err), -ERR_INVALID);
        assert_contains(err.text, KEY);
        assert_contains(err.text, cases[i].problem);
    }
}

static void test_read_record__is_bounded(void **state)
{
    static const struct {
        const char *item;
        unsigned most;
        bool devices;
    } cases[] = {{DEVICE, DEVICE_MAX, true}, {CONTAINER(DEVICE), REQUEST_CONTAINERS_MAX, false}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (unsigned count = cases[i].most; count <= cases[i].most + 1; count++) {
            AUTO(buf_clear) struct buf text = buf_with_max(1 << 20);
            AUTO(allocation_clear) struct allocation record = {0};
            struct error err = {0};

            buf_add_text(&text, "{\"version\":1,\"node\":\"n1\",\"tier\":0,\"containers\":[");
            if (cases[i].devices)
                buf_add_text(&text, "{\"name\":\"m\",\"kind\":\"app\",\"devices\":[");
            for (unsigned k = 0; k < count; k++)
                buf_addf(&text, "%s%s", k > 0 ? "," : "", cases[i].item);
            buf_add_text(&text, cases[i].devices ? "]}]}" : "]}");
            assert_int_equal(read_record(buf_text(&text), &record, &err),
                             count > cases[i].most ? -ERR_INVALID : 1);
        }
    }
}

/* --- writing ------------------------------------------------------------------------------------
 */

static void test_write_record__writes_the_record_and_a_plain_list_per_container(void **state)
{
    AUTO(kube_pairs_clear) struct kube_pairs pairs = {0};
    AUTO(allocation_clear) struct allocation record;

    (void)state;
    allocation_init(&record);
    free(record.node);
    record.node = xstrdup("n1");
    record.tier = TIER_NUMA;
    allocation_add_container(&record, "quiet", CONTAINER_INIT);
    allocation_add_container(&record, "main", CONTAINER_APP);
    record_line(&record, "GPU-a", 4096, 30, ISOLATION_SOFT);
    record_line(&record, "GPU-b", 4096, 30, ISOLATION_SOFT);
    dialect_native.write_record(&(struct dialect_placement){.allocation = &record}, &pairs);
    assert_int_equal(pairs.count, 2);
    assert_string_equal(
        kube_pairs_get(&pairs, KEY),
        "{\"version\":1,\"node\":\"n1\",\"tier\":1,\"degraded\":false,\"containers\":["
        "{\"name\":\"quiet\",\"kind\":\"init\",\"devices\":[]},"
        "{\"name\":\"main\",\"kind\":\"app\",\"devices\":["
        "{\"id\":\"GPU-a\",\"memoryMiB\":4096,\"cores\":30,\"slots\":1,\"mode\":\"soft\"},"
        "{\"id\":\"GPU-b\",\"memoryMiB\":4096,\"cores\":30,\"slots\":1,\"mode\":\"soft\"}]}]}");
    assert_string_equal(kube_pairs_get(&pairs, "devices.topofit.io/main"), "GPU-a,GPU-b");
}

/* What only some lines say. */
static void divide_at_random(uint64_t *chance, struct allocated_container *container)
{
    struct allocated_device *device = &container->devices[container->device_count - 1];
    unsigned start = chance_below(chance, PARTITION_SLICES_MAX);

    device->service = (enum service)chance_below(chance, 4);
    device->application = (enum application)chance_below(chance, 3);
    if (chance_one_in(chance, 2))
        return;
    device->partition = partition_placement_made(
        "3g.40gb+me", start, 1 + chance_below(chance, PARTITION_SLICES_MAX - start));
    device->partition.use.slices |= (uint32_t)chance_below(chance, 1 << 16) << 16;
}

static void fill_at_random(uint64_t *chance, struct allocation *out)
{
    static const char *const ids[] = {"GPU-5f3c", "a\"b\\c", "\xc3\xa4\xe2\x82\xac", "tab\there"};
    unsigned containers = chance_below(chance, 6);

    allocation_init(out);
    free(out->node);
    out->node = xasprintf("node-%u", chance_below(chance, 100));
    out->tier = (enum tier)chance_below(chance, TIER_COUNT);
    out->degraded = chance_one_in(chance, 2);
    for (unsigned c = 0; c < containers; c++) {
        AUTO_FREE char *name = xasprintf("c%u", c);
        unsigned devices = chance_below(chance, 5);

        allocation_add_container(out, name, (enum container_kind)chance_below(chance, 3));
        for (; devices > 0; devices--) {
            record_line(out, ids[chance_below(chance, ARRAY_LEN(ids))],
                        (uint64_t)chance_below(chance, 1 << 20) << chance_below(chance, 20),
                        (uint16_t)chance_below(chance, 65536),
                        (enum isolation_mode)(1 + chance_below(chance, 4)));
            divide_at_random(chance, &out->containers[c]);
        }
    }
}

static void test_write_record__is_read_back_as_it_was(void **state)
{
    uint64_t chance = 1;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        AUTO(kube_pod_clear) struct kube_pod pod;
        AUTO(allocation_clear) struct allocation record;
        AUTO(allocation_clear) struct allocation again = {0};
        struct error err = {0};

        fill_at_random(&chance, &record);
        kube_pod_init(&pod);
        dialect_native.write_record(&(struct dialect_placement){.allocation = &record},
                                    &pod.meta.annotations);
        assert_ok(dialect_native.read_record(&pod, &no_classes, &no_request, &again, &err), &err);
        assert_true(allocation_equal(&record, &again));
        assert_int_equal(record.tier, again.tier);
        assert_int_equal(record.degraded, again.degraded);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_record__reads_every_member),
        cmocka_unit_test(test_read_record__no_annotation_is_no_record),
        cmocka_unit_test(test_read_record__f38_refuses_what_it_cannot_read_with_its_place),
        cmocka_unit_test(test_read_record__is_bounded),
        cmocka_unit_test(test_write_record__writes_the_record_and_a_plain_list_per_container),
        cmocka_unit_test(test_write_record__is_read_back_as_it_was),
    };

    return cmocka_run_group_tests_name("native_record", tests, NULL, NULL);
}
