/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_dump - a large cluster as a dump, and the calls kube-scheduler would make about it. */
#include "cluster_dump.h"

#include "topofit/annotation_budget.h"
#include "topofit/dialect.h"
#include "topofit/grant.h"
#include "topofit/kube_object.h"
#include "topofit/mem.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define GPU_MIB 32510
#define GPU_MIB_MORE 3072 /* from one size of GPUs to the next */
#define RESOURCES_MAX 160
#define SHARES 10 /* of a GPU, as HAMi's plugin offers them */

/* NVLink of a DGX-1V: a hybrid cube mesh. source: test/data/topologies/01 */
static const char topology[] =
    "\\tGPU0\\tGPU1\\tGPU2\\tGPU3\\tGPU4\\tGPU5\\tGPU6\\tGPU7\\tNUMA Affinity\\n"
    "GPU0\\t X \\tNV1\\tNV1\\tNV2\\tNV2\\tSYS\\tSYS\\tSYS\\t0\\n"
    "GPU1\\tNV1\\t X \\tNV2\\tNV1\\tSYS\\tNV2\\tSYS\\tSYS\\t0\\n"
    "GPU2\\tNV1\\tNV2\\t X \\tNV2\\tSYS\\tSYS\\tNV1\\tSYS\\t0\\n"
    "GPU3\\tNV2\\tNV1\\tNV2\\t X \\tSYS\\tSYS\\tSYS\\tNV1\\t0\\n"
    "GPU4\\tNV2\\tSYS\\tSYS\\tSYS\\t X \\tNV1\\tNV1\\tNV2\\t1\\n"
    "GPU5\\tSYS\\tNV2\\tSYS\\tSYS\\tNV1\\t X \\tNV2\\tNV1\\t1\\n"
    "GPU6\\tSYS\\tSYS\\tNV1\\tSYS\\tNV1\\tNV2\\t X \\tNV2\\t1\\n"
    "GPU7\\tSYS\\tSYS\\tSYS\\tNV1\\tNV2\\tNV1\\tNV2\\t X \\t1\\n";

