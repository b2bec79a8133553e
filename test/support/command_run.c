/* SPDX-License-Identifier: Apache-2.0 */
/* command_run - run the command line as a person does, in this process. */
#include "support/command_run.h"

#include "support/test.h"

#include "topofit/buf.h"
#include "topofit/cli.h"
#include "topofit/mem.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARGUMENTS_MAX 13 /* the program's name is one */
#define PRINTED_BYTES_MAX (1u << 20)

void run_clear(struct run *run)
{
    free(run->out);
    free(run->err);
}

/* Send a stream to a new temporary file. return the old one's duplicate. */
static int redirect(int stream, FILE *file)
{
    int before = dup(stream);

    assert_true(before >= 0 && dup2(fileno(file), stream) >= 0);
    return before;
}

/* Let the stream be what it was. return what was printed meanwhile. */
static char *contents(FILE *file, int stream, int before)
{
    AUTO(buf_clear) struct buf text = buf_with_max(PRINTED_BYTES_MAX);
    char chunk[4096];
    size_t got;

    dup2(before, stream);
    close(before);
    rewind(file);
    while ((got = fread(chunk, 1, sizeof chunk, file)) > 0)
        buf_add(&text, chunk, got);
    fclose(file);
    return buf_steal(&text);
}

struct run command_run(const char *words)
{
    AUTO_FREE char *copy = xasprintf("topofit %s", words);
    char *argv[ARGUMENTS_MAX + 1] = {NULL};
    FILE *out = tmpfile(), *err = tmpfile();
    char *rest = copy, *word;
    int argc = 0, old_out, old_err;
    struct run result;

    while ((word = strsep(&rest, " ")) != NULL) {
        if (word[0] != '\0' && argc < ARGUMENTS_MAX)
            argv[argc++] = word;
    }
    assert_true(out != NULL && err != NULL);
    fflush(NULL);
    old_out = redirect(STDOUT_FILENO, out);
    old_err = redirect(STDERR_FILENO, err);
    optind = 0; /* getopt begins anew */
    result.code = cli_run(argc, argv);
    fflush(NULL);
    result.out = contents(out, STDOUT_FILENO, old_out);
    result.err = contents(err, STDERR_FILENO, old_err);
    return result;
}
