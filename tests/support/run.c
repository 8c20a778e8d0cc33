/*
 * The program of an area's tests:
 *
 *   tamis_test_AREA FILE [ARGUMENTS]    the tests of tests/.../FILE.c, in this process
 *   tamis_test_AREA                     those of every file, each file in a process of its own
 *   tamis_test_AREA --list              their names
 *
 * -k PATTERN before these runs the tests alone whose names match it (* and ?), --seed N draws what seed N draws.
 * --draw SECONDS tries cases of operation rows (operation.h), those of FILE or of all, until the time is over: each by
 * a seed of its own, from N on; --draws COUNT so many. It prints the seed of a failure, which --draws 1 --seed repeats.
 */
#include "support/test.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static test_row *rows;
static const char *file; /* that runs: its path or name */

enum { NAME = 64 };

/* The file's name without folder and suffix. */
static void name_of(const char *path, char name[NAME]) {
    const char *const slash = strrchr(path, '/'), *const begin = slash ? slash + 1 : path;
    snprintf(name, NAME, "%.*s", (int)strcspn(begin, "."), begin);
}

static int compare_names(const char *a, const char *b) {
    char name_a[NAME], name_b[NAME];
    name_of(a, name_a);
    name_of(b, name_b);
    return strcmp(name_a, name_b);
}

void test_register(test_row *row) {
    test_row **at = &rows;
    for (; *at; at = &(*at)->next) {
        const int order = compare_names((*at)->path, row->path);
        if (order > 0 || (order == 0 && (*at)->line > row->line)) break;
    }
    row->next = *at;
    *at = row;
}

static CMFixtureFunction wrapped;
static bool failed;

/* cmocka 1.1.5 prints that a group's teardown failed and then returns 0, so that a leak found there would pass. */
static int noted_tear_down(void **state) {
    failed = true; /* an assertion that fails in it does not come back */
    failed = wrapped(state) != 0;
    return failed;
}

int test_run(const char *name, const char *tag, CMFixtureFunction set_up, CMFixtureFunction tear_down) {
    struct CMUnitTest tests[512];
    char group[NAME];
    size_t count = 0;
    name_of(file, group);
    for (const test_row *row = rows; row; row = row->next) {
        if (!row->test.test_func || compare_names(row->path, file) != 0) continue;
        if (tag && (!row->tag || strcmp(row->tag, tag) != 0)) continue;
        if (count == sizeof tests / sizeof *tests) abort();
        tests[count++] = row->test;
    }
    if (count == 0) {
        printf("no test of %s has the tag %s\n", group, tag);
        return 1;
    }
    wrapped = tear_down;
    failed = false;
    return _cmocka_run_group_tests(name ? name : group, tests, count, set_up, tear_down ? noted_tear_down : NULL) +
           failed;
}

static int run_file(int argc, char **argv) {
    bool known = false;
    CMFixtureFunction set_up = NULL, tear_down = NULL;
    file = argv[0];
    for (const test_row *row = rows; row; row = row->next) {
        if (compare_names(row->path, file) != 0) continue;
        if (row->run) return row->run(argc, argv);
        if (!row->test.test_func) set_up = row->test.setup_func, tear_down = row->test.teardown_func;
        known = true;
    }
    if (known) return test_run(NULL, NULL, set_up, tear_down);
    fprintf(stderr, "no file %s has tests here: --list names those that have\n", file);
    return 2;
}

/* ------------------------------------------------------------------------------------------ drawn cases */

static double draw_until;
static uint64_t draw_seed, draw_count, draw_most; /* 0: until the time is over */

static bool draws(const test_row *row) { return row->draw && (!file || compare_names(row->path, file) == 0); }

double test_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void draw_cases(void **state) {
    uint64_t count = 0;
    for (const test_row *row = rows; row; row = row->next) count += draws(row);
    if (count == 0) fail_msg("--draw is for operation rows: there are none here");
    for (;; draw_seed++) {
        uint64_t at = draw_seed % count;
        const test_row *row = rows;
        while (!draws(row) || at-- > 0) row = row->next;
        row->draw(draw_seed);
        draw_count++;
        if (draw_most > 0 ? draw_count == draw_most : test_seconds() >= draw_until) return;
    }
}

static int run_draws(const char *most, bool times) {
    const struct CMUnitTest test = {.name = "draws", .test_func = draw_cases};
    const char *const given = getenv("TAMIS_TEST_SEED");
    draw_seed = given ? strtoull(given, NULL, 10) : (uint64_t)(test_seconds() * 1000);
    draw_most = times ? strtoull(most, NULL, 10) : 0;
    draw_until = test_seconds() + atof(most);
    printf("drawn from seed %llu on\n", (unsigned long long)draw_seed);
    const int failures = _cmocka_run_group_tests("draws", &test, 1, NULL, NULL);
    printf("%llu cases\n", (unsigned long long)draw_count);
    if (failures)
        printf("failed: --draws 1 --seed %llu%s%s repeats it\n", (unsigned long long)draw_seed, file ? " " : "",
               file ? file : "");
    return failures;
}

/* The number of files with failures. */
static int run_all(void) {
    int failures = 0;
    for (const test_row *row = rows, *last = NULL; row; last = row, row = row->next) {
        if (last && compare_names(last->path, row->path) == 0) continue;
        char name[NAME], *arguments[] = {name, NULL};
        int status = 0;
        name_of(row->path, name);
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) exit(run_file(1, arguments));
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
            (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 77)) {
            printf("FAILED: %s\n", name);
            failures++;
        }
    }
    return failures;
}

int main(int argc, char **argv) {
    bool list = false, times = false;
    const char *draw = NULL;
    int at = 1;
    setenv("TAMIS_PROBE", "0", 0); /* the machine is not measured, unless a test asks */
    for (; at < argc && argv[at][0] == '-'; at++) {
        if (strcmp(argv[at], "--list") == 0) {
            list = true;
        } else if (at + 1 < argc && strcmp(argv[at], "-k") == 0) {
            cmocka_set_test_filter(argv[++at]);
        } else if (at + 1 < argc && strcmp(argv[at], "--seed") == 0) {
            setenv("TAMIS_TEST_SEED", argv[++at], 1);
        } else if (at + 1 < argc && strncmp(argv[at], "--draw", 6) == 0) {
            times = argv[at][6] == 's';
            draw = argv[++at];
        } else {
            fprintf(stderr,
                    "%s [-k PATTERN] [--seed N] [--list] [--draw SECONDS] [--draws COUNT] [FILE [ARGUMENTS]]; not %s\n",
                    argv[0], argv[at]);
            return 2;
        }
    }
    for (const test_row *row = rows; list && row; row = row->next) {
        char name[NAME];
        name_of(row->path, name);
        if (row->test.test_func) printf("%s.%s\n", name, row->test.name);
    }
    if (list) return 0;
    if (draw) {
        file = at < argc ? argv[at] : NULL;
        return run_draws(draw, times);
    }
    return at < argc ? run_file(argc - at, argv + at) : run_all() > 0;
}
