/*
 * What the tuning cache has on disk of measured plans: it may be missing, damaged, doubtful, full, another process's,
 * or of a library that has more algorithms.
 */
#include "support/test.h"

#include <sys/wait.h>
#include <unistd.h>

#include "core/plan.h"
#include "core/registry.h"
#include "measured_case.h"
#include "select/choose.h"
#include "select/laboratory.h"
#include "select/measure.h"
#include "select/remembered.h"
#include "support/bytes.h"

static const char *plans_path(void) {
    static char path[64];
    snprintf(path, sizeof path, "%s/tamis/plans.txt", cache_folder);
    return path;
}

static void write_file(const char *text) { write_text(plans_path(), text); }

static char *read_file(void) {
    static char text[1 << 16];
    OWN(file_content) file = read_bytes(plans_path());
    snprintf(text, sizeof text, "%.*s", (int)file.size, (char *)file.data);
    return text;
}

/* Of the first line: what comes after the time, the certainty and the algorithm. */
static const char *key_of(const char *plans) {
    for (int i = 0; i < 3; i++) plans = strchr(plans + 1, '\t');
    return plans;
}

/* What cannot be read counts for nothing and is gone after the next plan. */
TEST_AS(damaged_files, .setup_func = forget) {
    OWN(problem) p = make_problem(usual());
    const tamis_options o = options_of(TAMIS_OP_SDDMM, &p);
    tamis_plan_report report;
    assert_int_equal(chosen_by(&p.S, &o), TAMIS_CHOSEN_MEASURED);
    char good[2048], text[4096];
    snprintf(good, sizeof good, "%.2000s", strchr(read_file(), '\n') + 1);
    const char *const key = key_of(good);
    static const char *const damaged[] = {"",
                                          "\n",
                                          "tamis plans 1\n",
                                          "no such format\n",
                                          "tamis plans 2\nnan\tsure\tcpu-nonzeros",
                                          "tamis plans 2\n-1\tsure\tcpu-nonzeros",
                                          "tamis plans 2\n1e-3x\tsure\tcpu-nonzeros",
                                          "tamis plans 2\n\tsure\tcpu-nonzeros",
                                          "tamis plans 2\n1e-3\tsure\t",
                                          "tamis plans 2\n1e-3\tperhaps\tcpu-nonzeros",
                                          "tamis plans 2\n1e-3\tsure\tnaive",
                                          "tamis plans 2\n1e-3\tsure\tno-such-algorithm",
                                          "tamis plans 2\n1e-3 cpu-nonzeros"};
    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++) {
        snprintf(text, sizeof text, "%s%s", damaged[i], key);
        write_file(text);
        if (chosen_by(&p.S, &o) != TAMIS_CHOSEN_MEASURED) fail_msg("%s", damaged[i]);
        assert_int_equal(plans_kept(), 1);
        assert_int_equal(strncmp(read_file(), "tamis plans 2\n", 14), 0);
        assert_int_equal(chosen_by(&p.S, &o), TAMIS_CHOSEN_REMEMBERED);
    }
    /* a line without an end is one that was cut */
    snprintf(text, sizeof text, "tamis plans 2\n%.*s", (int)strlen(good) - 1, good);
    write_file(text);
    assert_int_equal(chosen_by(&p.S, &o), TAMIS_CHOSEN_MEASURED);
    /* what it says is done, with lines around it that say nothing */
    snprintf(text, sizeof text, "tamis plans 2\nnonsense\n0.002\tsure\tcpu-tiled%sand\tmore\n", key);
    write_file(text);
    tamis_plan_destroy(make_plan(&p.S, &o, &report));
    assert_int_equal(report.chosen_by, TAMIS_CHOSEN_REMEMBERED);
    assert_string_equal(report.algorithm, "cpu-tiled");
    assert_true(report.measured_seconds == 0.002);
}

/* A library without the laboratory: this backend, without the rows that lab/ adds. */
static const tamis_backend *whole;

static const tamis_algorithm *without_laboratory(int number) {
    const tamis_algorithm *algorithm;
    for (int i = 0; (algorithm = whole->algorithm(i)) != NULL; i++)
        if (!tamis_laboratory_has(whole->location, algorithm->description.name) && number-- == 0) return algorithm;
    return NULL;
}

