/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a filter call of 5,000 node names and writes an answer that keeps half of them. */
#include "topofit/extender_json.h"
#include "topofit/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NODES 5000
#define ROUNDS 400

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void print_row(const char *what, double *times_us, size_t bytes)
{
    qsort(times_us, ROUNDS, sizeof *times_us, by_size);
    printf("%-28s %8zu bytes  best %7.1f us  p50 %7.1f us\n", what, bytes, times_us[0],
           times_us[ROUNDS / 2]);
}

static void write_question(struct buf *out)
{
    buf_add_text(out,
                 "{\"Pod\":{\"metadata\":{\"name\":\"p\",\"uid\":\"u\"},\"spec\":{\"containers\":"
                 "[{\"name\":\"c\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}},"
                 "\"Nodes\":null,\"NodeNames\":[");
    for (unsigned i = 0; i < NODES; i++)
        buf_addf(out, "%s\"gpu-node-%05u.zone-a\"", i > 0 ? "," : "", i);
    buf_add_text(out, "]}");
}

int main(void)
{
    static double read_us[ROUNDS], write_us[ROUNDS];
    static const struct node_answer *answers[NODES];
    struct node_answer kinds[] = {{.fate = NODE_KEPT},
                                  node_answer_refusal(NODE_REFUSED_FOR_NOW, "too few free devices"),
                                  {.fate = NODE_KEPT},
                                  node_answer_refusal(NODE_REFUSED, "too few free devices")};
    AUTO(buf_clear) struct buf question = buf_with_max(16 << 20);
    AUTO(buf_clear) struct buf answer = buf_with_max(16 << 20);

    write_question(&question);
    for (unsigned round = 0; round < ROUNDS; round++) {
        AUTO(extender_args_clear) struct extender_args args = {0};
        struct error err = {0};
        struct sorted_answers sorted;
        double start = now_us();

        if (extender_json_read_args(question.data, question.length, NULL, &args, &err) < 0)
            return 1;
        read_us[round] = now_us() - start;
        for (size_t i = 0; i < NODES; i++)
            answers[i] = &kinds[i % 4];
        buf_reset(&answer);
        start = now_us();
        sorted_answers_init(&sorted, answers, NODES);
        extender_json_write_filter_result(&answer, &args, &sorted);
        sorted_answers_clear(&sorted);
        write_us[round] = now_us() - start;
    }
    node_answer_clear(&kinds[1]);
    node_answer_clear(&kinds[3]);
    print_row("read 5000 names", read_us, question.length);
    print_row("write 2500 kept 2500 failed", write_us, answer.length);
    return 0;
}
