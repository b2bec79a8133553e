/* SPDX-License-Identifier: Apache-2.0 */
/* class_files - the device classes in effect. */
#include "topofit/class_files.h"

#include "topofit/class.h"
#include "topofit/file.h"
#include "topofit/mem.h"

static int read_one(const char *path, struct class_table *classes, struct error *err)
{
    AUTO(buf_clear) struct buf text = buf_with_max(CLASS_FILE_BYTES_MAX);

    if (file_read(path, &text, err) < 0)
        return error_pass(err);
    return classes_read(classes, path, buf_text(&text), text.length, err);
}

int class_files_read(const struct config *config, struct class_table *out, struct error *err)
{
    const struct config_texts *files = &config->classes_files;
    AUTO(class_table_clear) struct class_table classes;

    classes_builtin(&classes);
    for (size_t i = 0; i < files->count; i++) {
        if (read_one(files->items[i], &classes, err) < 0)
            return error_wrap(err, "classes.files");
    }
    if (files->count > 0 && class_table_index(&classes, err) < 0)
        return error_wrap(err, "classes.files");
    *out = classes;
    classes = (struct class_table){0};
    return 0;
}
