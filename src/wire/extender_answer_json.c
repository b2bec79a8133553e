/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extender_answer_json - the answers to kube-scheduler's extender calls.
 *
 * An answer names every node of the cluster in a few bytes each, on every call. Such pieces are
 * collected here and go to the buffer a few kilobytes at a time: half the time of adding each.
 */
#include "topofit/extender_json.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct writer {
    struct buf *out;
    size_t used;
    bool first; /* no element of the open list yet */
    char bytes[4096];
};

static void flush(struct writer *writer)
{
    buf_add(writer->out, writer->bytes, writer->used);
    writer->used = 0;
}

static void put(struct writer *writer, const char *bytes, size_t length)
{
    if (length > sizeof writer->bytes - writer->used)
        flush(writer);
    if (length > sizeof writer->bytes) {
        buf_add(writer->out, bytes, length);
        return;
    }
    memcpy(writer->bytes + writer->used, bytes, length);
    writer->used += length;
}

static void put_text(struct writer *writer, const char *text)
{
    put(writer, text, strlen(text));
}

/* Does one of eight bytes need an escape in JSON, or is it not ASCII? */
static bool has_special(const char *bytes)
{
    static const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    uint64_t word, quotes, slashes;

    memcpy(&word, bytes, sizeof word);
    quotes = word ^ ones * '"';
    slashes = word ^ ones * '\\';
    return ((word | (word - ones * ' ') | (quotes - ones) | (slashes - ones)) & highs) != 0;
}

/* Names and reasons are plain nearly always. */
static bool is_plain(const char *text, size_t length)
{
    char last[sizeof(uint64_t)] = "        ";
    size_t at = 0;

    for (; length - at >= sizeof last; at += sizeof last) {
        if (has_special(text + at))
            return false;
    }
    memcpy(last, text + at, length - at);
    return !has_special(last);
}

static void put_string(struct writer *writer, const char *text)
{
    size_t length = strlen(text);

    if (!is_plain(text, length)) {
        flush(writer);
        buf_add_json_string(writer->out, text);
        return;
    }
    put(writer, "\"", 1);
    put(writer, text, length);
    put(writer, "\"", 1);
}

static void open_list(struct writer *writer, const char *bracket)
{
    put_text(writer, bracket);
    writer->first = true;
}

static void next_element(struct writer *writer)
{
    if (!writer->first)
        put(writer, ",", 1);
    writer->first = false;
}

static void put_kept_names(struct writer *writer, const struct filtered_node *nodes, size_t count)
{
    open_list(writer, "[");
    for (size_t i = 0; i < count; i++) {
        if (nodes[i].reason != NULL)
            continue;
        next_element(writer);
        put_string(writer, nodes[i].name);
    }
    put_text(writer, "]");
}

static void put_kept_nodes(struct writer *writer, const struct extender_args *args,
                           const struct filtered_node *nodes, size_t count)
{
    assert(count == args->node_count);
    open_list(writer, "{\"metadata\":{},\"items\":[");
    for (size_t i = 0; i < count; i++) {
        if (nodes[i].reason != NULL)
            continue;
        next_element(writer);
        put_text(writer, args->node_bytes[i]);
    }
    put_text(writer, "]}");
}

static void put_failed(struct writer *writer, const struct filtered_node *nodes, size_t count,
                       bool curable)
{
    open_list(writer, "{");
    for (size_t i = 0; i < count; i++) {
        if (nodes[i].reason == NULL || nodes[i].curable != curable)
            continue;
        next_element(writer);
        put_string(writer, nodes[i].name);
        put(writer, ":", 1);
        put_string(writer, nodes[i].reason);
    }
    put_text(writer, "}");
}

void extender_json_write_filter_result(struct buf *out, const struct extender_args *args,
                                       const struct filtered_node *nodes, size_t count)
{
    struct writer writer = {.out = out};

    if (args->has_nodes) {
        put_text(&writer, "{\"Nodes\":");
        put_kept_nodes(&writer, args, nodes, count);
        put_text(&writer, ",\"NodeNames\":null");
    } else {
        put_text(&writer, "{\"Nodes\":null,\"NodeNames\":");
        put_kept_names(&writer, nodes, count);
    }
    put_text(&writer, ",\"FailedNodes\":");
    put_failed(&writer, nodes, count, true);
    put_text(&writer, ",\"FailedAndUnresolvableNodes\":");
    put_failed(&writer, nodes, count, false);
    put_text(&writer, ",\"Error\":\"\"}");
    flush(&writer);
}

void extender_json_write_scores(struct buf *out, const struct scored_node *nodes, size_t count)
{
    struct writer writer = {.out = out};

    open_list(&writer, "[");
    for (size_t i = 0; i < count; i++) {
        char score[32];

        next_element(&writer);
        put_text(&writer, "{\"Host\":");
        put_string(&writer, nodes[i].name);
        snprintf(score, sizeof score, ",\"Score\":%d}", nodes[i].score_0_10);
        put_text(&writer, score);
    }
    put_text(&writer, "]");
    flush(&writer);
}

/* A JSON string without '%': kube-scheduler takes Error for a format. */
static void add_error_string(struct buf *out, const char *text)
{
    struct buf plain = buf_with_max(out->max);

    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '%')
            buf_add_text(&plain, " percent");
        else
            buf_add_byte(&plain, *at);
    }
    buf_add_json_string(out, buf_text(&plain));
    buf_clear(&plain);
}

void extender_json_write_filter_error(struct buf *out, const char *text)
{
    assert(text[0] != '\0');
    buf_add_text(out, "{\"Nodes\":null,\"NodeNames\":null,\"FailedNodes\":null,"
                      "\"FailedAndUnresolvableNodes\":null,\"Error\":");
    add_error_string(out, text);
    buf_add_byte(out, '}');
}

void extender_json_write_binding_result(struct buf *out, const char *text)
{
    buf_add_text(out, "{\"Error\":");
    add_error_string(out, text);
    buf_add_byte(out, '}');
}
