/* tamis check: every algorithm, edge operation, type and arrangement of data against the oracle. */
#include <tamis/algorithms.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/device.h"
#include "cli/edges.h"
#include "cli/exit.h"
#include "cli/json.h"
#include "cli/mirror.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "cli/source.h"
#include "cli/spoil.h"
#include "cli/text.h"
#include "cli/visible.h"
#include "group/choice.h"
#include "sparse/submatrix.h"

typedef struct settings {
    tool_chosen operations, edges, types, devices, algorithms, arrangements;
    tool_group_kind group;
    tool_integers inner, widths;
    int64_t limit, seed;
    bool verbose, quick;
    tool_reading reading;
    const char *json, *let;
} settings;

#define AT(field) offsetof(settings, field)

static const tool_option options[] = {
    TOOL_OPERATIONS(AT(operations)),
    TOOL_CHOSEN("edge", 'e', "EDGE,...", "scale,mask,residual,quotient,sigmoid,exp,leaky_relu,softmax", AT(edges),
                &tool_edges, "edge operations, or expressions"),
    TOOL_LET(AT(let)),
    TOOL_INTEGERS("inner", 'k', "K,...", NULL, AT(inner), 0, 1e6,
                  "inner widths; by default 32,37,128 (odd widths are a special case)"),
    TOOL_INTEGERS(
        "widths", 0, "K,...", NULL, AT(widths), 0, 1e6,
        "inner widths at which every algorithm, operation and type is checked once more, on 500 nonzeros, with the edges "
        "in turn and the first arrangement; by default 1,3,7,32,37,64,100,128,200,256,512,1000,1024,4096, and none with "
        "--inner or --quick"),
    TOOL_CHOSEN("type", 't', "TYPE,...", "fp32,fp64,fp16,bf16", AT(types), &tool_types, "element types"),
    TOOL_CHOSEN("device", 'd', "DEVICE,...", NULL, AT(devices), &tool_devices,
                "devices; by default all that are present, with only one arrangement, width and type on OpenCL"),
    TOOL_CHOSEN("devices", 0, "DEVICE,...", NULL, AT(group.devices), &tool_devices,
                "several devices together, each with its rows and a thread; a name may be repeated"),
    TOOL_OVERLAP(AT(group.overlap)),
    TOOL_PARTITION(AT(group.partition)),
    TOOL_TRANSPORT(AT(group.transport)),
    TOOL_EXCHANGE(AT(group.exchange)),
    TOOL_LINK(AT(group.link)),
    TOOL_CHOSEN("algorithm", 'a', "NAME,...", "all", AT(algorithms), &tool_algorithms,
                "auto, all (including baselines), or names"),
    TOOL_INTEGER("limit", 0, "NNZ", "20k", AT(limit), 1, 1e12,
                 "maximum number of nonzeros; of a larger matrix, rows spread over it are used"),
    TOOL_CHOSEN("arrangement", 0, "NAME,...", "packed,strided,column,coo", AT(arrangements), &tool_arrangements,
                "the layout of the data in memory"),
    TOOL_FLAG("quick", 0, AT(quick), "only the first arrangement, and no additional widths"),
    TOOL_FLAG("verbose", 'v', AT(verbose), "print a line for each check, with the reason if it is skipped"),
    TOOL_JSON_LINES("check", AT(json)),
    TOOL_SEED(AT(seed)),
    TOOL_READING(settings),
    {.name = NULL},
};

/* The memory layout of a check's data. */
typedef struct arrangement {
    const char *name;
    tamis_format format;
    tamis_index_type index_type, offset_type;
    tamis_layout layout;
    int64_t padding, shift; /* of the dense operands, in elements */
    double alpha, beta;
    int threads;
} arrangement;

