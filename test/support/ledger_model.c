/* SPDX-License-Identifier: Apache-2.0 */
#include "support/ledger_model.h"

#include "support/test.h"

#define HELD_MAX (SERVER_NAMES + CLAIMS_MAX)

/* --- the model: who holds what ------------------------------------------------------------------
 */

struct claim *model_claim(struct ledger_model *model, unsigned number)
{
    for (size_t i = 0; i < model->claim_count; i++) {
        if (model->claims[i].number == number)
            return &model->claims[i];
    }
    return NULL;
}

static void drop_claim(struct ledger_model *model, unsigned number)
{
    struct claim *claim = model_claim(model, number);

    if (claim != NULL)
        *claim = model->claims[--model->claim_count];
}

void model_pod(struct ledger_model *model, const struct pod_version *pod)
{
    struct pod_version *seen = &model->seen[pod->name];

    if (seen->number != 0 && seen->number != pod->number)
        drop_claim(model, seen->number);
    *seen = *pod;
    if (pod->finished || pod->node >= 0)
        drop_claim(model, pod->number);
}

void model_gone(struct ledger_model *model, unsigned name, unsigned number)
{
    if (model->seen[name].number == number)
        model->seen[name] = (struct pod_version){0};
    drop_claim(model, number);
}

void model_confirm(struct ledger_model *model, unsigned number, uint64_t token)
{
    struct claim *claim = model_claim(model, number);

    if (claim == NULL || token == 0 || (claim->last != token && claim->before != token))
        return;
    claim->state = HOLDING_BOUND;
    claim->last = claim->before = 0;
}

void model_release(struct ledger_model *model, unsigned number, uint64_t token)
{
    struct claim *claim = model_claim(model, number);

    if (claim == NULL || token == 0)
        return;
    if (claim->before == token) {
        claim->before = 0;
    } else if (claim->last == token && claim->before != 0) {
        claim->last = claim->before;
        claim->before = 0;
        claim->state = HOLDING_UNKNOWN;
    } else if (claim->last == token) {
        drop_claim(model, number);
    }
}

void model_mark_unknown(struct ledger_model *model, unsigned number, uint64_t token)
{
    struct claim *claim = model_claim(model, number);

    if (claim != NULL && token != 0 && claim->last == token)
        claim->state = HOLDING_UNKNOWN;
}

void model_abandon(struct ledger_model *model, unsigned number, uint64_t token)
{
    struct claim *claim = model_claim(model, number);

    if (claim == NULL || token == 0)
        return;
    claim->last = claim->last == token ? 0 : claim->last;
    claim->before = claim->before == token ? 0 : claim->before;
}

void model_resume(struct ledger_model *model, unsigned number, uint64_t token)
{
    struct claim *claim = model_claim(model, number);

    claim->state = HOLDING_RESERVED;
    claim->before = claim->last;
    claim->last = token;
}

static const struct pod_version *find_seen(const struct ledger_model *model, unsigned number)
{
    for (unsigned name = 0; name < SERVER_NAMES; name++) {
        if (model->seen[name].number == number)
            return &model->seen[name];
    }
    return NULL;
}

/* A list shows all pods there are: what it lacks is gone, unless it was booked since. */
void model_list(struct ledger_model *model, const struct pod_version *listed)
{
    for (unsigned name = 0; name < SERVER_NAMES; name++) {
        if (listed[name].number != 0)
            model_pod(model, &listed[name]);
        else if (model->seen[name].number != 0)
            model_gone(model, name, model->seen[name].number);
    }
    for (size_t i = model->claim_count; i-- > 0;) {
        struct claim *claim = &model->claims[i];

        if (claim->list_number < model->list_number && find_seen(model, claim->number) == NULL)
            drop_claim(model, claim->number);
    }
}

/* What a pod is taken to hold. */
struct held {
    unsigned number;
    enum holding_state state;
    int node;
    const struct allocation *record; /* NULL: nobody knows what */
    bool init_done;
    unsigned unattributed;
};

