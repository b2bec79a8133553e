/* SPDX-License-Identifier: Apache-2.0 */
#include "support/admitting.h"

#include "support/patching.h"
#include "support/test.h"

#include "topofit/base64.h"
#include "topofit/class.h"
#include "topofit/extender.h"

#include <stdlib.h>

#define UID "705ab4f5-6393-11e8-b7cc-42010a800002"
#define ANSWER_MAX (4u << 20)

json_t *admitting_tree(const char *text)
{
    AUTO_FREE char *copy = xstrdup(text);
    json_error_t why;
    json_t *tree;

    for (char *at = copy; *at != '\0'; at++) {
        if (*at == '\'')
            *at = '"';
    }
    tree = json_loads(copy, JSON_DECODE_ANY, &why);
    if (tree == NULL)
        fail_msg("%s: %s", why.text, copy);
    return tree;
}

struct admit_policy admitting_policy(void)
{
    return (struct admit_policy){
        .scheduler_name = "topofit-scheduler", .runtime_class_name = "", .guarded_classes = ""};
}

void admitting_classes(struct class_table *out)
{
    static const char yaml[] = "name: nvidia\nresources: {profiles: nvidia.com/mig-}\n";
    struct error err = {0};

    classes_builtin(out);
    assert_ok(classes_read(out, NULL, yaml, sizeof yaml - 1, &err), &err);
    assert_ok(class_table_index(out, &err), &err);
}

void admitted_clear(struct admitted *admitted)
{
    free(admitted->message);
    free(admitted->warning);
    json_decref(admitted->operations);
    json_decref(admitted->pod);
    *admitted = (struct admitted){0};
}

char *admitting_answer(const char *review, const struct admit_policy *policy)
{
    AUTO(class_table_clear) struct class_table classes = {0};
    struct extender extender = {.classes = &classes, .options = {.admit = *policy}};
    struct buf out = buf_with_max(ANSWER_MAX);
    struct error err = {0};

    admitting_classes(&classes);
    assert_ok(extender_admit(&extender, review, strlen(review), (struct moment){0}, &out, &err),
              &err);
    assert_false(out.overflowed);
    return buf_steal(&out);
}

static json_t *review_of(const json_t *pod)
{
    return json_pack("{s:s, s:s, s:{s:s, s:{s:s, s:s, s:s}, s:s, s:s, s:b, s:O}}", "apiVersion",
                     "admission.k8s.io/v1", "kind", "AdmissionReview", "request", "uid", UID,
                     "resource", "group", "", "version", "v1", "resource", "pods", "operation",
                     "CREATE", "namespace", "default", "dryRun", 0, "object", (json_t *)pod);
}

static json_t *operations_of(const json_t *response)
{
    const char *coded = json_string_value(json_object_get(response, "patch"));
    AUTO_FREE char *text = NULL;
    size_t length = 0;
    struct error err = {0};
    json_t *operations;

    /* Both or none. source: Kubernetes documentation, "Dynamic Admission Control", response */
    assert_int_equal(coded != NULL, json_object_get(response, "patchType") != NULL);
    if (coded == NULL)
        return json_array();
    assert_string_equal(json_string_value(json_object_get(response, "patchType")), "JSONPatch");
    assert_ok(base64_decode(coded, &text, &length, &err), &err);
    operations = json_loadb(text, length, 0, NULL);
    assert_true(json_array_size(operations) > 0);
    return operations;
}

static struct admitted ask_once(const json_t *pod, const struct admit_policy *policy)
{
    json_auto_t *review = review_of(pod);
    AUTO_FREE char *question = json_dumps(review, 0);
    AUTO_FREE char *answer = admitting_answer(question, policy);
    json_auto_t *document = json_loads(answer, 0, NULL);
    const json_t *response = json_object_get(document, "response");
    struct admitted out;

    assert_string_equal(admitting_text(document, "/apiVersion"), "admission.k8s.io/v1");
    assert_string_equal(admitting_text(document, "/kind"), "AdmissionReview");
    assert_string_equal(admitting_text(response, "/uid"), UID);
    out = (struct admitted){
        .allowed = json_is_true(json_object_get(response, "allowed")),
        .code = (int)json_integer_value(admitting_at(response, "/status/code")),
        .message = xstrdup(admitting_text(response, "/status/message")),
        .warning = xstrdup(admitting_text(response, "/warnings/0")),
        .operations = operations_of(response),
    };
    out.pod = patching_apply(pod, out.operations);
    assert_int_equal(out.allowed, out.message[0] == '\0');
    return out;
}

struct admitted admitting_ask(const json_t *pod, const struct admit_policy *policy)
{
    struct admitted first = ask_once(pod, policy);

    if (first.allowed) {
        AUTO(admitted_clear) struct admitted again = ask_once(first.pod, policy);

        assert_true(again.allowed);
        assert_int_equal(json_array_size(again.operations), 0);
    }
    return first;
}

struct admitted admitting_ask_text(const char *pod, const struct admit_policy *policy)
{
    json_auto_t *tree = admitting_tree(pod);

    return admitting_ask(tree, policy);
}

/* Names without ~ and /, as tests need them, and ~1 for the / of a resource. */
const json_t *admitting_at(const json_t *tree, const char *pointer)
{
    while (tree != NULL && *pointer == '/') {
        char part[128] = "";
        size_t length = 0;

        for (pointer++; *pointer != '\0' && *pointer != '/'; pointer++) {
            bool escaped = pointer[0] == '~' && pointer[1] == '1';

            part[length++] = escaped ? '/' : *pointer;
            pointer += escaped;
            assert_true(length < sizeof part);
        }
        tree = json_is_array(tree) ? json_array_get(tree, (size_t)atol(part))
                                   : json_object_get(tree, part);
    }
    return tree;
}

const char *admitting_text(const json_t *tree, const char *pointer)
{
    const char *text = json_string_value(admitting_at(tree, pointer));

    return text != NULL ? text : "";
}
