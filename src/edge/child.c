/* SPDX-License-Identifier: Apache-2.0 */
/* child - another program, run beside us, bounded in time and output. */
#include "topofit/child.h"

#include "topofit/mem.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILL_LOOKS 50u
#define KILL_LOOK_MS 2
#define REAP_PAUSE_MS 10 /* between closing its output and its end a program does little */
#define DRAIN_MAX_BYTES (64u << 10) /* in one step: a pipe, once full, is empty after it */

/* --- start ----------------------------------------------------------------------------------- */

/* What becomes of our files in the child. The numbers above stderr are closed last. */
static void plan_files(posix_spawn_file_actions_t *actions, int output_fd, int complaints_fd)
{
    posix_spawn_file_actions_init(actions);
    posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(actions, output_fd, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(actions, complaints_fd, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
}

static void plan_signals(posix_spawnattr_t *attributes)
{
    sigset_t none, all;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(attributes);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &all);
    posix_spawnattr_setpgroup(attributes, 0);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                             POSIX_SPAWN_SETPGROUP);
}

/* return 0 or an errno. */
static int spawn(const struct child_plan *plan, int output_fd, int complaints_fd, pid_t *out)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    AUTO_FREE char **arguments = NULL;
    size_t count = 0;
    int number;

    while (plan->arguments[count] != NULL)
        count++;
    arguments = xcalloc(count + 2, sizeof *arguments);
    arguments[0] = (char *)(uintptr_t)plan->command;
    memcpy(arguments + 1, plan->arguments, count * sizeof *arguments);
    plan_files(&actions, output_fd, complaints_fd);
    plan_signals(&attributes);
    number = posix_spawnp(out, plan->command, &actions, &attributes, arguments, plan->environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return number;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

int child_start(struct child *out, const struct child_plan *plan, uint64_t now_ms,
                struct error *err)
{
    int output[2] = {-1, -1}, complaints[2] = {-1, -1};
    int number = 0;
    pid_t pid = 0;

    assert(out->pid == 0);
    if (pipe2(output, O_CLOEXEC) != 0 || pipe2(complaints, O_CLOEXEC) != 0 ||
        fcntl(output[0], F_SETFL, O_NONBLOCK) != 0 ||
        fcntl(complaints[0], F_SETFL, O_NONBLOCK) != 0)
        number = errno;
    if (number == 0)
        number = spawn(plan, output[1], complaints[1], &pid);
    close_fd(&output[1]);
    close_fd(&complaints[1]);
    if (number != 0) {
        close_fd(&output[0]);
        close_fd(&complaints[0]);
        return error_set(err, error_code_of(number), "%s cannot be started: %s", plan->command,
                         strerror(number));
    }
    *out = (struct child){
        .pid = pid,
        .output_fd = output[0],
        .complaints_fd = complaints[0],
        .deadline_ms = now_ms + plan->time_max_ms,
        .time_max_ms = plan->time_max_ms,
        .output = buf_with_max(plan->output_max_bytes),
        .complaints = buf_with_max(2 * CHILD_COMPLAINTS_MAX),
    };
    return 0;
}

/* --- while it runs --------------------------------------------------------------------------- */

static void add_output(struct buf *buf, const char *bytes, size_t length)
{
    buf_add(buf, bytes, length);
}

/* The last words say most. */
static void add_complaints(struct buf *buf, const char *bytes, size_t length)
{
    if (buf->length + length > CHILD_COMPLAINTS_MAX)
        buf_drop_front(buf, buf->length + length - CHILD_COMPLAINTS_MAX);
    buf_add(buf, bytes, length);
}

/*
 * Read what is there, one piece of it at most CHILD_COMPLAINTS_MAX long. Closes it at its end. Not
 * without end: who writes faster than we read shall meet its deadline all the same.
 */
static void drain(int *fd, struct buf *buf, void (*add)(struct buf *, const char *, size_t))
{
    char bytes[CHILD_COMPLAINTS_MAX];
    size_t taken = 0;
    ssize_t got;

    while (*fd >= 0 && !buf->overflowed && taken < DRAIN_MAX_BYTES) {
        got = read(*fd, bytes, sizeof bytes);
        if (got > 0) {
            add(buf, bytes, (size_t)got);
            taken += (size_t)got;
        } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
            close_fd(fd);
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

/*
 * One that has left its group is meant as well. One that may not be killed by us (a setuid program)
 * is not waited for: it stays behind, and as a zombie later.
 */
static void kill_group(struct child *child)
{
    kill(-child->pid, SIGKILL);
    kill(child->pid, SIGKILL);
    for (unsigned i = 0; i < KILL_LOOKS && waitpid(child->pid, NULL, WNOHANG) == 0; i++)
        poll(NULL, 0, KILL_LOOK_MS);
    child->pid = 0;
    close_fd(&child->output_fd);
    close_fd(&child->complaints_fd);
}

/* In one line: what it wrote to stderr, blanks for all that could end or colour a line. */
static const char *complaints_line(struct child *child)
{
    char *text = child->complaints.data;
    size_t length = child->complaints.length;

    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == 127)
            text[i] = ' ';
    }
    while (length > 0 && text[length - 1] == ' ')
        text[--length] = '\0';
    return length > 0 ? text + strspn(text, " ") : "";
}

static void describe_end(struct child *child, int status, struct error *err)
{
    const char *complaints = complaints_line(child);

    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    error_set(err, ERR_IO, "it ended with %s %d%s%s", WIFEXITED(status) ? "exit status" : "signal",
              WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status),
              complaints[0] != '\0' ? ": " : "", complaints);
}

