/* SPDX-License-Identifier: Apache-2.0 */
#include "support/pod_server.h"

#include "support/builders.h"
#include "support/test.h"

#include <stdlib.h>

/* --- names ----------------------------------------------------------------------------------- */

static const char *name_of(const char *prefix, unsigned number)
{
    static char names[8][32];
    static unsigned next;
    char *name = names[next++ % ARRAY_LEN(names)];

    snprintf(name, sizeof names[0], "%s%u", prefix, number);
    return name;
}

const char *node_name_of(int node)
{
    return name_of("n", (unsigned)node);
}

const char *uid_of(unsigned number)
{
    return name_of("uid-", number);
}

struct pod *pod_of(const struct pod_version *version)
{
    struct pod *pod = pod_new("default", name_of("pod-", version->name), uid_of(version->number));

    free(pod->node);
    pod->node = xstrdup(version->node >= 0 ? node_name_of(version->node) : "");
    if (version->nominated >= 0)
        pod->nominated = xstrdup(node_name_of(version->nominated));
    pod->priority = (int)(version->number % 3);
    pod->finished = version->finished;
    pod->deleting = version->deleting;
    pod->init_done = version->init_done;
    request_copy(version->request, &pod->request);
    if (version->record_broken) {
        pod->record_problem = xstrdup("cannot be read");
    } else if (version->record != NULL) {
        allocation_clear(&pod->record);
        allocation_copy(version->record, &pod->record);
        pod->has_record = true;
    }
    return pod;
}

/* --- the server ------------------------------------------------------------------------------ */

void pod_server_init(struct pod_server *server, uint64_t seed)
{
    *server = (struct pod_server){.chance = seed};
    for (unsigned i = 0; i < SERVER_REQUESTS; i++)
        chance_request(&server->chance, 1 + i % 3, &server->requests[i]);
}

void pod_server_clear(struct pod_server *server)
{
    for (unsigned i = 0; i < SERVER_REQUESTS; i++)
        request_clear(&server->requests[i]);
    for (size_t i = 0; i < server->record_count; i++) {
        allocation_clear(server->records[i]);
        free(server->records[i]);
    }
    free(server->records);
}

const struct allocation *pod_server_keep(struct pod_server *server, const struct allocation *record)
{
    struct allocation *copy = xcalloc(1, sizeof *copy);

    allocation_copy(record, copy);
    server->records = mem_grow(server->records, server->record_count, &server->record_capacity,
                               sizeof *server->records);
    server->records[server->record_count++] = copy;
    return copy;
}

static void tell(struct pod_server *server, const struct pod_version *pod, bool deleted)
{
    assert_true(server->event_count < SERVER_EVENTS_MAX);
    server->events[server->event_count++] = (struct pod_event){*pod, deleted};
}

bool pod_server_take_event(struct pod_server *server, struct pod_event *out)
{
    if (server->event_count == 0)
        return false;
    *out = server->events[0];
    server->event_count--;
    memmove(server->events, server->events + 1, server->event_count * sizeof server->events[0]);
    return true;
}

bool pod_server_bind(struct pod_server *server, unsigned name, unsigned number, int node,
                     const struct allocation *record)
{
    struct pod_version *pod = &server->pods[name];

    if (pod->number != number || pod->node >= 0 || pod->deleting)
        return false;
    pod->node = node;
    pod->by_us = true;
    pod->record = record;
    pod->record_broken = false;
    tell(server, pod, false);
    return true;
}

bool pod_server_is_bound_by(const struct pod_server *server, unsigned name, unsigned number,
                            int node, const struct allocation *record)
{
    const struct pod_version *pod = &server->pods[name];

    return pod->number == number && pod->node == node && pod->record == record &&
           !pod->record_broken;
}

static void create(struct pod_server *server, unsigned name)
{
    const struct request *request =
        &server->requests[chance_below(&server->chance, SERVER_REQUESTS)];
    bool has_init = false;

    for (size_t i = 0; i < request->container_count; i++)
        has_init = has_init || request->containers[i].kind == CONTAINER_INIT;
    server->pods[name] = (struct pod_version){.number = ++server->last_number,
                                              .name = name,
                                              .node = -1,
                                              .nominated = -1,
                                              .init_done = !has_init,
                                              .request = request};
    /* Made from the manifest of another pod, record and all. */
    if (chance_one_in(&server->chance, 5) && server->record_count > 0)
        server->pods[name].record =
            server->records[chance_below(&server->chance, (unsigned)server->record_count)];
    tell(server, &server->pods[name], false);
}

static void remove_pod(struct pod_server *server, unsigned name)
{
    tell(server, &server->pods[name], true);
    server->pods[name] = (struct pod_version){0};
}

/* By a scheduler that knows nothing of us, or with spec.nodeName from the beginning. */
static void bind_by_others(struct pod_server *server, struct pod_version *pod)
{
    pod->node = (int)chance_below(&server->chance, SERVER_NODES);
    tell(server, pod, false);
}

static void change_record(struct pod_server *server, struct pod_version *pod)
{
    pod->record_broken = chance_one_in(&server->chance, 3);
    if (chance_one_in(&server->chance, 2))
        pod->record = NULL;
    else if (server->record_count > 0)
        pod->record =
            server->records[chance_below(&server->chance, (unsigned)server->record_count)];
    tell(server, pod, false);
}

static void change(struct pod_server *server, struct pod_version *pod)
{
    switch (pod->finished ? chance_below(&server->chance, 4) : chance_below(&server->chance, 24)) {
    case 0:
    case 1:
        remove_pod(server, pod->name);
        return;
    case 2:
        remove_pod(server, pod->name);
        create(server, pod->name);
        return;
    case 3:
        pod->deleting = true;
        break;
    case 4:
    case 5:
        pod->finished = true;
        break;
    case 6:
        if (pod->node < 0 && chance_one_in(&server->chance, 3)) {
            bind_by_others(server, pod);
            return;
        }
        break;
    case 7:
        if (pod->node >= 0 && chance_one_in(&server->chance, 3)) {
            change_record(server, pod);
            return;
        }
        break;
    case 11:
    case 12:
    case 13:
        pod->nominated = (int)chance_below(&server->chance, SERVER_NODES + 1) - 1;
        break;
    case 8:
    case 9:
    case 10:
        /* Init steps end; when the sandbox is made anew they run again. */
        if (pod->node >= 0)
            pod->init_done = !pod->init_done || !chance_one_in(&server->chance, 4);
        break;
    default:
        break; /* the status of something we do not look at */
    }
    tell(server, pod, false);
}

void pod_server_step(struct pod_server *server)
{
    unsigned name = chance_below(&server->chance, SERVER_NAMES);

    if (server->event_count + 2 >= SERVER_EVENTS_MAX)
        return;
    if (server->pods[name].number == 0)
        create(server, name);
    else
        change(server, &server->pods[name]);
}
