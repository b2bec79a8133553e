/* SPDX-License-Identifier: Apache-2.0 */
/* Any body of a preempt call; what could be read is answered, and the answer is JSON. */
#include "topofit/mem.h"
#include "topofit/preemption_json.h"

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

/* All that was proposed, as it is. */
static void answer(const struct preemption_args *args)
{
    struct victim_list *lists = xcalloc(args->proposal_count + 1, sizeof *lists);
    AUTO(buf_clear) struct buf out = buf_with_max(64 << 20);

    for (size_t i = 0; i < args->proposal_count; i++) {
        const struct proposal *proposal = &args->proposals[i];
        const char **uids = xcalloc(proposal->victim_count + 1, sizeof(*uids));

        assert(strlen(proposal->node) <= EXTENDER_NAME_MAX);
        for (size_t v = 0; v < proposal->victim_count; v++) {
            uids[v] = proposal->victims[v].uid;
            assert(strlen(uids[v]) <= EXTENDER_NAME_MAX);
        }
        lists[i] = (struct victim_list){proposal->node, uids, proposal->victim_count,
                                        proposal->pdb_violations};
    }
    preemption_json_write_result(&out, lists, args->proposal_count);
    check_json(&out);
    for (size_t i = 0; i < args->proposal_count; i++)
        free((void *)(uintptr_t)lists[i].uids);
    free(lists);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO(preemption_args_clear) struct preemption_args args = {0};
    struct error err = {0};

    if (preemption_json_read_args((const char *)bytes, size, &args, &err) == 0)
        answer(&args);
    else
        assert(err.code == ERR_INVALID || err.code == ERR_LIMIT);
    return 0;
}
