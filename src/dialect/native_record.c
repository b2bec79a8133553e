/* SPDX-License-Identifier: Apache-2.0 */
/* native_record - topofit.io/allocation and devices.topofit.io/<container> on pods. */
#include "native_record.h"

#include "topofit/buf.h"
#include "topofit/annotation_budget.h"
#include "topofit/mem.h"

#include <jansson.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_VERSION 1
#define ID_MAX 128

static const char *const kinds[] = {
    [CONTAINER_APP] = "app", [CONTAINER_INIT] = "init", [CONTAINER_SIDECAR] = "sidecar"};

/* --- reading --------------------------------------------------------------------------------- */

static int read_number(const json_t *object, const char *key, long long max, long long *out,
                       struct error *err)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > max)
        return error_set(err, ERR_INVALID, "\"%s\" must be a whole number up to %lld", key, max);
    *out = json_integer_value(value);
    return 0;
}

static int read_string(const json_t *object, const char *key, const char **out, struct error *err)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_string(value) || json_string_length(value) == 0 ||
        json_string_length(value) > ID_MAX * 2)
        return error_set(err, ERR_INVALID, "\"%s\" must be a text", key);
    *out = json_string_value(value);
    return 0;
}

/* A partition is told by its place; what else it takes of the device stands beside that. */
static int read_partition(const json_t *json, struct partition_placement *out, struct error *err)
{
    long long start = 0, size = 0, compute = 0, slices = 0;
    const char *profile = NULL;

    if (read_string(json, "profile", &profile, err) < 0 ||
        read_number(json, "start", PARTITION_SLICES_MAX - 1, &start, err) < 0 ||
        read_number(json, "size", PARTITION_SLICES_MAX, &size, err) < 0 ||
        read_number(json, "compute", PARTITION_COMPUTE_BAD, &compute, err) < 0 ||
        read_number(json, "slices", UINT32_MAX, &slices, err) < 0)
        return error_wrap(err, "\"partition\"");
    *out = partition_placement_made(profile, (unsigned)start, (unsigned)size);
    if ((out->use.slices & (uint32_t)slices) != out->use.slices)
        return error_set(err, ERR_INVALID,
                         "\"partition\": \"slices\" lack those from the start on");
    out->use = (struct partition_use){(uint32_t)slices, (uint8_t)compute};
    return 0;
}

/* What a line says only where it matters. */
static int read_extras(const json_t *json, struct allocated_device *device, struct error *err)
{
    const json_t *partition = json_object_get(json, "partition");
    const char *service = json_string_value(json_object_get(json, "service"));
    const char *application = json_string_value(json_object_get(json, "application"));
    long long core_mask = 0;

    if (json_object_get(json, "coreMask") != NULL &&
        read_number(json, "coreMask", UINT32_MAX, &core_mask, err) < 0)
        return error_pass(err);
    device->core_mask = (uint32_t)core_mask;
    if (service != NULL && !service_parse(service, &device->service))
        return error_set(err, ERR_INVALID, "service \"%.60s\" is not known", service);
    if (application != NULL && !application_parse(application, &device->application))
        return error_set(err, ERR_INVALID, "application \"%.60s\" is not known", application);
    return partition != NULL ? read_partition(partition, &device->partition, err) : 0;
}

static int read_device(const json_t *json, struct allocated_container *container, struct error *err)
{
    long long memory_mib = 0, cores = 0, slots = 0;
    const char *id = NULL, *mode = NULL;
    struct allocated_device *device;

    if (read_string(json, "id", &id, err) < 0 || read_string(json, "mode", &mode, err) < 0 ||
        read_number(json, "memoryMiB", DEVICE_MEMORY_MIB_MAX, &memory_mib, err) < 0 ||
        read_number(json, "cores", UINT16_MAX, &cores, err) < 0 ||
        read_number(json, "slots", UINT16_MAX, &slots, err) < 0)
        return -(int)err->code;
    if (slots == 0 || isolation_mode_parse(mode) == ISOLATION_NONE)
        return error_set(err, ERR_INVALID, "device %s: \"slots\" or \"mode\" is wrong", id);
    device = allocation_add_device(container, id);
    device->memory_mib = (uint64_t)memory_mib;
    device->cores = (uint16_t)cores;
    device->slots = (uint16_t)slots;
    device->mode = isolation_mode_parse(mode);
    return read_extras(json, device, err);
}

