/* A test that is left out says why: scripts/count-tests.py prints it, and holds it against those that may be left out.
 */
#ifndef TAMIS_TEST_SKIP_H
#define TAMIS_TEST_SKIP_H

/* In a test of cmocka: the reason, as of printf. */
#define skip_because(...) (print_message("skipped: " __VA_ARGS__), print_message("\n"), skip())

#endif
