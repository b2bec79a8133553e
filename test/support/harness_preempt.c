/* SPDX-License-Identifier: Apache-2.0 */
/* harness_preempt - preempt calls of the made-up kube-scheduler. */
#include "support/harness.h"

#include <stdlib.h>

#define PROPOSALS_MAX_BYTES 4096

static const struct moment test_now = {.monotonic_ms = 5000, .unix_ms = 1780000000000};

/* --- the question ---------------------------------------------------------------------------- */

static const char *uid_of(const json_t *pod)
{
    return json_string_value(json_object_get(json_object_get(pod, "metadata"), "uid"));
}

static json_t *victim_json(const struct harness *harness, const char *name)
{
    json_t *pod = json_object_get(harness->pods, name);
    AUTO_FREE char *uid = pod != NULL ? xstrdup(uid_of(pod)) : xasprintf("uid-%s", name);

    if (!harness->sends_nodes)
        return json_pack("{s:s}", "UID", uid);
    return pod != NULL ? json_incref(pod) : json_pack("{s:{s:s}}", "metadata", "uid", uid);
}

/* "n1: p1 p2" */
static void add_proposal(const struct harness *harness, char *text, json_t *nodes)
{
    json_t *victims = json_array();
    char *rest = NULL, *name = text + strspn(text, " ");
    char *colon = strchr(name, ':');

    assert_non_null(colon);
    *colon = '\0';
    for (char *at = strtok_r(colon + 1, " ", &rest); at != NULL; at = strtok_r(NULL, " ", &rest))
        json_array_append_new(victims, victim_json(harness, at));
    json_object_set_new(nodes, name,
                        json_pack("{s:o,s:i}", "Pods", victims, "NumPDBViolations", 0));
}

char *preempt_body(const struct harness *harness, const char *pod, const char *proposals)
{
    AUTO_FREE char *text = xstrdup(proposals);
    json_t *nodes = json_object(), *question;
    char *rest = NULL, *body;

    for (char *at = strtok_r(text, ";", &rest); at != NULL; at = strtok_r(NULL, ";", &rest))
        add_proposal(harness, at, nodes);
    question = json_pack("{s:O,s:n,s:n}", "Pod", api_pod_json(harness, pod), "NodeNameToVictims",
                         "NodeNameToMetaVictims");
    json_object_set_new(
        question, harness->sends_nodes ? "NodeNameToVictims" : "NodeNameToMetaVictims", nodes);
    body = json_dumps(question, JSON_COMPACT);
    json_decref(question);
    return body;
}

/* --- the answer ------------------------------------------------------------------------------ */

static json_t *answer_of(const struct harness *harness, const char *node)
{
    return json_object_get(json_object_get(harness->parsed, "NodeNameToMetaVictims"), node);
}

static const json_t *pod_with_uid(const struct harness *harness, const char *uid)
{
    const char *name;
    json_t *pod;

    json_object_foreach(harness->pods, name, pod)
    {
        if (strcmp(uid_of(pod), uid) == 0)
            return pod;
    }
    fail_msg("there is no pod with the uid %s", uid);
    return NULL;
}

static long long priority_of(const json_t *pod)
{
    return json_integer_value(json_object_get(json_object_get(pod, "spec"), "priority"));
}

static const char *node_of(const json_t *pod)
{
    return json_string_value(json_object_get(json_object_get(pod, "spec"), "nodeName"));
}

static void check_victims(const struct harness *harness, const json_t *preemptor, const char *node,
                          const json_t *victims)
{
    long long last = priority_of(preemptor) - 1;

    for (size_t i = 0; i < json_array_size(victims); i++) {
        const char *uid = json_string_value(json_object_get(json_array_get(victims, i), "UID"));
        const json_t *pod = pod_with_uid(harness, uid);

        assert_string_equal(node_of(pod), node);
        assert_true(priority_of(pod) <= last);
        last = priority_of(pod);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(
                uid, json_string_value(json_object_get(json_array_get(victims, k), "UID")));
    }
}

void ask_preempt(struct harness *harness, const char *pod, const char *proposals)
{
    AUTO_FREE char *body = preempt_body(harness, pod, proposals);
    AUTO(buf_clear) struct buf out = buf_with_max(1 << 20);
    struct error err = {0};
    const char *node;
    json_t *answer;

    assert_ok(extender_preempt(&harness->extender, body, strlen(body), test_now, &out, &err), &err);
    free(harness->answer);
    json_decref(harness->parsed);
    harness->answer = buf_steal(&out);
    harness->parsed = json_loads(harness->answer, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(harness->parsed);
    json_object_foreach(json_object_get(harness->parsed, "NodeNameToMetaVictims"), node, answer)
    {
        AUTO_FREE char *asked = xasprintf("%s:", node);

        assert_contains(proposals, asked);
        check_victims(harness, api_pod_json(harness, pod), node, json_object_get(answer, "Pods"));
    }
}

void expect_victims(const struct harness *harness, const char *node, const char *victims)
{
    AUTO(buf_clear) struct buf got = buf_with_max(PROPOSALS_MAX_BYTES);
    const json_t *answer = answer_of(harness, node), *victim;
    size_t i;

    if (answer == NULL && victims == NULL)
        return;
    if (answer == NULL || victims == NULL)
        fail_msg("%s: expected %s: %s", node, victims != NULL ? victims : "no answer",
                 harness->answer);
    json_array_foreach(json_object_get(answer, "Pods"), i, victim)
    {
        const json_t *pod =
            pod_with_uid(harness, json_string_value(json_object_get(victim, "UID")));

        buf_addf(&got, "%s%s", i > 0 ? " " : "",
                 json_string_value(json_object_get(json_object_get(pod, "metadata"), "name")));
    }
    if (strcmp(buf_text(&got), victims) != 0)
        fail_msg("%s: victims \"%s\", expected \"%s\"", node, buf_text(&got), victims);
}

long long violations_of(const struct harness *harness, const char *node)
{
    return json_integer_value(json_object_get(answer_of(harness, node), "NumPDBViolations"));
}
