/* What a plan says of itself and what it makes of its options. */
#include <tamis/algorithms.h>
#include <tamis/cache.h>
#include <tamis/ceilings.h>

#include "support/test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "core/plan.h"
#include "cpu/predict.h"
#include "cpu_device.h"
#include "select/choose.h"
#include "small.h"
#include "support/algorithms.h"
#include "support/decimal_comma.h"

static tamis_plan *make(const tamis_sparse *S, const tamis_options *o) {
    tamis_plan *plan = NULL;
    works(tamis_plan_create(device, S, o, &plan));
    return plan;
}

static tamis_plan_report described(const tamis_plan *plan) {
    tamis_plan_report report;
    works(tamis_plan_describe(plan, &report));
    return report;
}

/* Milliseconds with three digits, behind these words. */
static void assert_in_text(const char *text, const char *words, double seconds) {
    const char *const at = strstr(text, words);
    assert_non_null(at);
    assert_true(fabs(strtod(at + strlen(words), NULL) - 1e3 * seconds) <= 0.0051 * 1e3 * seconds);
}

TEST(test_explain) {
    small s;
    small_make(&s);
    tamis_options o = small_options(TAMIS_OP_FUSED);
    o.b_layout = TAMIS_COLUMN_MAJOR;
    OWN(tamis_plan) *const plan = make(&s.coo, &o);
    size_t needed = 0;
    works(tamis_plan_explain(plan, NULL, 0, &needed));
    assert_true(needed > 200);
    char *const text = malloc(needed), cut[20];
    assert_non_null(text);
    works(tamis_plan_explain(plan, text, needed, NULL));
    assert_int_equal(strlen(text), needed - 1);
    assert_non_null(strstr(text, "fused"));
    assert_non_null(strstr(text, "3 x 4, 5 nonzeros"));
    assert_non_null(strstr(text, "B is column-major"));
    assert_non_null(strstr(text, "COO and not in row order"));
    assert_non_null(strstr(text, "naive: a baseline"));
    works(tamis_plan_explain(plan, cut, sizeof cut, NULL));
    assert_int_equal(strlen(cut), sizeof cut - 1);
    assert_memory_equal(cut, text, sizeof cut - 1);

    const tamis_plan_report report = described(plan);
    assert_true(report.setup_seconds > 0 && report.predicted_seconds > 0 && report.threads >= 1);
    assert_in_text(text, "\npredicted    ", report.predicted_seconds);
    assert_in_text(text, "\nset-up       ", report.setup_seconds);
    assert_in_text(text, " ms, and ", report.check_seconds);
    free(text);
    assert_true(report.declined >= 3);
    for (int i = 0; i < report.declined; i++) {
        const char *name = NULL, *reason = NULL;
        works(tamis_plan_declined(plan, i, &name, &reason));
        assert_true(strlen(name) > 2 && strlen(reason) > 10);
        assert_string_not_equal(name, report.algorithm);
    }
    assert_int_equal(tamis_plan_declined(plan, report.declined, NULL, NULL), TAMIS_ERROR_ARGUMENT);
}

/* Where a preparation cannot pay off, the text says so, with the time without one. */
TEST(explains_that_a_preparation_does_not_pay_off) {
    small s;
    small_make(&s);
    tamis_options o = small_options(TAMIS_OP_SPMM);
    o.algorithm = "cpu-tiled";
    OWN(tamis_plan) *const plan = make(&s.S, &o);
    plan->choice.unprepared_seconds = plan->choice.prediction.call_seconds / 2;
    char text[4096];
    works(tamis_plan_explain(plan, text, sizeof text, NULL));
    assert_in_text(text, "the best without preparation takes ", plan->choice.unprepared_seconds);
    assert_int_equal(described(plan).break_even_calls, -1);
}

/* Programs read the text: numbers have a point, whatever the locale. */
TEST(explains_in_the_c_locale) {
    if (!set_decimal_comma()) skip_because("no locale with a decimal comma is installed");
    small s;
    small_make(&s);
    const tamis_options o = small_options(TAMIS_OP_SPMM);
    tamis_plan *const plan = make(&s.coo, &o);
    char text[4096];
    works(tamis_plan_explain(plan, text, sizeof text, NULL));
    tamis_plan_destroy(plan);
    setlocale(LC_ALL, "C");
    for (const char *p = text; *p; p++)
        if (p > text && *p == ',' && p[-1] >= '0' && p[-1] <= '9' && p[1] >= '0' && p[1] <= '9') fail_msg("%s", text);
    assert_non_null(strstr(text, "1.67 a row"));
}