/* In the order of tool_arrangements. */
static const arrangement arrangements[] = {
    {"csr, int32, packed", TAMIS_CSR, TAMIS_I32, TAMIS_I32, TAMIS_ROW_MAJOR, 0, 0, 1, 0, 2},
    {"csr, int64, strided, unaligned, beta", TAMIS_CSR, TAMIS_I64, TAMIS_I64, TAMIS_ROW_MAJOR, 3, 1, 0.5, -2, 1},
    {"csr, int32 with int64 offsets, column-major", TAMIS_CSR, TAMIS_I32, TAMIS_I64, TAMIS_COLUMN_MAJOR, 5, 1, 1, 0, 3},
    {"coo, int32, packed", TAMIS_COO, TAMIS_I32, TAMIS_I32, TAMIS_ROW_MAJOR, 0, 0, 1, 0, 2},
};
enum { ARRANGEMENTS = sizeof arrangements / sizeof *arrangements };

/* The state of the whole run. */
typedef struct check_run {
    const settings *set; /* on the device under way */
    tool_lines lines;
    int64_t passed, failed, skipped, done, expected;
    int64_t in_part; /* passed, but not all elements could be compared */
    int shown;       /* failures printed */
    int worst;
    const char *matrix;
    const tool_device *device;
    tamis_owned_sparse *arranged[ARRANGEMENTS]; /* the matrix in the current type */
} check_run;

static tamis_sparse arranged(const check_run *run, const arrangement *how) {
    return *tamis_owned_sparse_view(run->arranged[how - arrangements]);
}

static tamis_status arrange(check_run *run, const tamis_submatrix *part, tamis_type type) {
    tamis_status status = TAMIS_OK;
    for (int i = 0; i < ARRANGEMENTS && status == TAMIS_OK; i++) {
        tamis_convert_options converting = TAMIS_CONVERT_OPTIONS_INIT;
        converting.format = arrangements[i].format;
        converting.index_type = arrangements[i].index_type;
        converting.offset_type = arrangements[i].offset_type;
        converting.value_type = type;
        status = tamis_convert(&part->view, &converting, &run->arranged[i]);
    }
    return status;
}

static void free_arranged(check_run *run) {
    for (int i = 0; i < ARRANGEMENTS; i++) {
        tamis_owned_sparse_free(run->arranged[i]);
        run->arranged[i] = NULL;
    }
}

static const tool_integers usual_inner = {3, {32, 37, 128}};

/* Kernels are specialised by width: these widths cover each way of cutting one into vectors, lanes, pieces and
   slices. */
static const tool_integers usual_widths = {14, {1, 3, 7, 32, 37, 64, 100, 128, 200, 256, 512, 1000, 1024, 4096}};
enum { WIDTHS_NONZEROS = 500 };

enum { FILLER = 0xff }; /* a NaN in every type: beta = 0 must not read it, and padding must not change */

/* Fills the old output with NaN, or with values if beta reads it. */
static tamis_status prepare_output(const tool_problem *problem, const tool_operands *operands, uint64_t seed) {
    memset(operands->output.memory, FILLER, operands->output.bytes);
    if (problem->beta == 0) return TAMIS_OK;
    return tamis_fill_uniform(&problem->output, seed + 7, -1, 1);
}

/* Returns true if no byte of the output's memory outside its elements has changed. */
static bool padding_intact(const tool_dense *output) {
    const tamis_dense *view = &output->view;
    const size_t size = tamis_type_size(view->type);
    const unsigned char *memory = output->memory, *start = view->data;
    for (const unsigned char *at = memory; at < start; at++)
        if (*at != FILLER) return false;
    const bool by_rows = view->layout == TAMIS_ROW_MAJOR;
    const int64_t lines = by_rows ? view->rows : view->cols, used = by_rows ? view->cols : view->rows;
    for (int64_t i = 0; i < lines; i++) {
        const unsigned char *line = start + (size_t)(i * view->stride) * size;
        for (size_t at = (size_t)used * size; at < (size_t)view->stride * size; at++)
            if (line[at] != FILLER) return false;
    }
    return true;
}

