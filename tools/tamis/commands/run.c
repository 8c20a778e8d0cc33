/* tamis run: one operation on a matrix, with given or random operands, and its result in a file. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/device.h"
#include "cli/edges.h"
#include "cli/exit.h"
#include "cli/json.h"
#include "cli/mirror.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "cli/slabs.h"
#include "cli/source.h"
#include "cli/spoil.h"
#include "cli/text.h"
#include "cli/timer.h"
#include "cli/visible.h"
#include "group/choice.h"

typedef struct settings {
    tool_problem problem; /* options are named after its fields */
    int64_t threads, calls, seed, repeat, device_memory;
    const char *a, *b, *d, *initial, *output, *parameters, *let;
    int to, device, algorithm, effort, overlap;
    tool_group_kind group;
    tool_reading reading;
    bool check, json, no_clobber;
} settings;

#define AT(field) offsetof(settings, field)

static const tool_option options[] = {
    TOOL_INTEGER("inner", 'k', "K", NULL, AT(problem.inner), 1, 1e9,
                 "columns of A and B, or of B for spmm; by default as in the given files, else 128"),
    TOOL_INTEGER("width", 'l', "L", NULL, AT(problem.width), 1, 1e9,
                 "columns of D in fused; by default as in the given file, else K"),
    TOOL_PATH("a", 0, "A.npy", AT(a), "A, rows x K; random by default"),
    TOOL_PATH("b", 0, "B.npy", AT(b), "B, cols x K; random by default"),
    TOOL_PATH("d", 0, "D.npy", AT(d), "D, cols x L; random by default"),
    TOOL_OUTPUT("output", 'o', "OUT", AT(output),
                "the result file: .mtx or .npz for sddmm, else .npy; without it, the operation is only timed"),
    TOOL_TO(AT(to)),
    TOOL_NO_CLOBBER(AT(no_clobber)),
    TOOL_EDGE(AT(problem.edge)),
    TOOL_LET(AT(let)),
    TOOL_REAL("edge-scale", 0, "X", "1", AT(problem.edge_scale), -1e30, 1e30,
              "scale of sigmoid, exp, leaky_relu, softmax"),
    TOOL_REAL("edge-slope", 0, "X", "0.01", AT(problem.edge_slope), -1e30, 1e30, "slope of leaky_relu"),
    TOOL_REAL("edge-epsilon", 0, "X", "1e-10", AT(problem.edge_epsilon), 1e-300, 1e30,
              "smallest denominator of quotient"),
    TOOL_REAL("alpha", 0, "ALPHA", "1", AT(problem.alpha), -1e30, 1e30, "factor of the product"),
    TOOL_REAL("beta", 0, "BETA", "0", AT(problem.beta), -1e30, 1e30, "factor of the old output"),
    TOOL_PATH("initial", 0, "X.npy", AT(initial), "the old output (sddmm: one column of nnz); random by default"),
    TOOL_CHOICE("type", 't', "TYPE", "fp32", AT(problem.type), &tool_types, "element type; files are converted"),
    TOOL_MATH(AT(problem.math)),
    TOOL_DEVICE(AT(device)),
    TOOL_CHOSEN("devices", 0, "DEVICE,...", NULL, AT(group.devices), &tool_devices,
                "several devices instead of one, each with its rows and a thread; a name may be repeated"),
    TOOL_CHOICE(
        "overlap", 0, "WHEN", "auto", AT(overlap), &tool_overlaps,
        "with --devices: compute with a device's own rows of B while the other rows arrive; with --device-memory, never: one "
        "thing after another, each timed"),
    TOOL_SHARED_OUT(settings),
    TOOL_LINK(AT(group.link)),
    TOOL_DEVICE_MEMORY(AT(device_memory)),
    TOOL_CHOICE("algorithm", 'a', "NAME", "auto", AT(algorithm), &tool_algorithms_one,
                "auto, or a name from 'tamis algorithms'"),
    TOOL_EFFORT(AT(effort)),
    TOOL_NAME("parameters", 0, "P=V,...", AT(parameters), "parameters of the algorithm"),
    TOOL_THREADS(AT(threads)),
    TOOL_INTEGER("calls", 0, "N", "1", AT(calls), 1, 1e15, "expected calls, which decide how much set-up pays off"),
    TOOL_INTEGER("repeat", 'r', "N", "1", AT(repeat), 1, 1e9,
                 "number of executions; the fastest is reported, and each starts from the old output"),
    TOOL_FLAG("check", 'c', AT(check), "compare with the oracle; code 1 if out of tolerance"),
    TOOL_JSON_OBJECT(AT(json)),
    TOOL_INTEGER("seed", 0, "SEED", "1", AT(seed), 0, 9e18, "seed of random operands"),
    TOOL_READING(settings),
    {.name = NULL},
};