/* A reserved word that is set is a field of a later version: refused, never ignored. */
TEST(test_reserved_words) {
    small s;
    OWN(tamis_plan) *plan = NULL;
    tamis_options o = small_options(TAMIS_OP_SDDMM);
    tamis_execution execution = TAMIS_EXECUTION_INIT;
    small_make(&s);
    SPOILT(o.reserved[5], 5, UNSUPPORTED, "options.reserved[5] = 0x5", tamis_plan_create(device, &s.S, &o, &plan));
    SPOILT(s.S.reserved[0], 1, UNSUPPORTED, "S.reserved[0]", tamis_plan_create(device, &s.S, &o, &plan));
    plan = make(&s.S, &o);
    SPOILT(s.B.reserved[3], 2, UNSUPPORTED, "B.reserved[3]", tamis_plan_sddmm(plan, &s.A, &s.B, &s.P, NULL));
    execution.reserved[2] = 9;
    REFUSED(UNSUPPORTED, "execution.reserved[2]", tamis_plan_sddmm(plan, &s.A, &s.B, &s.P, &execution));
    /* what the library fills in, it fills in whole */
    tamis_plan_report report;
    memset(&report, 0xee, sizeof report);
    works(tamis_plan_describe(plan, &report));
    for (size_t i = 0; i < sizeof report.reserved / sizeof report.reserved[0]; i++)
        assert_true(report.reserved[i] == 0);
}

/* What has no default must be said. */
TEST(test_sizes_are_set) {
    small s;
    tamis_plan *plan = NULL;
    tamis_options o = TAMIS_OPTIONS_INIT;
    small_make(&s);
    REFUSED(ARGUMENT, "options.inner = -1: it must be set", tamis_plan_create(device, &s.S, &o, &plan));
    SPOILT(o.operation, TAMIS_OP_SPMM, ARGUMENT, "options.width = -1: it must be set",
           tamis_plan_create(device, &s.S, &o, &plan));
    o.inner = SMALL_L; /* and width as much */
    tamis_plan_destroy(make(&s.S, &o));
}

/* Members that need much of the workspace are staged in rounds, on a CPU of half a megabyte: two, then one. */
TEST(staged_members_go_in_rounds) {
    enum { ROWS = 3, COLS = 1 << 14, WIDTH = 4, MEMBERS = 3 }; /* 256 KB of B for each member */
    static const int32_t offsets[] = {0, 2, 2, 3}, columns[] = {5, COLS - 1, 77};
    static const float values[] = {2, 3, 5};
    const tamis_sparse S = csr_of(TAMIS_F32, ROWS, COLS, 3, offsets, columns, values);
    float *const b = calloc((size_t)MEMBERS * COLS * WIDTH, sizeof *b), c[MEMBERS][ROWS * WIDTH];
    assert_non_null(b);
    tamis_options o = options_for(TAMIS_OP_SPMM, 0, WIDTH);
    o.batch = MEMBERS;
    o.b_layout = TAMIS_COLUMN_MAJOR;
    const tamis_dense B = {
        .data = b, .rows = COLS, .cols = WIDTH, .layout = TAMIS_COLUMN_MAJOR, .batch_stride = (int64_t)COLS * WIDTH};
    const tamis_dense C = {.data = c, .rows = ROWS, .cols = WIDTH, .batch_stride = ROWS * WIDTH};
    for (int m = 0; m < MEMBERS; m++)
        for (int k = 0; k < WIDTH; k++)
            for (int t = 0; t < 3; t++)
                b[(int64_t)m * COLS * WIDTH + (int64_t)k * COLS + columns[t]] = (float)(100 * m + 10 * k + t);
    OWN(tamis_plan) *const plan = make(&S, &o);
    size_t bytes;
    works(tamis_plan_workspace_size(plan, &bytes));
    assert_int_equal(bytes / (COLS * WIDTH * sizeof *b), 2);
    works(tamis_plan_spmm(plan, &B, &C, NULL));
    for (int m = 0; m < MEMBERS; m++)
        for (int k = 0; k < WIDTH; k++) {
            const float x = (float)(100 * m + 10 * k);
            assert_true(c[m][k] == 2 * x + 3 * (x + 1));
            assert_true(c[m][WIDTH + k] == 0);
            assert_true(c[m][2 * WIDTH + k] == 5 * (x + 2));
        }
    free(b);
}

