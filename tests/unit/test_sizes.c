/*
 * Sizes near 2^31, 2^32, 2^53, 2^55, 2^62 and 2^63 in places that need no memory: empty matrices, batches of empty
 * members, strides of one row. A call gives a result or an error: it must not crash, hang, or overflow, which
 * UndefinedBehaviorSanitizer reports. Each case is some calls in a child with ten seconds of a processor and little
 * memory. Cases are new at each run: TAMIS_TEST_SEED repeats a run, and TAMIS_TEST_SIZES says how many cases each kind
 * has.
 */
#include "support/test.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <tamis/algorithms.h>
#include <tamis/cached_attention.h>
#include <tamis/dense.h>
#include <tamis/generate.h>
#include <tamis/graph_attention.h>
#include <tamis/mask.h>
#include <tamis/structure.h>
#include <unistd.h>

#include "base/random.h"
#include "support/seed.h"

enum { CALLS = 25, SECONDS = 10, ROOM = 1 << 16, CASES = 24 };

/* Under AddressSanitizer a large allocation fails as it does elsewhere; RLIMIT_AS cannot hold there. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1:max_allocation_size_mb=512"; }
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "allocator_may_return_null=1:max_allocation_size_mb=512"; }
extern void __sanitizer_print_stack_trace(void) __attribute__((weak));

static tamis_device *device;
static uint64_t seed;
static tamis_random dice;

/* ------------------------------------------------------------------------------------------ draws */

static int below(int n) { return (int)tamis_random_below(&dice, n); }

static int64_t size(void) {
    static const int64_t sizes[] = {0,         1,         3,         64,
                                    65536,     INT32_MAX, 1LL << 31, UINT32_MAX,
                                    1LL << 32, 1LL << 44, 1LL << 53, (1LL << 55) - 1,
                                    1LL << 55, 1LL << 62, INT64_MAX, INT64_MAX - 1,
                                    -1,        INT64_MIN};
    return sizes[below(sizeof sizes / sizeof *sizes)];
}

static int64_t mostly_small(void) { return below(2) ? below(4) : size(); }

/* Outputs do not lie on inputs, nor on each other. */
static _Alignas(64) char room[6][ROOM];
static int rooms;

static tamis_dense dense(int64_t rows, int64_t cols, tamis_type type) {
    tamis_dense x = {.data = room[rooms], .rows = rows, .cols = cols, .type = type};
    if (!below(3)) x.stride = size();
    if (!below(3)) x.batch_stride = size();
    if (!below(6)) x.layout = TAMIS_COLUMN_MAJOR;
    if (!below(8)) x.data = NULL;
    return x;
}

static tamis_dense output(int64_t rows, int64_t cols, tamis_type type) {
    rooms = rooms % 5 + 1;
    tamis_dense x = dense(rows, cols, type);
    x.data = room[rooms];
    rooms = 0;
    return x;
}

__extension__ typedef __int128 wide;

/* Whether a valid view needs no more than the room: else a call might read or write what is not there. */
static bool has_room(const tamis_dense *x, int64_t batch) {
    const bool row_major = x->layout == TAMIS_ROW_MAJOR;
    const wide lines = row_major ? x->rows : x->cols, length = row_major ? x->cols : x->rows;
    const wide stride = x->stride ? x->stride : length;
    if (lines <= 0 || length <= 0 || stride < length || x->batch_stride < 0) return true;
    const wide apart = batch > 1 ? (wide)(batch - 1) * x->batch_stride : 0;
    return (lines - 1) * stride + length + apart <= ROOM / 8;
}

static bool all_have_room(int64_t batch, int count, const tamis_dense *const *views) {
    for (int i = 0; i < count; i++)
        if (!has_room(views[i], batch)) return false;
    return true;
}

#define HAVE_ROOM(batch, ...)                                                                                          \
    all_have_room(batch, (int)(sizeof((const tamis_dense *[]){__VA_ARGS__}) / sizeof(void *)),                         \
                  (const tamis_dense *[]){__VA_ARGS__})