static int read_kind(const char *text, enum container_kind *out, struct error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i], text) == 0) {
            *out = (enum container_kind)i;
            return 0;
        }
    }
    return error_set(err, ERR_INVALID, "container kind \"%s\" is not known", text);
}

static int read_container(const json_t *json, struct allocation *out, struct error *err)
{
    const json_t *devices = json_object_get(json, "devices");
    struct allocated_container *container;
    const char *name = NULL, *kind_text = NULL;
    enum container_kind kind = CONTAINER_APP;
    const json_t *device;
    size_t i;

    if (read_string(json, "name", &name, err) < 0 ||
        read_string(json, "kind", &kind_text, err) < 0 || read_kind(kind_text, &kind, err) < 0)
        return -(int)err->code;
    if (!json_is_array(devices) || json_array_size(devices) > DEVICE_MAX)
        return error_set(err, ERR_INVALID, "\"devices\" must be a list of at most %d", DEVICE_MAX);
    container = allocation_add_container(out, name, kind);
    json_array_foreach(devices, i, device)
    {
        if (read_device(device, container, err) < 0)
            return -(int)err->code;
    }
    return 0;
}

static int read_containers(const json_t *root, struct allocation *out, struct error *err)
{
    const json_t *containers = json_object_get(root, "containers");
    const json_t *container;
    size_t i;

    if (!json_is_array(containers) || json_array_size(containers) > REQUEST_CONTAINERS_MAX)
        return error_set(err, ERR_INVALID, "\"containers\" must be a list of at most %d",
                         REQUEST_CONTAINERS_MAX);
    json_array_foreach(containers, i, container)
    {
        if (read_container(container, out, err) < 0)
            return error_wrap(err, "container %zu", i);
    }
    return 0;
}

static int read_record(const json_t *root, struct allocation *out, struct error *err)
{
    long long version = 0, tier = 0;
    const char *node = NULL, *pod_uid = "";

    if (read_number(root, "version", INT32_MAX, &version, err) < 0)
        return -(int)err->code;
    if (version != RECORD_VERSION)
        return error_set(err, ERR_INVALID, "version %lld is not known", version);
    if (read_string(root, "node", &node, err) < 0 ||
        read_number(root, "tier", TIER_COUNT - 1, &tier, err) < 0)
        return -(int)err->code;
    if (json_object_get(root, "podUID") != NULL && read_string(root, "podUID", &pod_uid, err) < 0)
        return -(int)err->code;
    free(out->node);
    out->node = xstrdup(node);
    free(out->pod_uid);
    out->pod_uid = xstrdup(pod_uid);
    out->tier = (enum tier)tier;
    out->degraded = json_is_true(json_object_get(root, "degraded"));
    return read_containers(root, out, err);
}

int native_read_record(const struct kube_pod *kube, const struct class_table *classes,
                       const struct request *request, struct allocation *out, struct error *err)
{
    const char *text = kube_pairs_get(&kube->meta.annotations, KEY_ALLOCATION);
    AUTO(allocation_clear) struct allocation record = {0};
    json_auto_t *root = NULL;
    json_error_t where;

    (void)classes, (void)request;
    if (text == NULL)
        return 0;
    root = json_loads(text, JSON_REJECT_DUPLICATES, &where);
    if (root == NULL)
        return error_set(err, ERR_INVALID, KEY_ALLOCATION ": line %d, column %d: %s", where.line,
                         where.column, where.text);
    allocation_init(&record);
    if (read_record(root, &record, err) < 0)
        return error_wrap(err, KEY_ALLOCATION);
    *out = record;
    record = (struct allocation){0};
    return 1;
}

