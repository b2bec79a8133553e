/* SPDX-License-Identifier: Apache-2.0 */
/* Field cases about the HTTP edge: F40 a certificate that is renewed. */
#include "support/test.h"
#include "support/tls_peer.h"

#include "topofit/clock.h"
#include "topofit/http.h"
#include "topofit/tls_server.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#define GET "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
#define SWITCH_WAIT_MS 20000
#define SERIAL_A 0xa
#define SERIAL_B 0xb

/* --- F40: certificate renewed, daemon keeps the old one -------------------------------------- */

/* Callers that connect again and again, as fast as they can, while the files are switched. */
struct f40 {
    struct made_cert authority, a, b;
    char *directory;
    struct tls_server *tls;
    struct http_server *http;
    atomic_uint refusals; /* lines of the log at level error */
    pthread_t callers[2];
    size_t caller_count;
    atomic_bool is_over;
    atomic_uint calls, failed;
};

static void hello(void *ctx, const struct http_request *request)
{
    (void)ctx;
    http_answer(request->call, 200, "text/plain", "hello", 5);
}

static const struct http_route routes[] = {{.method = "GET", .path = "/hello", .handle = hello}};

static void log_line(void *ctx, enum log_level level, const char *event, const char *detail)
{
    struct f40 *f40 = ctx;

    (void)event;
    (void)detail;
    if (level == LOG_LEVEL_ERROR)
        atomic_fetch_add(&f40->refusals, 1);
}

static struct tls_wish to(const struct f40 *f40)
{
    return (struct tls_wish){.port = http_port(f40->http), .authority = &f40->authority};
}

static void *call_on(void *argument)
{
    struct f40 *f40 = argument;

    while (!atomic_load(&f40->is_over)) {
        if (tls_call(to(f40), GET) != 200)
            atomic_fetch_add(&f40->failed, 1);
        atomic_fetch_add(&f40->calls, 1);
    }
    return NULL;
}

/* Until each caller has made some more calls. */
static void let_calls_pass(struct f40 *f40)
{
    unsigned until = atomic_load(&f40->calls) + 20;

    while (atomic_load(&f40->calls) < until)
        sched_yield();
}

static void open_files(struct f40 *f40)
{
    AUTO_FREE char *cert_path = xasprintf("%s/tls.crt", f40->directory);
    AUTO_FREE char *key_path = xasprintf("%s/tls.key", f40->directory);
    const struct tls_options options = {.cert_file = cert_path,
                                        .key_file = key_path,
                                        .client_ca_file = "",
                                        .log = log_line,
                                        .log_ctx = f40};
    struct error err = {0};

    f40->tls = tls_server_new(&options, &err);
    if (f40->tls == NULL)
        fail_msg("%s", err.text);
}

static int begin(void **state)
{
    struct f40 *f40 = xcalloc(1, sizeof *f40);
    struct http_options options = {.listen = "127.0.0.1:0",
                                   .routes = routes,
                                   .route_count = ARRAY_LEN(routes),
                                   .threads = 2,
                                   .connections_max = 64,
                                   .body_max_bytes = 1000,
                                   .request_timeout_ms = 10000,
                                   .idle_timeout_ms = 60000};
    struct error err = {0};

    f40->authority = make_cert((struct cert_wish){.serial = 1});
    f40->a = make_cert((struct cert_wish){.issuer = &f40->authority, .serial = SERIAL_A});
    f40->b = make_cert((struct cert_wish){.issuer = &f40->authority, .serial = SERIAL_B});
    f40->directory = scratch_new();
    mount_secret(f40->directory, f40->a.cert_pem, f40->a.key_pem, "");
    open_files(f40);
    options.tls = f40->tls;
    f40->http = http_start(&options, &err);
    *state = f40;
    return f40->http != NULL ? 0 : -1;
}

static void start_callers(struct f40 *f40)
{
    for (; f40->caller_count < ARRAY_LEN(f40->callers); f40->caller_count++)
        assert_int_equal(pthread_create(&f40->callers[f40->caller_count], NULL, call_on, f40), 0);
    let_calls_pass(f40);
}

static void stop_callers(struct f40 *f40)
{
    atomic_store(&f40->is_over, true);
    while (f40->caller_count > 0)
        pthread_join(f40->callers[--f40->caller_count], NULL);
}

static int end(void **state)
{
    struct f40 *f40 = *state;

    stop_callers(f40);
    http_stop(f40->http);
    tls_server_free(f40->tls);
    scratch_clear(&f40->directory);
    cert_clear(&f40->authority);
    cert_clear(&f40->a);
    cert_clear(&f40->b);
    free(f40);
    return 0;
}

static unsigned serial_seen(const struct f40 *f40)
{
    struct tls_client client = tls_connect(to(f40));
    unsigned serial = tls_serial(&client);

    tls_close(&client);
    return serial;
}

/* Whoever connects while another connection makes the files be read may see what was there before.
 */
static void wait_for_serial(const struct f40 *f40, unsigned serial)
{
    uint64_t until_ms = clock_monotonic_ms() + SWITCH_WAIT_MS;

    while (serial_seen(f40) != serial)
        assert_true(clock_monotonic_ms() < until_ms);
}

static void test_f40__a_renewed_certificate_is_served_and_a_broken_one_is_not(void **state)
{
    struct f40 *f40 = *state;
    struct tls_client open_one = tls_connect(to(f40));

    assert_int_equal(tls_serial(&open_one), SERIAL_A);
    start_callers(f40);
    mount_secret(f40->directory, f40->b.cert_pem, f40->b.key_pem, "");
    wait_for_serial(f40, SERIAL_B);
    let_calls_pass(f40);
    mount_secret(f40->directory, f40->a.cert_pem, f40->b.key_pem, "");
    assert_int_equal(serial_seen(f40), SERIAL_B);
    let_calls_pass(f40);
    mount_secret(f40->directory, f40->b.cert_pem, f40->b.key_pem, "");
    assert_int_equal(serial_seen(f40), SERIAL_B);
    let_calls_pass(f40);
    stop_callers(f40);
    assert_int_equal(atomic_load(&f40->failed), 0);
    assert_int_equal(atomic_load(&f40->refusals), 1);
    assert_int_equal(tls_ask(&open_one, GET), 200);
    tls_close(&open_one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_f40__a_renewed_certificate_is_served_and_a_broken_one_is_not, begin, end),
    };

    return cmocka_run_group_tests_name("field_cases_edge", tests, NULL, NULL);
}