/* A view with 0 or 1 entries and any sizes, that says the truth about its arrays where it is valid. */
static tamis_sparse sparse(tamis_type type) {
    static const int64_t zeros[8], offsets64[8] = {0, 1, 1, 1, 1, 1, 1, 1};
    static const int32_t offsets32[8] = {0, 1, 1, 1, 1, 1, 1, 1};
    const bool csr = !below(3);
    tamis_sparse S = {.format = csr ? TAMIS_CSR : TAMIS_COO,
                      .rows = csr ? below(4) : mostly_small(),
                      .cols = mostly_small(),
                      .nnz = !below(3),
                      .index_type = below(2) ? TAMIS_I64 : TAMIS_I32,
                      .offset_type = below(2) ? TAMIS_I64 : TAMIS_I32,
                      .value_type = type,
                      .row_indices = zeros,
                      .columns = zeros,
                      .values = below(3) ? room[0] : NULL,
                      .batch_stride = below(3) ? 0 : size()};
    if (csr && S.rows == 0) S.nnz = 0;
    S.offsets = S.nnz == 0 ? (const void *)zeros : S.offset_type == TAMIS_I64 ? (const void *)offsets64 : offsets32;
    if (!below(8) && csr) S.nnz = size(); /* more than the offsets say */
    if (!below(8) && csr) S.offset_base = size();
    return S;
}

static tamis_type a_type(void) { return below(2) ? TAMIS_F64 : TAMIS_F32; }

static const char *an_algorithm(void) {
    static tamis_algorithm_description one;
    const tamis_status status = tamis_algorithm_at(below(tamis_algorithm_count()), &one);
    return status == TAMIS_OK && strcmp(one.device, "cpu") == 0 ? one.name : NULL;
}

static tamis_options a_problem(void) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    o.operation = (tamis_operation)below(3);
    o.edge = (tamis_edge)below(8);
    o.type = a_type();
    o.inner = mostly_small();
    o.width = below(3) ? o.inner : mostly_small();
    o.batch = below(3) ? 1 : size();
    o.transpose = o.operation != TAMIS_OP_SDDMM && !below(4);
    o.no_workspace = !below(4);
    o.threads = below(4) ? below(3) : (int)size();
    o.expected_calls = below(4) ? 1 : size();
    o.keep_softmax = o.edge == TAMIS_EDGE_SOFTMAX && o.operation != TAMIS_OP_SPMM && below(2);
    if (below(2)) o.algorithm = an_algorithm();
    o.any_order = below(2);
    if (!below(6)) o.b_layout = TAMIS_COLUMN_MAJOR;
    if (!below(6)) o.output_layout = TAMIS_COLUMN_MAJOR;
    return o;
}

typedef struct operands {
    tamis_sparse S;
    tamis_options o;
    tamis_dense A, B, D, out;
    tamis_execution execution;
} operands;

static bool have_room(const operands *x) {
    const int64_t batch = x->o.batch, stride = x->execution.values ? x->execution.values_stride : x->S.batch_stride;
    const tamis_dense values = {.rows = 1, .cols = x->S.nnz, .batch_stride = stride};
    return HAVE_ROOM(batch, &x->A, &x->B, &x->D, &x->out, &values);
}

static operands draw_operands(void) {
    static const tamis_execution initial = TAMIS_EXECUTION_INIT;
    operands x = {.o = a_problem(), .execution = initial};
    const tamis_operation operation = x.o.operation;
    x.S = sparse(x.o.type);
    const int64_t rows = x.o.transpose ? x.S.cols : x.S.rows, cols = x.o.transpose ? x.S.rows : x.S.cols;
    x.A = dense(rows, x.o.inner, x.o.type);
    x.B = dense(cols, operation == TAMIS_OP_SPMM ? x.o.width : x.o.inner, x.o.type);
    x.D = dense(cols, x.o.width, x.o.type);
    x.out = operation == TAMIS_OP_SDDMM ? output(x.S.nnz, 1, x.o.type) : output(rows, x.o.width, x.o.type);
    if (!below(4)) {
        x.execution.values = room[0];
        x.execution.values_stride = size();
    }
    if (!below(4)) x.execution.beta = 1;
    return x;
}