TEST(test_workspace) {
    small s;
    small_make(&s);
    tamis_options o = small_options(TAMIS_OP_FUSED);
    o.threads = 2;
    o.a_layout = TAMIS_COLUMN_MAJOR;
    o.no_workspace = true;
    size_t bytes = 0;
    const int64_t live = tamis_memory_live();
    tamis_plan *const plan = make(&s.S, &o);
    works(tamis_plan_workspace_size(plan, &bytes));
    assert_int_equal(described(plan).workspace_bytes, bytes);
    assert_true(bytes > 64);

    float a[SMALL_ROWS * SMALL_K]; /* A in column-major order */
    for (int i = 0; i < SMALL_ROWS; i++)
        for (int k = 0; k < SMALL_K; k++) a[k * SMALL_ROWS + i] = s.a[i * SMALL_K + k];
    const tamis_dense A = {.data = a, .rows = SMALL_ROWS, .cols = SMALL_K, .layout = TAMIS_COLUMN_MAJOR};
    tamis_execution execution = TAMIS_EXECUTION_INIT;
    REFUSED(ARGUMENT, "execution.workspace = NULL", tamis_plan_fused(plan, &A, &s.B, &s.D, &s.E, &execution));
    OWN(char) *const own = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    assert_non_null(own);
    execution.workspace = own;
    execution.workspace_bytes = bytes - 1;
    REFUSED(ARGUMENT, "workspace_bytes", tamis_plan_fused(plan, &A, &s.B, &s.D, &s.E, &execution));
    execution.workspace = own + 4;
    execution.workspace_bytes = bytes;
    REFUSED(ARGUMENT, "aligned", tamis_plan_fused(plan, &A, &s.B, &s.D, &s.E, &execution));
    assert_true(s.out[0] == 77);
    execution.workspace = own;
    const int64_t allocations = tamis_memory_count();
    works(tamis_plan_fused(plan, &A, &s.B, &s.D, &s.E, &execution));
    assert_int_equal(tamis_memory_count(), allocations); /* executions allocate nothing */
    tamis_plan_destroy(plan);
    assert_int_equal(tamis_memory_live(), live);
    double want[SMALL_ROWS * SMALL_L];
    works(tamis_reference_fused(&s.S, &s.A, &s.B, &s.D, NULL, NULL, want));
    for (int i = 0; i < SMALL_ROWS * SMALL_L; i++) assert_true((double)s.out[i] == want[i]); /* small integers */
}

TEST(test_values) {
    small s;
    small_make(&s);
    const tamis_options o = small_options(TAMIS_OP_SDDMM);
    tamis_plan *plan = make(&s.S, &o);
    float first[SMALL_NNZ], other[SMALL_NNZ] = {10, 20, 30, 40, 50};
    const tamis_dense First = samples_of(&s.S, first, TAMIS_F32);
    tamis_execution execution = TAMIS_EXECUTION_INIT;
    works(tamis_plan_sddmm(plan, &s.A, &s.B, &First, NULL));
    s.values[1] *= 3; /* changed in place: seen by the next execution */
    works(tamis_plan_sddmm(plan, &s.A, &s.B, &s.P, NULL));
    assert_true(s.p[1] == 3 * first[1] && s.p[0] == first[0]);
    execution.values = other;
    works(tamis_plan_sddmm(plan, &s.A, &s.B, &s.P, &execution));
    assert_true(s.p[0] == 10 * first[0]);                  /* the first value was 1 */
    works(tamis_plan_sddmm(plan, &s.A, &s.B, &s.P, NULL)); /* the plan has not changed */
    assert_true(s.p[0] == first[0]);
    tamis_plan_destroy(plan);
    s.S.values = NULL;
    plan = make(&s.S, &o);
    REFUSED(ARGUMENT, "execution.values is not NULL", tamis_plan_sddmm(plan, &s.A, &s.B, &s.P, &execution));
    tamis_plan_destroy(plan);
}

TEST(test_transpose_refused) {
    small s;
    small_make(&s);
    tamis_options o = small_options(TAMIS_OP_SDDMM);
    tamis_plan *plan = NULL;
    o.transpose = true;
    REFUSED(UNSUPPORTED, "options.transpose", tamis_plan_create(device, &s.S, &o, &plan));
}

