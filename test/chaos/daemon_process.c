/* SPDX-License-Identifier: Apache-2.0 */
/* daemon_process - `topofit serve` as a child: started, read, ended by its id. */
#include "daemon_process.h"

#include "topofit/mem.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOG_KEPT (16u << 10)
#define READ_BYTES 4096
#define POLL_MS 10

struct daemon_process daemon_process_of(struct loop *loop, const char *program, const char *config,
                                        const char *kubeconfig)
{
    return (struct daemon_process){.loop = loop,
                                   .log = {.fd = -1},
                                   .lines = buf_with_max(LOG_KEPT * 4),
                                   .program = program,
                                   .config = config,
                                   .kubeconfig = kubeconfig};
}

/* "... serving version=0.1.0 port=123 adminPort=456" */
static void look_for_ports(struct daemon_process *daemon)
{
    const char *serving = strstr(buf_text(&daemon->lines), "adminPort=");
    const char *port = strstr(buf_text(&daemon->lines), " port=");

    if (daemon->admin_port != 0 || serving == NULL || port == NULL || strchr(serving, '\n') == NULL)
        return;
    daemon->admin_port = (unsigned)strtoul(serving + strlen("adminPort="), NULL, 10);
    daemon->port = (unsigned)strtoul(port + strlen(" port="), NULL, 10);
}

static void on_log(void *ctx, bool can_read, bool can_write)
{
    struct daemon_process *daemon = ctx;
    char bytes[READ_BYTES];
    ssize_t got = read(daemon->log.fd, bytes, sizeof bytes);

    (void)can_read;
    (void)can_write;
    if (got <= 0) {
        loop_remove(daemon->loop, &daemon->log);
        return;
    }
    buf_add(&daemon->lines, bytes, (size_t)got);
    look_for_ports(daemon);
    if (daemon->lines.length > LOG_KEPT * 2)
        buf_drop_front(&daemon->lines, daemon->lines.length - LOG_KEPT);
}

static void become_daemon(const struct daemon_process *daemon, int log, int parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(126);
    dup2(log, STDERR_FILENO);
    execl(daemon->program, daemon->program, "serve", "--config", daemon->config, "--kubeconfig",
          daemon->kubeconfig, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
          (char *)NULL);
    _exit(127);
}

int daemon_process_start(struct daemon_process *daemon, struct error *err)
{
    int ends[2], parent = getpid();

    assert(daemon->pid == 0);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set(err, ERR_IO, "pipe: %s", strerror(errno));
    daemon->port = daemon->admin_port = 0;
    buf_reset(&daemon->lines);
    daemon->pid = fork();
    if (daemon->pid == 0)
        become_daemon(daemon, ends[1], parent);
    close(ends[1]);
    if (daemon->pid < 0) {
        daemon->pid = 0;
        close(ends[0]);
        return error_set(err, ERR_IO, "fork: %s", strerror(errno));
    }
    daemon->log = (struct loop_source){.fd = ends[0], .ctx = daemon, .on_ready = on_log};
    loop_add(daemon->loop, &daemon->log);
    return 0;
}

bool daemon_process_has_ended(struct daemon_process *daemon)
{
    if (daemon->pid != 0 && waitpid(daemon->pid, NULL, WNOHANG) == daemon->pid)
        daemon->pid = 0;
    return daemon->pid == 0;
}

void daemon_process_kill(struct daemon_process *daemon)
{
    if (daemon->pid == 0)
        return;
    kill(daemon->pid, SIGKILL);
    waitpid(daemon->pid, NULL, 0);
    daemon->pid = 0;
    loop_remove(daemon->loop, &daemon->log);
}

int daemon_process_stop(struct daemon_process *daemon, unsigned wait_ms)
{
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
    int status = 0;

    if (daemon->pid == 0)
        return -1;
    kill(daemon->pid, SIGTERM);
    for (unsigned waited = 0; waited < wait_ms; waited += POLL_MS) {
        if (waitpid(daemon->pid, &status, WNOHANG) == daemon->pid) {
            daemon->pid = 0;
            loop_remove(daemon->loop, &daemon->log);
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        }
        nanosleep(&pause, NULL);
    }
    daemon_process_kill(daemon);
    return -1;
}

void daemon_process_clear(struct daemon_process *daemon)
{
    daemon_process_kill(daemon);
    loop_remove(daemon->loop, &daemon->log);
    buf_clear(&daemon->lines);
}