/* The outcome of one check. */
typedef struct verdict {
    enum { PASSED, FAILED, SKIPPED } kind;
    tamis_comparison comparison;
    char reason[320];
} verdict;

static verdict failed_call(tamis_status status) {
    verdict result = {.kind = status == TAMIS_ERROR_UNSUPPORTED ? SKIPPED : FAILED};
    snprintf(result.reason, sizeof result.reason, "%s%s", result.kind == FAILED ? "error: " : "", tamis_last_error());
    return result;
}

/* Returns the verdict of a comparison. Counts non-finite elements. A result that could hardly be compared does not
   count as checked. */
static verdict judge(const tamis_comparison *comparison, bool intact) {
    verdict result = {.kind = comparison->passed && intact ? PASSED : FAILED, .comparison = *comparison};
    if (!comparison->passed) {
        snprintf(result.reason, sizeof result.reason,
                 "%srelative error %.2e, %.2e allowed; at (%lld, %lld) %.9g, expected %.9g",
                 comparison->stray ? "one wrong element, " : "", comparison->error, comparison->tolerance,
                 (long long)comparison->row, (long long)comparison->col, comparison->found, comparison->expected);
    } else if (!intact) {
        snprintf(result.reason, sizeof result.reason, "wrote outside the output's elements");
    } else if (comparison->not_finite > 0) {
        const long long not_finite = comparison->not_finite, all = not_finite + comparison->compared;
        snprintf(result.reason, sizeof result.reason, "%lld of %lld elements are not finite", not_finite, all);
    }
    if (result.kind == PASSED && comparison->cannot_tell) {
        result.kind = SKIPPED;
        snprintf(result.reason, sizeof result.reason,
                 "cannot tell: relative error %.1e, %.1e allowed; of %lld elements a sum may have overflowed",
                 comparison->error, comparison->tolerance, (long long)comparison->undecided);
    }
    return result;
}

static verdict check_one(const check_run *run, const tool_mirror *mirror, const tool_problem *problem,
                         const tool_operands *operands, const tamis_oracle *oracle, const tool_dense *old,
                         const char *algorithm, int threads) {
    tamis_options planning = tool_problem_options(problem);
    tool_device_plan_with(run->device, algorithm, &planning);
    planning.threads = threads;
    planning.expected_calls = 1000;
    planning.overlap = (tamis_overlap)run->set->group.overlap;
    planning.exchange = (tamis_exchange)run->set->group.exchange;
    tamis_plan *plan = NULL;
    tamis_status status = prepare_output(problem, operands, (uint64_t)run->set->seed);
    if (status == TAMIS_OK && run->set->group.devices.count > 0) {
        status = tool_group_once(&run->set->group, problem, &planning);
    } else if (status == TAMIS_OK) {
        status = tamis_plan_create(run->device->device, &mirror->problem.S, &planning, &plan);
        if (status == TAMIS_OK) status = tool_mirror_put(mirror);
        if (status == TAMIS_OK) status = tool_problem_execute(&mirror->problem, plan);
        if (status == TAMIS_OK) status = tool_mirror_fetch(mirror);
    }
    const bool first = tool_rank_number() == 0; /* which compares */
    tamis_comparison comparison;
    if (status == TAMIS_OK && first) {
        tool_spoil(&problem->output, operands->output.memory);
        status = tamis_oracle_compare(oracle, &problem->output, problem->alpha, problem->beta, &old->view, &comparison);
    }
    const verdict result = status != TAMIS_OK ? failed_call(status)
                           : first            ? judge(&comparison, padding_intact(&operands->output))
                                              : (verdict){.kind = PASSED};
    tamis_plan_destroy(plan);
    return result;
}

