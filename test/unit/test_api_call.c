/* SPDX-License-Identifier: Apache-2.0 */
/* What an answer says about its request. */
#include "support/test.h"

#include "topofit/api_call.h"

#define STATUS(code, more) "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":" code more "}"
#define PAGE "<html>an ingress</html>"

static struct api_refusal judge(int status, unsigned retry_after_s, const char *body)
{
    struct api_answer answer = {status, retry_after_s, body, strlen(body)};
    struct api_refusal refusal;

    api_answer_judge(&answer, &refusal);
    return refusal;
}

static void test_judge__believes_a_4xx_of_the_server_alone(void **state)
{
    static const struct {
        int status;
        const char *body;
        enum api_fate fate;
    } cases[] = {
        {403, STATUS("403", ""), API_REFUSED},
        {404, STATUS("404", ""), API_REFUSED},
        {409, STATUS("409", ""), API_REFUSED},
        {422, STATUS("422", ""), API_REFUSED},
        {403, PAGE, API_IN_DOUBT},
        {404, "", API_IN_DOUBT},
        {404, STATUS("500", ""), API_IN_DOUBT}, /* somebody on the way changed it */
        {500, STATUS("500", ""), API_IN_DOUBT},
        {504, STATUS("504", ""), API_IN_DOUBT},
        {502, PAGE, API_IN_DOUBT},
        {302, "", API_IN_DOUBT},
        {202, STATUS("202", ""), API_IN_DOUBT}, /* where 201 would have been the word */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(judge(cases[i].status, 0, cases[i].body).fate, cases[i].fate);
}

static void test_judge__believes_whoever_turns_a_request_away(void **state)
{
    (void)state;
    assert_int_equal(judge(401, 0, PAGE).fate, API_TURNED_AWAY);
    assert_int_equal(judge(429, 0, PAGE).fate, API_TURNED_AWAY);
    assert_int_equal(judge(429, 0, STATUS("429", "")).fate, API_TURNED_AWAY);
}

static void test_judge__knows_who_wrote_it(void **state)
{
    (void)state;
    assert_true(judge(404, 0, STATUS("404", "")).is_servers_own);
    assert_true(judge(503, 0, STATUS("503", "")).is_servers_own);
    assert_false(judge(404, 0, PAGE).is_servers_own);
    assert_string_equal(judge(404, 0, PAGE).status.message, PAGE);
}

static void test_judge__takes_the_longer_retry_after_of_header_and_body(void **state)
{
    static const char *const body = STATUS("429", ",\"details\":{\"retryAfterSeconds\":7}");

    (void)state;
    assert_int_equal(judge(429, 0, "").retry_after_s, 0);
    assert_int_equal(judge(429, 3, "").retry_after_s, 3);
    assert_int_equal(judge(429, 0, body).retry_after_s, 7);
    assert_int_equal(judge(429, 3, body).retry_after_s, 7);
    assert_int_equal(judge(429, 9, body).retry_after_s, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_judge__believes_a_4xx_of_the_server_alone),
        cmocka_unit_test(test_judge__believes_whoever_turns_a_request_away),
        cmocka_unit_test(test_judge__knows_who_wrote_it),
        cmocka_unit_test(test_judge__takes_the_longer_retry_after_of_header_and_body),
    };

    return cmocka_run_group_tests_name("api_call", tests, NULL, NULL);
}