/* What is asked by name, and what the cache remembers, is not there: the error names the option. */
TEST_AS(laboratory_is_missing, .setup_func = forget) {
    OWN(problem) p = make_problem(usual());
    tamis_options o = options_of(TAMIS_OP_SDDMM, &p);
    tamis_choice choice = {.algorithm = NULL};
    tamis_prepared *prepared = NULL;
    o.effort = TAMIS_EFFORT_ESTIMATE;
    tamis_plan_report report;
    OWN(tamis_plan) *const plan = make_plan(&p.S, &o, &report);
    whole = plan->problem.backend;
    tamis_backend without = *whole;
    without.algorithm = without_laboratory;
    tamis_evidence evidence = plan->evidence;
    tamis_problem like = plan->problem;
    like.evidence = &evidence;
    like.parameters = "";
    like.backend = &without;
    REFUSED(
        UNSUPPORTED,
        "^algorithm = \"esimd-row-simd\" is a paper's method, and this library was built without the laboratory: build it with -DTAMIS_LAB=ON$",
        tamis_choose(&without, &like, "esimd-row-simd", false, &choice));
    assert_int_equal(tamis_choose(&without, &like, "esimd-rows", false, &choice), TAMIS_ERROR_ARGUMENT);
    /* what a measured plan chose with the laboratory */
    works(tamis_choose(&without, &like, NULL, false, &choice));
    works(tamis_choose_measured(&like, &plan->device->description, NULL, &choice, &prepared));
    without.release(prepared);
    assert_int_equal(plans_kept(), 1);
    char text[2048], key[1536];
    snprintf(key, sizeof key, "%s", key_of(read_file()));
    snprintf(text, sizeof text, "tamis plans 2\n0.002\tsure\tesimd-row-simd%s", key);
    write_file(text);
    works(tamis_choose(&without, &like, NULL, false, &choice));
    assert_int_equal(tamis_choose_measured(&like, &plan->device->description, NULL, &choice, &prepared),
                     TAMIS_ERROR_UNSUPPORTED);
    assert_null(prepared);
    assert_non_null(strstr(tamis_last_error(), "the tuning cache has a plan with algorithm = \"esimd-row-simd\""));
    assert_non_null(strstr(tamis_last_error(), "-DTAMIS_LAB=ON"));
}

/* Every method that is neither ours nor the baseline is known by name, and no other one is. */
TEST(laboratory_is_known) {
    const tamis_backend *backend;
    const tamis_algorithm *algorithm;
    for (int b = 0; (backend = tamis_backend_at(b)) != NULL; b++)
        for (int i = 0; (algorithm = backend->algorithm(i)) != NULL; i++) {
            const char *const source = algorithm->description.source, *const method = algorithm->description.name;
            const bool papers = strncmp(source, "ours", 4) != 0 && strcmp(source, "baseline") != 0;
            if (tamis_laboratory_has(backend->location, method) != papers) fail_msg("%s of %s", method, backend->name);
        }
}

/* Parameters that only one algorithm has, of one that is a candidate for such a plan. */
static const char *parameters_of_one(const tamis_sparse *S, const tamis_options *o, const char **algorithm) {
    static const char *const own[][2] = {
        {"cpu-panels", "least=4"}, {"cpu-tiled", "block_rows=16"}, {"esimd-row-simd", "vlc=16"}};
    tamis_plan_report report;
    OWN(tamis_plan) *const plan = make_plan(S, o, &report);
    const char *parameters = NULL;
    for (int i = 0; i < report.candidates && !parameters; i++) {
        const char *name_of_it = NULL;
        works(tamis_plan_candidate(plan, i, &name_of_it, NULL, NULL));
        for (size_t j = 0; j < sizeof own / sizeof own[0]; j++)
            if (strcmp(own[j][0], name_of_it) == 0) {
                *algorithm = own[j][0];
                parameters = own[j][1];
            }
    }
    assert_non_null(parameters);
    return parameters;
}

