/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_arrivals_csv - any bytes give jobs and machines within their ranges, or an error. */
#include "topofit/peers.h"
#include "topofit/arrivals_csv.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_jobs(const struct arrivals *arrivals)
{
    assert(arrivals->count > 0);
    for (size_t i = 0; i < arrivals->count; i++) {
        const struct job *job = &arrivals->jobs[i];

        assert(job->name[0] != '\0' && job->gpus <= DEVICE_MAX);
        assert(i == 0 || arrivals->jobs[i - 1].arrival_ms <= job->arrival_ms);
        assert(job->share == SHARE_WHOLE || job->amount > 0);
        assert(job->share != SHARE_MILLI || job->amount < 1000);
        assert(job->share != SHARE_PERCENT || job->amount < 100);
    }
}

static void check_machines(const struct machine_list *list)
{
    size_t total = 0;

    assert(list->count > 0);
    for (size_t i = 0; i < list->count; i++) {
        const struct machine *machine = &list->machines[i];

        assert(machine->name[0] != '\0' && machine->gpus <= DEVICE_MAX && machine->count > 0);
        assert(machine->has_gpus || machine->topology[0] != '\0');
        total += machine->count;
    }
    assert(total <= MACHINES_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct machine_list list = {0};
    struct arrivals arrivals = {0};
    struct error err = {0};

    if (arrivals_csv_read_jobs((const char *)data, size, &arrivals, &err) == 0)
        check_jobs(&arrivals);
    else
        assert(err.text[0] != '\0');
    error_clear(&err);
    if (arrivals_csv_read_machines((const char *)data, size, &list, &err) == 0)
        check_machines(&list);
    else
        assert(err.text[0] != '\0');
    arrivals_clear(&arrivals);
    machine_list_clear(&list);
    return 0;
}
