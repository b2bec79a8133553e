/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_load - the files of a simulation. */
#include "topofit/simulate_load.h"

#include "topofit/dialect.h"
#include "topofit/embedded.h"
#include "topofit/extender_json.h"
#include "topofit/file.h"
#include "topofit/job_class.h"
#include "topofit/map.h"
#include "topofit/matrix.h"
#include "topofit/mem.h"
#include "topofit/arrivals_csv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INVENTORY_BYTES_MAX (1u << 20)
#define SLOTS 1000 /* pods that may share a device: as many as its thousandths */

/* --- matrices -------------------------------------------------------------------------------- */

/* A matrix that machines name. */
struct named_matrix {
    struct buf text;
    unsigned count;
    unsigned indices[DEVICE_MAX]; /* of the rows: "GPU3" is 3 */
};

static void free_matrix(void *value)
{
    struct named_matrix *matrix = value;

    buf_clear(&matrix->text);
    free(matrix);
}

/* A list of machines being turned into nodes. */
struct listing {
    const char *file; /* of the list */
    const struct class_table *classes;
    struct map *matrices; /* by path: struct named_matrix, owned */
    struct map *names;    /* of nodes: not NULL when taken */
    struct node **nodes;  /* owned */
    size_t count, capacity;
};

static void listing_clear(struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        node_unref(listing->nodes[i]);
    free(listing->nodes);
    map_free(listing->matrices, free_matrix);
    map_free(listing->names, NULL);
}

/* A path that stands in a file is meant from the folder of that file. */
static char *path_beside(const char *file, const char *path)
{
    const char *slash = strrchr(file, '/');

    if (path[0] == '/' || slash == NULL)
        return xstrdup(path);
    return xasprintf("%.*s/%s", (int)(slash - file), file, path);
}

static int read_matrix(const char *path, struct named_matrix *out, struct error *err)
{
    AUTO(matrix_clear) struct matrix matrix = {0};

    if (file_read_whole(path, &out->text, err) < 0)
        return error_pass(err);
    if (matrix_read(buf_text(&out->text), out->text.length, &matrix, err) < 0)
        return error_wrap(err, "%s", path);
    out->count = matrix.graph->n;
    memcpy(out->indices, matrix.indices, sizeof out->indices);
    return 0;
}

/* The matrix of a machine; *out NULL when it names none. Borrowed from the listing. */
static int find_matrix(struct listing *listing, const struct machine *machine,
                       const struct named_matrix **out, struct error *err)
{
    AUTO_FREE char *path = path_beside(listing->file, machine->topology);
    struct named_matrix *matrix = map_get(listing->matrices, path);

    *out = NULL;
    if (machine->topology[0] == '\0')
        return 0;
    if (matrix == NULL) {
        matrix = xcalloc(1, sizeof *matrix);
        matrix->text = buf_with_max(MATRIX_BYTES_MAX);
        map_put(listing->matrices, path, matrix);
        if (read_matrix(path, matrix, err) < 0)
            return error_wrap(err, "line %u, topology", machine->line);
    }
    if (machine->has_gpus && machine->gpus != matrix->count)
        return error_set(err, ERR_INVALID,
                         "line %u: %.60s has %u GPUs, but the matrix in %.100s has %u: leave the "
                         "number empty, or correct one of them",
                         machine->line, machine->name, machine->gpus, path, matrix->count);
    *out = matrix;
    return 0;
}

/* --- machines as nodes ----------------------------------------------------------------------- */

/* What somebody would write on the node (docs/reference/annotations.md). */
static void write_inventory(const struct machine *machine, const struct named_matrix *matrix,
                            struct buf *out)
{
    unsigned count = matrix != NULL ? matrix->count : machine->gpus;

    buf_add_text(out, "{\"devices\":[");
    for (unsigned i = 0; i < count; i++) {
        unsigned index = matrix != NULL ? matrix->indices[i] : i;

        buf_addf(out, "%s{\"id\":\"GPU-%u\",\"index\":%u,\"memoryMiB\":%" PRIu64 ",\"slots\":%d",
                 i > 0 ? "," : "", index, index, machine->gpu_memory_mib, SLOTS);
        if (machine->class[0] != '\0') {
            buf_add_text(out, ",\"class\":");
            buf_add_json_string(out, machine->class);
        }
        buf_add_text(out, ",\"product\":");
        buf_add_json_string(out, machine->model);
        buf_add_text(out, "}");
    }
    buf_add_text(out, "]}");
}

