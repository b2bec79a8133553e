/* SPDX-License-Identifier: Apache-2.0 */
/* waste_memo - models of the present mix, remembered from call to call. */
#include "topofit/waste.h"

#include <stdatomic.h>
#include <stdlib.h>

struct waste_memo {
    atomic_flag in_use;
    uint64_t serial; /* of the mix; 0: nothing is remembered */
    struct waste_models models;
};

struct waste_memo *waste_memo_new(void)
{
    struct waste_memo *memo = calloc(1, sizeof *memo);

    if (memo != NULL)
        atomic_flag_clear(&memo->in_use);
    return memo;
}

void waste_memo_free(struct waste_memo *memo)
{
    free(memo);
}

static bool enter(struct waste_memo *memo, const struct pod_mix *mix)
{
    return memo != NULL && mix != NULL && mix->serial != 0 &&
           !atomic_flag_test_and_set_explicit(&memo->in_use, memory_order_acquire);
}

static void leave(struct waste_memo *memo)
{
    atomic_flag_clear_explicit(&memo->in_use, memory_order_release);
}

void waste_memo_load(struct waste_memo *memo, const struct pod_mix *mix, struct waste_models *out)
{
    out->count = out->next = 0;
    if (enter(memo, mix)) {
        if (memo->serial == mix->serial)
            *out = memo->models;
        leave(memo);
    }
    out->mix = mix;
}

void waste_memo_store(struct waste_memo *memo, const struct waste_models *models)
{
    if (!enter(memo, models->mix))
        return;
    if (memo->serial != models->mix->serial || memo->models.count < models->count) {
        memo->serial = models->mix->serial;
        memo->models = *models;
    }
    leave(memo);
}