/* All that one run owns. */
typedef struct work {
    const settings *set;
    tool_source source;
    tool_device device;
    tamis_owned_dense *given[4]; /* A, B, D, the old output */
    tool_problem problem;
    tool_operands random;
    tool_dense old; /* copy of the old output, for repeats and the check */
    tool_mirror mirror;
    tamis_plan *plan;
    tool_group group;       /* with --devices, in place of the plan */
    tamis_slab_plan *slabs; /* with --device-memory, likewise */
    tamis_plan_report report;
    tamis_group_report exchange;
    tamis_slab_report moved;
    double seconds; /* of the fastest execution */
    bool compared;
    tamis_comparison comparison;
} work;

enum { GIVEN_A, GIVEN_B, GIVEN_D, GIVEN_INITIAL };

static int read_given(work *job, int which, const char *path, const char *option) {
    if (!path) return 0;
    return tool_library_error(tamis_read_dense(path, job->set->problem.type, &job->given[which]), option);
}

static const tamis_dense *given_view(const work *job, int which) {
    return job->given[which] ? tamis_owned_dense_view(job->given[which]) : NULL;
}

/* Refuses a file whose size disagrees with S, K or L. Rows come first: they do not depend on another file. */
static int check_shape(const work *job, int which, const char *option, int64_t rows, int64_t cols) {
    const tamis_dense *dense = given_view(job, which);
    const bool sddmm = job->problem.operation == TAMIS_OP_SDDMM;
    const char *wanted = which == GIVEN_INITIAL && sddmm ? "column" : which == GIVEN_D ? "columns (L)" : "columns (K)";
    if (!dense || (dense->rows == rows && dense->cols == cols)) return 0;
    if (dense->rows != rows)
        return tool_usage_error("%s: found %lld x %lld, expected %lld rows, since S is %lld x %lld%s%s", option,
                                (long long)dense->rows, (long long)dense->cols, (long long)rows,
                                (long long)job->source.S->rows, (long long)job->source.S->cols,
                                which == GIVEN_INITIAL && sddmm ? " with as many nonzeros" : "",
                                dense->cols == rows ? "; is it transposed?" : "");
    return tool_usage_error("%s: found %lld x %lld, expected %lld %s", option, (long long)dense->rows,
                            (long long)dense->cols, (long long)cols, wanted);
}

/* Takes K and L from the options, else from the files, else 128 and K. */
static void settle_sizes(work *job) {
    tool_problem *problem = &job->problem;
    const tamis_dense *A = given_view(job, GIVEN_A), *B = given_view(job, GIVEN_B), *D = given_view(job, GIVEN_D);
    problem->inner = job->set->problem.inner > 0 ? job->set->problem.inner : A ? A->cols : B ? B->cols : 128;
    problem->width = problem->inner;
    if (problem->operation == TAMIS_OP_FUSED)
        problem->width = job->set->problem.width > 0 ? job->set->problem.width : D ? D->cols : problem->inner;
}

static int check_shapes(const work *job) {
    const tool_problem *problem = &job->problem;
    const int64_t rows = job->source.S->rows, cols = job->source.S->cols, nnz = job->source.S->nnz;
    const bool spmm = problem->operation == TAMIS_OP_SPMM, sddmm = problem->operation == TAMIS_OP_SDDMM;
    if (spmm && job->set->a) return tool_usage_error("--a: spmm has no A; its dense operand is --b");
    if (problem->operation != TAMIS_OP_FUSED && job->set->d) return tool_usage_error("--d: only fused has a D");
    TOOL_TRY(check_shape(job, GIVEN_A, "--a", rows, problem->inner));
    TOOL_TRY(check_shape(job, GIVEN_B, "--b", cols, problem->inner));
    TOOL_TRY(check_shape(job, GIVEN_D, "--d", cols, problem->width));
    return sddmm ? check_shape(job, GIVEN_INITIAL, "--initial", nnz, 1)
                 : check_shape(job, GIVEN_INITIAL, "--initial", rows, problem->width);
}