/* math = tf32 allows rounding, it does not ask for it: no algorithm of the CPU rounds. */
TEST(test_math) {
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++) {
        small s;
        small_make(&s);
        for (int i = 0; i < SMALL_ROWS * SMALL_K; i++) s.a[i] += 0x1p-20F; /* which TF32 does not have */
        float exact[SMALL_ROWS * SMALL_L + SMALL_NNZ];
        for (int math = TAMIS_MATH_EXACT; math <= TAMIS_MATH_TF32; math++) {
            tamis_options o = small_options((tamis_operation)operation);
            o.math = (tamis_math)math;
            tamis_plan *const plan = make(&s.S, &o);
            assert_int_equal(described(plan).math, TAMIS_MATH_EXACT);
            memset(s.out, 0, sizeof s.out);
            memset(s.p, 0, sizeof s.p);
            const tamis_dense *const to = operation == TAMIS_OP_SDDMM ? &s.P : &s.E;
            works(call_plan(plan, (tamis_operation)operation, &s.A, &s.B, &s.D, to, NULL));
            tamis_plan_destroy(plan);
            if (math == TAMIS_MATH_EXACT) {
                memcpy(exact, s.out, sizeof s.out);
                memcpy(exact + SMALL_ROWS * SMALL_L, s.p, sizeof s.p);
            }
            assert_memory_equal(exact, s.out, sizeof s.out);
            assert_memory_equal(exact + SMALL_ROWS * SMALL_L, s.p, sizeof s.p);
        }
    }
    small s;
    small_make(&s);
    tamis_options o = small_options(TAMIS_OP_SDDMM);
    tamis_plan *plan = NULL;
    tamis_sparse pattern = s.S;
    pattern.values = NULL;
    o.type = TAMIS_F64;
    o.math = TAMIS_MATH_TF32;
    REFUSED(ARGUMENT, "options.math = tf32 needs options.type = fp32, not fp64",
            tamis_plan_create(device, &pattern, &o, &plan));
}

TEST(test_parameters_that_are_no_numbers) {
    static const char *const texts[][2] = {
        {"tile_columns=8x,block_rows=4", "parameters: tile_columns = \"8x\" is not an integer from 1 to "},
        {"tile_columns=8,block_rows=", "parameters: block_rows = \"\" is not an integer from 1 to "},
        {"tile_columns=99999999999999999999", "parameters: tile_columns = \"99999999999999999999\" is not an integer"},
        {"tile_columns=0", "parameters: tile_columns = \"0\" is not an integer from 1 to "},
        {"tile=4", "parameters: cpu-tiled has no parameter \"tile\"; it has "},
        {"tile_columns", "parameters = \"tile_columns\": \"tile_columns\" is not of the form name=value"}};
    small s;
    small_make(&s);
    tamis_options o = small_options(TAMIS_OP_SDDMM);
    o.algorithm = "cpu-tiled";
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tamis_plan *plan = NULL;
        o.parameters = texts[i][0];
        assert_int_equal(tamis_plan_create(device, &s.S, &o, &plan), TAMIS_ERROR_ARGUMENT);
        assert_null(plan);
        if (!strstr(tamis_last_error(), texts[i][1])) fail_msg("%s: %s", texts[i][0], tamis_last_error());
    }
}

TEST(test_names_and_choice) {
    small s;
    small_make(&s);
    tamis_options o = small_options(TAMIS_OP_SDDMM);
    for (int i = 0; i < tamis_algorithm_count(); i++) {
        tamis_algorithm_description algorithm;
        works(tamis_algorithm_at(i, &algorithm));
        if (strcmp(algorithm.device, "cpu") != 0 || strcmp(algorithm.name, "cpu-amx") == 0) continue; /* bf16 alone */
        const bool samples = algorithm.operations & 1u << TAMIS_OP_SDDMM;
        tamis_options named = samples ? o : small_options(TAMIS_OP_FUSED);
        if (!samples) named.edge = TAMIS_EDGE_MASK; /* cells read no values of S */
        named.algorithm = algorithm.name;
        OWN(tamis_plan) *plan = make(&s.S, &named);
        assert_string_equal(described(plan).algorithm, algorithm.name);
        assert_non_null(strstr(described(plan).reason, "by name"));
    }
    o.algorithm = "auto";
    tamis_plan *plan = make(&s.S, &o);
    assert_string_not_equal(described(plan).algorithm, "naive");
    tamis_plan_destroy(plan);
    static const struct {
        int64_t calls;
        const char *words;
    } counts[] = {{1, "smallest predicted time for 1 call: "}, {2, "smallest predicted time for 2 calls: "}};
    for (int i = 0; i < 2; i++) {
        o.expected_calls = counts[i].calls;
        plan = make(&s.S, &o);
        assert_int_equal(strncmp(described(plan).reason, counts[i].words, strlen(counts[i].words)), 0);
        tamis_plan_destroy(plan);
    }
    o.algorithm = "naive";
    o.edge = TAMIS_EDGE_SOFTMAX;
    REFUSED(UNSUPPORTED, "softmax", tamis_plan_create(device, &s.S, &o, &plan));
}