/* Devices that a pod asks for and a record (NULL: none) does not name. */
static unsigned devices_unnamed(const struct pod_version *pod, const struct allocation *record)
{
    unsigned count = 0, named = 0;

    for (size_t a = 0; a < pod->request->ask_count; a++) {
        const struct ask *ask = &pod->request->asks[a];

        if (pod->request->containers[ask->container].kind != CONTAINER_INIT)
            count += ask->count;
    }
    for (size_t c = 0; record != NULL && c < record->container_count; c++) {
        if (record->containers[c].kind != CONTAINER_INIT)
            named += (unsigned)record->containers[c].device_count;
    }
    if (record != NULL)
        return count > named ? count - named : 0;
    return count > 0 ? count : 1; /* every pod of these histories asks for something */
}

static bool seen_holds(const struct pod_version *seen)
{
    return seen->number != 0 && seen->node >= 0 && !seen->finished;
}

static size_t all_held(const struct ledger_model *model, struct held *out)
{
    size_t count = 0;

    for (unsigned name = 0; name < SERVER_NAMES; name++) {
        const struct pod_version *seen = &model->seen[name];
        bool good = !seen->record_broken && seen->record != NULL && seen->node >= 0 &&
                    strcmp(seen->record->node, node_name_of(seen->node)) == 0;
        const struct allocation *record = good ? seen->record : NULL;

        if (seen_holds(seen))
            out[count++] =
                (struct held){seen->number, HOLDING_BOUND,   seen->node,
                              record,       seen->init_done, devices_unnamed(seen, record)};
    }
    for (size_t i = 0; i < model->claim_count; i++) {
        const struct claim *claim = &model->claims[i];

        out[count++] = (struct held){claim->number, claim->state,     claim->node,
                                     claim->record, claim->init_done, 0};
    }
    return count;
}

/* --- the model: sums ----------------------------------------------------------------------------
 */

/* What a record takes of a device in one phase, added to a sum; false when nothing. */
static bool add_phase(const struct allocation *record, size_t phase, const char *id,
                      struct device_use *sum)
{
    bool any = false;

    for (size_t c = 0; c < record->container_count; c++) {
        const struct allocated_container *container = &record->containers[c];
        bool runs = phase == PHASE_MAIN
                        ? container->kind != CONTAINER_INIT
                        : c == phase || (c < phase && container->kind == CONTAINER_SIDECAR);

        for (size_t k = 0; runs && k < container->device_count; k++) {
            const struct allocated_device *line = &container->devices[k];

            if (strcmp(line->id, id) != 0)
                continue;
            any = true;
            sum->memory_mib += line->memory_mib;
            sum->cores += line->cores;
            sum->slots = (uint16_t)(sum->slots + line->slots);
            if (sum->mode != ISOLATION_SHARED)
                sum->mode = line->mode;
        }
    }
    return any;
}

static void raise(struct device_use *to, const struct device_use *phase)
{
    to->memory_mib = phase->memory_mib > to->memory_mib ? phase->memory_mib : to->memory_mib;
    to->cores = phase->cores > to->cores ? phase->cores : to->cores;
    to->slots = phase->slots > to->slots ? phase->slots : to->slots;
    to->mode = to->mode == ISOLATION_SHARED ? to->mode : phase->mode;
}

static struct device_use tenant(const struct held *held, const char *id)
{
    struct device_use most = {0};

    for (size_t c = 0; held->record != NULL && c <= held->record->container_count; c++) {
        size_t phase = c == held->record->container_count ? PHASE_MAIN : c;
        struct device_use sum = {0};

        if (phase != PHASE_MAIN &&
            (held->init_done || held->record->containers[c].kind != CONTAINER_INIT))
            continue;
        if (add_phase(held->record, phase, id, &sum))
            raise(&most, &sum);
    }
    return most;
}

