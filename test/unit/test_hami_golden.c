/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HAMi's annotations, read and written, with the classes that are built in. A new case is a new
 * folder:
 *
 *   test/golden/hami/<case>/cluster.yaml    nodes and pods, as kubectl prints them
 *                           expected.json   what is read of each; and of each pod with a record
 *                                           what is written for it, at 1716199325 s
 *
 * With UPDATE_GOLDEN set the expectations are written instead: look at what changed.
 */
#include "support/test.h"

#include "topofit/class.h"
#include "topofit/dialect.h"
#include "topofit/embedded.h"

#include <jansson.h>

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>

#define OBJECTS_MAX 64
#define NOW_MS 1716199325000

struct scene {
    struct class_table classes;
    struct node *nodes[OBJECTS_MAX];
    struct pod *pods[OBJECTS_MAX];
    size_t node_count, pod_count;
};

/* --- reading --------------------------------------------------------------------------------- */

static void take_object(void *ctx, struct kube_object *object)
{
    struct scene *scene = ctx;

    assert_in_range(scene->node_count, 0, OBJECTS_MAX - 1);
    assert_in_range(scene->pod_count, 0, OBJECTS_MAX - 1);
    if (object->kind == KUBE_NODE)
        scene->nodes[scene->node_count++] = dialect_node(&object->node, &scene->classes);
    else
        scene->pods[scene->pod_count++] = dialect_pod(&object->pod, &scene->classes);
}

static void read_cluster(const char *folder, struct scene *out)
{
    AUTO_FREE char *path = xasprintf("%s/cluster.yaml", folder);
    AUTO_FREE char *text = test_read_file(path, NULL);
    struct error err = {0};

    *out = (struct scene){0};
    classes_builtin(&out->classes);
    assert_ok(embedded_each_object(text, strlen(text), take_object, out, &err), &err);
}

static void scene_clear(struct scene *scene)
{
    for (size_t i = 0; i < scene->node_count; i++)
        node_unref(scene->nodes[i]);
    for (size_t i = 0; i < scene->pod_count; i++)
        pod_unref(scene->pods[i]);
    class_table_clear(&scene->classes);
}

/* --- telling --------------------------------------------------------------------------------- */

static void add_text(json_t *object, const char *key, const char *text)
{
    if (text != NULL && text[0] != '\0')
        json_object_set_new(object, key, json_string(text));
}

static void add_number(json_t *object, const char *key, uint64_t number)
{
    json_object_set_new(object, key, json_integer((json_int_t)number));
}

/* "1g.5gb at 0x7f" */
static json_t *tell_partitions(const struct partition_table *table)
{
    json_t *told = json_array();

    for (unsigned i = 0; i < table->count; i++) {
        const struct partition_profile *profile = &table->profiles[i];
        AUTO_FREE char *line =
            xasprintf("%s: %u slices at 0x%x, %" PRIu64 " MiB, way %u", profile->name,
                      profile->width, profile->starts, profile->memory_mib, profile->group);

        json_array_append_new(told, json_string(line));
    }
    return told;
}

static json_t *tell_device(const struct device *device)
{
    json_t *told = json_object();

    add_text(told, "id", device->id);
    add_text(told, "class", device->class->name);
    add_text(told, "product", device->product->chars);
    add_text(told, "busId", device->bus_id->chars);
    add_number(told, "index", device->index);
    add_number(told, "memoryMiB", device->memory_mib);
    add_number(told, "cores", device->cores);
    add_number(told, "slots", device->slots);
    json_object_set_new(told, "numa", json_integer(device->numa));
    if (device->zone != ZONE_UNKNOWN)
        json_object_set_new(told, "zone", json_integer(device->zone));
    add_text(told, "service", service_name(device->service));
    if (device->partitions != NULL)
        json_object_set_new(told, "partitions", tell_partitions(device->partitions));
    if (!device->healthy)
        json_object_set_new(told, "healthy", json_false());
    if (device->cordoned)
        json_object_set_new(told, "cordoned", json_true());
    return told;
}

/* "0-1 NV2": links between positions that somebody told. */
static json_t *tell_links(const struct node *node)
{
    json_t *links = json_array();

    for (unsigned a = 0; a < node->device_count; a++) {
        for (unsigned b = a + 1; b < node->device_count; b++) {
            const struct link *link = peers_link(node->graph, a, b);
            AUTO_FREE char *text = xasprintf("%u-%u %s", a, b, link->name);

            if (link->name[0] != '\0')
                json_array_append_new(links, json_string(text));
        }
    }
    return links;
}