/* A backend with one algorithm for each operation. */
static const tamis_algorithm *algorithm_of(int operation) {
    static const tamis_algorithm rows[] = {
        {.description = {.name = "one", .operations = 1u << TAMIS_OP_SDDMM}},
        {.description = {.name = "two", .operations = 1u << TAMIS_OP_SPMM}},
        {.description = {.name = "three", .operations = 1u << TAMIS_OP_FUSED}},
    };
    return operation <= TAMIS_OP_FUSED ? &rows[operation] : NULL;
}

static bool accept(const tamis_algorithm *algorithm, const tamis_problem *problem, char *reason, size_t bytes) {
    return true;
}

static void predict(const tamis_algorithm *algorithm, const tamis_problem *problem, tamis_prediction *prediction) {
    prediction->call_seconds = 1;
}

/* An algorithm of another operation is declined with the name of the one that was asked for. */
TEST(test_algorithms_of_other_operations) {
    const tamis_backend backend = {
        .name = "a test's", .algorithm = algorithm_of, .accepts = accept, .predict = predict};
    const tamis_evidence evidence = {.expected_calls = 1};
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++) {
        const tamis_problem problem = {.operation = (tamis_operation)operation, .evidence = &evidence};
        tamis_choice choice;
        char reason[64];
        snprintf(reason, sizeof reason, "it does not compute %s", tamis_operation_name(problem.operation));
        works(tamis_choose(&backend, &problem, NULL, false, &choice));
        assert_ptr_equal(choice.algorithm, algorithm_of(operation));
        assert_int_equal(choice.declined_count, TAMIS_OP_FUSED);
        for (int i = 0; i < choice.declined_count; i++) assert_string_equal(choice.declined[i].reason, reason);
    }
}

/* A table of more than 3/4 of L2 leaves no room for S and C there; of few entries only the rows that they name count.
 */
TEST(test_rows_from_afar) {
    const tamis_evidence evidence = {.cache_l2 = 1 << 20, .fresh_share = 0.5};
    tamis_problem problem = {
        .operation = TAMIS_OP_SPMM, .width = 64, .cols = 3 << 10, .nnz = 1 << 20, .threads = 1, .evidence = &evidence};
    assert_true(tamis_cpu_far_share(&problem) == 0);
    problem.cols++;
    assert_true(tamis_cpu_far_share(&problem) == 0.5);
    problem.nnz = 1000;
    problem.cols = 1 << 20;
    assert_true(tamis_cpu_far_share(&problem) == 0 && tamis_cpu_table_bytes(&problem) <= 1000 * 64 * 4);
}

TEST(test_instruction_sets) {
    tamis_device *other = NULL;
    tamis_device_description description;
    setenv("TAMIS_CPU_ISA", "mmx", 1);
    REFUSED(DEVICE, "mmx", tamis_device_open("cpu", &other));
    const char *why = NULL;
    works(tamis_device_at(0, NULL, &why));
    assert_non_null(strstr(why, "mmx"));
    unsetenv("TAMIS_CPU_ISA");
    works(tamis_device_open(NULL, &other));
    works(tamis_device_describe(other, &description));
    assert_string_equal(description.name, "cpu");
    assert_true(description.threads >= 1 && description.cache_l1 > 0 && description.cache_l2 > 0);
    tamis_device_close(other);
}

static int64_t kept_ceilings(void) {
    tamis_cache_description cache;
    works(tamis_cache_describe(&cache));
    return cache.ceilings;
}

/* A cache of this process's own, in which one thread measures; and none, as before. */
static char cache_folder[32];

