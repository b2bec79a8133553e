/* SPDX-License-Identifier: Apache-2.0 */
/* The server and the script of test/chaos: each fault is what it is called. */
#include "chaos/script.h"
#include "support/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 5000
#define LIST "GET /api/v1/pods HTTP/1.1\r\n\r\n"
#define WATCH "GET /api/v1/pods?watch=1&allowWatchBookmarks=true HTTP/1.1\r\n\r\n"
#define BINDING "{\"metadata\":{\"name\":\"a\"},\"target\":{\"name\":\"n1\"}}"
#define BIND_TO(query) \
    "POST /api/v1/namespaces/default/pods/a/binding" query \
    " HTTP/1.1\r\nContent-Length: 48\r\n\r\n" BINDING
#define BIND BIND_TO("")

struct world {
    struct loop loop;
    struct script_world script;
};

static void step(struct world *world, const char *line)
{
    struct error err = {0};
    uint64_t wait_ms;

    assert_ok(script_step(&world->script, line, &wait_ms, &err), &err);
}

static struct world *world_new(void)
{
    struct world *world = xcalloc(1, sizeof *world);
    struct error err = {0};

    world->loop = loop_open();
    world->script.model = api_model_new(0);
    world->script.server = server_new(
        &(struct server_options){.loop = &world->loop, .model = world->script.model}, &err);
    assert_non_null(world->script.server);
    step(world, "node n1 2 1000");
    step(world, "pod a 1 500   # a comment");
    return world;
}

static void world_free(struct world *world)
{
    server_free(world->script.server);
    api_model_free(world->script.model);
    loop_close(&world->loop);
    free(world);
}

static void turn(struct world *world)
{
    server_tick(world->script.server, loop_now_ms());
    loop_turn(&world->loop, 1);
    server_tick(world->script.server, loop_now_ms());
}

static bool is_bound(const struct world *world)
{
    return api_model_find(world->script.model, API_POD, "default", "a")->node_name[0] != '\0';
}

/* --- a client -------------------------------------------------------------------------------- */

enum ending { IS_OPEN = 0, IS_CLOSED, IS_RESET };

struct client {
    int fd;
    struct buf got;
    enum ending ending;
};

