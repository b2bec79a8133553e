/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field cases about what arrives from the API server, through reflectors and intake into the
 * cluster: F28 a pod that goes while no watch is open, F50 big clusters in little memory.
 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/buf.h"
#include "topofit/intake.h"
#include "topofit/reflector.h"

#include <stdlib.h>

#define T0 1000000u

/* --- a story: the copy of a cluster, and the test as API server ------------------------------- */

struct story {
    struct cluster *cluster;
    struct intake *intake;
    struct reflector *nodes, *pods;
    uint64_t now_ms;
};

static struct reflector *reflector_of(enum kube_kind kind, struct reflector_sink sink)
{
    return reflector_new(&(struct reflector_options){.kind = kind, .sink = sink, .seed = 42});
}

static struct story *story_new(void)
{
    struct story *story = xcalloc(1, sizeof *story);

    story->now_ms = T0;
    story->cluster = cluster_new(&test_key);
    story->intake = intake_new(story->cluster, &test_classes, &(struct intake_listener){0});
    story->nodes = reflector_of(KUBE_NODE, intake_nodes(story->intake));
    story->pods = reflector_of(KUBE_POD, intake_pods(story->intake));
    return story;
}

static void story_free(struct story **place)
{
    cluster_check((*place)->cluster);
    reflector_free((*place)->nodes);
    reflector_free((*place)->pods);
    intake_free((*place)->intake);
    cluster_free((*place)->cluster);
    free(*place);
}

/* The next request of a reflector, whenever it comes; its path must contain `part`. */
static void take_request(struct story *story, struct reflector *reflector, const char *part)
{
    struct reflector_wish wish;

    do {
        reflector_next(reflector, story->now_ms, &wish);
        if (wish.action == REFLECTOR_WAIT)
            story->now_ms = wish.wait_until_ms;
    } while (wish.action != REFLECTOR_SEND);
    assert_contains(wish.path, part);
    reflector_on_begin(reflector, 200, 0, story->now_ms);
}

static void feed(struct story *story, struct reflector *reflector, const char *text)
{
    reflector_on_bytes(reflector, text, strlen(text), story->now_ms);
}

static void end_answer(struct story *story, struct reflector *reflector)
{
    reflector_on_end(reflector, NULL, story->now_ms);
}

static void list(struct story *story, struct reflector *reflector, const char *items)
{
    take_request(story, reflector, "?limit=");
    feed(story, reflector, "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[");
    feed(story, reflector, items);
    feed(story, reflector, "]}");
    end_answer(story, reflector);
}

/* What is in use on all nodes. */
static uint64_t used_mib(struct story *story)
{
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(story->cluster);
    uint64_t sum = 0;

    for (size_t i = 0; i < snapshot->count; i++) {
        const struct node_state *state = snapshot_state(snapshot, i);

        assert_int_equal(state->use.unattributed, 0);
        for (unsigned k = 0; k < state->use.device_count; k++)
            sum += state->use.devices[k].memory_mib;
    }
    return sum;
}

#define INVENTORY \
    "\"topofit.io/inventory\":\"{\\\"devices\\\":[{\\\"id\\\":\\\"GPU-0\\\",\\\"memoryMiB\\\":" \
    "81920,\\\"slots\\\":10},{\\\"id\\\":\\\"GPU-1\\\",\\\"memoryMiB\\\":81920,\\\"slots\\\":10}" \
    "]}\""
#define NODE_FORMAT \
    "{\"metadata\":{\"name\":\"n%u\",\"uid\":\"n%u\",\"annotations\":{" INVENTORY "}}}"
#define RECORD_FORMAT \
    "\"topofit.io/" \
    "allocation\":\"{\\\"version\\\":1,\\\"podUID\\\":\\\"%s%u\\\",\\\"node\\\":\\\"n%u\\\"," \
    "\\\"tier\\\":0," \
    "\\\"degraded\\\":false,\\\"containers\\\":[{\\\"name\\\":\\\"main\\\",\\\"kind\\\":" \
    "\\\"app\\\",\\\"devices\\\":[{\\\"id\\\":\\\"GPU-%u\\\",\\\"memoryMiB\\\":%u,\\\"cores\\\":" \
    "0,\\\"slots\\\":1,\\\"mode\\\":\\\"soft\\\"}]}]}\""

/* --- F28 (iv) -------------------------------------------------------------------------------- */

static void
test_f28__a_pod_that_went_while_no_watch_was_open_is_missing_from_the_next_list(void **state)
{
    AUTO(story_free) struct story *story = story_new();
    AUTO_FREE char *node = xasprintf(NODE_FORMAT, 1u, 1u);
    AUTO_FREE char *record = xasprintf(RECORD_FORMAT, "a", 1u, 1u, 0u, 81920u);
    AUTO_FREE char *a = xasprintf(
        "{\"metadata\":{\"name\":\"a\",\"namespace\":\"d\",\"uid\":\"a1\",\"annotations\":"
        "{%s}},\"spec\":{\"nodeName\":\"n1\"},\"status\":{\"phase\":\"Running\"}}",
        record);
    size_t count;

    (void)state;
    list(story, story->nodes, node);
    list(story, story->pods, a);
    assert_int_equal(used_mib(story), 81920);
    take_request(story, story->pods, "watch=1");
    story->now_ms += 5000;
    end_answer(story, story->pods); /* the server closes the watch; then the pod goes */
    take_request(story, story->pods, "watch=1");
    feed(story, story->pods,
         "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\","
         "\"message\":\"too old resource version\"}}\n");
    assert_int_equal(used_mib(story), 81920); /* nobody knows better yet */
    list(story, story->pods, "");
    assert_int_equal(used_mib(story), 0);
    assert_null(cluster_holdings(story->cluster, NULL, &count));
    assert_null(cluster_find_pod(story->cluster, "d", "a"));
}