static void add_amount(struct kube_pairs *pairs, const char *key, uint64_t amount, const char *unit)
{
    AUTO_FREE char *text = xasprintf("%" PRIu64 "%s", amount, unit);

    if (amount != MACHINE_UNLIMITED)
        kube_pairs_add(pairs, key, text);
}

static int add_node(struct listing *listing, const struct machine *machine,
                    const struct named_matrix *matrix, const char *name, struct error *err)
{
    AUTO(buf_clear) struct buf inventory = buf_with_max(INVENTORY_BYTES_MAX);
    AUTO(kube_node_clear) struct kube_node kube = {0};
    struct node *node;

    if (map_put(listing->names, name, listing) != NULL)
        return error_set(err, ERR_INVALID, "line %u: there is a machine %.60s already",
                         machine->line, name);
    kube_node_init(&kube);
    free(kube.meta.name);
    kube.meta.name = xstrdup(name);
    write_inventory(machine, matrix, &inventory);
    kube_pairs_add(&kube.meta.annotations, "topofit.io/inventory", buf_text(&inventory));
    if (matrix != NULL)
        kube_pairs_add(&kube.meta.annotations, "topofit.io/topology", buf_text(&matrix->text));
    add_amount(&kube.allocatable, "cpu", machine->cpu_milli, "m");
    add_amount(&kube.allocatable, "memory", machine->memory_mib, "Mi");
    node = dialect_node(&kube, listing->classes);
    listing->nodes =
        mem_grow(listing->nodes, listing->count, &listing->capacity, sizeof(*listing->nodes));
    listing->nodes[listing->count++] = node;
    if (node->problem != NULL)
        return error_set(err, ERR_INVALID, "line %u: %.60s: %s", machine->line, name,
                         node->problem);
    return 0;
}

static int digits_of(unsigned number)
{
    int digits = 1;

    for (; number >= 10; number /= 10)
        digits++;
    return digits;
}

/* A row with a count is that many nodes; their order by name is that of their numbers. */
static int add_machine(struct listing *listing, const struct machine *machine, struct error *err)
{
    const struct named_matrix *matrix;

    if (find_matrix(listing, machine, &matrix, err) < 0)
        return error_pass(err);
    for (unsigned i = 0; i < machine->count; i++) {
        AUTO_FREE char *name = machine->numbered ? xasprintf("%s-%0*u", machine->name,
                                                             digits_of(machine->count - 1), i)
                                                 : xstrdup(machine->name);

        if (add_node(listing, machine, matrix, name, err) < 0)
            return error_pass(err);
    }
    return 0;
}

static int check_memory(const struct machine_list *list, const struct arrivals *arrivals,
                        const char *file, struct error *err)
{
    for (size_t i = 0; i < arrivals->count && !list->has_gpu_memory; i++) {
        const struct job *job = &arrivals->jobs[i];

        if (job->share == SHARE_MIB)
            return error_set(err, ERR_INVALID,
                             "%s: line %u: job %.60s asks for gpu_memory, but the nodes do not "
                             "tell theirs: add a column gpu_memory_mib to them, or use gpu_milli",
                             file, job->line, job->name);
    }
    return 0;
}

static int read_list(const struct simulate_file *file, const struct machine_list *list,
                     const struct class_table *classes, struct cluster *cluster, struct error *err)
{
    const struct hash_key key = {{0, 0}};
    AUTO(listing_clear)
    struct listing listing = {
        .file = file->name, .classes = classes, .matrices = map_new(&key), .names = map_new(&key)};

    for (size_t i = 0; i < list->count; i++) {
        if (add_machine(&listing, &list->machines[i], err) < 0)
            return error_wrap(err, "%s", file->name);
    }
    cluster_replace_nodes(cluster, listing.nodes, listing.count);
    listing.count = 0; /* the cluster's now */
    cluster_announce_pod_list(cluster);
    cluster_replace_pods(cluster, NULL, 0);
    return 0;
}

/* --- nodes ----------------------------------------------------------------------------------- */

