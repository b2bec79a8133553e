/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extender_answer_json - the answers to kube-scheduler's extender calls.
 *
 * An answer names every node of the cluster in a few bytes each, on every call: such pieces are
 * written straight into the room of the buffer.
 */
#include "topofit/extender_json.h"

#include "topofit/mem.h"
#include "topofit/plain_text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP 32 /* bytes copied at a time: most names are shorter */

/* Where the next byte goes, and how far there is room. */
struct writer {
    struct buf *out;
    char *at, *end;
};

static void open_writer(struct writer *writer, struct buf *out, size_t expected)
{
    *writer = (struct writer){.out = out};
    writer->at = buf_room(out, expected);
    writer->end = writer->at != NULL ? writer->at + expected : NULL;
}

/* What was written so far belongs to the buffer. */
static void hand_over(struct writer *writer)
{
    if (writer->at != NULL)
        buf_fill(writer->out, (size_t)(writer->at - (writer->out->data + writer->out->length)));
    writer->at = writer->end = NULL;
}

static void make_room(struct writer *writer, size_t length)
{
    hand_over(writer);
    length += 4096;
    writer->at = buf_room(writer->out, length);
    writer->end = writer->at != NULL ? writer->at + length : NULL;
}

static inline void put(struct writer *writer, const char *bytes, size_t length)
{
    if (length > (size_t)(writer->end - writer->at))
        make_room(writer, length);
    if (writer->at == NULL)
        return; /* the buffer is full, and says so */
    memcpy(writer->at, bytes, length);
    writer->at += length;
}

/*
 * The same for pieces of some ten bytes, of which an answer has tens of thousands: in steps of a
 * fixed size, which need no call. Up to STEP bytes more are read, and written: they are written
 * over next. return where the next piece goes.
 */
static inline char *copy_steps(char *to, const char *from, size_t length)
{
    memcpy(to, from, STEP);
    for (size_t at = STEP; at < length; at += STEP)
        memcpy(to + at, from + at, STEP);
    return to + length;
}

static void put_text(struct writer *writer, const char *text)
{
    put(writer, text, strlen(text));
}

/* text[length], with a NUL behind it unless it is plain. Names are, nearly always. */
static void put_string(struct writer *writer, const char *text, size_t length)
{
    if (plain_span(text, length) < length) {
        hand_over(writer);
        buf_add_json_string(writer->out, text);
        return;
    }
    put(writer, "\"", 1);
    put(writer, text, length);
    put(writer, "\"", 1);
}

static void put_name(struct writer *writer, const struct extender_args *args, size_t i)
{
    struct name_slice name = extender_args_name(args, i);

    if (args->names_are_plain)
        put(writer, name.text - 1, name.length + 2); /* with its quotes, as in the body */
    else
        put_string(writer, name.text, name.length);
}

/* At least as many bytes as the names have. */
static size_t name_bytes(const struct extender_args *args)
{
    const struct name_at *names = args->names;
    size_t bytes = 0;

    if (args->names_are_plain && args->name_count > 0)
        return names[args->name_count - 1].start + names[args->name_count - 1].length;
    for (size_t i = 0; i < args->name_count; i++)
        bytes += names[i].length;
    return bytes;
}

/* --- filter ---------------------------------------------------------------------------------- */

struct node_answer node_answer_refusal(enum node_fate fate, const char *text)
{
    static const char more[STEP];
    struct buf json = buf_with_max(SIZE_MAX / 2);
    size_t length;
    char *reason;

    buf_add_byte(&json, ':');
    buf_add_json_string(&json, text);
    length = json.length;
    buf_add(&json, more, sizeof more);
    reason = xreallocarray(buf_steal(&json), length + sizeof more + 1, 1); /* many are kept */
    return (struct node_answer){.fate = fate, .reason = reason, .reason_length = length};
}

void node_answer_clear(struct node_answer *answer)
{
    free(answer->reason);
    *answer = (struct node_answer){0};
}

