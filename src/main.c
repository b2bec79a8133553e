/* SPDX-License-Identifier: Apache-2.0 */
/* topofit - a Kubernetes scheduler extender that puts pods on the right GPUs. */
#include "topofit/cli.h"
#include "topofit/mem.h"

#include <jansson.h>

#include <stdlib.h>

int main(int argc, char **argv)
{
    /* Out of memory is dealt with in one place, so jansson's NULL means bad input only. */
    json_set_alloc_funcs(xmalloc, free);
    return cli_run(argc, argv);
}
