/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/file.h"
#include "topofit/mem.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A pipe with a name, in a folder of its own. */
struct pipe {
    char folder[32];
    char *path;
};

static struct pipe *pipe_new(void)
{
    struct pipe *pipe = xcalloc(1, sizeof *pipe);

    snprintf(pipe->folder, sizeof pipe->folder, "/tmp/test_file.XXXXXX");
    assert_non_null(mkdtemp(pipe->folder));
    pipe->path = xasprintf("%s/pipe", pipe->folder);
    assert_int_equal(mkfifo(pipe->path, 0600), 0);
    return pipe;
}

static void pipe_free(struct pipe **place)
{
    unlink((*place)->path);
    rmdir((*place)->folder);
    free((*place)->path);
    free(*place);
}

static void test_read__does_not_wait_for_somebody_to_open_a_pipe(void **state)
{
    AUTO(pipe_free) struct pipe *pipe = pipe_new();
    AUTO(buf_clear) struct buf text = buf_with_max(100);
    struct error err = {0};

    (void)state;
    assert_int_equal(file_read(pipe->path, &text, &err), -ERR_TIMEOUT);
    assert_contains(err.text, "a pipe that gives nothing");
    assert_int_equal(text.length, 0);
}

/* The writer comes late, and then takes its time. */
static void *write_late(void *argument)
{
    const struct pipe *pipe = argument;
    int writer = open(pipe->path, O_WRONLY | O_CLOEXEC); /* waits for the reader */

    if (writer >= 0 && write(writer, "hello", 5) == 5)
        close(writer);
    return NULL;
}

static void test_read_whole__waits_for_a_pipe_until_its_end(void **state)
{
    AUTO(pipe_free) struct pipe *pipe = pipe_new();
    AUTO(buf_clear) struct buf text = buf_with_max(100);
    struct error err = {0};
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, write_late, pipe), 0);
    assert_int_equal(file_read_whole(pipe->path, &text, &err), 0);
    assert_string_equal(buf_text(&text), "hello");
    pthread_join(thread, NULL);
}

static void test_read_whole__an_unnamed_pipe_whose_writer_is_gone_is_empty(void **state)
{
    AUTO(buf_clear) struct buf text = buf_with_max(100);
    AUTO_FREE char *path = NULL;
    struct error err = {0};
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    close(ends[1]);
    path = xasprintf("/dev/fd/%d", ends[0]);
    assert_int_equal(file_read_whole(path, &text, &err), 0);
    assert_int_equal(text.length, 0);
    close(ends[0]);
}

static void test_read__does_not_wait_for_ever_for_bytes_of_a_pipe(void **state)
{
    AUTO(pipe_free) struct pipe *pipe = pipe_new();
    AUTO(buf_clear) struct buf text = buf_with_max(100);
    int writer = open(pipe->path, O_RDWR);
    struct error err = {0};

    (void)state;
    assert_int_equal(file_read(pipe->path, &text, &err), -ERR_TIMEOUT);
    assert_contains(err.text, "a pipe that gives nothing");
    close(writer);
}

static void test_read__takes_what_a_pipe_gives(void **state)
{
    AUTO(buf_clear) struct buf text = buf_with_max(100);
    AUTO_FREE char *path = NULL;
    struct error err = {0};
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], "hello", 5), 5);
    close(ends[1]);
    path = xasprintf("/dev/fd/%d", ends[0]);
    assert_int_equal(file_read(path, &text, &err), 0);
    assert_string_equal(buf_text(&text), "hello");
    close(ends[0]);
}

static void test_read__names_what_cannot_be_read(void **state)
{
    AUTO(buf_clear) struct buf text = buf_with_max(100);
    struct error err = {0};

    (void)state;
    assert_int_equal(file_read("/nonexistent", &text, &err), -ERR_NOT_FOUND);
    assert_contains(err.text, "/nonexistent");
    error_clear(&err);
    assert_int_equal(file_read("/tmp", &text, &err), -ERR_INVALID);
    assert_contains(err.text, "is a directory");
    error_clear(&err);
    assert_int_equal(file_read("/dev/zero", &text, &err), -ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read__does_not_wait_for_somebody_to_open_a_pipe),
        cmocka_unit_test(test_read_whole__waits_for_a_pipe_until_its_end),
        cmocka_unit_test(test_read_whole__an_unnamed_pipe_whose_writer_is_gone_is_empty),
        cmocka_unit_test(test_read__does_not_wait_for_ever_for_bytes_of_a_pipe),
        cmocka_unit_test(test_read__takes_what_a_pipe_gives),
        cmocka_unit_test(test_read__names_what_cannot_be_read),
    };

    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