/* The same NVLinks, counted. */
static const unsigned char nvlinks[DUMP_DEVICES][DUMP_DEVICES] = {
    {0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0},
    {2, 1, 2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
    {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0},
};

/* --- names ----------------------------------------------------------------------------------- */

void dump_node_name(unsigned node, char name[DUMP_NAME_MAX])
{
    snprintf(name, DUMP_NAME_MAX, "gpu-node-%05u.zone-%c", node, (char)('a' + node % 3));
}

static unsigned bits(unsigned pattern)
{
    return (unsigned)__builtin_popcount(pattern);
}

/* All ways to use 3, 4 or 5 of 8, then as many of 2 as of 6. */
unsigned dump_pattern(unsigned node)
{
    static const unsigned char rounds[][2] = {{3, 5}, {4, 4}, {2, 6}};
    unsigned number = node % DUMP_PATTERNS;

    for (unsigned round = 0; round < 3; round++) {
        for (unsigned pattern = 0; pattern < 1u << DUMP_DEVICES; pattern++) {
            if (bits(pattern) != rounds[round][0])
                continue;
            if (number-- == 0)
                return pattern;
            /* The complement uses as many GPUs as this one leaves. */
            if (rounds[round][0] != rounds[round][1] && number-- == 0)
                return ~pattern & 0xff;
        }
    }
    return 0;
}

static void gpu_id(unsigned node, unsigned gpu, char id[DUMP_NAME_MAX])
{
    snprintf(id, DUMP_NAME_MAX, "GPU-%08x-%04x-4c1d-9f3a-%012x", node * 2654435761u, gpu,
             node * 8 + gpu);
}

static void pod_uid(unsigned node, unsigned gpu, char uid[DUMP_NAME_MAX])
{
    snprintf(uid, DUMP_NAME_MAX, "9a0b0000-0000-4000-8000-%012x", node * 8 + gpu);
}

/* Of the GPUs of a node. */
static unsigned memory_mib(const struct dump_size *size, unsigned node)
{
    return GPU_MIB + (size->device_kinds > 0 ? node % size->device_kinds * GPU_MIB_MORE : 0);
}

/* --- inventories and records ----------------------------------------------------------------- */

static void write_native_inventory(FILE *out, unsigned node, unsigned mib)
{
    fputs("\"topofit.io/inventory\":\"{\\\"devices\\\":[", out);
    for (unsigned gpu = 0; gpu < DUMP_DEVICES; gpu++) {
        char id[DUMP_NAME_MAX];

        gpu_id(node, gpu, id);
        fprintf(out,
                "%s{\\\"id\\\":\\\"%s\\\",\\\"index\\\":%u,\\\"class\\\":\\\"nvidia\\\","
                "\\\"product\\\":\\\"Tesla V100-SXM2-%uGB\\\",\\\"memoryMiB\\\":%u,"
                "\\\"busId\\\":\\\"00000000:%02X:00.0\\\",\\\"numa\\\":%u}",
                gpu > 0 ? "," : "", id, gpu, (mib + 1023) / 1024, mib, gpu * 16 + 7, gpu / 4);
    }
    fprintf(out, "]}\",\"topofit.io/topology\":\"%s\"", topology);
}

static void write_hami_device(FILE *out, unsigned node, unsigned gpu, unsigned mib)
{
    char id[DUMP_NAME_MAX];

    gpu_id(node, gpu, id);
    fprintf(out,
            "%s{\\\"id\\\":\\\"%s\\\",\\\"index\\\":%u,\\\"count\\\":%d,\\\"devmem\\\":%u,"
            "\\\"devcore\\\":100,\\\"type\\\":\\\"NVIDIA-Tesla V100-SXM2-%uGB\\\","
            "\\\"mode\\\":\\\"hami-core\\\",\\\"numa\\\":%u,\\\"health\\\":true}",
            gpu > 0 ? "," : "", id, gpu, SHARES, mib, (mib + 1023) / 1024, gpu / 4);
}

/* The same wiring as the plugin scores it: 100 for each NVLink, and the way over PCIe. */
static void write_hami_scores(FILE *out, unsigned node, unsigned gpu)
{
    char id[DUMP_NAME_MAX];

    gpu_id(node, gpu, id);
    fprintf(out, "%s{\\\"uuid\\\":\\\"%s\\\",\\\"score\\\":{", gpu > 0 ? "," : "", id);
    for (unsigned peer = 0; peer < DUMP_DEVICES; peer++) {
        unsigned way = peer / 4 == gpu / 4 ? 20 : 10;

        if (peer == gpu)
            continue;
        gpu_id(node, peer, id);
        fprintf(out, "%s\\\"%s\\\":%u", peer > (gpu == 0) ? "," : "", id,
                nvlinks[gpu][peer] * 100u + way);
    }
    fputs("}}", out);
}

static void write_hami_inventory(FILE *out, unsigned node, unsigned mib)
{
    fputs("\"hami.io/node-handshake\":\"Requesting_2026-01-01 00:00:00\","
          "\"hami.io/node-nvidia-register\":\"[",
          out);
    for (unsigned gpu = 0; gpu < DUMP_DEVICES; gpu++)
        write_hami_device(out, node, gpu, mib);
    fputs("]\",\"hami.io/node-nvidia-score\":\"[", out);
    for (unsigned gpu = 0; gpu < DUMP_DEVICES; gpu++)
        write_hami_scores(out, node, gpu);
    fputs("]\"", out);
}

static void write_annotations(FILE *out, const struct kube_pairs *annotations)
{
    AUTO(buf_clear) struct buf text = buf_with_max(ANNOTATIONS_BYTES_MAX * 2);

    for (size_t i = 0; i < annotations->count; i++) {
        buf_add_text(&text, i > 0 ? "," : "");
        buf_add_json_string(&text, annotations->items[i].key);
        buf_add_byte(&text, ':');
        buf_add_json_string(&text, annotations->items[i].value);
    }
    fputs(buf_text(&text), out);
}

static void write_native_record(FILE *out, unsigned node, unsigned gpu, unsigned mib)
{
    AUTO(allocation_clear) struct allocation allocation = {0};
    AUTO(kube_pairs_clear) struct kube_pairs annotations = {0};
    char name[DUMP_NAME_MAX], uid[DUMP_NAME_MAX], id[DUMP_NAME_MAX];
    struct allocated_device *device;

    dump_node_name(node, name);
    pod_uid(node, gpu, uid);
    gpu_id(node, gpu, id);
    allocation.node = xstrdup(name);
    allocation.pod_uid = xstrdup(uid);
    device =
        allocation_add_device(allocation_add_container(&allocation, "main", CONTAINER_APP), id);
    device->memory_mib = mib;
    device->cores = 100;
    device->slots = 1;
    device->mode = ISOLATION_SHARED;
    dialect_native.write_record(&(struct dialect_placement){.allocation = &allocation},
                                &annotations);
    write_annotations(out, &annotations);
}

/* A pod that HAMi's scheduler has placed and whose plugin is done. */
static void write_hami_record(FILE *out, unsigned node, unsigned gpu, unsigned mib)
{
    char name[DUMP_NAME_MAX], id[DUMP_NAME_MAX];

    dump_node_name(node, name);
    gpu_id(node, gpu, id);
    fprintf(out,
            "\"hami.io/bind-phase\":\"success\",\"hami.io/bind-time\":\"1767225600\","
            "\"hami.io/vgpu-node\":\"%s\",\"hami.io/vgpu-time\":\"1767225600\","
            "\"hami.io/vgpu-devices-allocated\":\"%s,NVIDIA,%u,100:;\","
            "\"hami.io/vgpu-devices-to-allocate\":\";\"",
            name, id, mib);
}

/* How facts are written, by enum dump_records. */
static const struct spelling {
    const char *name;
    void (*write_inventory)(FILE *out, unsigned node, unsigned mib);
    void (*write_record)(FILE *out, unsigned node, unsigned gpu, unsigned mib);
} spellings[] = {
    {"native", write_native_inventory, write_native_record},
    {"hami", write_hami_inventory, write_hami_record},
};

bool dump_records_of(const char *name, enum dump_records *out)
{
    for (unsigned i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        if (strcmp(spellings[i].name, name) != 0)
            continue;
        *out = (enum dump_records)i;
        return true;
    }
    return false;
}

/* --- nodes ----------------------------------------------------------------------------------- */

static void write_node(FILE *out, unsigned node, const struct dump_size *size)
{
    char name[DUMP_NAME_MAX];

    dump_node_name(node, name);
    fprintf(out,
            "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\","
            "\"uid\":\"7d1f0000-0000-4000-8000-%012x\",\"labels\":{"
            "\"beta.kubernetes.io/arch\":\"amd64\",\"kubernetes.io/hostname\":\"%s\","
            "\"kubernetes.io/os\":\"linux\",\"node.kubernetes.io/instance-type\":\"p3dn\","
            "\"nvidia.com/gpu.count\":\"8\",\"nvidia.com/gpu.present\":\"true\","
            "\"topology.kubernetes.io/region\":\"east-1\","
            "\"topology.kubernetes.io/zone\":\"zone-%c\"},\"annotations\":{",
            name, node, name, (char)('a' + node % 3));
    spellings[size->records].write_inventory(out, node, memory_mib(size, node));
    fprintf(out,
            "}},\"spec\":{},\"status\":{\"allocatable\":{"
            "\"cpu\":\"96\",\"memory\":\"768Gi\",\"pods\":\"110\",\"nvidia.com/gpu\":\"%u\"}}}",
            DUMP_DEVICES * (size->records == DUMP_HAMI ? SHARES : 1));
}

/* --- pods ------------------------------------------------------------------------------------ */

static void write_gpu_pod(FILE *out, unsigned node, unsigned gpu, const struct dump_size *size)
{
    char name[DUMP_NAME_MAX], uid[DUMP_NAME_MAX];

    dump_node_name(node, name);
    pod_uid(node, gpu, uid);
    fprintf(out,
            ",\n{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"worker-%u-%u\","
            "\"namespace\":\"team-%u\",\"uid\":\"%s\",\"annotations\":{",
            node, gpu, node % 40, uid);
    spellings[size->records].write_record(out, node, gpu, memory_mib(size, node));
    fprintf(out,
            "}},\"spec\":{\"nodeName\":\"%s\",\"containers\":[{\"name\":\"main\",\"resources\":{"
            "\"limits\":{\"cpu\":\"8\",\"memory\":\"64Gi\",\"nvidia.com/gpu\":\"1\"},"
            "\"requests\":{\"cpu\":\"8\",\"memory\":\"64Gi\",\"nvidia.com/gpu\":\"1\"}}}]},"
            "\"status\":{\"phase\":\"Running\"}}",
            name);
}

static void write_plain_pod(FILE *out, unsigned node, unsigned number)
{
    char name[DUMP_NAME_MAX];

    dump_node_name(node, name);
    fprintf(out,
            ",\n{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"plain-%u-%u\","
            "\"namespace\":\"default\",\"uid\":\"b0b00000-0000-4000-%04x-%012x\"},"
            "\"spec\":{\"nodeName\":\"%s\",\"containers\":[{\"name\":\"main\",\"resources\":{"
            "\"requests\":{\"cpu\":\"100m\",\"memory\":\"128Mi\"}}}]},"
            "\"status\":{\"phase\":\"Running\"}}",
            node, number, number, node, name);
}

/* Resources of pods of a kind, as JSON: 1, 2, 4 and 8 whole GPUs; 10 to 80 %; 2,000 to 16,000 MiB.
 */
static void resources_of_kind(unsigned kind, char out[RESOURCES_MAX])
{
    static const char host[] = "\"cpu\":\"8\",\"memory\":\"64Gi\",\"nvidia.com/gpu\"";

    if (kind < 4)
        snprintf(out, RESOURCES_MAX, "%s:\"%u\"", host, 1u << kind);
    else if (kind < 12)
        snprintf(out, RESOURCES_MAX, "%s:\"1\",\"nvidia.com/gpumem-percentage\":\"%u\"", host,
                 10 * (kind - 3));
    else
        snprintf(out, RESOURCES_MAX, "%s:\"1\",\"nvidia.com/gpumem\":\"%u\"", host,
                 2000 * (kind - 11));
}

static void write_waiting_pod(FILE *out, unsigned number)
{
    char resources[RESOURCES_MAX];

    resources_of_kind(number % DUMP_POD_KINDS, resources);
    fprintf(out,
            ",\n{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"waits-%u\","
            "\"namespace\":\"default\",\"uid\":\"a17e0000-0000-4000-8000-%012x\"},"
            "\"spec\":{\"containers\":[{\"name\":\"main\",\"resources\":{"
            "\"limits\":{%s},\"requests\":{%s}}}]},\"status\":{\"phase\":\"Pending\"}}",
            number, number, resources, resources);
}

long dump_write(const char *path, const struct dump_size *size)
{
    FILE *out = fopen(path, "w");
    long pods = 0;

    if (out == NULL)
        return -1;
    fputs("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[", out);
    for (unsigned node = 0; node < size->nodes; node++) {
        fputs(node > 0 ? ",\n" : "\n", out);
        write_node(out, node, size);
    }
    for (unsigned node = 0; node < size->nodes; node++) {
        for (unsigned gpu = 0; gpu < DUMP_DEVICES; gpu++) {
            if ((dump_pattern(node) >> gpu & 1) == 0)
                continue;
            write_gpu_pod(out, node, gpu, size);
            pods++;
        }
        for (unsigned number = 0; number < size->plain_pods; number++)
            write_plain_pod(out, node, number);
    }
    for (unsigned i = 0; size->device_kinds > 0 && i < size->nodes; i++)
        write_waiting_pod(out, i);
    fputs("]}\n", out);
    return fclose(out) == 0 ? pods : -1;
}

/* --- calls ----------------------------------------------------------------------------------- */

/* What the API server and its defaults make of a small training pod; kube-scheduler sends it all.
 */
static void add_pod(struct buf *out, unsigned number, const char *resources)
{
    buf_addf(out,
             "{\"Pod\":{\"metadata\":{\"name\":\"train-%08u\",\"generateName\":\"train-\","
             "\"namespace\":\"team-1\",\"uid\":\"c0de0000-0000-4000-8000-%012u\","
             "\"resourceVersion\":\"1234567\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\","
             "\"labels\":{\"app\":\"train\",\"batch.kubernetes.io/job-name\":\"train\","
             "\"pod-template-hash\":\"7c5ddbdf54\"},\"annotations\":{\"prometheus.io/scrape\":"
             "\"true\"},\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
             "\"name\":\"train\",\"uid\":\"0f4e5a4e-6c8c-4dd4-8d2f-3a5f00000000\","
             "\"controller\":true,\"blockOwnerDeletion\":true}]},\"spec\":{\"volumes\":["
             "{\"name\":\"data\",\"persistentVolumeClaim\":{\"claimName\":\"data\"}},"
             "{\"name\":\"shm\",\"emptyDir\":{\"medium\":\"Memory\",\"sizeLimit\":\"64Gi\"}},"
             "{\"name\":\"kube-api-access-x7k2p\",\"projected\":{\"sources\":["
             "{\"serviceAccountToken\":{\"expirationSeconds\":3607,\"path\":\"token\"}},"
             "{\"configMap\":{\"name\":\"kube-root-ca.crt\",\"items\":[{\"key\":\"ca.crt\","
             "\"path\":\"ca.crt\"}]}},{\"downwardAPI\":{\"items\":[{\"path\":\"namespace\","
             "\"fieldRef\":{\"apiVersion\":\"v1\",\"fieldPath\":\"metadata.namespace\"}}]}}],"
             "\"defaultMode\":420}}],\"containers\":[{\"name\":\"main\",\"image\":"
             "\"registry.example.com/train/llm:2026.01\",\"command\":[\"torchrun\","
             "\"--nproc-per-node\",\"4\",\"train.py\"],\"env\":[",
             number, number);
    for (unsigned i = 0; i < 16; i++)
        buf_addf(out, "%s{\"name\":\"SETTING_%02u\",\"value\":\"the value of setting %02u\"}",
                 i > 0 ? "," : "", i, i);
    buf_addf(out,
             "],\"resources\":{\"limits\":{%s},\"requests\":{%s}},\"volumeMounts\":[{\"name\":"
             "\"data\",\"mountPath\":"
             "\"/data\"},{\"name\":\"shm\",\"mountPath\":\"/dev/shm\"},{\"name\":"
             "\"kube-api-access-x7k2p\",\"readOnly\":true,\"mountPath\":"
             "\"/var/run/secrets/kubernetes.io/serviceaccount\"}],\"terminationMessagePath\":"
             "\"/dev/termination-log\",\"terminationMessagePolicy\":\"File\","
             "\"imagePullPolicy\":\"IfNotPresent\"}],\"restartPolicy\":\"Never\","
             "\"terminationGracePeriodSeconds\":30,\"dnsPolicy\":\"ClusterFirst\","
             "\"serviceAccountName\":\"default\",\"serviceAccount\":\"default\","
             "\"securityContext\":{},\"schedulerName\":\"default-scheduler\",\"tolerations\":["
             "{\"key\":\"nvidia.com/gpu\",\"operator\":\"Exists\",\"effect\":\"NoSchedule\"},"
             "{\"key\":\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\",\"effect\":"
             "\"NoExecute\",\"tolerationSeconds\":300},{\"key\":"
             "\"node.kubernetes.io/unreachable\",\"operator\":\"Exists\",\"effect\":\"NoExecute\","
             "\"tolerationSeconds\":300}],\"priority\":0,\"enableServiceLinks\":true,"
             "\"preemptionPolicy\":\"PreemptLowerPriority\"},\"status\":{\"phase\":\"Pending\","
             "\"qosClass\":\"Guaranteed\"}},\"Nodes\":null,\"NodeNames\":[",
             resources, resources);
}

static void add_names(struct buf *out, const unsigned *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char name[DUMP_NAME_MAX];

        dump_node_name(nodes[i], name);
        buf_addf(out, "%s\"%s\"", i > 0 ? "," : "", name);
    }
    buf_add_text(out, "]}");
}