/* ------------------------------------------------------------------------------------------ kinds of calls */

static void call_plans(void) {
    operands x = draw_operands();
    OWN(tamis_plan) *plan = NULL;
    if (tamis_plan_create(device, &x.S, &x.o, &plan) != TAMIS_OK) return;
    char text[4096];
    size_t bytes;
    tamis_plan_explain(plan, text, sizeof text, &bytes);
    tamis_plan_workspace_size(plan, &bytes);
    if (have_room(&x)) {
        call_plan(plan, x.o.operation, &x.A, &x.B, &x.D, &x.out, &x.execution);
        if (x.o.operation == TAMIS_OP_SDDMM) tamis_plan_edge(plan, &x.out, &x.out, &x.execution);
    }
}

static void call_single_calls(void) {
    operands x = draw_operands();
    if (have_room(&x)) call_at_once(device, x.o.operation, &x.S, &x.A, &x.B, &x.D, &x.out, &x.o, &x.execution);
}

static void call_out_of_core(void) {
    operands x = draw_operands();
    tamis_slab_options slabs = TAMIS_SLAB_OPTIONS_INIT;
    OWN(tamis_slab_plan) *plan = NULL;
    tamis_slab_report report;
    slabs.device_memory = below(2) ? 1 << 20 : size();
    if (tamis_slab_plan_create(device, &x.S, &x.o, &slabs, &plan) != TAMIS_OK) return;
    tamis_slab_plan_describe(plan, &report);
    if (have_room(&x)) {
        if (x.o.operation == TAMIS_OP_SDDMM) tamis_slab_plan_sddmm(plan, &x.A, &x.B, &x.out, &x.execution);
        if (x.o.operation == TAMIS_OP_SPMM) tamis_slab_plan_spmm(plan, &x.B, &x.out, &x.execution);
        if (x.o.operation == TAMIS_OP_FUSED) tamis_slab_plan_fused(plan, &x.A, &x.B, &x.D, &x.out, &x.execution);
    }
}

static void call_gradients(void) {
    operands x = draw_operands();
    OWN(tamis_gradient) *gradient = NULL;
    if (tamis_gradient_create(device, &x.S, &x.o, &gradient) != TAMIS_OK) return;
    const tamis_type type = x.o.type;
    const tamis_dense dA = output(x.A.rows, x.A.cols, type), dB = output(x.B.rows, x.B.cols, type),
                      dD = output(x.D.rows, x.D.cols, type), dS = output(x.S.nnz, 1, type),
                      dE = dense(x.out.rows, x.out.cols, type);
    const tamis_dense *const da = below(4) ? &dA : NULL, *const db = below(4) ? &dB : NULL,
                             *const ds = below(2) ? &dS : NULL;
    if (have_room(&x) && HAVE_ROOM(x.o.batch, &dA, &dB, &dD, &dS, &dE)) {
        if (x.o.operation == TAMIS_OP_SDDMM) tamis_sddmm_backward(gradient, &dE, &x.A, &x.B, da, db, ds, &x.execution);
        if (x.o.operation == TAMIS_OP_SPMM) tamis_spmm_backward(gradient, &dE, &x.B, db, ds, &x.execution);
        if (x.o.operation == TAMIS_OP_FUSED)
            tamis_fused_backward(gradient, &dE, &x.A, &x.B, &x.D, da, db, &dD, ds, &x.execution);
    }
}

static void call_references(void) {
    operands x = draw_operands();
    double *const out = (double *)(void *)room[1];
    const int64_t width = x.o.operation == TAMIS_OP_SDDMM ? 1 : x.o.width;
    const tamis_dense result = {.rows = x.out.rows, .cols = width, .batch_stride = tamis_times(x.out.rows, width)};
    if (!have_room(&x) || !has_room(&result, x.o.batch)) return;
    call_oracle(x.o.operation, &x.S, &x.A, &x.B, &x.D, &x.o, &x.execution, out);
    tamis_oracle *oracle = NULL;
    const bool fused = x.o.operation == TAMIS_OP_FUSED, spmm = x.o.operation == TAMIS_OP_SPMM;
    tamis_oracle_create(&x.S, spmm ? NULL : &x.A, &x.B, fused ? &x.D : NULL, &x.o, 1e6, &oracle);
    tamis_oracle_free(oracle);
}

