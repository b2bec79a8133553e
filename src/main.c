/* SPDX-License-Identifier: Apache-2.0 */
/* topofit - a Kubernetes scheduler extender that puts pods on the right GPUs. */
#include "topofit/cli.h"
#include "topofit/mem.h"

#include <jansson.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A closed stdin, stdout or stderr would be taken by the next socket, and the log go into that. */
static void open_standard_files(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

int main(int argc, char **argv)
{
    int code;

    open_standard_files();
    /* Out of memory is dealt with in one place, so jansson's NULL means bad input only. */
    json_set_alloc_funcs(xmalloc, free);
    code = cli_run(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "topofit: the answer cannot be written: %s\n", strerror(errno));
        return EXIT_UNREACHABLE;
    }
    return code;
}