/* Checks that there is room for the result, before it is computed. */
static int check_room(const work *job) {
    const tool_problem *problem = &job->problem;
    if (!job->set->output) return 0;
    if (problem->operation == TAMIS_OP_SDDMM)
        return tool_output_room(job->set->output, (double)problem->S.nnz, 0, TOOL_ENTRY_CHARACTERS);
    const double elements = (double)job->source.S->rows * (double)problem->width;
    return tool_output_room(job->set->output, elements, tamis_type_size(problem->type), TOOL_ELEMENT_CHARACTERS);
}

static int read_operands(work *job) {
    const settings *set = job->set;
    TOOL_TRY(read_given(job, GIVEN_A, set->a, "--a"));
    TOOL_TRY(read_given(job, GIVEN_B, set->b, "--b"));
    TOOL_TRY(read_given(job, GIVEN_D, set->d, "--d"));
    TOOL_TRY(read_given(job, GIVEN_INITIAL, set->initial, "--initial"));
    settle_sizes(job);
    return check_shapes(job);
}

static int make_operands(work *job) {
    tool_problem *problem = &job->problem;
    const uint64_t seed = (uint64_t)job->set->seed;
    tamis_status status = tool_operands_random(problem, TAMIS_ROW_MAJOR, 0, 0, seed, &job->random);
    if (status != TAMIS_OK) return tool_library_error(status, "operands");
    if (job->given[GIVEN_A]) problem->A = *given_view(job, GIVEN_A);
    if (job->given[GIVEN_B]) problem->B = *given_view(job, GIVEN_B);
    if (job->given[GIVEN_D]) problem->D = *given_view(job, GIVEN_D);
    tamis_dense *const views[] = {&problem->A, &problem->B, &problem->D};
    for (int i = 0; i < 3; i++)
        if (views[i]->stride == 0)
            views[i]->stride = views[i]->layout == TAMIS_ROW_MAJOR ? views[i]->cols : views[i]->rows;
    if (problem->beta == 0) return 0;
    const tamis_dense *output = &problem->output, *initial = given_view(job, GIVEN_INITIAL);
    job->old = tool_dense_create(output->rows, output->cols, problem->type, TAMIS_ROW_MAJOR, 0, 0);
    if (!initial) {
        status = tamis_fill_uniform(&job->old.view, seed + 7, -1, 1);
        return tool_library_error(status, "operands");
    }
    tamis_dense from = *initial;
    if (from.stride == 0) from.stride = from.layout == TAMIS_ROW_MAJOR ? from.cols : from.rows;
    tool_dense_copy(&from, &job->old.view);
    return 0;
}

static tamis_options planning_of(const work *job) {
    const settings *set = job->set;
    tamis_options planning = tool_problem_options(&job->problem);
    planning.threads = (int)set->threads;
    planning.expected_calls = set->calls > set->repeat ? set->calls : set->repeat;
    tool_device_plan_with(
        &job->device, set->algorithm > 0 ? tool_choice_name(&tool_algorithms_one, set->algorithm) : NULL, &planning);
    planning.parameters = set->parameters;
    planning.effort = (tamis_effort)set->effort;
    planning.overlap = (tamis_overlap)set->overlap;
    planning.exchange = (tamis_exchange)set->group.exchange;
    return planning;
}

/* Makes the plan: of several devices, of slabs, or of the device with copies of the operands. */
static tamis_status make_plan(work *job) {
    const settings *set = job->set;
    tool_problem *problem = &job->problem;
    const tamis_options planning = planning_of(job);
    if (set->group.devices.count > 0) {
        tamis_status status = tool_group_open_best(&set->group, problem, &planning, &job->group);
        if (status == TAMIS_OK) status = tool_group_describe(&job->group, &job->report, &job->exchange);
        job->report.setup_seconds = job->exchange.setup_seconds; /* includes the local plan's set-up and checks */
        job->report.check_seconds = 0;
        return status;
    }
    if (set->device_memory > 0) {
        job->report =
            (tamis_plan_report){.algorithm = planning.algorithm ? planning.algorithm : "auto",
                                .reason = "each slab by itself, without preparation",
                                .math = problem->math,
                                .threads = set->threads > 0 ? (int)set->threads : job->device.description.threads};
        return tool_slabs_open(&job->device, problem, &planning, set->device_memory, &job->slabs);
    }
    TOOL_TRY(tool_mirror_create(&job->device, problem, 0, &job->mirror));
    TOOL_TRY(tamis_plan_create(job->device.device, &job->mirror.problem.S, &planning, &job->plan));
    return tamis_plan_describe(job->plan, &job->report);
}

