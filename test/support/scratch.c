/* SPDX-License-Identifier: Apache-2.0 */
/* scratch - a folder for the files of one test. */
#include "support/scratch.h"

#include "support/test.h"

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>

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
