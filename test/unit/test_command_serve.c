/* SPDX-License-Identifier: Apache-2.0 */
/* `topofit serve` as a process of its own. */
#include "support/scratch.h"
#include "support/test.h"

#include "topofit/buf.h"
#include "topofit/cli.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS 20000

/* A server that reads its configuration, and then its cluster from a pipe of ours. */
struct fixture {
    char *folder, *config, *cluster;
    int pipe; /* our end of the cluster: it stays open, and the server waits for what comes */
    int log;  /* what the server says */
    pid_t server;
};

static int begin(void **state)
{
    struct fixture *fixture = xcalloc(1, sizeof *fixture);

    fixture->folder = scratch_make();
    fixture->config = scratch_path(fixture->folder, "topofit.yaml");
    fixture->cluster = scratch_path(fixture->folder, "cluster");
    if (mkfifo(fixture->cluster, 0600) != 0)
        return -1;
    fixture->pipe = open(fixture->cluster, O_RDWR | O_CLOEXEC);
    *state = fixture;
    return fixture->pipe >= 0 ? 0 : -1;
}

static int end(void **state)
{
    struct fixture *fixture = *state;

    if (fixture->server > 0) {
        kill(fixture->server, SIGKILL);
        waitpid(fixture->server, NULL, 0);
    }
    if (fixture->pipe >= 0)
        close(fixture->pipe);
    if (fixture->log > 0)
        close(fixture->log);
    free(fixture->config);
    free(fixture->cluster);
    scratch_remove(fixture->folder);
    free(fixture);
    return 0;
}

static void start(struct fixture *fixture)
{
    char *argv[] = {(char[]){"topofit"},
                    (char[]){"serve"},
                    (char[]){"--config"},
                    fixture->config,
                    (char[]){"--cluster"},
                    fixture->cluster,
                    (char[]){"--listen=127.0.0.1:0"},
                    (char[]){"--admin-listen=127.0.0.1:0"},
                    NULL};
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    fflush(NULL);
    fixture->server = fork();
    assert_true(fixture->server >= 0);
    if (fixture->server == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(fixture->pipe);
        _exit(cli_run((int)ARRAY_LEN(argv) - 1, argv));
    }
    close(ends[1]);
    fixture->log = ends[0];
}

static void wait_readable(int fd)
{
    struct pollfd asked = {.fd = fd, .events = POLLIN};

    assert_int_equal(poll(&asked, 1, WAIT_MS), 1);
}

/* Wait until the server says that. */
static void expect_said(struct fixture *fixture, const char *part)
{
    AUTO(buf_clear) struct buf said = buf_with_max(1 << 20);

    while (strstr(buf_text(&said), part) == NULL) {
        char bytes[512];
        ssize_t got;

        wait_readable(fixture->log);
        got = read(fixture->log, bytes, sizeof bytes);
        if (got <= 0)
            fail_msg("not said: \"%s\" in \"%s\"", part, buf_text(&said));
        buf_add(&said, bytes, (size_t)got);
    }
}

/* Tell of what happens to a file from now on. return a descriptor that is read to the event. */
static int watch(const char *path, uint32_t what)
{
    int watch = inotify_init1(IN_CLOEXEC);

    assert_true(inotify_add_watch(watch, path, what) >= 0);
    return watch;
}

static void wait_for_event(int watch)
{
    char event[4096];

    wait_readable(watch);
    assert_true(read(watch, event, sizeof event) > 0);
    close(watch);
}

static void test_serve__takes_over_a_configuration_that_changes_while_it_starts(void **state)
{
    static const char cluster[] =
        "kind: List\nitems: [{kind: Node, metadata: {name: n1, uid: u1}}]\n";
    struct fixture *fixture = *state;
    int config_read, cluster_opened, status;

    scratch_put(fixture->folder, "topofit.yaml", "topology: {mode: soft}\n");
    config_read = watch(fixture->config, IN_CLOSE_NOWRITE);
    cluster_opened = watch(fixture->cluster, IN_OPEN);
    assert_int_equal(write(fixture->pipe, cluster, strlen(cluster)), strlen(cluster));
    start(fixture);
    wait_for_event(config_read);
    scratch_put(fixture->folder, "topofit.yaml", "topology: {mode: hard}\n");
    wait_for_event(cluster_opened);
    close(fixture->pipe); /* the end of the cluster */
    fixture->pipe = -1;
    expect_said(fixture, "configuration reloaded");
    kill(fixture->server, SIGTERM);
    expect_said(fixture, "stopped");
    assert_int_equal(waitpid(fixture->server, &status, 0), fixture->server);
    fixture->server = 0;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EXIT_YES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_serve__takes_over_a_configuration_that_changes_while_it_starts, begin, end),
    };

    return cmocka_run_group_tests_name("command_serve", tests, NULL, NULL);
}