void dump_question(struct buf *out, unsigned number, unsigned gpus, const unsigned *nodes,
                   size_t count)
{
    char resources[RESOURCES_MAX];

    snprintf(resources, sizeof resources,
             "\"cpu\":\"32\",\"memory\":\"256Gi\",\"nvidia.com/gpu\":\"%u\"", gpus);
    add_pod(out, number, resources);
    add_names(out, nodes, count);
}

void dump_mixed_question(struct buf *out, unsigned number, unsigned kind, const unsigned *nodes,
                         size_t count)
{
    char resources[RESOURCES_MAX];

    resources_of_kind(kind, resources);
    add_pod(out, number, resources);
    add_names(out, nodes, count);
}

void dump_renumber(struct buf *question, unsigned number)
{
    static const char *const before[] = {"\"name\":\"train-",
                                         "\"uid\":\"c0de0000-0000-4000-8000-0000"};
    char digits[9];

    snprintf(digits, sizeof digits, "%08u", number);
    for (size_t i = 0; i < 2; i++)
        memcpy(strstr(question->data, before[i]) + strlen(before[i]), digits, strlen(digits));
}

void dump_binding(struct buf *out, unsigned number, unsigned node)
{
    char name[DUMP_NAME_MAX];

    dump_node_name(node, name);
    buf_addf(out,
             "{\"PodName\":\"train-%08u\",\"PodNamespace\":\"team-1\",\"PodUID\":"
             "\"c0de0000-0000-4000-8000-%012u\",\"Node\":\"%s\"}",
             number, number, name);
}
