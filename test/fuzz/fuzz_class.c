/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any class file: refused with a place, or taken; then what is shown is read as the same again,
 * and amounts of a pod are read by its rules, never as nothing. (The built-in classes would only
 * take the time: their files are in the corpus.)
 *
 * Bytes behind a NUL are amounts of a container: "resource=amount resource=amount".
 */
#include "topofit/class.h"
#include "topofit/dialect.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define SHOWN_BYTES_MAX (16u << 20)

static void check_shown(const struct class_table *classes)
{
    for (size_t i = 0; i < classes->count; i++) {
        AUTO(buf_clear) struct buf first = buf_with_max(SHOWN_BYTES_MAX);
        AUTO(buf_clear) struct buf second = buf_with_max(SHOWN_BYTES_MAX);
        AUTO(class_table_clear) struct class_table again = {0};
        struct error err = {0};

        class_write_yaml(&classes->items[i], &first);
        if (first.length > CLASS_FILE_BYTES_MAX)
            continue;
        if (classes_read(&again, NULL, buf_text(&first), first.length, &err) < 0)
            abort();
        class_write_yaml(&again.items[0], &second);
        assert(strcmp(buf_text(&first), buf_text(&second)) == 0);
    }
}

static void add_amounts(struct kube_pairs *limits, const char *text)
{
    AUTO_FREE char *copy = xstrdup(text);
    char *rest = copy, *item;

    while ((item = strsep(&rest, " ")) != NULL) {
        char *amount = strchr(item, '=');

        if (amount == NULL)
            continue;
        *amount++ = '\0';
        kube_pairs_add(limits, item, amount);
    }
}

static void check_ask(const struct ask *ask)
{
    assert(ask->count >= 1);
    assert((ask->memory_kind == MEMORY_MIB || ask->memory_kind == MEMORY_PERCENT) ==
           (ask->memory > 0));
    assert(ask->memory_kind != MEMORY_PERCENT || ask->memory < 100);
    assert(ask->memory_kind != MEMORY_NONE || ask->cores > 0 || ask->slices > 0);
    assert(ask->cores <= (ask->cores_percent ? 100 : ask->class->cores));
}

static void check_amounts(const struct class_table *classes, const char *amounts)
{
    AUTO(kube_pod_clear) struct kube_pod pod;
    AUTO(request_clear) struct request request;

    kube_pod_init(&pod);
    pod.containers = xcalloc(1, sizeof *pod.containers);
    pod.container_count = pod.container_capacity = 1;
    pod.containers[0].name = xstrdup("main");
    add_amounts(&pod.containers[0].limits, amounts);
    dialect_request(&pod, classes, &request);
    for (size_t i = 0; i < request.ask_count; i++)
        check_ask(&request.asks[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO_FREE char *text = xstrndup((const char *)bytes, size); /* up to the first NUL */
    size_t length = strnlen((const char *)bytes, size);
    AUTO_FREE char *amounts = length < size
                                  ? xstrndup((const char *)bytes + length + 1, size - length - 1)
                                  : xstrdup("x.com/x=1 x.com/m=5 x.com/c=1 nvidia.com/gpumem=4");
    AUTO(class_table_clear) struct class_table classes = {0};
    struct error err = {0};
    int result;

    result = classes_read(&classes, NULL, text, length, &err);
    assert((result < 0) == (err.code != ERR_NONE));
    if (result < 0 || class_table_index(&classes, &err) < 0)
        return 0;
    check_shown(&classes);
    check_amounts(&classes, amounts);
    return 0;
}
