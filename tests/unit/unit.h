/* The frame of a unit test program: `UNIT_MAIN(suite)` behind a function `static Suite *suite(void)`.
 * Tests run in one process, so that the sanitizers see leaks and a debugger sees the fault; CK_FORK=yes in the environment
 * gives each test a process of its own. The last line is check's summary: "100%: Checks: N, Failures: 0, Errors: 0". */
#ifndef SNIPARA_TESTS_UNIT_H
#define SNIPARA_TESTS_UNIT_H

#include <check.h>
#include <stdlib.h>

#define UNIT_ROWS(table) ((int)(sizeof(table) / sizeof *(table)))

static inline int unit_run(Suite *suite) {
    SRunner *runner = srunner_create(suite);
    int failed;

    if (!getenv("CK_FORK"))
        srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* One named group of tests; add to it with tcase_add_test(), or tcase_add_loop_test() for a table whose row is _i. */
static inline TCase *unit_group(Suite *suite, const char *name) {
    TCase *group = tcase_create(name);

    tcase_set_timeout(group, 30);
    suite_add_tcase(suite, group);
    return group;
}

#define UNIT_MAIN(suite_function) \
    int main(void) { return unit_run(suite_function()); }

#endif
