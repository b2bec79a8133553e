/* SPDX-License-Identifier: Apache-2.0 */
/* ledger - which pod holds what, keyed by pod UID. */
#include "ledger.h"

#include "topofit/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Records come from outside: no million of them adds up to more than 64 bits. */
#define CHARGE_MAX (UINT64_C(1) << 44)

struct ledger {
    struct hash_key key;
    struct map *by_uid;       /* struct holding, owned */
    struct map *by_node;      /* struct holding, the first of a list; borrowed */
    struct map *by_namespace; /* struct spending, owned */
};

/* What holdings are charged of a class whose pods are alike to quotas. */
struct spent {
    struct charge charge;
    struct quota_traits traits;
    size_t holdings; /* it goes with the last of them */
};

/* What the holdings of a namespace are charged together. */
struct spending {
    struct map *by_kind;   /* struct spent, owned: a class and traits each */
    struct charge *totals; /* a class each, whatever the traits */
    size_t count, capacity;
    size_t holdings; /* with charges */
};

struct ledger *ledger_new(const struct hash_key *key)
{
    struct ledger *ledger = xcalloc(1, sizeof *ledger);

    ledger->key = *key;
    ledger->by_uid = map_new_borrowing(key);
    ledger->by_node = map_new_borrowing(key);
    ledger->by_namespace = map_new(key);
    return ledger;
}

static void free_booking(struct booking *booking)
{
    if (booking == NULL)
        return;
    free(booking->node);
    allocation_clear(&booking->allocation);
    free(booking);
}

static void free_holding(void *value)
{
    struct holding *holding = value;

    free(holding->grants);
    free(holding->charges);
    free_booking(holding->booking);
    pod_unref(holding->pod);
    free(holding);
}

static void free_spent(void *value)
{
    struct spent *spent = value;

    quota_traits_clear(&spent->traits);
    free(spent);
}

static void free_spending(void *value)
{
    struct spending *spending = value;

    map_free(spending->by_kind, free_spent);
    free(spending->totals);
    free(spending);
}

void ledger_free(struct ledger *ledger)
{
    if (ledger == NULL)
        return;
    map_free(ledger->by_namespace, free_spending);
    map_free(ledger->by_node, NULL);
    map_free(ledger->by_uid, free_holding);
    free(ledger);
}

struct holding *ledger_find(const struct ledger *ledger, const char *uid)
{
    return map_get(ledger->by_uid, uid);
}

/* Sums need them over and over, and they never change: a pod that says otherwise is entered anew.
 */
static void count_grants(struct holding *holding)
{
    struct grant grants[DEVICE_MAX];
    size_t count = 0;

    if (holding->allocation != NULL)
        count = allocation_grants(holding->allocation, holding->pod->init_done, grants,
                                  ARRAY_LEN(grants));
    free(holding->grants);
    holding->grants = count > 0 ? xcalloc(count, sizeof *holding->grants) : NULL;
    holding->grant_count = count;
    if (count > 0)
        memcpy(holding->grants, grants, count * sizeof *grants);
}

/* --- quotas ---------------------------------------------------------------------------------- */

/* A pod whose devices nobody knows is charged what it asks for in MiB and cores. */
static struct device_size no_size(const void *ctx, const struct device_class *class)
{
    (void)ctx, (void)class;
    return (struct device_size){0};
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void count_charges(struct holding *holding)
{
    const struct request *request = &holding->pod->request;
    bool init_done = holding->pod->init_done;
    struct charge charges[CHARGES_MAX];
    size_t count = holding->allocation != NULL
                       ? charges_of_record(request, holding->allocation, init_done, charges)
                       : charges_of_request(request, init_done, no_size, NULL, charges);

    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        charges[i].amounts[QUOTA_MEMORY] = least(charges[i].amounts[QUOTA_MEMORY], CHARGE_MAX);
    holding->charges = xcalloc(count, sizeof *holding->charges);
    holding->charge_count = count;
    memcpy(holding->charges, charges, count * sizeof *charges);
}

/* Of a class and the traits of a pod, as a map has it. Free it. */
static char *kind_of(const struct device_class *class, const struct quota_traits *traits)
{
    return xasprintf("%p %d%d %s", (const void *)class, traits->is_terminating,
                     traits->is_best_effort,
                     traits->priority_class != NULL ? traits->priority_class : "");
}

static struct charge *find_total(const struct spending *spending, const struct device_class *class)
{
    for (size_t i = 0; i < spending->count; i++) {
        if (spending->totals[i].class == class)
            return &spending->totals[i];
    }
    return NULL;
}

static struct charge *total_of(struct spending *spending, const struct device_class *class)
{
    struct charge *known = find_total(spending, class);