/* Executes once from the old output, timed by the clock of the device that computes. */
static tamis_status execute_once(work *job, tool_timer *timer, double *seconds) {
    tool_problem *problem = &job->problem;
    if (problem->beta != 0) memcpy(problem->output.data, job->old.view.data, job->old.bytes);
    if (job->group.ranks > 0) return tool_group_execute(&job->group, 1, seconds);
    if (job->slabs) return tool_slabs_execute(job->slabs, problem, seconds);
    if (problem->beta != 0) TOOL_TRY(tool_mirror_put(&job->mirror));
    TOOL_TRY(tool_timer_take(timer, 0));
    TOOL_TRY(tool_problem_execute(&job->mirror.problem, job->plan));
    TOOL_TRY(tool_timer_take(timer, 1));
    return tool_timer_between(timer, 0, 1, seconds);
}

static int execute(work *job) {
    tamis_status status = make_plan(job);
    tool_timer timer = tool_timer_create(&job->device);
    for (int64_t i = 0; i < job->set->repeat && status == TAMIS_OK && !tool_interrupted(); i++) {
        double seconds = 0;
        status = execute_once(job, &timer, &seconds);
        if (i == 0 || seconds < job->seconds) job->seconds = seconds;
    }
    tool_timer_free(&timer);
    if (status == TAMIS_OK) status = tool_mirror_fetch(&job->mirror); /* no-op without a mirror */
    if (status == TAMIS_OK && job->slabs) {
        status = tamis_slab_plan_describe(job->slabs, &job->moved);
        job->report.setup_seconds = job->moved.setup_seconds;
    }
    if (status == TAMIS_OK) tool_spoil(&job->problem.output, NULL);
    return tool_outcome(tool_library_error(status, NULL));
}

static int compare(work *job) {
    if (!job->set->check || tool_rank_number() > 0) return 0;
    tamis_oracle *oracle = NULL;
    tool_problem problem = job->problem;
    problem.math = job->report.math; /* the arithmetic used, not the one allowed */
    tamis_status status = tool_problem_oracle(&problem, 5e7, &oracle);
    if (status == TAMIS_OK)
        status = tamis_oracle_compare(oracle, &problem.output, problem.alpha, problem.beta, &job->old.view,
                                      &job->comparison);
    tamis_oracle_free(oracle);
    job->compared = status == TAMIS_OK;
    return job->compared ? 0 : tool_library_error(status, "oracle");
}

static int write_output(const work *job) {
    const char *path = job->set->output;
    if (!path || tool_rank_number() > 0) return 0;
    const tool_problem *problem = &job->problem;
    tamis_status status;
    if (problem->operation == TAMIS_OP_SDDMM) {
        tamis_sparse P = problem->S;
        P.values = problem->output.data;
        P.value_type = problem->type;
        status = tamis_write_sparse(path, &P);
    } else {
        status = tamis_write_dense(path, &problem->output);
    }
    return tool_library_error(status, NULL);
}

static const char *verdict_of(const tamis_comparison *comparison) {
    return comparison->cannot_tell ? "cannot tell" : comparison->passed ? "correct" : "wrong";
}

