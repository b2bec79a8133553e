/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PATIENCE_MS 20000
#define TIME_MAX_MS 5000

static char *no_environment[] = {NULL};

/* Start `sh -c script` at time 0. */
static void start(struct child *child, const char *script, char *const *environment)
{
    char *arguments[] = {(char *)(uintptr_t)"-c", (char *)(uintptr_t)script, NULL};
    struct child_plan plan = {
        .command = "/bin/sh",
        .arguments = arguments,
        .environment = environment,
        .output_max_bytes = 1000,
        .time_max_ms = TIME_MAX_MS,
    };
    struct error err = {0};

    assert_ok(child_start(child, &plan, 0, &err), &err);
}

static void wait_for_words(struct child *child)
{
    struct pollfd polled[2];
    int fds[2];
    size_t count = child_fds(child, fds);
    bool is_due_soon = child_due_ms(child, 0) < TIME_MAX_MS;

    for (size_t i = 0; i < count; i++)
        polled[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    if (poll(polled, count, is_due_soon ? 1 : PATIENCE_MS) == 0 && !is_due_soon)
        fail_msg("nothing came from the child");
}

/* See it through at time 0. */
static void see_through(struct child *child, struct error *err)
{
    while (!child_step(child, 0, err))
        wait_for_words(child);
}

static void test_child__hands_over_what_a_program_writes(void **state)
{
    char *environment[] = {(char *)(uintptr_t)"WORD=hello", NULL};
    AUTO(child_clear) struct child child = {0};
    struct error err = {0};

    (void)state;
    start(&child, "printf %s \"$WORD$HOME\"; echo aside >&2", environment);
    see_through(&child, &err);
    assert_int_equal(err.code, ERR_NONE);
    assert_string_equal(buf_text(&child.output), "hello");
    assert_int_equal(child_fds(&child, (int[2]){0}), 0);
    assert_true(child_due_ms(&child, 0) == UINT64_MAX);
}

static void test_child__has_nothing_to_read_and_no_file_of_ours(void **state)
{
    AUTO(child_clear) struct child child = {0};
    struct error err = {0};
    int fd = open("/dev/null", O_RDONLY); /* without O_CLOEXEC */

    (void)state;
    assert_int_equal(dup2(fd, 77), 77);
    start(&child, "cat; cd /proc/self/fd; for fd in *; do printf '%s ' $fd; done", no_environment);
    see_through(&child, &err);
    close(fd);
    close(77);
    assert_int_equal(err.code, ERR_NONE);
    /* the shell itself may open one more to read the folder */
    assert_true(strncmp(buf_text(&child.output), "0 1 2 ", 6) == 0);
    assert_null(strstr(buf_text(&child.output), "77"));
}

static void test_child__has_no_signal_blocked_or_ignored(void **state)
{
    AUTO(child_clear) struct child child = {0};
    struct error err = {0};
    unsigned long long blocked = 0, ignored = 0;
    sigset_t set, before;

    (void)state;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, &before);
    signal(SIGUSR1, SIG_IGN);
    start(&child, "grep -E 'Sig(Blk|Ign)' /proc/$$/status | cut -f2", no_environment);
    see_through(&child, &err);
    sigprocmask(SIG_SETMASK, &before, NULL);
    signal(SIGUSR1, SIG_DFL);
    assert_int_equal(sscanf(buf_text(&child.output), "%llx %llx", &blocked, &ignored), 2);
    assert_int_equal(blocked, 0);
    assert_int_equal(ignored & 0x7fffffff, 0); /* those behind are the C library's own */
}