static json_t *tell_node(const struct node *node)
{
    json_t *told = json_object(), *devices = json_array(), *links = tell_links(node);

    for (unsigned i = 0; i < node->device_count; i++)
        json_array_append_new(devices, tell_device(&node->devices[i]));
    add_text(told, "problem", node->problem);
    json_object_set_new(told, "devices", devices);
    if (json_array_size(links) > 0)
        json_object_set(told, "links", links);
    json_decref(links);
    return told;
}

static json_t *tell_container(const struct allocated_container *container)
{
    json_t *list = json_array();

    for (size_t i = 0; i < container->device_count; i++) {
        const struct allocated_device *device = &container->devices[i];
        AUTO_FREE char *place =
            device->partition.profile[0] != '\0'
                ? xasprintf(" %s at %u", device->partition.profile, device->partition.start)
                : xstrdup("");
        AUTO_FREE char *line =
            xasprintf("%s: %" PRIu64 " MiB, %u cores, %s%s", device->id, device->memory_mib,
                      device->cores, isolation_mode_name(device->mode), place);

        json_array_append_new(list, json_string(line));
    }
    return list;
}

static json_t *tell_record(const struct allocation *record)
{
    json_t *told = json_object();

    for (size_t i = 0; i < record->container_count; i++)
        json_object_set_new(told, record->containers[i].name,
                            tell_container(&record->containers[i]));
    return told;
}

static json_t *tell_written(const struct scene *scene, const struct pod *pod)
{
    struct dialect_placement placement = {&pod->record, NULL, &pod->request, NOW_MS};
    struct kube_pairs written = {0};
    json_t *told = json_object();

    for (size_t i = 0; i < scene->node_count; i++) {
        if (strcmp(scene->nodes[i]->name, pod->node) == 0)
            placement.node = scene->nodes[i];
    }
    dialect_hami.write_record(&placement, &written);
    for (size_t i = 0; i < written.count; i++)
        add_text(told, written.items[i].key, written.items[i].value);
    kube_pairs_clear(&written);
    return told;
}

static json_t *tell_pod(const struct scene *scene, const struct pod *pod)
{
    json_t *told = json_object();

    add_text(told, "requestProblem", pod->request.problem);
    add_text(told, "recordProblem", pod->record_problem);
    if (pod->has_record) {
        json_object_set_new(told, "record", tell_record(&pod->record));
        json_object_set_new(told, "written", tell_written(scene, pod));
    }
    return told;
}

static json_t *tell_scene(const struct scene *scene)
{
    json_t *told = json_object(), *nodes = json_object(), *pods = json_object();

    for (size_t i = 0; i < scene->node_count; i++)
        json_object_set_new(nodes, scene->nodes[i]->name, tell_node(scene->nodes[i]));
    for (size_t i = 0; i < scene->pod_count; i++)
        json_object_set_new(pods, scene->pods[i]->name, tell_pod(scene, scene->pods[i]));
    json_object_set_new(told, "nodes", nodes);
    json_object_set_new(told, "pods", pods);
    return told;
}

/* --- cases ----------------------------------------------------------------------------------- */

static void compare(const char *name, json_t *told, const char *path)
{
    AUTO_FREE char *text = test_read_file(path, NULL);
    json_error_t where;
    json_t *expected = json_loads(text, JSON_REJECT_DUPLICATES, &where);

    if (expected == NULL)
        fail_msg("%s: line %d: %s", path, where.line, where.text);
    if (!json_equal(expected, told)) {
        AUTO_FREE char *got = json_dumps(told, JSON_INDENT(2));

        fail_msg("%s differs, got\n%s", name, got);
    }
    json_decref(expected);
}

static void run_case(void **state)
{
    const char *name = *state;
    AUTO_FREE char *folder = xasprintf(TEST_GOLDEN "/hami/%s", name);
    AUTO_FREE char *path = xasprintf("%s/expected.json", folder);
    AUTO(scene_clear) struct scene scene;
    json_t *told;

    read_cluster(folder, &scene);
    told = tell_scene(&scene);
    if (getenv("UPDATE_GOLDEN") != NULL)
        assert_int_equal(json_dump_file(told, path, JSON_INDENT(2)), 0);
    else
        compare(name, told, path);
    json_decref(told);
}

int main(void)
{
    struct dirent **entries;
    int count = scandir(TEST_GOLDEN "/hami", &entries, NULL, alphasort);
    struct CMUnitTest *tests = xcalloc(count > 0 ? (size_t)count : 1, sizeof *tests);
    size_t used = 0;
    int failed;

    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.')
            tests[used++] = (struct CMUnitTest){.name = entries[i]->d_name,
                                                .test_func = run_case,
                                                .initial_state = entries[i]->d_name};
    }
    failed = used == 0 ? 1 : _cmocka_run_group_tests("hami_golden", tests, used, NULL, NULL);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    free(tests);
    return failed;
}