/* Without a cache_folder, and where nothing may be kept, each plan measures. */
TEST_AS(switched_off, .setup_func = forget) {
    OWN(problem) p = make_problem(usual());
    const tamis_options o = options_of(TAMIS_OP_SPMM, &p);
    setenv("TAMIS_CACHE_BYTES", "0", 1);
    for (int i = 0; i < 2; i++) assert_int_equal(chosen_by(&p.S, &o), TAMIS_CHOSEN_MEASURED);
    unsetenv("TAMIS_CACHE_BYTES");
    setenv("XDG_CACHE_HOME", "/dev/null/none", 1);
    for (int i = 0; i < 2; i++) assert_int_equal(chosen_by(&p.S, &o), TAMIS_CHOSEN_MEASURED);
    setenv("XDG_CACHE_HOME", cache_folder, 1);
    assert_int_equal(plans_kept(), 0);
    /* parameters are for one algorithm: they narrow the candidates, and the result is not kept */
    tamis_options with = o;
    const char *only = NULL;
    with.parameters = parameters_of_one(&p.S, &o, &only);
    tamis_remembered_clear();
    tamis_plan_report report;
    tamis_plan *plan = make_plan(&p.S, &with, &report);
    assert_string_equal(report.algorithm, only);
    assert_int_equal(plans_kept(), 0);
    int passed_over = 0;
    for (int i = 0; i < report.declined; i++) {
        const char *reason = NULL;
        works(tamis_plan_declined(plan, i, NULL, &reason));
        passed_over += strstr(reason, "it could not be measured: parameters: ") != NULL;
    }
    assert_int_equal(passed_over, report.candidates - 1);
    tamis_plan_destroy(plan);
    with.parameters = "of_none=1";
    REFUSED(ARGUMENT, "of_none", tamis_plan_create(test_device, &p.S, &with, &plan));
}

/* What was measured while others used the processors is measured again, and is sure when the same algorithm wins. */
TEST_AS(doubtful_plans_are_measured_again, .setup_func = forget) {
    OWN(problem) p = make_problem(usual());
    const tamis_options o = options_of(TAMIS_OP_SDDMM, &p);
    char busy[16];
    snprintf(busy, sizeof busy, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    setenv("TAMIS_LOAD", busy, 1);
    tamis_plan_report report;
    tamis_plan *plan = make_plan(&p.S, &o, &report);
    assert_int_equal(report.chosen_by, TAMIS_CHOSEN_MEASURED);
    assert_explains(plan, "doubtful, and measured again for the next plan: other processes used");
    tamis_plan_destroy(plan);
    assert_non_null(strstr(read_file(), "\tdoubtful\t"));
    assert_int_equal(chosen_by(&p.S, &o), TAMIS_CHOSEN_MEASURED);
    assert_int_equal(plans_kept(), 1);
    setenv("TAMIS_LOAD", "0", 1);
    (void)chosen_by(&p.S, &o); /* measured again, unless the one before had the same winner */
    assert_non_null(strstr(read_file(), "\tsure\t"));
    assert_int_equal(chosen_by(&p.S, &o), TAMIS_CHOSEN_REMEMBERED);
}

TEST_AS(file_is_bounded, .setup_func = forget) {
    char key[32];
    tamis_remembered plan = {"cpu-nonzeros", 1, false}, found;
    for (int i = 0; i < 1010; i++) {
        snprintf(key, sizeof key, "key %d", i);
        plan.seconds = i + 1;
        tamis_remembered_keep(key, &plan);
    }
    assert_int_equal(plans_kept(), 1000);
    assert_true(tamis_remembered_find("key 1009", &found) && found.seconds == 1010);
    assert_true(tamis_remembered_find("key 10", &found) && found.seconds == 11);
    assert_false(tamis_remembered_find("key 9", &found));
    assert_false(tamis_remembered_find("key", &found));
}

/* Processes that write at the same time: whatever is left is whole. */
TEST_AS(processes_meet, .setup_func = forget) {
    enum { PROCESSES = 4, EACH = 50 };
    for (int process = 0; process < PROCESSES; process++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child > 0) continue;
        for (int i = 0; i < EACH; i++) {
            char key[64];
            tamis_remembered plan = {"cpu-nonzeros", process + 1, false}, found;
            snprintf(key, sizeof key, "process %d, plan %d", process, i);
            tamis_remembered_keep(key, &plan);
            if (tamis_remembered_find(key, &found) && found.seconds != plan.seconds) _exit(1);
        }
        _exit(0);
    }
    for (int process = 0; process < PROCESSES; process++) {
        int status = 0;
        assert_true(wait(&status) > 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_true(plans_kept() >= EACH);
    char command[128];
    snprintf(command, sizeof command, "ls %s/tamis | grep -q 'plans.txt[.]'", cache_folder); /* drafts */
    assert_int_not_equal(system(command), 0);
    int64_t lines = 0;
    for (const char *at = read_file(); (at = strchr(at, '\n')) != NULL; at++) lines++;
    assert_int_equal(lines, plans_kept() + 1);
}

TEST_FIXTURE(measured_set_up, measured_tear_down)