static void test_child__tells_exit_status_and_last_words(void **state)
{
    static const struct {
        const char *script, *want;
    } cases[] = {
        {"exit 3", "it ended with exit status 3"},
        {"kill -9 $$", "it ended with signal 9"},
        {"printf 'one\\n\\033[31mtwo\\r\\n' >&2; exit 1", "exit status 1: one  [31mtwo"},
        {"i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done >&2; exit 1",
         "line 2998 line 2999"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(child_clear) struct child child = {0};
        struct error err = {0};

        start(&child, cases[i].script, no_environment);
        see_through(&child, &err);
        assert_int_equal(err.code, ERR_IO);
        assert_contains(err.text, cases[i].want);
        assert_true(strlen(err.text) < 300);
    }
}

static void test_child__is_killed_with_its_group_when_it_takes_too_long(void **state)
{
    AUTO(child_clear) struct child child = {0};
    struct error err = {0};
    pid_t group;

    (void)state;
    start(&child, "sleep 1000 & echo; sleep 1000", no_environment);
    group = child.pid;
    wait_for_words(&child);
    assert_false(child_step(&child, 4999, &err));
    assert_int_equal(child_due_ms(&child, 4999), 5000);
    assert_true(child_step(&child, 5000, &err));
    assert_int_equal(err.code, ERR_TIMEOUT);
    assert_string_equal(err.text, "it did not end within 5 s");
    for (int i = 0; i < PATIENCE_MS && kill(-group, 0) == 0; i++)
        poll(NULL, 0, 1); /* the grandchild is waited for by init */
    assert_int_equal(errno, ESRCH);
}

static void test_child__is_killed_when_it_writes_too_much(void **state)
{
    AUTO(child_clear) struct child child = {0};
    struct error err = {0};

    (void)state;
    start(&child, "while :; do echo 0123456789; done", no_environment);
    see_through(&child, &err);
    assert_int_equal(err.code, ERR_LIMIT);
    assert_string_equal(err.text, "it wrote more than 1000 bytes");
}

static int bytes_waiting(const struct child *child)
{
    int bytes = 0;

    assert_int_equal(ioctl(child->complaints_fd, FIONREAD, &bytes), 0);
    return bytes;
}

/* So one that writes faster than we read meets its deadline, and holds nothing else up. */
static void test_step__takes_a_part_of_what_is_there(void **state)
{
    AUTO(child_clear) struct child child = {0};
    struct error err = {0};

    (void)state;
    start(&child, "head -c 500000 /dev/zero >&2; sleep 1000", no_environment);
    assert_true(fcntl(child.complaints_fd, F_SETPIPE_SZ, 1 << 20) >= 1 << 20);
    for (int i = 0; i < PATIENCE_MS && bytes_waiting(&child) < 500000; i++)
        poll(NULL, 0, 1);
    assert_false(child_step(&child, TIME_MAX_MS - 1, &err));
    assert_in_range(bytes_waiting(&child), 400000, 499999);
    assert_true(child_step(&child, TIME_MAX_MS, &err));
    assert_int_equal(err.code, ERR_TIMEOUT);
}

static void test_child__has_ended_though_a_helper_of_it_keeps_stderr(void **state)
{
    AUTO(child_clear) struct child child = {0};
    struct error err = {0};
    pid_t helper;

    (void)state;
    start(&child, "sleep 1000 >&- & echo $!; echo words >&2; exit 3", no_environment);
    see_through(&child, &err);
    helper = (pid_t)strtol(buf_text(&child.output), NULL, 10);
    assert_true(helper > 1);
    assert_int_equal(kill(helper, SIGKILL), 0); /* it was left alone */
    assert_string_equal(err.text, "it ended with exit status 3: words");
    assert_int_equal(child_fds(&child, (int[2]){0}), 0);
}

static void test_child__is_killed_when_it_is_cleared(void **state)
{
    struct child child = {0};
    pid_t pid;

    (void)state;
    start(&child, "sleep 1000", no_environment);
    pid = child.pid;
    child_clear(&child);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
    child_clear(&child);
}

static void test_child__is_waited_for_when_it_closed_its_outputs_early(void **state)
{
    AUTO(child_clear) struct child child = {0};
    struct error err = {0};
    size_t count = 2;

    (void)state;
    start(&child, "exec >&- 2>&-; read x </dev/zero; sleep 1000", no_environment);
    while (count > 0) {
        wait_for_words(&child);
        assert_false(child_step(&child, 0, &err));
        count = child_fds(&child, (int[2]){0});
    }
    assert_true(child_due_ms(&child, 100) > 100 && child_due_ms(&child, 100) < 200);
    assert_int_equal(child_due_ms(&child, 4999), 5000);
}

static void test_start__says_why_a_program_cannot_be_started(void **state)
{
    static const struct {
        const char *command;
        enum error_code want;
    } cases[] = {
        {"/nonexistent/plugin", ERR_NOT_FOUND},
        {"no-such-plugin-in-the-path", ERR_NOT_FOUND},
        {"/etc/passwd", ERR_DENIED},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct child child = {0};
        struct child_plan plan = {cases[i].command, no_environment, no_environment, 10, 10};
        struct error err = {0};

        assert_int_equal(child_start(&child, &plan, 0, &err), -(int)cases[i].want);
        assert_contains(err.text, cases[i].command);
        assert_int_equal(child.pid, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_child__hands_over_what_a_program_writes),
        cmocka_unit_test(test_child__has_nothing_to_read_and_no_file_of_ours),
        cmocka_unit_test(test_child__has_no_signal_blocked_or_ignored),
        cmocka_unit_test(test_child__tells_exit_status_and_last_words),
        cmocka_unit_test(test_child__is_killed_with_its_group_when_it_takes_too_long),
        cmocka_unit_test(test_child__is_killed_when_it_writes_too_much),
        cmocka_unit_test(test_step__takes_a_part_of_what_is_there),
        cmocka_unit_test(test_child__has_ended_though_a_helper_of_it_keeps_stderr),
        cmocka_unit_test(test_child__is_killed_when_it_is_cleared),
        cmocka_unit_test(test_child__is_waited_for_when_it_closed_its_outputs_early),
        cmocka_unit_test(test_start__says_why_a_program_cannot_be_started),
    };

    return cmocka_run_group_tests_name("child", tests, NULL, NULL);
}