    if (known != NULL)
        return known;
    spending->totals =
        mem_grow(spending->totals, spending->count, &spending->capacity, sizeof *spending->totals);
    spending->totals[spending->count] = (struct charge){.class = class};
    return &spending->totals[spending->count++];
}

/* Unsigned arithmetic wraps, so what was added is taken off again exactly. */
static void add_charge(struct charge *sum, const struct charge *charge, bool back)
{
    for (unsigned kind = 0; kind < QUOTA_KINDS; kind++)
        sum->amounts[kind] += back ? -charge->amounts[kind] : charge->amounts[kind];
}

static void post_one(struct spending *spending, const struct charge *charge,
                     const struct quota_traits *traits, bool back)
{
    AUTO_FREE char *kind = kind_of(charge->class, traits);
    struct spent *spent = map_get(spending->by_kind, kind);

    if (spent == NULL) {
        spent = xcalloc(1, sizeof *spent);
        spent->charge.class = charge->class;
        spent->traits = quota_traits_copy(traits);
        map_put(spending->by_kind, kind, spent);
    }
    add_charge(&spent->charge, charge, back);
    add_charge(total_of(spending, charge->class), charge, back);
    if (!back)
        spent->holdings++;
    else if (--spent->holdings == 0)
        free_spent(map_remove(spending->by_kind, kind));
}

static void post(struct spending *spending, const struct holding *holding, bool back)
{
    for (size_t i = 0; i < holding->charge_count; i++)
        post_one(spending, &holding->charges[i], &holding->pod->request.traits, back);
}

static void charge(const struct ledger *ledger, const struct holding *holding)
{
    struct spending *spending;

    if (holding->charge_count == 0)
        return;
    spending = map_get(ledger->by_namespace, holding->pod->namespace);
    if (spending == NULL) {
        spending = xcalloc(1, sizeof *spending);
        spending->by_kind = map_new(&ledger->key);
        map_put(ledger->by_namespace, holding->pod->namespace, spending);
    }
    spending->holdings++;
    post(spending, holding, false);
}

static void take_charge_back(struct map *by_namespace, const struct holding *holding)
{
    struct spending *spending;

    if (holding->charge_count == 0)
        return;
    spending = map_get(by_namespace, holding->pod->namespace);
    post(spending, holding, true);
    if (--spending->holdings == 0)
        free_spending(map_remove(by_namespace, holding->pod->namespace));
}

/* As a quota with scopes counts. */
static uint64_t charged_in_scope(const struct spending *spending, const struct quota *quota,
                                 const struct device_class *class, enum quota_kind kind)
{
    struct map_cursor at = {0};
    uint64_t sum = 0;

    while (map_next(spending->by_kind, &at)) {
        const struct spent *spent = at.value;

        if (spent->charge.class == class && quota_covers(quota, &spent->traits))
            sum += spent->charge.amounts[kind];
    }
    return sum;
}

uint64_t ledger_charged(const struct ledger *ledger, const char *namespace,
                        const struct quota *quota, const struct device_class *class,
                        enum quota_kind kind)
{
    const struct spending *spending = map_get(ledger->by_namespace, namespace);
    const struct charge *total;