static void open_cache(void) {
    snprintf(cache_folder, sizeof cache_folder, "/tmp/tamis-cache-XXXXXX");
    assert_non_null(mkdtemp(cache_folder));
    unsetenv("TAMIS_PROBE");
    setenv("XDG_CACHE_HOME", cache_folder, 1);
}

static void close_cache(void) {
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", cache_folder);
    assert_int_equal(system(command), 0);
    setenv("TAMIS_PROBE", "0", 1);
    unsetenv("XDG_CACHE_HOME");
    works(tamis_device_set_threads(device, 0));
}

/* Ceilings that were measured while others used the processors are doubtful, are not measured again at once, and are
   sure after a probe of a quiet machine; a file that is damaged, of another machine, or a link counts for nothing. */
TEST(doubtful_ceilings) {
    tamis_ceilings first, second;
    char busy[16];
    open_cache();
    snprintf(busy, sizeof busy, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    setenv("TAMIS_LOAD", busy, 1);
    works(tamis_device_set_threads(device, 1));
    works(tamis_device_probe(device, &first));
    assert_true(first.measured && first.doubtful);
    assert_true(first.others_processors == strtod(busy, NULL));
    setenv("TAMIS_LOAD", "0", 1);
    works(tamis_device_ceilings(device, &second));
    assert_memory_equal(&first, &second, sizeof first);
    works(tamis_device_probe(device, &second));
    assert_true(second.measured && second.others_processors == 0);
    assert_int_equal(kept_ceilings(), 1);
    works(tamis_cache_clear(NULL));
    unsetenv("TAMIS_LOAD");
    close_cache();
}

/* Without a cache the ceilings are those of the site, where it keeps some; else what takes long is not measured. */
static void ceilings_without_cache(const tamis_ceilings *defaults, const tamis_ceilings *whole) {
    tamis_ceilings c;
    char site[256];
    snprintf(site, sizeof site, "%s/site", cache_folder);
    setenv("XDG_CACHE_HOME", "/proc/none", 1);
    setenv("TAMIS_CEILINGS", site, 1);
    works(tamis_device_ceilings(device, &c));
    assert_true(c.measured && c.memory_gbs[0] == whole->memory_gbs[0] && c.gather_gbs[0][5] == whole->gather_gbs[0][5]);
    works(tamis_cache_clear(NULL)); /* what the process knows */
    unsetenv("TAMIS_CEILINGS");
    works(tamis_device_ceilings(device, &c));
    assert_true(c.measured && c.doubtful && c.fp32_gflops[0] != defaults->fp32_gflops[0]);
    assert_true(c.memory_gbs[0] == defaults->memory_gbs[0] && c.gather_gbs[0][5] == defaults->gather_gbs[0][5]);
    tamis_cache_description cache;
    works(tamis_cache_describe(&cache));
    assert_string_equal(cache.path, "");
    assert_string_equal(cache.refused, "/proc/none/tamis: No such file or directory");
    works(tamis_cache_clear(NULL));
}

/* The cache of the ceilings: private, damaged ones made anew, and never in the way. */
TEST(test_ceilings_cache) {
    tamis_ceilings c, defaults;
    works(tamis_device_set_threads(device, 1));
    works(tamis_device_ceilings(device, &defaults));
    assert_false(defaults.measured); /* TAMIS_PROBE=0 */
    assert_true(defaults.l2_gbs[0] > 0 && defaults.gather_gbs[1][5] > 0);
    char path[256];
    open_cache();
    works(tamis_device_ceilings(device, &c));
    assert_true(c.measured && c.threads == 1 && c.memory_gbs[0] > 0);
    assert_int_equal(kept_ceilings(), 1);
    struct stat kept;
    snprintf(path, sizeof path, "%s/tamis", cache_folder);
    assert_int_equal(stat(path, &kept), 0);
    assert_int_equal(kept.st_mode & 0777, 0700);
    snprintf(path, sizeof path, "cd %s && mkdir site && cp tamis/ceilings-* site", cache_folder);
    assert_int_equal(system(path), 0);
    int64_t removed = 0;
    works(tamis_cache_clear(&removed));
    assert_int_equal(removed, 1);
    assert_int_equal(kept_ceilings(), 0);
    ceilings_without_cache(&defaults, &c);
    close_cache();
}

TEST_FIXTURE(set_up, tear_down)
