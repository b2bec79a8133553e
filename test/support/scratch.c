/* SPDX-License-Identifier: Apache-2.0 */
/* scratch - a folder for the files of one test. */
#include "support/scratch.h"

#include "support/test.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *scratch_make(void)
{
    char *folder = xstrdup("/tmp/topofit-test.XXXXXX");

    if (mkdtemp(folder) == NULL)
        fail_msg("no folder can be made in /tmp");
    return folder;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status, (void)kind, (void)at;
    return remove(path);
}

void scratch_remove(char *folder)
{
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(folder);
}

char *scratch_path(const char *folder, const char *name)
{
    return xasprintf("%s/%s", folder, name);
}

void scratch_put(const char *folder, const char *name, const char *text)
{
    AUTO_FREE char *path = scratch_path(folder, name);
    AUTO_FREE char *fresh = xasprintf("%s.new", path);
    FILE *file = fopen(fresh, "w");

    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0 || chmod(fresh, 0700) != 0 ||
        rename(fresh, path) != 0)
        fail_msg("cannot write %s", path);
}

char *scratch_file(const char *text)
{
    char *path = xstrdup("/tmp/topofit-test-XXXXXX");
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    return path;
}

void scratch_file_remove(char **path)
{
    if (*path != NULL)
        unlink(*path);
    free(*path);
}