static void call_structures(void) {
    const tamis_sparse S = sparse(a_type());
    tamis_profile profile;
    tamis_structure structure;
    tamis_sparse slice;
    int64_t first_rows[65];
    tamis_convert_options o = TAMIS_CONVERT_OPTIONS_INIT;
    tamis_owned_sparse *made = NULL;
    o.format = below(2) ? TAMIS_COO : TAMIS_CSR;
    o.index_type = below(2) ? TAMIS_I64 : TAMIS_I32;
    o.offset_type = below(2) ? TAMIS_I64 : TAMIS_I32;
    o.values = (tamis_values)below(3);
    o.duplicates = (tamis_duplicates)below(3);
    o.transpose = below(2);
    if (tamis_validate(&S) == TAMIS_OK && tamis_row_profile(&S, &profile) == TAMIS_OK)
        tamis_structure_find(&S, below(2) ? &profile : NULL, &structure);
    if (tamis_convert(&S, &o, &made) == TAMIS_OK) tamis_owned_sparse_free(made);
    if (S.rows < 8 && S.offset_base == 0) tamis_partition(&S, below(64) + 1, first_rows);
    const int64_t rows[] = {size(), mostly_small()};
    int64_t offsets[3];
    if (S.rows < 8 && tamis_validate(&S) == TAMIS_OK)
        tamis_sample(&S, rows, below(3), size(), below(2), 1, offsets, NULL);
    if (S.rows < 8) tamis_slice(&S, size(), size(), size(), size(), &slice);
}

static void call_generators(void) {
    tamis_generate_options o = TAMIS_GENERATE_OPTIONS_INIT;
    tamis_owned_sparse *made = NULL;
    tamis_owned_dense *array = NULL;
    o.kind = (tamis_kind)below(7);
    o.rows = mostly_small();
    o.cols = mostly_small();
    o.nnz = mostly_small();
    o.band = below(3) ? 0 : size();
    o.block = below(3) ? 0 : size();
    o.global = below(3) ? 0 : size();
    if (!below(4)) o.density = 0.5;
    o.index_type = below(2) ? TAMIS_I64 : TAMIS_I32;
    o.offset_type = below(2) ? TAMIS_I64 : TAMIS_I32;
    if (tamis_generate(&o, &made) == TAMIS_OK) tamis_owned_sparse_free(made);
    if (tamis_owned_dense_create(size(), size(), (tamis_type)below(4), (tamis_layout)below(2), &array) == TAMIS_OK)
        tamis_owned_dense_free(array);
    const tamis_dense x = output(mostly_small(), mostly_small(), a_type());
    if (has_room(&x, 1)) tamis_fill_uniform(&x, 1, 0, 1);
}

static void call_companions(void) {
    const int64_t rows = mostly_small(), cols = mostly_small();
    const tamis_type type = a_type();
    const tamis_dense X = dense(rows, cols, type), Y = output(rows, below(2) ? cols : mostly_small(), type),
                      Z = output(rows, cols, type), G = dense(cols, Y.cols, type), column = output(rows, 1, type),
                      row = output(cols, 1, type);
    tamis_dense_workspace *workspace = NULL;
    double result;
    if (tamis_dense_workspace_create(device, below(2) ? cols : size(), type, &workspace) != TAMIS_OK) workspace = NULL;
    if (HAVE_ROOM(1, &X, &Y, &Z, &G, &column, &row)) {
        tamis_dense_fill(device, NULL, &Y, 1);
        tamis_dense_axpby(device, NULL, 1, &X, 1, &Z);
        tamis_dense_map(device, NULL, TAMIS_MAP_MULTIPLY_ADD, 1, 1, &X, &Z, &Y);
        tamis_dense_scale(device, NULL, (tamis_scaling)below(4), NULL, 1, &X, 0, &Z);
        tamis_dense_row_sums(device, NULL, &X, &column);
        tamis_dense_row_dots(device, NULL, &X, &Z, &column);
        tamis_dense_multiply(device, NULL, 1, &X, &G, 0, &Y);
        tamis_dense_column_sums(device, NULL, workspace, &X, &row);
        tamis_dense_dot(device, NULL, workspace, &X, &Z, &result);
        tamis_dense_log_dot(device, NULL, workspace, NULL, &X, 1e-3, &result);
        tamis_dense_gram(device, NULL, workspace, 1, &X, 0, &Y);
    }
    tamis_dense_workspace_destroy(workspace);
}