static void report(check_run *run, const tool_problem *problem, const arrangement *how, const char *algorithm,
                   const verdict *result) {
    static const char *const words[] = {"passed", "FAILED", "skipped"};
    static const char *const names[] = {"passed", "failed", "skipped"};
    run->passed += result->kind == PASSED;
    run->failed += result->kind == FAILED;
    run->skipped += result->kind == SKIPPED;
    run->in_part += result->kind == PASSED && result->comparison.not_finite > 0;
    const bool failure_shown = result->kind == FAILED && run->shown < 20;
    const bool on_lines = run->lines.out == stdout;
    if (!on_lines && (run->set->verbose || failure_shown)) {
        tool_progress_clear();
        printf("%s  %s  %s  K = %lld, L = %lld%s  %s  %s  %s", words[result->kind], tool_visible(run->matrix),
               tool_problem_name(problem).text, (long long)problem->inner, (long long)problem->width,
               problem->d_is_b ? ", D is B" : "", tamis_type_name(problem->type), algorithm, how->name);
        if (result->kind == PASSED) printf(": %.1e of %.1e", result->comparison.error, result->comparison.tolerance);
        printf("%s%s\n", *result->reason ? ": " : "", result->reason);
        run->shown += result->kind == FAILED;
        if (run->shown == 20 && !run->set->verbose) puts("(further failures are only counted; --verbose shows all)");
    }
    tool_json *json = tool_lines_begin(&run->lines);
    if (!json) return;
    tool_json_problem(json, problem, run->matrix);
    tool_json_put(
        json, tool_str("device", run->device->description.name),
        tool_only(run->set->group.devices.count > 0,
                  tool_int("ranks", tool_ranks_transport() ? tool_rank_count() : run->set->group.devices.count)),
        tool_str("algorithm", algorithm), TOOL_OF(*how, threads), tool_str("arrangement", how->name),
        tool_str("result", names[result->kind]),
        tool_if(result->kind == PASSED, tool_num("relative_error", result->comparison.error)),
        tool_if(result->kind == PASSED, TOOL_OF(result->comparison, tolerance)),
        TOOL_OF(result->comparison, not_finite), TOOL_OF(*result, reason));
    const int code = tool_lines_end(&run->lines);
    if (code) run->worst = code;
}

/* Lists the algorithms to check for an operation; NULL in the list is auto. Those that the device lacks are left out.
 */
static int wanted_algorithms(const check_run *run, tamis_operation operation, const char **names) {
    int count = 0;
    for (int i = 0; i < run->set->algorithms.count; i++) {
        const int choice = run->set->algorithms.at[i];
        if (choice == 1) {
            for (int number = 0; number < tamis_algorithm_count() && count < TOOL_LIST_LIMIT; number++) {
                tamis_algorithm_description algorithm;
                if (tamis_algorithm_at(number, &algorithm) != TAMIS_OK) continue;
                if (algorithm.operations & (1u << operation) && tool_device_serves(run->device, &algorithm))
                    names[count++] = algorithm.name;
            }
        } else if (count < TOOL_LIST_LIMIT) {
            const char *name = choice == 0 ? NULL : tool_choice_name(&tool_algorithms, choice);
            tamis_algorithm_description algorithm;
            if (!name || tool_device_algorithm(run->device, name, &algorithm)) names[count++] = name;
        }
    }
    return count;
}

/* Checks one arrangement of one problem: all algorithms on the same operands. */
static void check_arrangement(check_run *run, tool_problem problem, const arrangement *how,
                              const tamis_oracle *oracle) {
    const char *names[TOOL_LIST_LIMIT];
    const int count = wanted_algorithms(run, problem.operation, names);
    problem.S = arranged(run, how);
    problem.alpha = how->alpha;
    problem.beta = how->beta;
    const uint64_t seed = (uint64_t)run->set->seed;
    tool_operands operands;
    tamis_status status = tool_operands_random(&problem, how->layout, how->padding, how->shift, seed, &operands);
    if (problem.d_is_b) problem.D = problem.B;
    tool_dense old = {0};
    if (status == TAMIS_OK && how->beta != 0) {
        old = tool_dense_create(problem.output.rows, problem.output.cols, problem.type, TAMIS_ROW_MAJOR, 0, 0);
        status = tamis_fill_uniform(&old.view, seed + 7, -1, 1);
    }
    const bool filled = status == TAMIS_OK;
    tool_mirror mirror = {0};
    if (filled) status = tool_mirror_create(run->device, &problem, how->shift, &mirror);
    for (int i = 0; i < count && status == TAMIS_OK && !tool_interrupted(); i++) {
        const verdict result = check_one(run, &mirror, &problem, &operands, oracle, &old, names[i], how->threads);
        report(run, &problem, how, names[i] ? names[i] : "auto", &result);
    }
    if (status != TAMIS_OK) run->worst = tool_library_error(status, run->matrix);
    tool_mirror_free(&mirror);
    tool_dense_free(&old);
    if (filled) tool_operands_free(&operands);
}