static struct client ask(const struct world *world, const char *text)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)server_port(world->script.server)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct client client = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                            .got = buf_with_max(1 << 20)};

    assert_int_equal(connect(client.fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(send(client.fd, text, strlen(text), 0), strlen(text));
    return client;
}

static void receive(struct client *client)
{
    char bytes[4096];
    ssize_t got = recv(client->fd, bytes, sizeof bytes, MSG_DONTWAIT);

    if (got > 0)
        buf_add(&client->got, bytes, (size_t)got);
    else if (got == 0)
        client->ending = IS_CLOSED;
    else if (errno == ECONNRESET)
        client->ending = IS_RESET;
}

/* Until the connection ends, or these words are there. */
static void wait_for(struct world *world, struct client *client, const char *words)
{
    uint64_t until_ms = loop_now_ms() + PATIENCE_MS;

    while (client->ending == IS_OPEN &&
           (words == NULL || strstr(buf_text(&client->got), words) == NULL)) {
        turn(world);
        receive(client);
        if (loop_now_ms() > until_ms)
            fail_msg("neither the end nor \"%s\": %s", words, buf_text(&client->got));
    }
}

static void hang_up(struct client *client)
{
    close(client->fd);
    buf_clear(&client->got);
}

/* --- faults ---------------------------------------------------------------------------------- */

static void test_fault__is_what_it_is_called(void **state)
{
    static const struct {
        const char *fault, *request, *words; /* NULL: nothing at all comes */
        enum ending ending;
    } rows[] = {
        {"any none", LIST, "\"kind\":\"PodList\"", IS_OPEN},
        {"list status 429 7", LIST, "Retry-After: 7\r\n", IS_OPEN},
        {"any status 403", BIND, "\"reason\":\"Forbidden\",\"code\":403}", IS_OPEN},
        {"watch gone", WATCH, "\"reason\":\"Expired\",\"code\":410}}\n\r\n0\r\n\r\n", IS_OPEN},
        {"watch eof", WATCH, "chunked\r\n\r\n0\r\n\r\n", IS_OPEN},
        {"list eof", LIST, NULL, IS_CLOSED},
        {"list:pods silent 20", LIST, NULL, IS_CLOSED},
        {"list stall 16 20", LIST, "\r\n\r\n{\"kind\":\"PodList", IS_RESET},
        {"list break 16", LIST, "\r\n\r\n{\"kind\":\"PodList", IS_CLOSED},
        {"list reset 0", LIST, "Content-Length: ", IS_RESET},
        {"watch cut 16", WATCH, "10\r\n{\"type\":\"ADDED\",\r\n0\r\n\r\n", IS_OPEN},
        {"watch break 16", WATCH, "10\r\n{\"type\":\"ADDED\",\r\n", IS_CLOSED},
        {"watch bytewise", WATCH, "1\r\n{\r\n1\r\n\"\r\n1\r\nt\r\n", IS_OPEN},
        {"watch split", WATCH, "f\xc3\r\n", IS_OPEN},
        {"list drip 40 1", LIST, "]}", IS_OPEN},
        {"list garbage", LIST, "oops", IS_OPEN},
        {"watch:nodes eof", WATCH, "\"type\":\"ADDED\"", IS_OPEN}, /* not for pods */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world *world = world_new();
        AUTO_FREE char *line = xasprintf("fault 1 %s", rows[i].fault);
        struct client client;

        step(world, line);
        client = ask(world, rows[i].request);
        wait_for(world, &client, rows[i].ending == IS_OPEN ? rows[i].words : NULL);
        if (client.ending != rows[i].ending ||
            (rows[i].words == NULL ? client.got.length > 0
                                   : strstr(buf_text(&client.got), rows[i].words) == NULL))
            fail_msg("%s: %s", rows[i].fault, buf_text(&client.got));
        hang_up(&client);
        world_free(world);
    }
}

static void test_fault__takes_as_many_requests_as_it_says(void **state)
{
    struct world *world = world_new();
    struct client client;

    (void)state;
    step(world, "fault 2 list status 500");
    for (int i = 0; i < 3; i++) {
        client = ask(world, LIST);
        wait_for(world, &client, i < 2 ? "HTTP/1.1 500" : "HTTP/1.1 200");
        assert_int_equal(client.ending, IS_OPEN);
        hang_up(&client);
    }
    world_free(world);
}

static void test_binding__can_be_executed_though_nobody_is_told(void **state)
{
    static const struct {
        const char *fault, *words;
        enum ending ending;
    } rows[] = {{"executed-reset", NULL, IS_RESET},
                {"executed-silent 20", NULL, IS_CLOSED},
                {"executed-status 504", "HTTP/1.1 504", IS_OPEN},
                {"delay 20", "HTTP/1.1 201", IS_OPEN},
                {"late 20", "HTTP/1.1 201", IS_OPEN}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world *world = world_new();
        AUTO_FREE char *line = xasprintf("fault 1 bind %s", rows[i].fault);
        struct client client;

        step(world, line);
        client = ask(world, BIND);
        wait_for(world, &client, rows[i].words);
        assert_int_equal(client.ending, rows[i].ending);
        assert_true(is_bound(world));
        hang_up(&client);
        world_free(world);
    }
}

static void test_late_binding__is_executed_when_nobody_waits_any_more(void **state)
{
    struct world *world = world_new();
    struct client client;

    (void)state;
    step(world, "fault 1 bind late 40");
    client = ask(world, BIND);
    while (server_late_count(world->script.server) == 0)
        turn(world);
    hang_up(&client);
    assert_false(is_bound(world));
    while (server_late_count(world->script.server) > 0)
        turn(world);
    assert_true(is_bound(world));
    world_free(world);
}

static void test_late_binding__is_given_up_after_the_time_the_client_allows(void **state)
{
    struct world *world = world_new();
    struct client client;

    (void)state;
    step(world, "fault 1 bind late 340");
    client = ask(world, BIND_TO("?timeout=30ms"));
    wait_for(world, &client, "HTTP/1.1 504");
    assert_int_equal(client.ending, IS_OPEN);
    assert_false(is_bound(world));
    hang_up(&client);
    world_free(world);
}

static void test_page__expires_when_the_log_is_cut(void **state)
{
    struct world *world = world_new();
    struct client client;
    AUTO_FREE char *request = NULL;
    const char *token;

    (void)state;
    step(world, "pod b 1 500");
    step(world, "option page-max 1");
    step(world, "fault 1 page compact");
    client = ask(world, "GET /api/v1/pods?limit=500 HTTP/1.1\r\n\r\n");
    wait_for(world, &client, "]}");
    token = strstr(buf_text(&client.got), "\"continue\":\"");
    assert_non_null(token);
    token += strlen("\"continue\":\"");
    request = xasprintf("GET /api/v1/pods?limit=500&continue=%.*s HTTP/1.1\r\n\r\n",
                        (int)strcspn(token, "\""), token);
    step(world, "remove b");
    hang_up(&client);
    client = ask(world, request);
    wait_for(world, &client, "HTTP/1.1 410");
    assert_int_equal(client.ending, IS_OPEN);
    hang_up(&client);
    world_free(world);
}

/* --- streams --------------------------------------------------------------------------------- */

static void test_stream__tells_changes_as_they_come(void **state)
{
    struct world *world = world_new();
    struct client client = ask(world, WATCH);

    (void)state;
    wait_for(world, &client, "\"type\":\"ADDED\"");
    step(world, "bind a n1");
    wait_for(world, &client, "\"type\":\"MODIFIED\"");
    step(world, "end-streams");
    wait_for(world, &client, "\r\n0\r\n\r\n");
    assert_int_equal(client.ending, IS_OPEN);
    hang_up(&client);
    world_free(world);
}

static void test_stream__can_be_hurt_while_it_is_open(void **state)
{
    struct world *world = world_new();
    struct client client = ask(world, WATCH);

    (void)state;
    wait_for(world, &client, "\"type\":\"ADDED\"");
    step(world, "stream watch:pods break 18");
    step(world, "bind a n1");
    wait_for(world, &client, NULL);
    assert_int_equal(client.ending, IS_CLOSED);
    assert_contains(buf_text(&client.got), "12\r\n{\"type\":\"MODIFIED\"\r\n");
    hang_up(&client);
    world_free(world);
}

static void test_stream__of_bookmarks_tells_the_change_once_it_is_healed(void **state)
{
    struct world *world = world_new();
    struct client client = ask(world, WATCH);

    (void)state;
    wait_for(world, &client, "\"type\":\"ADDED\"");
    step(world, "stream watch bookmarks 10000");
    step(world, "bind a n1");
    wait_for(world, &client, "\"type\":\"BOOKMARK\"");
    /* An honest one: of what was told. */
    assert_contains(buf_text(&client.got), "\"metadata\":{\"resourceVersion\":\"3\"}");
    assert_null(strstr(buf_text(&client.got), "MODIFIED"));
    step(world, "heal");
    wait_for(world, &client, "\"type\":\"MODIFIED\"");
    hang_up(&client);
    world_free(world);
}

static void test_drop__resets_everybody(void **state)
{
    struct world *world = world_new();
    struct client client = ask(world, WATCH);

    (void)state;
    wait_for(world, &client, "\"type\":\"ADDED\"");
    step(world, "drop");
    wait_for(world, &client, NULL);
    assert_int_equal(client.ending, IS_RESET);
    hang_up(&client);
    world_free(world);
}

/* --- scripts --------------------------------------------------------------------------------- */

static void test_script__says_what_it_does_not_understand(void **state)
{
    static const struct {
        const char *line, *words;
        enum error_code code;
    } rows[] = {
        {"dance", "no step is called \"dance\"", ERR_INVALID},
        {"pod a", "pod needs NAME DEVICES MIB", ERR_INVALID},
        {"pod a 1 0", "there is no a, or it cannot be", ERR_NOT_FOUND},
        {"remove b", "there is no b", ERR_NOT_FOUND},
        {"fault 1 bind melt", "no fault is called \"melt\"", ERR_INVALID},
        {"fault 1 bind delay", "delay needs MS", ERR_INVALID},
        {"fault 1 shout eof", "no requests are called \"shout\"", ERR_INVALID},
        {"option speed 3", "no option is called \"speed\"", ERR_INVALID},
    };
    struct world *world = world_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        uint64_t wait_ms;

        assert_true(script_step(&world->script, rows[i].line, &wait_ms, &err) < 0);
        assert_contains(err.text, rows[i].words);
        assert_int_equal(err.code, rows[i].code);
    }
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fault__is_what_it_is_called),
        cmocka_unit_test(test_fault__takes_as_many_requests_as_it_says),
        cmocka_unit_test(test_binding__can_be_executed_though_nobody_is_told),
        cmocka_unit_test(test_late_binding__is_executed_when_nobody_waits_any_more),
        cmocka_unit_test(test_late_binding__is_given_up_after_the_time_the_client_allows),
        cmocka_unit_test(test_page__expires_when_the_log_is_cut),
        cmocka_unit_test(test_stream__tells_changes_as_they_come),
        cmocka_unit_test(test_stream__can_be_hurt_while_it_is_open),
        cmocka_unit_test(test_stream__of_bookmarks_tells_the_change_once_it_is_healed),
        cmocka_unit_test(test_drop__resets_everybody),
        cmocka_unit_test(test_script__says_what_it_does_not_understand),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