static void call_masks(void) {
    static const int64_t lengths[4] = {0, 1, 2, 3};
    tamis_mask m = TAMIS_MASK_INIT;
    tamis_owned_sparse *made = NULL;
    m.rows = mostly_small();
    m.cols = mostly_small();
    if (!below(3)) {
        m.global_list = lengths;
        m.global_count = 1;
    }
    int64_t *const fields[] = {&m.offset, &m.left, &m.right, &m.dilation, &m.every, &m.globals, &m.members};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!below(3)) *fields[i] = size();
    /* what is more than a window is counted word by word */
    if (m.dilation != 1 || m.every || m.global_count) m.rows %= 4, m.cols %= 1 << 20, m.members %= 64;
    m.sinks = below(2);
    m.causal = below(2);
    m.from_end = !below(4);
    m.length_type = m.global_type = TAMIS_I64;
    if (m.members <= 3 && below(2)) m.lengths = lengths;
    const tamis_index_type offsets = below(2) ? TAMIS_I64 : TAMIS_I32, indices = below(2) ? TAMIS_I64 : TAMIS_I32;
    if (tamis_mask_create(device, NULL, &m, offsets, indices, &made) == TAMIS_OK) tamis_owned_sparse_free(made);
}

static void call_messages(void) {
    const tamis_type type = a_type();
    const tamis_sparse S = sparse(type);
    const tamis_graph_options options = {.forward_only = !below(4)};
    const int64_t heads = below(2) ? 1 : size(), width = mostly_small(), all = tamis_times(heads, width);
    tamis_graph *graph = NULL;
    if (tamis_graph_create(device, &S, &options, &graph) != TAMIS_OK) return;
    const tamis_dense U = dense(S.cols, all, type), V = dense(S.rows, all, type), E = dense(S.nnz, all, type),
                      B = dense(S.nnz, heads, type), out = output(S.rows, all, type), dU = output(S.cols, all, type),
                      dE = output(S.nnz, all, type), pairs = output(S.nnz, below(2) ? all : heads, type);
    const tamis_message_options o = {.op = (tamis_message_op)below(6),
                                     .reduce = (tamis_reduce)below(4),
                                     .edge_data = (tamis_edge_data)below(4),
                                     .type = type,
                                     .heads = heads,
                                     .width = width};
    const tamis_pair_options pair = {.op = (tamis_pair_op)below(4), .type = type, .heads = heads, .width = width};
    const tamis_graph_attention_options attention = {.type = type, .heads = heads, .width = width, .scale = 1};
    const tamis_graph_attention_matrices matrices = {.Q = &V, .K = &U, .V = &U, .E = below(2) ? &E : NULL};
    const tamis_segment_options segment = {.op = (tamis_segment_op)below(5), .type = type, .heads = heads};
    const tamis_dense per_head = output(segment.op == TAMIS_SEGMENT_SOFTMAX ? S.nnz : S.rows, heads, type);
    size_t bytes;
    if (HAVE_ROOM(1, &U, &V, &E, &B, &out, &dU, &dE, &pairs, &per_head)) {
        tamis_message_pass(graph, &o, &U, below(2) ? &E : &B, &out, NULL, NULL);
        tamis_message_backward(graph, &o, &V, &U, &E, NULL, &dU, below(2) ? &dE : NULL, NULL);
        tamis_edge_vectors(graph, &pair, &V, &U, &pairs, NULL);
        tamis_edge_vectors_backward(graph, &pair, &E, &V, &U, &out, &dU, NULL);
        tamis_graph_attention(graph, &attention, &matrices, &out, NULL, NULL);
        tamis_segment(graph, &segment, &B, &per_head, NULL, NULL);
    }
    tamis_graph_attention_workspace_size(graph, &attention, &bytes);
    tamis_graph_destroy(graph);
}

