/* SPDX-License-Identifier: Apache-2.0 */
/* Any body of a filter or bind call; what could be read is answered, and the answer is JSON. */
#include "../../src/wire/extender_args_whole.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_json(const struct buf *answer)
{
    static const struct json_field nothing[] = {{0}};
    struct error err = {0};

    assert(!answer->overflowed);
    assert(json_read(nothing, NULL, answer->data, answer->length, &err) == 0);
}

static void answer(const struct extender_args *args)
{
    size_t count = extender_args_count(args);
    const struct node_answer kept = {.fate = NODE_KEPT};
    struct node_answer for_now = node_answer_refusal(NODE_REFUSED_FOR_NOW, args->pod.meta.name);
    struct node_answer refused = node_answer_refusal(NODE_REFUSED, args->pod.meta.name);
    const struct node_answer *const kinds[] = {&kept, &for_now, &refused};
    const struct node_answer **answers = xcalloc(count + 1, sizeof(*answers));
    AUTO(buf_clear) struct buf out = buf_with_max(64 << 20);
    struct sorted_answers sorted;

    for (size_t i = 0; i < count; i++)
        answers[i] = kinds[i % 3];
    sorted_answers_init(&sorted, answers, count);
    extender_json_write_filter_result(&out, args, &sorted);
    check_json(&out);
    sorted_answers_clear(&sorted);
    free(answers);
    node_answer_clear(&for_now);
    node_answer_clear(&refused);
}

static void compare_pairs(const struct kube_pairs *whole, const struct kube_pairs *skimmed)
{
    assert(whole->count == skimmed->count);
    for (size_t i = 0; i < whole->count; i++) {
        assert(strcmp(whole->items[i].key, skimmed->items[i].key) == 0);
        assert(strcmp(whole->items[i].value, skimmed->items[i].value) == 0);
    }
}

static void compare_pods(const struct kube_pod *whole, const struct kube_pod *skimmed)
{
    assert(strcmp(whole->meta.name, skimmed->meta.name) == 0);
    assert(strcmp(whole->meta.uid, skimmed->meta.uid) == 0);
    assert(whole->priority == skimmed->priority && whole->truncated == skimmed->truncated);
    compare_pairs(&whole->meta.labels, &skimmed->meta.labels);
    compare_pairs(&whole->meta.annotations, &skimmed->meta.annotations);
    assert(whole->container_count == skimmed->container_count);
    for (size_t i = 0; i < whole->container_count; i++) {
        compare_pairs(&whole->containers[i].limits, &skimmed->containers[i].limits);
        compare_pairs(&whole->containers[i].requests, &skimmed->containers[i].requests);
    }
}

/* What the parser makes of the whole body is what the skim has found. */
static void compare(const struct extender_args *whole, const struct extender_args *skimmed)
{
    assert(whole->has_pod == skimmed->has_pod && whole->has_names && skimmed->has_names);
    assert(!whole->has_nodes && !skimmed->has_nodes);
    if (whole->has_pod)
        compare_pods(&whole->pod, &skimmed->pod);
    assert(whole->name_count == skimmed->name_count);
    for (size_t i = 0; i < whole->name_count; i++) {
        struct name_slice a = extender_args_name(whole, i), b = extender_args_name(skimmed, i);

        assert(a.length == b.length && memcmp(a.text, b.text, a.length) == 0);
    }
}

static uint32_t find_name(const struct name_list *list, const char *name, size_t length)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->places[i].length == length &&
            memcmp(list->text + list->places[i].start, name, length) == 0)
            return i;
    }
    return NAME_NOWHERE;
}

static void find_names(const void *ctx, const char *text, const struct name_at *names, size_t count,
                       uint32_t *positions)
{
    for (size_t i = 0; i < count; i++)
        positions[i] = find_name(ctx, text + names[i].start, names[i].length);
}

/* Some order of the list, with positions that are none. */
static uint32_t *some_order(const uint8_t *bytes, size_t size, size_t count)
{
    uint32_t *order = xcalloc(count + 1, sizeof *order);

    for (size_t i = 0; i < count; i++) {
        uint8_t chance = bytes[(i + size / 2) % size];

        order[i] = chance % 8 == 0   ? NAME_NOWHERE
                   : chance % 2 == 0 ? (uint32_t)i
                                     : (uint32_t)(count - 1 - i);
    }
    return order;
}

/* Every other name of the body, as a list that is likely; followed in some order, or along it. */
static void skim_with_list(const uint8_t *bytes, size_t size, const struct extender_args *whole)
{
    struct buf text = buf_with_max(64 << 20);
    struct name_at *places = xcalloc(whole->name_count + 1, sizeof *places);
    uint32_t *order = NULL;
    struct likely_names likely = {.find = find_names, .ctx = &likely.list};
    AUTO(extender_args_clear) struct extender_args args = {0};

    for (size_t i = 0; i < whole->name_count; i += 1 + bytes[i % size] % 2) {
        struct name_slice name = extender_args_name(whole, i);

        buf_add_byte(&text, '"');
        places[likely.list.count++] =
            (struct name_at){(uint32_t)text.length, (uint32_t)name.length};
        buf_add(&text, name.text, name.length);
        buf_add_text(&text, "\",");
    }
    likely.list.text = buf_text(&text);
    likely.list.length = text.length;
    likely.list.places = places;
    if (size % 2 == 0)
        order = some_order(bytes, size, likely.list.count);
    likely.order = order;
    likely.order_count = likely.order != NULL ? likely.list.count : 0;
    assert(extender_args_read_skimming((const char *)bytes, size, &likely, &args));
    compare(whole, &args);
    for (size_t i = 0; i < args.name_count; i++) {
        struct name_slice name = extender_args_name(&args, i);
        uint32_t position = args.positions[i];

        assert(position == NAME_NOWHERE ||
               (likely.list.places[position].length == name.length &&
                memcmp(likely.list.text + likely.list.places[position].start, name.text,
                       name.length) == 0));
        assert((position == NAME_NOWHERE) ==
               (find_name(&likely.list, name.text, name.length) == NAME_NOWHERE));
    }
    buf_clear(&text);
    free(order);
    free(places);
}

static void skim(const uint8_t *bytes, size_t size)
{
    AUTO(extender_args_clear) struct extender_args whole = {0};
    AUTO(extender_args_clear) struct extender_args skimmed = {0};
    struct error err = {0};

    if (!extender_args_read_skimming((const char *)bytes, size, NULL, &skimmed))
        return;
    assert(extender_args_read_whole((const char *)bytes, size, &whole, &err) == 0);
    compare(&whole, &skimmed);
    skim_with_list(bytes, size, &whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO(extender_args_clear) struct extender_args args = {0};
    AUTO(extender_binding_args_clear) struct extender_binding_args binding = {0};
    struct error args_err = {0}, binding_err = {0};
    AUTO(buf_clear) struct buf out = buf_with_max(64 << 20);

    if (extender_json_read_args((const char *)bytes, size, NULL, &args, &args_err) == 0)
        answer(&args);
    skim(bytes, size);
    if (extender_json_read_binding_args((const char *)bytes, size, &binding, &binding_err) == 0) {
        extender_json_write_binding_result(&out, binding.pod_name);
        check_json(&out);
    }
    return 0;
}