static void print_json(const work *job, const tamis_floor *floor) {
    const tool_problem *problem = &job->problem;
    tool_json json = tool_json_open(stdout, true);
    tool_json_problem(&json, problem, job->source.name);
    tool_json_put(&json, tool_str("device", job->device.description.name), TOOL_OF(job->report, algorithm),
                  tool_str("chosen_by", tamis_chosen_by_name(job->report.chosen_by)), TOOL_OF(job->report, reason),
                  tool_str("math", tool_choice_name(&tool_maths, (int)job->report.math)));
    if (job->group.ranks > 0)
        tool_json_put(&json, TOOL_OF(job->group, ranks), tool_str("partition", job->group.order ? "metis" : "rows"),
                      TOOL_OF(job->group.choice, stays), tool_int("exchanged_rows", job->exchange.ghosts),
                      TOOL_OF(job->exchange, imbalance));
    if (job->slabs)
        tool_json_put(&json, TOOL_OF(job->moved, device_memory), TOOL_OF(job->moved, slabs),
                      TOOL_OF(job->moved, pieces), TOOL_OF(job->moved, upload_bytes),
                      TOOL_OF(job->moved, download_bytes), tool_ms_if("staging_ms", job->moved.staging_seconds),
                      tool_ms_if("transfer_ms", job->moved.transfer_seconds),
                      tool_ms_if("compute_ms", job->moved.compute_seconds));
    tool_json_put(&json, TOOL_OF(job->report, threads), tool_ms("setup_ms", job->report.setup_seconds),
                  tool_ms("check_ms", job->report.check_seconds), tool_ms("execute_ms", job->seconds),
                  tool_num("gflops", job->seconds > 0 ? 1e-9 * floor->flops / job->seconds : 0),
                  tool_int("bytes_min", (int64_t)floor->bytes), tool_ms("floor_ms", floor->seconds),
                  tool_if(job->compared, tool_num("relative_error", job->comparison.error)),
                  tool_if(job->compared, TOOL_OF(job->comparison, tolerance)),
                  tool_if(job->compared, tool_num("compared_share", job->comparison.share)),
                  tool_str("verdict", job->compared ? verdict_of(&job->comparison) : NULL),
                  tool_if(job->compared, TOOL_OF(job->comparison, not_finite)), TOOL_OF(*job->set, output));
    tool_json_finish(&json);
}

static void print_comparison(const tamis_comparison *comparison) {
    const long long not_finite = comparison->not_finite, all = not_finite + comparison->compared;
    const char *verdict = comparison->passed ? verdict_of(comparison) : "WRONG"; /* capitals, to be seen */
    if (comparison->passed && comparison->compared == 0 && not_finite > 0) {
        printf("  %s: none of %lld elements are finite, neither here nor in the oracle's result\n", verdict, all);
        return;
    }
    printf("  %s: relative error %.1e against the oracle, %.1e allowed", verdict, comparison->error,
           comparison->tolerance);
    if (not_finite > 0) printf("; %lld of %lld elements are not finite", not_finite, all);
    if (comparison->undecided > 0)
        printf(", and of %lld of these a sum may have overflowed", (long long)comparison->undecided);
    putchar('\n');
}

static void print_text(const work *job, const tamis_floor *floor) {
    const tool_problem *problem = &job->problem;
    const bool fused = problem->operation == TAMIS_OP_FUSED;
    tool_chosen used = job->set->group.devices;
    char devices[512];
    printf("%s of %s (%s x %s, %s nonzeros), K = %lld", tool_problem_name(problem).text, tool_visible(job->source.name),
           tool_word_count(problem->S.rows).text, tool_word_count(problem->S.cols).text,
           tool_word_count(problem->S.nnz).text, (long long)problem->inner);
    if (fused) printf(", L = %lld", (long long)problem->width);
    printf(", %s\n", tamis_type_name(problem->type));
    used.count = job->group.here;
    tool_chosen_text(&tool_devices, &used, devices, sizeof devices);
    printf("  %s on %s", job->report.algorithm, devices);
    if (job->group.processes) printf(" in %d process%s", job->group.ranks, job->group.ranks == 1 ? "" : "es");
    if (job->group.ranks == 0) printf("%s", job->device.description.name);
    if (!job->device.gpu) printf(", %d thread%s", job->report.threads, job->report.threads == 1 ? "" : "s");
    if (job->group.ranks > 1) printf(" each");
    if (job->report.math == TAMIS_MATH_TF32) printf(", inputs rounded to TF32");
    if (job->set->effort == TAMIS_EFFORT_MEASURE) printf(" (%s)", tamis_chosen_by_name(job->report.chosen_by));
    printf(": %s, %s GFLOP/s", tool_word_seconds(job->seconds).text,
           tool_word_number(1e-9 * floor->flops / job->seconds).text);
    if (floor->seconds > 0)
        printf(", %.2fx the floor%s", job->seconds / floor->seconds,
               tool_device_ceilings(&job->device).measured ? "" : " by default ceilings");
    printf("; set-up %s\n", tool_word_seconds(job->report.setup_seconds + job->report.check_seconds).text);
    if (job->group.choice.stays) {
        printf("  stays on the first device: %s predicted alone, %s on all %d\n",
               tool_word_seconds(job->group.choice.alone).text, tool_word_seconds(job->group.choice.together).text,
               job->set->group.devices.count);
    } else if (job->group.ranks > 0) {
        printf("  exchanged: %lld rows of B; the largest share of nonzeros is %.2f times the mean\n",
               (long long)job->exchange.ghosts, job->exchange.imbalance);
    }
    if (job->slabs) {
        printf("  out of core: %s in %lld slabs and %lld pieces, %s there and %s back\n",
               tool_word_bytes(job->moved.operand_bytes).text, (long long)job->moved.slabs,
               (long long)job->moved.pieces, tool_word_bytes(job->moved.upload_bytes).text,
               tool_word_bytes(job->moved.download_bytes).text);
        if (job->moved.compute_seconds > 0)
            printf("  one after another: copying on the host %s, transfers %s, computing %s\n",
                   tool_word_seconds(job->moved.staging_seconds).text,
                   tool_word_seconds(job->moved.transfer_seconds).text,
                   tool_word_seconds(job->moved.compute_seconds).text);
    }
    if (job->compared) print_comparison(&job->comparison);
    if (job->set->output) printf("  written to %s\n", tool_visible(job->set->output));
}