static struct device_use device_sum(const struct device *device, const struct held *held,
                                    size_t count, int node)
{
    struct device_use sum = {0};
    unsigned pods = 0;

    for (size_t i = 0; i < count; i++) {
        struct device_use one = tenant(&held[i], device->id);

        if (held[i].node != node || one.slots == 0)
            continue;
        pods++;
        sum.conflicted = sum.conflicted || (pods > 1 && sum.mode != one.mode);
        sum.mode = one.mode;
        sum.memory_mib += one.memory_mib;
        sum.cores += one.cores;
        sum.slots = (uint16_t)(sum.slots + one.slots);
        sum.exclusive = sum.exclusive || (device->cores > 0 && one.cores >= device->cores);
    }
    /* Two tenants of which one wants to be alone; a shared device with two. */
    if (pods > 1 && sum.exclusive)
        sum.conflicted = true;
    if (sum.memory_mib > device->memory_mib || sum.cores > device->cores ||
        sum.slots > device->slots)
        sum.conflicted = true;
    return sum;
}

/* Devices of a record, in use now, that the node does not report. */
static unsigned count_strangers(const struct held *held, const struct node *node)
{
    unsigned count = 0;

    for (size_t c = 0; held->record != NULL && c < held->record->container_count; c++) {
        const struct allocated_container *container = &held->record->containers[c];

        for (size_t d = 0; d < container->device_count; d++) {
            const char *id = container->devices[d].id;
            bool is_known = node_find_device(node, id) >= 0;

            for (size_t before = 0; before < c && !is_known; before++) {
                const struct allocated_container *other = &held->record->containers[before];

                for (size_t k = 0; k < other->device_count && !is_known; k++)
                    is_known = strcmp(other->devices[k].id, id) == 0; /* counted there */
            }
            count += !is_known && tenant(held, id).slots > 0;
        }
    }
    return count;
}

/* --- comparing ----------------------------------------------------------------------------------
 */

static void check_holding(struct cluster *cluster, const struct held *held)
{
    AUTO(holding_view_clear) struct holding_view view = {0};

    assert_true(cluster_find_holding(cluster, uid_of(held->number), &view));
    assert_int_equal(view.state, held->state);
    assert_string_equal(view.node, node_name_of(held->node));
    assert_int_equal(view.has_allocation, held->record != NULL);
    assert_int_equal(view.unattributed, held->unattributed);
    assert_int_equal(view.init_done, held->init_done);
    if (held->record != NULL)
        assert_true(allocation_equal(&view.allocation, held->record));
}

static void check_sums(struct cluster *cluster, struct node *const *nodes, const struct held *held,
                       size_t count)
{
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(cluster);

    for (int n = 0; n < SERVER_NODES; n++) {
        const struct node_state *state = snapshot_find(snapshot, node_name_of(n));
        unsigned unattributed = 0;

        assert_int_equal(state != NULL, nodes[n] != NULL);
        if (state == NULL)
            continue;
        assert_true(node_equal(state->node, nodes[n]));
        for (unsigned i = 0; i < state->node->device_count; i++) {
            struct device_use sum = device_sum(&state->node->devices[i], held, count, n);
            const struct device_use *use = &state->use.devices[i];

            assert_int_equal(use->memory_mib, sum.memory_mib);
            assert_int_equal(use->cores, sum.cores);
            assert_int_equal(use->slots, sum.slots);
            assert_int_equal(use->conflicted, sum.conflicted);
            assert_int_equal(use->exclusive, sum.exclusive);
            if (!sum.conflicted)
                assert_int_equal(use->mode, sum.mode);
        }
        for (size_t i = 0; i < count; i++)
            unattributed += held[i].node != n
                                ? 0
                                : held[i].unattributed + count_strangers(&held[i], state->node);
        assert_int_equal(state->use.unattributed, unattributed);
    }
}

void model_check(const struct ledger_model *model, struct cluster *cluster,
                 struct node *const nodes[SERVER_NODES])
{
    struct held held[HELD_MAX];
    size_t count = all_held(model, held);
    size_t counts[HOLDING_BOUND + 1];

    cluster_count_holdings(cluster, counts);
    assert_int_equal(counts[HOLDING_RESERVED] + counts[HOLDING_UNKNOWN] + counts[HOLDING_BOUND],
                     count);
    for (size_t i = 0; i < count; i++)
        check_holding(cluster, &held[i]);
    check_sums(cluster, nodes, held, count);
}