static void call_caches(void) {
    static const int32_t lengths[4] = {0, 1, 2, 3};
    tamis_cached_attention_options o = {.type = a_type(), .lengths = lengths, .scale = 1};
    o.output_type = o.type;
    o.sequences = below(2) ? below(3) : size();
    o.heads = o.key_heads = below(2) ? 1 : size();
    o.inner = o.width = below(2) ? 4 : size();
    o.capacity = mostly_small();
    o.window = mostly_small();
    tamis_vectors x = {.data = room[0], .sequence_stride = 4, .position_stride = 4, .head_stride = 4}, out = x;
    int64_t *const strides[] = {&x.sequence_stride, &x.position_stride, &x.head_stride, &out.sequence_stride};
    for (int i = 0; i < 4; i++)
        if (!below(3)) *strides[i] = size();
    out.data = room[1];
    if (o.sequences > 2 || o.heads > 4) o.sequences = below(2) ? 0 : INT64_MAX; /* results would be elsewhere */
    if (o.sequences > 0 && o.capacity > 0 && x.position_stride > 4) x.position_stride = INT64_MAX;
    if (o.sequences > 1) x.sequence_stride = 4, out.sequence_stride = 4;
    tamis_cached_attention(device, &o, &x, &x, &x, &out, NULL, NULL);
}

/* ------------------------------------------------------------------------------------------ cases */

/* Runs the calls of a case, and returns how many blocks they leave behind. */
static int64_t run_case(void (*calls)(void), uint64_t number) {
    const struct rlimit memory = {(rlim_t)2 << 30, (rlim_t)2 << 30};
    if (!__sanitizer_print_stack_trace) setrlimit(RLIMIT_AS, &memory);
    const struct rlimit time = {SECONDS, SECONDS}; /* of a processor, so that other work does not count */
    setrlimit(RLIMIT_CPU, &time);
    alarm(60 * SECONDS); /* for what waits */
    const int64_t live = tamis_memory_live();
    for (int i = 0; i < CALLS; i++) {
        dice = tamis_random_start(seed + number, (uint64_t)i);
        calls();
    }
    return tamis_memory_live() - live;
}

static void run_cases(void (*calls)(void)) {
    const char *const asked = getenv("TAMIS_TEST_SIZES");
    const int cases = asked ? atoi(asked) : CASES;
    for (int i = 0; i < cases; i++) {
        int status;
        fflush(stdout);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) _exit(run_case(calls, (uint64_t)i) != 0 ? 99 : 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status != 0)
            fail_msg("case %d of TAMIS_TEST_SEED=%llu ended with %s %d", i, (unsigned long long)seed,
                     WIFSIGNALED(status) ? "signal" : "code",
                     WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
}

static int set_up(void **given) {
    seed = test_seed();
    return tamis_device_open("cpu", &device) != TAMIS_OK;
}

static int tear_down(void **given) {
    tamis_device_close(device);
    return 0;
}

TEST(plans) { run_cases(call_plans); }
TEST(single_calls) { run_cases(call_single_calls); }
TEST(out_of_core) { run_cases(call_out_of_core); }
TEST(gradients) { run_cases(call_gradients); }
TEST(references) { run_cases(call_references); }
TEST(structures) { run_cases(call_structures); }
TEST(generators) { run_cases(call_generators); }
TEST(companions) { run_cases(call_companions); }
TEST(masks) { run_cases(call_masks); }
TEST(messages) { run_cases(call_messages); }
TEST(caches) { run_cases(call_caches); }

TEST_FIXTURE(set_up, tear_down)
