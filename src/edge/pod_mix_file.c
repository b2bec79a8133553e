/* SPDX-License-Identifier: Apache-2.0 */
/* pod_mix_file - the mix of pods from a file instead of from what arrives. */
#include "topofit/pod_mix_file.h"

#include "topofit/arrivals_csv.h"
#include "topofit/file.h"
#include "topofit/job_class.h"
#include "topofit/mem.h"
#include "topofit/mix_tally.h"
#include "topofit/secret.h"
#include "topofit/text.h"

#define FILE_BYTES_MAX (64u << 20)

static struct ask ask_of(const struct job *job, const struct device_class *class)
{
    struct ask ask = {.class = class, .count = job->gpus};

    switch (job->share) {
    case SHARE_WHOLE:
        break;
    case SHARE_MILLI: /* pods cannot split further than percent */
        ask.memory_kind = MEMORY_PERCENT;
        ask.memory = (job->amount + 9) / 10;
        break;
    case SHARE_PERCENT:
        ask.memory_kind = MEMORY_PERCENT;
        ask.memory = job->amount;
        break;
    case SHARE_MIB:
        ask.memory_kind = MEMORY_MIB;
        ask.memory = job->amount;
        break;
    }
    return ask;
}

static void count_job(struct mix_tally *tally, const struct job *job,
                      const struct device_class *class)
{
    AUTO(request_clear) struct request request;
    const struct ask ask = ask_of(job, class);
    const char *products = job->products;
    char word[WORD_BYTES_MAX + 1];

    request_init(&request);
    request_add_container(&request, "main", CONTAINER_APP);
    request_add_ask(&request, &ask);
    while (text_next_item(&products, word, sizeof word))
        word_list_add(&request.use_products, word);
    mix_tally_add(tally, &request, (struct host_amounts){job->cpu_milli, job->memory_mib});
}

/* errors: NULL, and one of job_class(); NULL without one when no job wants a GPU. */
static struct pod_mix *sum_up(const struct arrivals *arrivals, const struct class_table *classes,
                              struct error *err)
{
    struct mix_tally *tally;
    struct hash_key key;
    struct pod_mix *mix;

    secret_fill(&key, sizeof key);
    tally = mix_tally_new(&key);
    for (size_t i = 0; i < arrivals->count && err->code == ERR_NONE; i++) {
        const struct job *job = &arrivals->jobs[i];
        const struct device_class *class = job->gpus > 0 ? job_class(job, classes, err) : NULL;

        if (class != NULL)
            count_job(tally, job, class);
    }
    mix = err->code == ERR_NONE ? mix_tally_summary(tally) : NULL;
    mix_tally_free(tally);
    return mix;
}

int pod_mix_file_read(const char *path, const struct class_table *classes, struct pod_mix **out,
                      struct error *err)
{
    AUTO(buf_clear) struct buf text = buf_with_max(FILE_BYTES_MAX);
    AUTO(arrivals_clear) struct arrivals arrivals = {0};
    struct pod_mix *mix;

    if (file_read(path, &text, err) < 0)
        return error_pass(err);
    if (arrivals_csv_read_jobs(buf_text(&text), text.length, &arrivals, err) < 0)
        return error_wrap(err, "%s", path);
    mix = sum_up(&arrivals, classes, err);
    if (err->code != ERR_NONE)
        return error_wrap(err, "%s", path);
    if (mix == NULL)
        return error_set(err, ERR_INVALID, "%s: no job wants a GPU", path);
    *out = mix;
    return 0;
}