/* JSON or YAML, and not CSV: the first line that says something begins an object or names a key. */
static bool looks_like_dump(const char *text)
{
    size_t length;

    for (;;) {
        text += strspn(text, " \t\r\n");
        if (*text != '#')
            break;
        text += strcspn(text, "\n");
    }
    length = strcspn(text, "\n");
    return *text == '{' || strncmp(text, "---", 3) == 0 ||
           (memchr(text, ':', length) != NULL && memchr(text, ',', length) == NULL);
}

static uint64_t left_of(uint64_t amount, uint64_t used)
{
    if (amount == 0)
        return MACHINE_UNLIMITED; /* it does not say */
    return amount > used ? amount - used : 0;
}

/* The machines, as the cluster has them now. Cordoned nodes take nobody. */
static int picture(struct cluster *cluster, struct simulation *out, struct error *err)
{
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(cluster);
    bool has_devices = false;

    if (snapshot->count > EXTENDER_NODES_MAX)
        return error_set(err, ERR_LIMIT, "there are more than %d nodes", EXTENDER_NODES_MAX);
    out->machines = xcalloc(snapshot->count, sizeof *out->machines);
    for (size_t i = 0; i < snapshot->count; i++) {
        const struct node_state *state = snapshot_state(snapshot, i);
        struct simulate_machine *machine;

        if (state->node->unschedulable)
            continue;
        has_devices = has_devices || state->node->device_count > 0;
        machine = &out->machines[out->machine_count++];
        *machine = (struct simulate_machine){
            .node = node_ref(state->node),
            .cpu_milli = left_of(state->node->host.cpu_milli, state->rank.host_used.cpu_milli),
            .memory_mib = left_of(state->node->host.memory_mib, state->rank.host_used.memory_mib)};
        node_use_copy(&state->use, &machine->use);
    }
    if (!has_devices)
        return error_set(err, ERR_INVALID,
                         "no node has GPUs: is there a topofit.io/inventory on them, or a number "
                         "of gpus in the list?");
    return 0;
}

static int read_nodes(const struct simulate_file *file, const char *workload_name,
                      const struct class_table *classes, struct cluster *cluster,
                      struct simulation *out, struct error *err)
{
    AUTO(machine_list_clear) struct machine_list list = {0};

    if (looks_like_dump(buf_text(file->text))) {
        if (embedded_read(cluster, classes, buf_text(file->text), file->text->length, err) < 0)
            return error_wrap(err, "%s", file->name);
    } else {
        if (arrivals_csv_read_machines(buf_text(file->text), file->text->length, &list, err) < 0)
            return error_wrap(err, "%s", file->name);
        if (check_memory(&list, &out->arrivals, workload_name, err) < 0 ||
            read_list(file, &list, classes, cluster, err) < 0)
            return error_pass(err);
    }
    if (picture(cluster, out, err) < 0)
        return error_wrap(err, "%s", file->name);
    return 0;
}

/* Its totals are of GPUs that are alike to the jobs: a simulation is of one class. */
static int check_class(const struct arrivals *arrivals, const struct class_table *classes,
                       struct error *err)
{
    const struct job *first = NULL;

    for (size_t i = 0; i < arrivals->count; i++) {
        const struct job *job = &arrivals->jobs[i];

        if (job->gpus == 0)
            continue;
        if (job_class(job, classes, err) == NULL)
            return error_pass(err);
        if (first == NULL)
            first = job;
        if (strcmp(job_class_name(job), job_class_name(first)) != 0)
            return error_set(err, ERR_INVALID,
                             "line %u: job %.60s asks for class %.60s, and that of line %u for "
                             "%.60s: simulate one class at a time",
                             job->line, job->name, job_class_name(job), first->line,
                             job_class_name(first));
    }
    return 0;
}

int simulate_load(const struct simulate_file *workload, const struct simulate_file *nodes,
                  const struct class_table *classes, struct cluster *cluster,
                  struct simulation *out, struct error *err)
{
    *out = (struct simulation){.classes = classes};
    if (arrivals_csv_read_jobs(buf_text(workload->text), workload->text->length, &out->arrivals,
                               err) < 0 ||
        check_class(&out->arrivals, classes, err) < 0)
        return error_wrap(err, "%s", workload->name);
    return read_nodes(nodes, workload->name, classes, cluster, out, err);
}