size_t node_answer_bytes(const struct node_answer *answer)
{
    return answer->reason != NULL ? mem_block_bytes(answer->reason_length + STEP + 1) : 0;
}

void sorted_answers_init(struct sorted_answers *out, const struct node_answer *const *answers,
                         size_t count)
{
    uint32_t *block = xreallocarray(NULL, (count + 1) * NODE_FATES, sizeof *block);
    size_t bytes = 0, kept = 0, for_now = 0, refused = 0;

    *out = (struct sorted_answers){.answers = answers};
    for (size_t fate = 0; fate < NODE_FATES; fate++)
        out->positions[fate] = block + fate * (count + 1);
    for (size_t i = 0; i < count; i++) {
        enum node_fate fate = answers[i]->fate;

        /* Written to each and kept in one: which one it is cannot be foreseen. */
        out->positions[NODE_KEPT][kept] = (uint32_t)i;
        out->positions[NODE_REFUSED_FOR_NOW][for_now] = (uint32_t)i;
        out->positions[NODE_REFUSED][refused] = (uint32_t)i;
        kept += fate == NODE_KEPT;
        for_now += fate == NODE_REFUSED_FOR_NOW;
        refused += fate == NODE_REFUSED;
        bytes += answers[i]->reason_length;
    }
    out->counts[NODE_KEPT] = kept;
    out->counts[NODE_REFUSED_FOR_NOW] = for_now;
    out->counts[NODE_REFUSED] = refused;
    out->reason_bytes = bytes;
}

void sorted_answers_clear(struct sorted_answers *sorted)
{
    free(sorted->positions[0]); /* one block for all */
    *sorted = (struct sorted_answers){0};
}

/* An element of a list: a name, and the reason if there is one. */
static void put_element(struct writer *writer, const struct extender_args *args,
                        const struct sorted_answers *sorted, uint32_t position, bool is_first)
{
    const struct node_answer *answer = sorted->answers[position];

    put(writer, ",", !is_first);
    put_name(writer, args, position);
    if (answer->reason_length > 0)
        put(writer, answer->reason, answer->reason_length);
}

/*
 * The elements of a fate, the first aside, of names that stand in the body as they are written,
 * each behind a comma. What the loop needs is in variables of its own: whatever is written may be
 * anything, as far as the compiler knows.
 */
static inline void put_plain_elements(struct writer *writer, const struct extender_args *args,
                                      const struct sorted_answers *sorted, enum node_fate fate)
{
    const struct node_answer *const *answers = sorted->answers;
    const uint32_t *positions = sorted->positions[fate];
    const struct name_at *names = args->names;
    const char *body = args->name_base - strlen(",\"");
    size_t count = sorted->counts[fate], readable = args->name_limit;
    char *at = writer->at, *end = writer->end;

    for (size_t k = 1; k < count; k++) {
        struct name_at name = names[positions[k]];
        const struct node_answer *answer = fate == NODE_KEPT ? NULL : answers[positions[k]];
        size_t length = name.length + strlen(",\"\"");

        if ((size_t)(end - at) <
                length + STEP + (answer != NULL ? answer->reason_length + STEP : 0) ||
            readable - name.start < length + STEP) {
            writer->at = at;
            put_element(writer, args, sorted, positions[k], false);
            at = writer->at;
            end = writer->end;
            continue;
        }
        at = copy_steps(at, body + name.start, length);
        if (answer != NULL)
            at = copy_steps(at, answer->reason, answer->reason_length);
    }
    writer->at = at;
}

static void put_elements(struct writer *writer, const struct extender_args *args,
                         const struct sorted_answers *sorted, enum node_fate fate)
{
    if (sorted->counts[fate] > 0)
        put_element(writer, args, sorted, sorted->positions[fate][0], true);
    if (args->names_are_plain && fate == NODE_KEPT)
        put_plain_elements(writer, args, sorted, NODE_KEPT);
    else if (args->names_are_plain)
        put_plain_elements(writer, args, sorted, fate);
    for (size_t k = 1; !args->names_are_plain && k < sorted->counts[fate]; k++)
        put_element(writer, args, sorted, sorted->positions[fate][k], false);
}