/* A combination to check: one operation, edge, type and width, in some of the chosen arrangements. */
typedef struct corner {
    tamis_operation operation;
    tamis_edge edge;
    tamis_type type;
    int64_t inner;
    int arrangements; /* how many of the chosen ones */
    bool d_is_b;      /* fused: D is the view B, and K = L */
} corner;

static void check_one_corner(check_run *run, const corner *at) {
    const int64_t inner = at->inner;
    tool_progress((double)run->done++ / (double)run->expected, "%s %s %s %s K = %lld", run->matrix,
                  tamis_operation_name(at->operation),
                  tool_uses_edge(at->operation) ? tool_edge_name((int)at->edge) : "", tamis_type_name(at->type),
                  (long long)inner);
    tool_problem problem =
        tool_problem_of(at->operation, at->edge, at->type, inner, inner % 2 && !at->d_is_b ? inner / 2 + 1 : inner);
    problem.d_is_b = at->d_is_b;
    problem.edge_slope = 0.1;
    problem.S = arranged(run, &arrangements[0]);
    tool_operands operands;
    tamis_oracle *oracle = NULL;
    tamis_status status = tool_operands_random(&problem, TAMIS_ROW_MAJOR, 0, 0, (uint64_t)run->set->seed, &operands);
    if (status == TAMIS_OK) {
        if (at->d_is_b) problem.D = problem.B;
        status = tool_problem_oracle(&problem, HUGE_VAL, &oracle);
        tool_operands_free(&operands);
    }
    if (status != TAMIS_OK) {
        run->worst = tool_library_error(status, run->matrix);
        return;
    }
    for (int i = 0; i < at->arrangements && !tool_interrupted(); i++)
        check_arrangement(run, problem, &arrangements[run->set->arrangements.at[i]], oracle);
    tamis_oracle_free(oracle);
}

/* Checks a combination; fused also with D = B. */
static void check_corner(check_run *run, const corner *at) {
    corner same = *at;
    check_one_corner(run, at);
    same.d_is_b = at->operation == TAMIS_OP_FUSED;
    if (same.d_is_b) check_one_corner(run, &same);
}

/* Checks all combinations, at the few inner widths. */
static void check_corners(check_run *run, tamis_type type) {
    const settings *set = run->set;
    corner at = {.type = type, .arrangements = set->quick ? 1 : set->arrangements.count};
    for (int o = 0; o < set->operations.count; o++) {
        at.operation = (tamis_operation)set->operations.at[o];
        const int edges = tool_uses_edge(at.operation) ? set->edges.count : 1;
        for (int e = 0; e < edges; e++) {
            at.edge = (tamis_edge)set->edges.at[e];
            for (int k = 0; k < set->inner.count && !tool_interrupted(); k++) {
                at.inner = set->inner.at[k];
                check_corner(run, &at);
            }
        }
    }
}

