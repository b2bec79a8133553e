/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/listen_address.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

static void test_listen_address_parse__reads_hosts_and_ports(void **state)
{
    static const struct {
        const char *text;
        int want_family;
        const char *want_host;
        unsigned want_port;
        bool want_all;
    } cases[] = {
        {"127.0.0.1:9901", AF_INET, "127.0.0.1", 9901, false},
        {"0.0.0.0:0", AF_INET, "0.0.0.0", 0, false},
        {"[::1]:65535", AF_INET6, "::1", 65535, false},
        {"[2001:db8::7]:1", AF_INET6, "2001:db8::7", 1, false},
        {"[::]:80", AF_INET6, "::", 80, false},
        {":9901", AF_INET6, "::", 9901, true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct listen_address address;
        struct error err = {0};
        char host[INET6_ADDRSTRLEN];
        const void *bytes = &address.socket.ipv4.sin_addr;

        assert_ok(listen_address_parse(cases[i].text, &address, &err), &err);
        assert_int_equal(address.socket.any.sa_family, cases[i].want_family);
        if (address.socket.any.sa_family == AF_INET6)
            bytes = &address.socket.ipv6.sin6_addr;
        inet_ntop(address.socket.any.sa_family, bytes, host, sizeof host);
        assert_string_equal(host, cases[i].want_host);
        assert_int_equal(ntohs(address.socket.ipv4.sin_port), cases[i].want_port);
        assert_int_equal(address.all, cases[i].want_all);
    }
}

static void test_listen_address_parse__names_what_is_wrong(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", "no port"},
        {"127.0.0.1", "no port"},
        {"127.0.0.1:", "the port"},
        {"127.0.0.1:65536", "the port"},
        {"127.0.0.1:-1", "the port"},
        {"127.0.0.1:+1", "the port"},
        {"127.0.0.1: 80", "the port"},
        {"127.0.0.1:80a", "the port"},
        {"127.0.0.1:000080", "the port"},
        {"localhost:80", "the host"},
        {"127.0.0:80", "the host"},
        {"::1:80", "the host"},
        {"[::1:80", "the host"},
        {"[]:80", "the host"},
        {"[:80", "the host"},
        {"[127.0.0.1]:80", "the host"},
        {"[::1]x:80", "the host"},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:80", "too long"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct listen_address address;
        struct error err = {0};

        assert_true(listen_address_parse(cases[i].text, &address, &err) < 0);
        assert_int_equal(err.code, ERR_INVALID);
        assert_contains(err.text, cases[i].want);
        assert_contains(err.text, cases[i].text);
    }
}

/* Listen on `text` and return the descriptor. */
static int must_open(const char *text)
{
    struct listen_address address;
    struct error err = {0};
    int fd = -1;

    assert_ok(listen_address_parse(text, &address, &err), &err);
    assert_ok(listen_address_open(&address, &fd, &err), &err);
    return fd;
}

static void test_listen_address_is_loopback__is_true_for_the_machine_itself_only(void **state)
{
    static const struct {
        const char *text;
        bool want;
    } cases[] = {
        {"127.0.0.1:1", true},
        {"127.9.9.9:1", true},
        {"[::1]:1", true},
        {"[::ffff:127.0.0.1]:1", true},
        {"0.0.0.0:1", false},
        {"[::]:1", false},
        {":1", false},
        {"128.0.0.1:1", false},
        {"10.127.0.1:1", false},
        {"[::2]:1", false},
        {"[::ffff:10.0.0.1]:1", false},
        {"[7f00:1::]:1", false},
        {"[::7f00:1]:1", false},
        {"[fe80::1]:1", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct listen_address address;
        struct error err = {0};

        assert_ok(listen_address_parse(cases[i].text, &address, &err), &err);
        if (listen_address_is_loopback(&address) != cases[i].want)
            fail_msg("%s", cases[i].text);
    }
}

static void test_listen_address_open__lets_the_kernel_choose_a_port(void **state)
{
    int fd = must_open("127.0.0.1:0");

    (void)state;
    assert_true(listen_address_port(fd) > 0);
    close(fd);
}

static void test_listen_address_open__says_why_it_failed(void **state)
{
    struct listen_address address;
    struct error err = {0};
    int taken = must_open("127.0.0.1:0");
    char text[32];
    int fd = -1;

    (void)state;
    snprintf(text, sizeof text, "127.0.0.1:%u", listen_address_port(taken));
    assert_ok(listen_address_parse(text, &address, &err), &err);
    assert_true(listen_address_open(&address, &fd, &err) < 0);
    assert_int_equal(err.code, ERR_IO);
    assert_contains(err.text, "Address already in use");
    assert_int_equal(fd, -1);
    close(taken);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listen_address_parse__reads_hosts_and_ports),
        cmocka_unit_test(test_listen_address_parse__names_what_is_wrong),
        cmocka_unit_test(test_listen_address_is_loopback__is_true_for_the_machine_itself_only),
        cmocka_unit_test(test_listen_address_open__lets_the_kernel_choose_a_port),
        cmocka_unit_test(test_listen_address_open__says_why_it_failed),
    };

    return cmocka_run_group_tests_name("listen_address", tests, NULL, NULL);
}
