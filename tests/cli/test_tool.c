/* The program's own parts: numbers and names as people type them, JSON, and whether the oracle notices wrong results.
 */
#include "support/test.h"

#include <tamis/algorithms.h>
#include <tamis/generate.h>

#include <unistd.h>

#include "bench/statistics.h"
#include "cli/device.h"
#include "cli/exit.h"
#include "cli/json.h"
#include "cli/problem.h"
#include "cli/text.h"
#include "cli/visible.h"
#include "cli/wording.h"
#include "reference/oracle.h"
#include "sparse/submatrix.h"

TEST(whole_numbers_are_read_as_typed) {
    static const struct {
        const char *text;
        bool good;
        int64_t value;
    } rows[] = {
        {"0", true, 0},          {"-12", true, -12},     {"1_000", true, 1000},    {"64k", true, 64000},
        {"2.5M", true, 2500000}, {"1e6", true, 1000000}, {"1G", true, 1000000000}, {"", false, 0},
        {"x", false, 0},         {"1.5", false, 0},      {"3x", false, 0},         {"1e30", false, 0},
        {"k", false, 0},         {"inf", false, 0},      {"0x10k", false, 0},      {"99999999999999999999", false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t value = 0;
        assert_int_equal(tool_parse_integer(rows[i].text, strlen(rows[i].text), &value), rows[i].good);
        if (rows[i].good) assert_int_equal(value, rows[i].value);
    }
}

TEST(numbers_are_written_short) {
    assert_string_equal(tool_word_count(0).text, "0");
    assert_string_equal(tool_word_count(-1234567).text, "-1,234,567");
    assert_string_equal(tool_word_count(999).text, "999");
    assert_string_equal(tool_word_short(2602000).text, "2.60 M");
    assert_string_equal(tool_word_bytes(35651584).text, "34 MiB");
    assert_string_equal(tool_word_bytes(1536).text, "1.5 KiB");
    assert_string_equal(tool_word_seconds(0.00123).text, "1.23 ms");
    assert_string_equal(tool_word_seconds(0.9999).text, "1.00 s");
}

/* What all say the first says; what one alone says has its number, unless it names one. */
TEST(messages_of_processes_name_their_rank) {
    static const struct {
        int rank;
        const char *kind, *text, *printed;
    } rows[] = {
        {0, "", "no memory", "tamis: no memory\n"},
        {0, "warning: ", "few", "tamis: warning: few\n"},
        {2, "", "no memory", "tamis: rank 2: no memory\n"},
        {2, "", "rank 1 is lost", ""},
        {2, "", "the group has failed", ""},
        {2, "warning: ", "few", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char printed[64] = "";
        FILE *const file = tmpfile();
        const int kept = dup(STDERR_FILENO);
        assert_true(file && kept >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
        tool_set_rank(rows[i].rank);
        tool_message(rows[i].kind, "%s", rows[i].text);
        assert_true(dup2(kept, STDERR_FILENO) >= 0);
        close(kept);
        assert_true(pread(fileno(file), printed, sizeof printed - 1, 0) >= 0);
        fclose(file);
        assert_string_equal(printed, rows[i].printed);
    }
    tool_set_rank(0);
}

static void check_wording(const char *message, const char *name, const char *expected) {
    char ours[512];
    tool_wording(message, name, ours, sizeof ours);
    assert_string_equal(ours, expected);
}

TEST(words_of_the_library_become_those_of_the_program) {
    static char typed[3][32] = {"run", "options.mtx", "--output=S.cols.npy"};
    char *words[] = {typed[0], typed[1], typed[2]};
    tool_wording_typed(3, words);
    check_wording("options.inner = -1: expected 0 or more", NULL, "--inner = -1: expected 0 or more");
    check_wording("options.device_memory and options.value_type", NULL, "--device-memory and --type");
    check_wording("options.mtx:3: options.edge_slope is nan", NULL, "options.mtx:3: --edge-slope is nan");
    check_wording("S.cols.npy: S.cols = 3", NULL, "S.cols.npy: columns of the data = 3");
    check_wording("held_out.entries.cols: S has 3 columns", NULL, "columns of --held-out: the data have 3 columns");
    check_wording("x: found 'S.cols', expected options.threads", NULL, "x: found 'S.cols', expected --threads");
    check_wording("options.method = als, but the model's is options.type", NULL,
                  "--method = als, but the model's is --type");
    check_wording("a/options.model: options.seed", "a/options.model", "a/options.model: --seed");
    check_wording("myoptions.x and TS.cols and S.columns", NULL, "myoptions.x and TS.cols and S.columns");
    static const char *const names[] = {"row-prior", "type", NULL};
    tool_wording_options(names);
    check_wording("row_prior = 2 with column_prior = 0: x.type = 3", NULL,
                  "--row-prior = 2 with column_prior = 0: x.type = 3");
    check_wording("a.csv: type = 'row_prior = 1'", NULL, "a.csv: --type = 'row_prior = 1'");
    tool_wording_options(NULL);
    char small[8];
    tool_wording("options.inner", NULL, small, sizeof small);
    assert_string_equal(small, "--inner");
    tool_wording_typed(0, NULL);
}

TEST(control_bytes_are_shown) {
    static const char plain[] = "gr\xc3\xbc\xc3\x9f\xe2\x82\xac \xf0\x9f\x98\x80 \\ \"";
    assert_ptr_equal(tool_visible(plain), plain);
    assert_string_equal(tool_visible("a\x1b[2J\nb\tc\rd\x7f\x01"), "a\\x1b[2J\\nb\\tc\\rd\\x7f\\x01");
    assert_string_equal(tool_visible("\xff\xc3(\xc2\x9b\xc0\xaf"), "\\xff\\xc3(\\xc2\\x9b\\xc0\\xaf");
    assert_string_equal(tool_visible("\xed\xa0\x80\xf4\x90\x80\x80\xe2\x82"),
                        "\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80\\xe2\\x82");
    char four[5];
    tool_visible_copy("ab\x1b", four, sizeof four);
    assert_string_equal(four, "ab");
}

TEST(the_nearest_name_is_found) {
    static const char *const names[] = {"inner", "index", "threads", "seconds", NULL};
    assert_string_equal(tool_nearest("iner", names), "inner");
    assert_string_equal(tool_nearest("thread", names), "threads");
    assert_string_equal(tool_nearest("sceonds", names), "seconds");
    assert_null(tool_nearest("frobnicate", names));
}

TEST(names_of_files_become_names_of_matrices) {
    char name[32];
    tool_matrix_name("/data/mesh/ct20stif.mtx.gz", name, sizeof name);
    assert_string_equal(name, "ct20stif");
    tool_matrix_name("a.b.smtx", name, sizeof name);
    assert_string_equal(name, "a.b");
    tool_matrix_name(".mtx", name, sizeof name);
    assert_string_equal(name, ".mtx");
}

TEST(json_is_escaped_and_closed) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    tool_json json = tool_json_start(out, false);
    tool_json_object(&json, NULL);
    tool_json_text(&json, "a\"b", "line\n\\ \x01");
    tool_json_number(&json, "nan", (double)NAN);
    tool_json_array(&json, "list");
    tool_json_integer(&json, NULL, 1);
    tool_json_integer(&json, NULL, -2);
    tool_json_end_array(&json);
    tool_json_array(&json, "none");
    tool_json_end_array(&json);
    tool_json_end_object(&json);
    tool_json_finish(&json);
    fclose(out);
    assert_string_equal(text,
                        "{\"a\\\"b\": \"line\\n\\\\ \\u0001\", \"nan\": null, \"list\": [1, -2], \"none\": []}\n");
    free(text);
}

TEST(medians_are_medians) {
    tool_samples samples = {0};
    const double values[] = {5, 1, 4, 2};
    for (int i = 0; i < 4; i++) tool_samples_add(&samples, values[i]);
    const tool_summary summary = tool_samples_summary(&samples);
    assert_true(summary.median == 3 && summary.min == 1 && summary.max == 5 && summary.mean == 3);
    tool_samples_free(&samples);
}

/* Ranks of the binomial distribution: of 20 samples the 5th and the 16th have the median between them in 98.8 % of all
   cases, of 100 the 40th and the 61st in 96.5 %. */
TEST(medians_have_intervals) {
    static const struct {
        int count, low, high;
    } cases[] = {{1, 1, 1}, {5, 1, 5}, {6, 1, 6}, {9, 1, 9}, {20, 5, 16}, {100, 40, 61}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tool_samples samples = {0};
        for (int j = cases[i].count; j > 0; j--) tool_samples_add(&samples, j);
        const tool_interval interval = tool_samples_interval(&samples);
        if (interval.low != cases[i].low || interval.high != cases[i].high)
            fail_msg("%d samples: %g to %g", cases[i].count, interval.low, interval.high);
        tool_samples_free(&samples);
    }
    tool_samples none = {0};
    assert_true(isnan(tool_samples_interval(&none).low));
}

/* A problem with rows of many lengths, computed by the oracle itself and stored in the output's type. */
typedef struct fixture {
    tamis_owned_sparse *matrix;
    tool_problem problem;
    tool_operands operands;
    tamis_oracle *oracle;
} fixture;

static void make(fixture *f, tamis_operation operation) {
    tamis_generate_options options = TAMIS_GENERATE_OPTIONS_INIT;
    options.kind = TAMIS_KIND_RMAT;
    options.rows = 256;
    options.nnz = 4000;
    works(tamis_generate(&options, &f->matrix));
    f->problem = (tool_problem){.operation = operation, .edge = TAMIS_EDGE_MASK, .inner = 24, .width = 24, .alpha = 1};
    f->problem.S = *tamis_owned_sparse_view(f->matrix);
    works(tool_operands_random(&f->problem, TAMIS_ROW_MAJOR, 0, 0, 1, &f->operands));
    works(tool_problem_oracle(&f->problem, HUGE_VAL, &f->oracle));
    const tamis_dense *output = &f->problem.output;
    for (int64_t i = 0; i < f->oracle->items; i++)
        for (int64_t l = 0; l < f->oracle->width; l++)
            tool_element_set(output->data, TAMIS_F32, f->oracle->item[i] * output->stride + l,
                             f->oracle->reference[i * f->oracle->width + l]);
}

static void drop(fixture *f) {
    tamis_oracle_free(f->oracle);
    tool_operands_free(&f->operands);
    tamis_owned_sparse_free(f->matrix);
}

static bool passes(const fixture *f) {
    tamis_comparison result;
    works(tamis_oracle_compare(f->oracle, &f->problem.output, 1, 0, NULL, &result));
    assert_true(result.share == f->oracle->share);
    return result.passed;
}

static int64_t length_of_row(const tamis_sparse *S, int64_t row) {
    return tool_index_get(S->offsets, S->offset_type, row + 1) - tool_index_get(S->offsets, S->offset_type, row);
}

/* However little may be spent, the row of the hub is compared: a wrong element in it alone is noticed. */
TEST(the_longest_row_is_among_those_compared) {
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++) {
        fixture f;
        make(&f, (tamis_operation)operation);
        const tamis_sparse *S = &f.problem.S;
        int64_t longest = 0;
        for (int64_t i = 0; i < S->rows; i++) longest = length_of_row(S, i) > length_of_row(S, longest) ? i : longest;
        tamis_oracle_free(f.oracle);
        works(tool_problem_oracle(&f.problem, 3000, &f.oracle));
        const double all = (double)(operation == TAMIS_OP_SDDMM ? S->nnz : S->rows);
        assert_true(length_of_row(S, longest) * f.problem.inner > 3000 && f.oracle->rows_sampled > 1);
        assert_true(f.oracle->share == (double)f.oracle->items / all && f.oracle->share < 0.5);
        assert_true(passes(&f));
        const int64_t first = tool_index_get(S->offsets, S->offset_type, longest);
        const int64_t at = operation == TAMIS_OP_SDDMM ? first : longest * f.problem.output.stride;
        tool_element_set(f.problem.output.data, TAMIS_F32, at, 100);
        assert_false(passes(&f));
        drop(&f);
    }
}

TEST(parts_of_matrices_keep_their_entries) {
    fixture f;
    make(&f, TAMIS_OP_SDDMM);
    const tamis_sparse *S = &f.problem.S;
    tamis_submatrix part;
    works(tamis_submatrix_take(S, 1, 1000, false, &part));
    assert_true(part.nnz <= 1000 && part.nnz > 300 && part.rows < S->rows);
    for (int64_t i = 0; i < part.rows; i++)
        for (int64_t t = part.offsets[i]; t < part.offsets[i + 1]; t++) {
            const int64_t from = part.entry[t];
            assert_true(tool_index_get(S->offsets, S->offset_type, part.row[i]) <= from);
            assert_true(from < tool_index_get(S->offsets, S->offset_type, part.row[i] + 1));
            assert_int_equal(part.columns[t], tool_index_get(S->columns, S->index_type, from));
            assert_true(((const float *)part.values)[t] == ((const float *)S->values)[from]);
        }
    const int64_t cols = part.cols;
    works(tamis_submatrix_compact(&part));
    assert_true(part.cols <= cols);
    for (int64_t t = 0; t < part.nnz; t++) assert_true(part.columns[t] >= 0 && part.columns[t] < part.cols);
    tamis_submatrix_free(&part);
    drop(&f);
}

TEST(a_device_finds_its_own_algorithms_by_name) {
    const tool_device cpu = {.description = {.name = "cpu"}}, gpu = {.description = {.name = "opencl:1"}};
    for (int i = 0; i < tamis_algorithm_count(); i++) {
        tamis_algorithm_description algorithm, found;
        works(tamis_algorithm_at(i, &algorithm));
        const bool of_cpu = strcmp(algorithm.device, "cpu") == 0;
        assert_true(tool_device_algorithm(of_cpu ? &cpu : &gpu, algorithm.name, &found));
        assert_string_equal(found.name, algorithm.name);
        assert_string_equal(found.device, algorithm.device);
    }
    tamis_algorithm_description none;
    assert_false(tool_device_algorithm(&cpu, "none-of-them", &none));
}