/* --- F50 ------------------------------------------------------------------------------------- */

#define NODES 500u
#define PODS 10000u
#define BALLAST_BYTES 10000      /* twice in each pod */
#define BALLAST_LATER_BYTES 1000 /* in all lists but the first: what is dropped takes time too */

#ifdef __has_feature /* clang; gcc defines the others */
#define IS_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif
#define RELISTS (IS_SANITIZED ? 1 : 20) /* what takes memory there is the sanitizer */

/* Of ten pods one has a device and has ended, two more have ended, one has a device and runs. */
static bool has_device(unsigned pod)
{
    return pod % 5 == 0;
}

static bool is_finished(unsigned pod)
{
    return pod % 10 < 3;
}

static unsigned mib_of(unsigned pod)
{
    return 1000 + pod % 7;
}

/* One in ten of those with a device was placed by another scheduler, which wrote a record too. */
static void write_pod(unsigned pod, const char *ballast, struct buf *out)
{
    buf_reset(out);
    buf_addf(out,
             "%s{\"metadata\":{\"name\":\"p%u\",\"namespace\":\"d\",\"uid\":\"u%u\","
             "\"resourceVersion\":\"7\",\"managedFields\":[{\"manager\":\"kubectl\",\"fieldsV1\":"
             "{\"f:spec\":{\"f:%s\":{}}}}]",
             pod > 0 ? "," : "", pod, pod, ballast);
    if (has_device(pod)) {
        buf_add_text(out, ",\"annotations\":{");
        buf_addf(out, RECORD_FORMAT, "u", pod, pod % NODES, pod / NODES % 2, mib_of(pod));
        buf_add_text(out, "}");
    }
    buf_addf(out,
             "},\"spec\":{\"nodeName\":\"n%u\",\"schedulerName\":\"%s\",\"containers\":[{\"name\":"
             "\"main\",\"env\":[{\"name\":\"CONFIG\",\"value\":\"%s\"}]%s}]},\"status\":{\"phase\":"
             "\"%s\"}}",
             pod % NODES, pod % 50 == 5 ? "another" : "topofit-scheduler", ballast,
             has_device(pod) ? ",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}" : "",
             is_finished(pod) ? "Succeeded" : "Running");
}

static void list_big_cluster(struct story *story, struct buf *text, const char *ballast)
{
    take_request(story, story->pods, "/pods?limit=");
    feed(story, story->pods, "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[");
    for (unsigned pod = 0; pod < PODS; pod++) {
        write_pod(pod, ballast, text);
        assert_false(text->overflowed);
        feed(story, story->pods, buf_text(text));
    }
    feed(story, story->pods, "]}");
    end_answer(story, story->pods);
}

static void list_big_cluster_nodes(struct story *story)
{
    take_request(story, story->nodes, "/nodes?limit=");
    feed(story, story->nodes, "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[");
    for (unsigned node = 0; node < NODES; node++) {
        AUTO_FREE char *item = xasprintf("%s" NODE_FORMAT, node > 0 ? "," : "", node, node);

        feed(story, story->nodes, item);
    }
    feed(story, story->nodes, "]}");
    end_answer(story, story->nodes);
}

static size_t resident_kib(void)
{
    AUTO_FREE char *text = test_read_file("/proc/self/status", NULL);
    const char *line = strstr(text, "VmRSS:");

    assert_non_null(line);
    return strtoul(line + strlen("VmRSS:"), NULL, 10);
}

static void test_f50__a_big_cluster_takes_tens_of_megabytes_and_does_not_grow(void **state)
{
    AUTO(story_free) struct story *story = story_new();
    AUTO_FREE char *ballast = xcalloc(BALLAST_BYTES + 1, 1);
    struct buf text = buf_with_max(64u << 10);
    size_t before, synced, first = 0;
    uint64_t want_mib = 0, want_pods = 0;

    (void)state;
    memset(ballast, 'x', BALLAST_BYTES);
    for (unsigned pod = 0; pod < PODS; pod++) {
        want_mib += has_device(pod) && !is_finished(pod) ? mib_of(pod) : 0;
        want_pods += has_device(pod) && !is_finished(pod);
    }
    before = resident_kib();
    list_big_cluster_nodes(story);
    list_big_cluster(story, &text, ballast);
    synced = resident_kib();
    assert_int_equal(used_mib(story), want_mib);
    for (int i = 0; i < RELISTS; i++) {
        reflector_relist(story->pods, story->now_ms);
        list_big_cluster(story, &text, ballast + BALLAST_BYTES - BALLAST_LATER_BYTES);
        if (i == 0)
            first = resident_kib();
    }
    assert_int_equal(used_mib(story), want_mib);
    assert_int_equal(cluster_mix_origin(story->cluster).pods, want_pods); /* learned once */
    print_message("KiB: %zu before, %zu synced, %zu listed again, %zu in the end\n", before, synced,
                  first, resident_kib());
    if (!IS_SANITIZED) {
        assert_true(synced < 40u << 10);
        assert_true(resident_kib() * 10 < first * 11);
    }
    buf_clear(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_f28__a_pod_that_went_while_no_watch_was_open_is_missing_from_the_next_list),
        cmocka_unit_test(test_f50__a_big_cluster_takes_tens_of_megabytes_and_does_not_grow),
    };

    return cmocka_run_group_tests_name("field_cases_watch", tests, NULL, NULL);
}