static int run_job(work *job, char **operands) {
    const settings *set = job->set;
    const tamis_read_options reading = tool_read_options(&set->reading, (int)set->problem.type, TAMIS_I32);
    TOOL_TRY(tool_source_open(operands[1], &reading, &job->source));
    TOOL_TRY(
        tool_device_open(set->group.devices.count > 0 ? set->group.devices.at[0] : set->device, true, &job->device));
    job->problem.S = *job->source.S;
    job->problem.S.value_type = job->problem.type;
    TOOL_TRY(read_operands(job));
    TOOL_TRY(check_room(job));
    TOOL_TRY(make_operands(job));
    TOOL_TRY(execute(job));
    TOOL_TRY(compare(job));
    TOOL_TRY(write_output(job));
    tamis_floor floor;
    TOOL_TRY(tool_library_error(tool_problem_floor(&job->problem, &job->device, job->report.threads, &floor),
                                job->source.name));
    if (set->json)
        print_json(job, &floor);
    else
        print_text(job, &floor);
    return job->compared && !job->comparison.passed ? TOOL_FAILED : TOOL_OK;
}

/* Refuses options without an effect in this run, as the user expects one. */
static int check_unused(const settings *set, tamis_operation operation) {
    if (set->problem.width > 0 && operation != TAMIS_OP_FUSED)
        return tool_usage_error("--width: only fused has a D; the columns of %s are --inner",
                                operation == TAMIS_OP_SPMM ? "B" : "A and B");
    if (set->problem.edge != TAMIS_EDGE_SCALE && operation == TAMIS_OP_SPMM)
        return tool_usage_error("--edge: spmm has no edge operation; sddmm and fused have");
    if (set->let && set->problem.edge < TAMIS_EDGE_TEXT)
        return tool_usage_error("--let: only an expression as --edge names numbers");
    if (set->group.devices.count > 0 && set->device_memory > 0)
        return tool_usage_error("--device-memory: one device does that; without --devices");
    return 0;
}

static int run_run(const void *given, int count, char **operands) {
    settings settled = *(const settings *)given;
    const settings *set = &settled;
    (void)count;
    TOOL_TRY(tool_edges_let(set->let));
    work job = {.set = set, .problem = set->problem};
    int operation = 0;
    TOOL_TRY(tool_choice_parse(&tool_operations, "", operands[0], &operation));
    job.problem.operation = (tamis_operation)operation;
    const char *const endings = operation == TAMIS_OP_SDDMM ? ".mtx, .mtx.gz or .npz" : ".npy, .mtx or .mtx.gz";
    TOOL_TRY(check_unused(set, (tamis_operation)operation));
    TOOL_TRY(set->output ? tool_output_ending("--output", set->output, endings) : 0);
    settled.group.overlap = set->device_memory > 0 ? 0 : set->overlap;
    TOOL_TRY(tool_group_begin(&settled.group));
    const int code = run_job(&job, operands);
    tamis_plan_destroy(job.plan);
    tool_group_close(&job.group);
    tamis_slab_plan_destroy(job.slabs);
    tool_mirror_free(&job.mirror);
    tool_operands_free(&job.random);
    tool_dense_free(&job.old);
    for (int i = 0; i < 4; i++) tamis_owned_dense_free(job.given[i]);
    tool_device_close(&job.device);
    tool_source_close(&job.source);
    return code;
}

const tool_command tool_run_command = TOOL_COMMAND("run", "OP FILE", "run one operation and write its result", options,
                                                   settings, .first = &tool_operations, .run = run_run);