/* Checks each operation once at each of the many widths. Softmax takes no turn, since some algorithms decline it. */
static void check_widths(check_run *run, tamis_type type) {
    const settings *set = run->set;
    int turn = (int)type;
    for (int k = 0; k < set->widths.count; k++) {
        for (int o = 0; o < set->operations.count && !tool_interrupted(); o++, turn++) {
            corner at = {.operation = (tamis_operation)set->operations.at[o],
                         .edge = (tamis_edge)set->edges.at[turn % set->edges.count],
                         .type = type,
                         .inner = set->widths.at[k],
                         .arrangements = 1};
            for (int next = turn; at.edge == TAMIS_EDGE_SOFTMAX && next < turn + set->edges.count; next++)
                at.edge = (tamis_edge)set->edges.at[next % set->edges.count];
            check_corner(run, &at);
        }
    }
}

typedef void check_in_type(check_run *run, tamis_type type);

/* Checks up to `limit` nonzeros of a matrix, in all types. A pattern is checked without values. */
static void check_part(check_run *run, const tool_source *source, int64_t limit, check_in_type *check,
                       tamis_submatrix *part) {
    tamis_status status = tamis_submatrix_take(source->S, 1, (double)limit, false, part);
    if (status == TAMIS_OK && part->rows < source->S->rows) status = tamis_submatrix_compact(part);
    if (status != TAMIS_OK) run->worst = tool_library_error(status, run->matrix);
    for (int t = 0; t < run->set->types.count && status == TAMIS_OK && !tool_interrupted(); t++) {
        const tamis_type type = (tamis_type)run->set->types.at[t];
        status = arrange(run, part, type);
        if (status == TAMIS_OK)
            check(run, type);
        else
            run->worst = tool_library_error(status, run->matrix);
        free_arranged(run);
    }
}

/* Checks that METIS can partition: it orders rows and columns alike, which is impossible for a part of the rows. */
static int check_partition(const settings *set, const tool_source *source) {
    const tamis_sparse *S = source->S;
    const int64_t few = set->limit < WIDTHS_NONZEROS ? set->limit : WIDTHS_NONZEROS;
    const int64_t limit = set->widths.count > 0 ? few : set->limit;
    if (set->group.partition == 0 || (S->rows == S->cols && S->nnz <= limit)) return 0;
    if (S->rows != S->cols)
        return tool_usage_error("--partition metis: %s has %lld rows and %lld columns, expected as many", source->name,
                                (long long)S->rows, (long long)S->cols);
    return tool_usage_error("--partition metis: of %s with %lld nonzeros only some rows would be checked: use %s%lld",
                            source->name, (long long)S->nnz,
                            set->widths.count > 0 ? "--quick and --limit " : "--limit ", (long long)S->nnz);
}

static void check_source(check_run *run, const tool_source *source) {
    const settings *set = run->set;
    tamis_submatrix part, small = {0};
    const int refused = check_partition(set, source);
    if (refused) {
        run->worst = refused;
        return;
    }
    run->matrix = source->name;
    const int64_t passed = run->passed, failed = run->failed, skipped = run->skipped, in_part = run->in_part;
    const double start = tool_seconds();
    check_part(run, source, set->limit, check_corners, &part);
    if (set->widths.count > 0)
        check_part(run, source, set->limit < WIDTHS_NONZEROS ? set->limit : WIDTHS_NONZEROS, check_widths, &small);
    tool_progress_clear();
    if (run->lines.out != stdout) {
        printf("%s  %lld passed, %lld failed, %lld skipped in %s on %s (%s of %s rows, %s nonzeros)",
               tool_visible(source->name), (long long)(run->passed - passed), (long long)(run->failed - failed),
               (long long)(run->skipped - skipped), tool_word_seconds(tool_seconds() - start).text,
               run->device->description.name, tool_word_count(part.rows).text, tool_word_count(source->S->rows).text,
               tool_word_count(part.nnz).text);
        if (run->in_part > in_part)
            printf("; %lld of those passed have elements that are not finite", (long long)(run->in_part - in_part));
        putchar('\n');
        fflush(stdout);
    }
    tamis_submatrix_free(&part);
    tamis_submatrix_free(&small);
    run->matrix = NULL;
}

