/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/admission_json.h"

#define POD \
    "{\"metadata\":{\"generateName\":\"train-\"},\"spec\":{\"containers\":[{\"name\":\"a\"}]}}"
#define PODS "\"resource\":{\"group\":\"\",\"version\":\"v1\",\"resource\":\"pods\"}"
#define REVIEW(version, request) \
    "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/" version \
    "\",\"request\":{" request "}}"
#define CREATE(more) \
    REVIEW("v1", "\"uid\":\"u1\"," PODS ",\"operation\":\"CREATE\",\"namespace\":\"ml\"," more)

static struct admission_review read_review(const char *text)
{
    struct admission_review review = {0};
    struct error err = {0};

    assert_ok(admission_json_read(text, strlen(text), &review, &err), &err);
    return review;
}

static void test_admission_json_read__finds_the_pod_that_is_created(void **state)
{
    AUTO(admission_review_clear)
    struct admission_review review = read_review(CREATE("\"dryRun\":true,\"object\":" POD));

    (void)state;
    assert_string_equal(review.uid, "u1");
    assert_string_equal(review.operation, "CREATE");
    assert_string_equal(review.namespace, "ml");
    assert_string_equal(review.name, "train-");
    assert_true(review.dry_run);
    assert_non_null(review.pod);
}

/* Whatever is no creation of a pod is not looked into. */
static const char *const others[] = {
    REVIEW("v1", "\"uid\":\"u1\"," PODS ",\"operation\":\"DELETE\",\"object\":null"),
    REVIEW("v1", "\"uid\":\"u1\"," PODS ",\"operation\":\"UPDATE\",\"object\":" POD),
    REVIEW("v1", "\"uid\":\"u1\"," PODS
                 ",\"operation\":\"CREATE\",\"subResource\":\"binding\",\"object\":{}"),
    REVIEW("v1", "\"uid\":\"u1\",\"resource\":{\"group\":\"apps\",\"version\":\"v1\","
                 "\"resource\":\"pods\"},\"operation\":\"CREATE\",\"object\":{}"),
    REVIEW("v1", "\"uid\":\"u1\""),
};

static void test_admission_json_read__sees_no_pod_in_other_questions(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        AUTO(admission_review_clear) struct admission_review review = read_review(others[i]);

        assert_null(review.pod);
        assert_false(review.dry_run);
    }
}

static const struct {
    const char *text, *why;
} wrong[] = {
    {"", "line 1"},
    {"{", "line 1"},
    {"[]", "kind is"},
    {"{}", "kind is \"\""},
    {"{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}", "kind is \"Pod\""},
    {"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v2\"}", "k8s.io/v2"},
    {"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\"}", "\"request\""},
    {REVIEW("v1", ""), "\"uid\""},
    {REVIEW("v1", "\"uid\":7"), "\"uid\""},
    {CREATE("\"object\":null"), "\"object\""},
    {CREATE("\"object\":[]"), "\"object\""},
};

static void test_admission_json_read__says_what_is_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct admission_review review = {0};
        struct error err = {0};

        assert_int_equal(admission_json_read(wrong[i].text, strlen(wrong[i].text), &review, &err),
                         -ERR_INVALID);
        assert_contains(err.text, wrong[i].why);
    }
}

static void
test_admission_json_read_pod__gives_a_pod_without_a_name_the_beginning_of_one(void **state)
{
    AUTO(admission_review_clear)
    struct admission_review review = read_review(CREATE("\"object\":" POD));
    AUTO(kube_pod_clear) struct kube_pod pod = {0};
    struct error err = {0};

    (void)state;
    assert_ok(admission_json_read_pod(review.pod, &pod, &err), &err);
    assert_string_equal(pod.meta.name, "train-");
    assert_int_equal(pod.container_count, 1);
    /* What came is as it was. */
    assert_null(json_object_get(json_object_get(review.pod, "metadata"), "name"));
}

static void test_admission_json_read_pod__says_where_it_is_no_pod(void **state)
{
    json_auto_t *pod = json_pack("{s:{s:s}}", "spec", "containers", "none");
    AUTO(kube_pod_clear) struct kube_pod out = {0};
    struct error err = {0};

    (void)state;
    assert_true(admission_json_read_pod(pod, &out, &err) < 0);
    assert_contains(err.text, "containers");
}

static char *write_answer(const struct admission_review *review, struct admission_answer answer)
{
    struct buf out = buf_with_max(10000);

    admission_json_write(review, &answer, &out);
    return buf_steal(&out);
}

static void test_admission_json_write__answers_in_the_version_of_the_question(void **state)
{
    AUTO(admission_review_clear)
    struct admission_review review = read_review(REVIEW("v1beta1", "\"uid\":\"a\\\"b\""));
    AUTO_FREE char *answer = write_answer(&review, (struct admission_answer){.allowed = true});

    (void)state;
    assert_string_equal(answer, "{\"kind\":\"AdmissionReview\","
                                "\"apiVersion\":\"admission.k8s.io/v1beta1\","
                                "\"response\":{\"uid\":\"a\\\"b\",\"allowed\":true}}");
}

static void test_admission_json_write__writes_patch_and_warnings(void **state)
{
    AUTO(admission_review_clear) struct admission_review review = read_review(others[4]);
    json_auto_t *patch = json_pack("[{s:s}]", "op", "add");
    json_auto_t *warnings = json_pack("[s,s]", "one", "two");
    AUTO_FREE char *answer = write_answer(
        &review, (struct admission_answer){.allowed = true, .patch = patch, .warnings = warnings});

    (void)state;
    assert_contains(answer, "\"allowed\":true,\"patchType\":\"JSONPatch\","
                            "\"patch\":\"W3sib3AiOiJhZGQifV0=\",\"warnings\":[\"one\",\"two\"]}}");
}

static void test_admission_json_write__writes_why_not(void **state)
{
    AUTO(admission_review_clear) struct admission_review review = read_review(others[4]);
    json_auto_t *patch = json_pack("[{s:s}]", "op", "add");
    AUTO_FREE char *answer = write_answer(
        &review, (struct admission_answer){
                     .code = 403, .reason = "Forbidden", .message = "no", .patch = patch});

    (void)state;
    assert_contains(answer, "\"allowed\":false,\"status\":{\"status\":\"Failure\",\"code\":403,"
                            "\"reason\":\"Forbidden\",\"message\":\"no\"}}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_admission_json_read__finds_the_pod_that_is_created),
        cmocka_unit_test(test_admission_json_read__sees_no_pod_in_other_questions),
        cmocka_unit_test(test_admission_json_read__says_what_is_wrong),
        cmocka_unit_test(
            test_admission_json_read_pod__gives_a_pod_without_a_name_the_beginning_of_one),
        cmocka_unit_test(test_admission_json_read_pod__says_where_it_is_no_pod),
        cmocka_unit_test(test_admission_json_write__answers_in_the_version_of_the_question),
        cmocka_unit_test(test_admission_json_write__writes_patch_and_warnings),
        cmocka_unit_test(test_admission_json_write__writes_why_not),
    };

    return cmocka_run_group_tests_name("admission_json", tests, NULL, NULL);
}