    if (spending == NULL)
        return 0;
    if (quota != NULL && quota->scope_count > 0)
        return charged_in_scope(spending, quota, class, kind);
    total = find_total(spending, class);
    return total != NULL ? total->amounts[kind] : 0;
}

/* --- holdings -------------------------------------------------------------------------------- */

static struct holding *enter(struct ledger *ledger, struct holding *steal_holding)
{
    count_grants(steal_holding);
    count_charges(steal_holding);
    ledger_add(ledger, steal_holding);
    return steal_holding;
}

struct holding *ledger_book(struct ledger *ledger, struct pod *pod, const char *node,
                            const struct allocation *allocation)
{
    struct holding *holding = xcalloc(1, sizeof *holding);
    struct booking *booking = xcalloc(1, sizeof *booking);

    booking->node = xstrdup(node);
    allocation_copy(allocation, &booking->allocation);
    *holding = (struct holding){.pod = pod_ref(pod),
                                .node = booking->node,
                                .allocation = &booking->allocation,
                                .booking = booking};
    return enter(ledger, holding);
}

struct holding *ledger_tell(struct ledger *ledger, struct pod *pod, bool with_record,
                            unsigned unattributed)
{
    struct holding *holding = xcalloc(1, sizeof *holding);

    *holding = (struct holding){.pod = pod_ref(pod),
                                .node = pod->node,
                                .allocation = with_record ? &pod->record : NULL,
                                .state = HOLDING_BOUND,
                                .told = true,
                                .unattributed = unattributed};
    return enter(ledger, holding);
}

/* It keeps its place in the list: where records contradict each other, sums depend on the order. */
void ledger_renew(struct ledger *ledger, struct holding *holding, struct pod *pod)
{
    struct pod *before = holding->pod;

    assert(holding->told);
    holding->pod = pod_ref(pod);
    holding->node = pod->node;
    holding->allocation = holding->allocation != NULL ? &pod->record : NULL;
    count_grants(holding);
    map_put(ledger->by_uid, pod->uid, holding);
    if (holding->previous == NULL)
        map_put(ledger->by_node, holding->node, holding);
    pod_unref(before);
}

void ledger_add(struct ledger *ledger, struct holding *steal_holding)
{
    struct holding *first = map_put(ledger->by_node, steal_holding->node, steal_holding);
    const struct holding *before = map_put(ledger->by_uid, steal_holding->pod->uid, steal_holding);

    assert(before == NULL);
    (void)before;
    steal_holding->next = first;
    steal_holding->previous = NULL;
    if (first != NULL)
        first->previous = steal_holding;
    charge(ledger, steal_holding);
}

void ledger_take(struct ledger *ledger, struct holding *holding)
{
    if (holding->next != NULL)
        holding->next->previous = holding->previous;
    if (holding->previous != NULL)
        holding->previous->next = holding->next;
    else if (holding->next != NULL)
        map_put(ledger->by_node, holding->next->node, holding->next);
    else
        map_remove(ledger->by_node, holding->node);
    map_remove(ledger->by_uid, holding->pod->uid);
    take_charge_back(ledger->by_namespace, holding);
}

void ledger_remove(struct ledger *ledger, struct holding *holding)
{
    if (holding == NULL)
        return;
    ledger_take(ledger, holding);
    free_holding(holding);
}

struct holding *ledger_on_node(const struct ledger *ledger, const char *node)
{
    return map_get(ledger->by_node, node);
}

void holding_add_use(const struct holding *holding, const struct node *node, struct node_use *use)
{
    for (size_t i = 0; i < holding->grant_count; i++)
        node_use_add(use, node, &holding->grants[i]);
    use->unattributed += holding->unattributed;
}

void ledger_sum(const struct ledger *ledger, const struct node *node, const char *except,
                struct node_use *out)
{
    *out = (struct node_use){.device_count = node->device_count};
    for (const struct holding *holding = ledger_on_node(ledger, node->name); holding != NULL;
         holding = holding->next) {
        if (except == NULL || strcmp(holding->pod->uid, except) != 0)
            holding_add_use(holding, node, out);
    }
}

bool ledger_next(const struct ledger *ledger, struct map_cursor *at)
{
    return map_next(ledger->by_uid, at);
}

static void check_spending(const struct spending *spending, const struct spending *anew)
{
    struct map_cursor at = {0};

    assert(map_count(spending->by_kind) == map_count(anew->by_kind));
    while (map_next(spending->by_kind, &at)) {
        const struct spent *spent = at.value, *other = map_get(anew->by_kind, at.key);

        assert(other != NULL && spent->holdings == other->holdings);
        for (unsigned kind = 0; kind < QUOTA_KINDS; kind++)
            assert(spent->charge.amounts[kind] == other->charge.amounts[kind]);
    }
}

static void check_charges(const struct ledger *ledger)
{
    struct ledger anew = {.by_namespace = map_new(&(struct hash_key){{0, 0}})};
    struct map_cursor at = {0};

    while (map_next(ledger->by_uid, &at))
        charge(&anew, at.value);
    assert(map_count(anew.by_namespace) == map_count(ledger->by_namespace));
    at = (struct map_cursor){0};
    while (map_next(ledger->by_namespace, &at))
        check_spending(at.value, map_get(anew.by_namespace, at.key));
    map_free(anew.by_namespace, free_spending);
}

void ledger_check(const struct ledger *ledger)
{
    struct map_cursor at = {0};
    size_t listed = 0;

    while (map_next(ledger->by_node, &at)) {
        const struct holding *previous = NULL;

        for (const struct holding *h = at.value; h != NULL; h = h->next) {
            assert(strcmp(h->node, at.key) == 0);
            assert(h->previous == previous);
            assert(ledger_find(ledger, h->pod->uid) == h);
            previous = h;
            listed++;
        }
    }
    assert(listed == map_count(ledger->by_uid));
    check_charges(ledger);
}