static int64_t problems_of_a_matrix(const settings *set) {
    int64_t problems = 0;
    for (int o = 0; o < set->operations.count; o++)
        problems += tool_uses_edge((tamis_operation)set->operations.at[o]) ? set->edges.count : 1;
    return (problems * set->inner.count + (int64_t)set->operations.count * set->widths.count) * set->types.count;
}

/* A device, and the settings of its checks. */
typedef struct checked_device {
    tool_device device;
    settings set;
} checked_device;

/* Opens the available devices; sets *worst to the exit code of the last one that fails. An OpenCL device that was not
   named is checked briefly, since it may be a CPU whose compiler takes a second per kernel. */
static int open_devices(const settings *set, checked_device *devices, int *worst) {
    const tool_chosen wanted =
        set->group.devices.count > 0 ? tool_group_first(&set->group).devices : tool_devices_wanted(&set->devices);
    int count = 0;
    for (int d = 0; d < wanted.count && !tool_interrupted(); d++) {
        checked_device *next = &devices[count];
        const int code = tool_device_open(wanted.at[d], false, &next->device);
        if (code) {
            *worst = code;
            continue;
        }
        next->set = *set;
        if (set->devices.count == 0 && next->device.gpu && !next->device.addresses) {
            next->set.quick = true;
            next->set.inner.count = next->set.types.count = 1;
            next->set.widths.count = 0;
        }
        count++;
    }
    return count;
}

static void check_file(check_run *run, const char *path, const checked_device *devices, int count) {
    const tamis_read_options reading = tool_read_options(&run->set->reading, TAMIS_F64, TAMIS_I64);
    tool_source source;
    const int code = tool_source_open(path, &reading, &source);
    if (code) {
        run->worst = code;
        return;
    }
    for (int d = 0; d < count && !tool_interrupted(); d++) {
        run->device = &devices[d].device;
        run->set = &devices[d].set;
        check_source(run, &source);
    }
    tool_source_close(&source);
}

static int run_check(const void *given, int count, char **operands) {
    settings settled = *(const settings *)given;
    if (settled.widths.count == 0 && settled.inner.count == 0 && !settled.quick) settled.widths = usual_widths;
    if (settled.inner.count == 0) settled.inner = usual_inner;
    const settings *set = &settled;
    check_run run = {.set = set};
    TOOL_TRY(tool_edges_let(set->let));
    TOOL_TRY(tool_group_begin(&settled.group));
    TOOL_TRY(tool_lines_open(&run.lines, set->json));
    setvbuf(stdout, NULL, _IOLBF, 0); /* each line is flushed at once, as a signal may end the process at any moment */
    checked_device *devices = tool_allocate(TOOL_LIST_LIMIT, sizeof *devices);
    const int device_count = open_devices(set, devices, &run.worst);
    for (int d = 0; d < device_count; d++) run.expected += problems_of_a_matrix(&devices[d].set) * count;
    for (int i = 0; i < count && !tool_interrupted(); i++) {
        run.set = set;
        check_file(&run, operands[i], devices, device_count);
    }
    for (int d = 0; d < device_count; d++) tool_device_close(&devices[d].device);
    free(devices);
    tool_progress_clear();
    const int closed = tool_lines_close(&run.lines);
    if (closed) run.worst = closed;
    if (tool_interrupted())
        tool_error("interrupted after %lld of %lld problems", (long long)run.done, (long long)run.expected);
    FILE *out = run.lines.out == stdout ? stderr : stdout;
    fprintf(out, "%lld passed, %lld failed", (long long)run.passed, (long long)run.failed);
    if (run.skipped > 0) fprintf(out, ", %lld skipped", (long long)run.skipped);
    fputc('\n', out);
    if (tool_interrupted()) return TOOL_INTERRUPTED;
    return run.worst ? run.worst : run.failed > 0 ? TOOL_FAILED : TOOL_OK;
}

const tool_command tool_check_command =
    TOOL_COMMAND("check", "FILE ...", "check every algorithm, edge and type against a reference in double", options,
                 settings, .run = run_check);
