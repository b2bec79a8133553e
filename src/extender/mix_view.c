/* SPDX-License-Identifier: Apache-2.0 */
/* mix_view - the mix of pods, and what follows for products that some of them insist on. */
#include "views.h"
#include "topofit/leftover.h"
#include "topofit/mem.h"
#include "topofit/mix_tally.h"
#include "topofit/scarcity.h"
#include "topofit/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 256

/* What is to be shown. */
struct scene {
    struct snapshot *snapshot;
    struct mix_origin origin;
    struct scarcity scarcity;
    unsigned by_name[SCARCITY_PRODUCTS_MAX]; /* places in the supply */
};

static void sort_products(struct scene *scene)
{
    const struct product_supply *supply = &scene->snapshot->supply;

    for (unsigned i = 0; i < supply->count; i++) {
        unsigned at = i;

        for (; at > 0 && strcmp(supply->items[scene->by_name[at - 1]].product->chars,
                                supply->items[i].product->chars) > 0;
             at--)
            scene->by_name[at] = scene->by_name[at - 1];
        scene->by_name[at] = i;
    }
}

static void look(struct extender *extender, struct scene *out)
{
    out->snapshot = cluster_snapshot(extender->cluster);
    out->origin = cluster_mix_origin(extender->cluster);
    scarcity_of(out->snapshot->mix, &out->snapshot->supply, &out->scarcity);
    sort_products(out);
}

static size_t count_tasks(const struct scene *scene)
{
    return scene->snapshot->mix != NULL ? scene->snapshot->mix->count : 0;
}

/* In thousandths of waste, for each whole device that others take. */
static double charge_milli(const struct scene *scene, unsigned product)
{
    return scarcity_cost_milli(&scene->scarcity, scene->snapshot->supply.items[product].product,
                               WHOLE_DEVICE_MILLI);
}

static const char *source_name(const struct scene *scene)
{
    if (scene->origin.is_given)
        return "given";
    return scene->snapshot->mix != NULL ? "learned" : "none";
}

/* --- as JSON ---------------------------------------------------------------------------------- */

static json_t *words_view(const struct word_list *list)
{
    json_t *words = json_array();

    for (size_t i = 0; i < list->count; i++)
        json_array_append_new(words, view_string(list->items[i]));
    return words;
}

static json_t *task_view(const struct mix_task *task)
{
    json_t *item = view_ask(&task->ask);

    json_object_set_new(item, "share", json_real(task->share));
    json_object_set_new(item, "whole", json_boolean(task->is_whole));
    json_object_set_new(item, "cpuMilli", json_integer((json_int_t)task->host.cpu_milli));
    json_object_set_new(item, "useProducts", words_view(&task->use_products));
    json_object_set_new(item, "avoidProducts", words_view(&task->avoid_products));
    return item;
}

static json_t *products_view(const struct scene *scene)
{
    const struct product_supply *supply = &scene->snapshot->supply;
    json_t *items = json_array();

    for (unsigned i = 0; i < supply->count; i++) {
        unsigned product = scene->by_name[i];

        json_array_append_new(items,
                              json_pack("{s:o,s:i,s:I,s:f}", "product",
                                        view_string(supply->items[product].product->chars),
                                        "devices", (int)supply->items[product].devices, "idleMilli",
                                        (json_int_t)supply->items[product].idle_milli, "charge",
                                        charge_milli(scene, product)));
    }
    return items;
}

static void write_json(const struct scene *scene, struct moment now, struct buf *out)
{
    json_t *document = view_document("PodMix", now);
    json_t *items = json_array();

    for (size_t i = 0; i < count_tasks(scene); i++)
        json_array_append_new(items, task_view(&scene->snapshot->mix->tasks[i]));
    json_object_set_new(document, "source", json_string(source_name(scene)));
    json_object_set_new(document, "pods", json_integer((json_int_t)scene->origin.pods));
    json_object_set_new(document, "items", items);
    json_object_set_new(document, "products", products_view(scene));
    view_write(document, out);
}

/* --- as text ---------------------------------------------------------------------------------- */

static void write_source(const struct scene *scene, struct buf *out)
{
    if (scene->origin.is_given)
        buf_add_text(out, "given (packing.workloadFile): nothing is learned\n");
    else if (scene->snapshot->mix == NULL)
        buf_addf(out, "nothing is known: %" PRIu64 " of %d pods with GPUs have come\n",
                 scene->origin.pods, MIX_PODS_MIN);
    else
        buf_addf(out, "learned from %" PRIu64 " pods with GPUs\n", scene->origin.pods);
}

/* "A100, H100; not T4" */
static void describe_products(const struct mix_task *task, struct buf *out)
{
    char words[WORDS_MAX];

    word_list_join(&task->use_products, words, sizeof words);
    buf_add_text(out, words);
    if (task->avoid_products.count == 0)
        return;
    word_list_join(&task->avoid_products, words, sizeof words);
    buf_addf(out, "%snot %s", out->length > 0 ? "; " : "", words);
}

static void write_tasks(const struct scene *scene, struct buf *out)
{
    static const char *const headers[] = {"SHARE", "REQUEST", "CPU", "PRODUCTS"};
    AUTO(table_free_pointer) struct table *table = table_new(headers, ARRAY_LEN(headers));

    for (size_t i = 0; i < count_tasks(scene); i++) {
        const struct mix_task *task = &scene->snapshot->mix->tasks[i];
        AUTO(buf_clear) struct buf request = buf_with_max(WORDS_MAX);
        AUTO(buf_clear) struct buf products = buf_with_max(2 * WORDS_MAX + 8);

        view_describe_ask(&task->ask, &request);
        if (task->is_whole && task->ask.memory_kind != MEMORY_WHOLE)
            buf_add_text(&request, ", whole");
        describe_products(task, &products);
        table_addf(table, "%.1f%%", 100 * task->share);
        table_add(table, buf_text(&request));
        table_addf(table, "%" PRIu64 ".%03u", task->host.cpu_milli / 1000,
                   (unsigned)(task->host.cpu_milli % 1000));
        table_add(table, buf_text(&products));
    }
    table_write(table, out);
}

static void write_products(const struct scene *scene, struct buf *out)
{
    static const char *const headers[] = {"PRODUCT", "GPUS", "IDLE", "CHARGE"};
    AUTO(table_free_pointer) struct table *table = table_new(headers, ARRAY_LEN(headers));
    const struct product_supply *supply = &scene->snapshot->supply;

    for (unsigned i = 0; i < supply->count; i++) {
        unsigned product = scene->by_name[i];

        table_add(table, supply->items[product].product->chars);
        table_addf(table, "%u", supply->items[product].devices);
        table_addf(table, "%.3f", (double)supply->items[product].idle_milli / WHOLE_DEVICE_MILLI);
        table_addf(table, "%.2f", charge_milli(scene, product));
    }
    table_write(table, out);
}

static void write_text(const struct scene *scene, struct buf *out)
{
    write_source(scene, out);
    if (count_tasks(scene) > 0) {
        buf_add_byte(out, '\n');
        write_tasks(scene, out);
    }
    if (scene->snapshot->supply.count > 0) {
        buf_add_byte(out, '\n');
        write_products(scene, out);
    }
}

void view_mix(struct extender *extender, struct moment now, enum view_format format,
              struct buf *out)
{
    struct scene scene;

    look(extender, &scene);
    if (format == VIEW_TEXT)
        write_text(&scene, out);
    else
        write_json(&scene, now, out);
    snapshot_unref(scene.snapshot);
}