bool native_is_record_key(const struct class_table *classes, const char *key)
{
    (void)classes;
    return strcmp(key, KEY_ALLOCATION) == 0 ||
           strncmp(key, KEY_DEVICES_PREFIX, strlen(KEY_DEVICES_PREFIX)) == 0;
}

/* --- writing --------------------------------------------------------------------------------- */

static void write_partition(const struct partition_placement *partition, struct buf *out)
{
    buf_add_text(out, ",\"partition\":{\"profile\":");
    buf_add_json_string(out, partition->profile);
    buf_addf(out, ",\"start\":%u,\"size\":%u,\"compute\":%u,\"slices\":%" PRIu32 "}",
             partition->start, partition->size, partition->use.compute, partition->use.slices);
}

static void write_device(const struct allocated_device *device, struct buf *out)
{
    buf_add_text(out, "{\"id\":");
    buf_add_json_string(out, device->id);
    buf_addf(out, ",\"memoryMiB\":%" PRIu64 ",\"cores\":%u,\"slots\":%u,\"mode\":\"%s\"",
             device->memory_mib, device->cores, device->slots, isolation_mode_name(device->mode));
    if (device->service != SERVICE_ANY)
        buf_addf(out, ",\"service\":\"%s\"", service_name(device->service));
    if (device->application != APPLICATION_ANY)
        buf_addf(out, ",\"application\":\"%s\"", application_name(device->application));
    if (device->partition.profile[0] != '\0')
        write_partition(&device->partition, out);
    if (device->core_mask != 0)
        buf_addf(out, ",\"coreMask\":%" PRIu32, device->core_mask);
    buf_add_byte(out, '}');
}

static void write_container(const struct allocated_container *container, struct buf *out)
{
    buf_add_text(out, "{\"name\":");
    buf_add_json_string(out, container->name);
    buf_addf(out, ",\"kind\":\"%s\",\"devices\":[", kinds[container->kind]);
    for (size_t i = 0; i < container->device_count; i++) {
        if (i > 0)
            buf_add_byte(out, ',');
        write_device(&container->devices[i], out);
    }
    buf_add_text(out, "]}");
}

static void write_plain_list(const struct allocated_container *container,
                             struct kube_pairs *annotations)
{
    AUTO(buf_clear) struct buf list = buf_with_max(ANNOTATIONS_BYTES_MAX);
    AUTO_FREE char *key = xasprintf(KEY_DEVICES_PREFIX "%s", container->name);

    for (size_t i = 0; i < container->device_count; i++)
        buf_addf(&list, "%s%s", i > 0 ? "," : "", container->devices[i].id);
    kube_pairs_add(annotations, key, buf_text(&list));
}

void native_write_record(const struct dialect_placement *placement, struct kube_pairs *annotations)
{
    const struct allocation *allocation = placement->allocation;
    AUTO(buf_clear) struct buf out = buf_with_max(ANNOTATIONS_BYTES_MAX);

    buf_addf(&out, "{\"version\":%d,\"node\":", RECORD_VERSION);
    buf_add_json_string(&out, allocation->node);
    if (allocation->pod_uid[0] != '\0') {
        buf_add_text(&out, ",\"podUID\":");
        buf_add_json_string(&out, allocation->pod_uid);
    }
    buf_addf(&out, ",\"tier\":%d,\"degraded\":%s,\"containers\":[", (int)allocation->tier,
             allocation->degraded ? "true" : "false");
    for (size_t i = 0; i < allocation->container_count; i++) {
        if (i > 0)
            buf_add_byte(&out, ',');
        write_container(&allocation->containers[i], &out);
    }
    buf_add_text(&out, "]}");
    kube_pairs_add(annotations, KEY_ALLOCATION, buf_text(&out));
    for (size_t i = 0; i < allocation->container_count; i++) {
        if (allocation->containers[i].device_count > 0)
            write_plain_list(&allocation->containers[i], annotations);
    }
}