/*
 * Wait for it, if it has closed its output and ended. Not for the end of its stderr: that may be
 * held open by a helper which it left behind, and what it wrote itself is there already.
 */
static bool reap(struct child *child, int *status)
{
    if (child->output_fd >= 0 || waitpid(child->pid, status, WNOHANG) != child->pid)
        return false;
    child->pid = 0;
    drain(&child->complaints_fd, &child->complaints, add_complaints);
    close_fd(&child->complaints_fd);
    return true;
}

bool child_step(struct child *child, uint64_t now_ms, struct error *err)
{
    int status = 0;

    assert(child->pid != 0);
    drain(&child->output_fd, &child->output, add_output);
    drain(&child->complaints_fd, &child->complaints, add_complaints);
    if (child->output.overflowed) {
        kill_group(child);
        error_set(err, ERR_LIMIT, "it wrote more than %zu bytes", child->output.max);
        return true;
    }
    if (reap(child, &status)) {
        describe_end(child, status, err);
        return true;
    }
    if (now_ms < child->deadline_ms)
        return false;
    kill_group(child);
    error_set(err, ERR_TIMEOUT, "it did not end within %llu s",
              (unsigned long long)child->time_max_ms / 1000);
    return true;
}

size_t child_fds(const struct child *child, int fds[2])
{
    size_t count = 0;

    if (child->pid == 0)
        return 0;
    if (child->output_fd >= 0)
        fds[count++] = child->output_fd;
    if (child->complaints_fd >= 0)
        fds[count++] = child->complaints_fd;
    return count;
}

uint64_t child_due_ms(const struct child *child, uint64_t now_ms)
{
    if (child->pid == 0)
        return UINT64_MAX;
    if (child->output_fd >= 0)
        return child->deadline_ms;
    return now_ms + REAP_PAUSE_MS < child->deadline_ms ? now_ms + REAP_PAUSE_MS
                                                       : child->deadline_ms;
}

void child_clear(struct child *child)
{
    if (child->pid != 0)
        kill_group(child);
    buf_clear(&child->output);
    buf_clear(&child->complaints);
    *child = (struct child){.output_fd = -1, .complaints_fd = -1};
}