static void put_kept_nodes(struct writer *writer, const struct extender_args *args,
                           const struct sorted_answers *sorted)
{
    for (size_t k = 0; k < sorted->counts[NODE_KEPT]; k++) {
        put(writer, ",", k > 0);
        put_text(writer, args->node_bytes[sorted->positions[NODE_KEPT][k]]);
    }
}

void extender_json_write_filter_result(struct buf *out, const struct extender_args *args,
                                       const struct sorted_answers *sorted)
{
    size_t count = extender_args_count(args);
    struct writer writer;

    open_writer(&writer, out, 256 + name_bytes(args) + count * 4 + sorted->reason_bytes);
    if (args->has_nodes) {
        put_text(&writer, "{\"Nodes\":{\"metadata\":{},\"items\":[");
        put_kept_nodes(&writer, args, sorted);
        put_text(&writer, "]},\"NodeNames\":null");
    } else {
        put_text(&writer, "{\"Nodes\":null,\"NodeNames\":[");
        put_elements(&writer, args, sorted, NODE_KEPT);
        put_text(&writer, "]");
    }
    put_text(&writer, ",\"FailedNodes\":{");
    put_elements(&writer, args, sorted, NODE_REFUSED_FOR_NOW);
    put_text(&writer, "},\"FailedAndUnresolvableNodes\":{");
    put_elements(&writer, args, sorted, NODE_REFUSED);
    put_text(&writer, "},\"Error\":\"\"}");
    hand_over(&writer);
}

/* --- prioritize ------------------------------------------------------------------------------ */

#define NEXT_HOST ",{\"Host\":"
#define SCORE(score) ",\"Score\":" #score "}" NEXT_HOST

/* What stands between a name and the next one, for each score. */
static const char score_texts[][STEP * 2] = {
    SCORE(0), SCORE(1), SCORE(2), SCORE(3), SCORE(4),  SCORE(5),
    SCORE(6), SCORE(7), SCORE(8), SCORE(9), SCORE(10),
};

/* Those of plain names, as put_plain_elements() does it, but for the last one. return how many. */
static size_t put_plain_scores(struct writer *writer, const struct extender_args *args,
                               const uint8_t *scores_0_10, const size_t *lengths)
{
    const struct name_at *names = args->names;
    const char *body = args->name_base - strlen("\"");
    size_t done = 0, readable = args->name_limit;
    char *at = writer->at, *end = writer->end;

    for (; done + 1 < args->name_count; done++) {
        size_t length = names[done].length + strlen("\"\""), score = scores_0_10[done];

        if ((size_t)(end - at) < length + 2 * STEP || readable - names[done].start < length + STEP)
            break;
        at = copy_steps(at, body + names[done].start, length);
        at = copy_steps(at, score_texts[score], lengths[score]);
    }
    writer->at = at;
    return done;
}

void extender_json_write_scores(struct buf *out, const struct extender_args *args,
                                const uint8_t *scores_0_10)
{
    size_t count = extender_args_count(args), lengths[ARRAY_LEN(score_texts)], done = 0;
    struct writer writer;

    for (size_t i = 0; i < ARRAY_LEN(score_texts); i++)
        lengths[i] = strlen(score_texts[i]);
    open_writer(&writer, out, 256 + name_bytes(args) + count * strlen("\"\"" SCORE(10)));
    put_text(&writer, "[");
    if (count > 0)
        put_text(&writer, &NEXT_HOST[1]);
    if (args->names_are_plain)
        done = put_plain_scores(&writer, args, scores_0_10, lengths);
    for (size_t i = done; i < count; i++) {
        size_t beyond = i + 1 == count ? strlen(NEXT_HOST) : 0; /* behind the last is no next */

        put_name(&writer, args, i);
        put(&writer, score_texts[scores_0_10[i]], lengths[scores_0_10[i]] - beyond);
    }
    put_text(&writer, "]");
    hand_over(&writer);
}

/* --- failures and bind ----------------------------------------------------------------------- */

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
