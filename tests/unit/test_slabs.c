/* Plans out of core against the oracle: the device may use a part of what the matrices take. */
#include "support/test.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <tamis/slabs.h>
#include <tamis/structure.h>

#include "base/edges.h"
#include "base/memory.h"
#include "core/device.h"
#include "named_device.h"
#include "support/brief.h"
#include "support/expect.h"
#include "support/faults.h"
#include "support/refusals.h"

static const char *device_name = "cpu";
static tamis_device *device;

/* ------------------------------------------------------------------------------------------ memory that counts */

typedef struct counted {
    _Atomic int64_t live, most, largest;
} counted;

static void *count_in(void *context, size_t bytes, void *stream) {
    counted *const c = context;
    void *memory = NULL;
    if (tamis_device_allocate(device, bytes, &memory) != TAMIS_OK) return NULL;
    const int64_t live = atomic_fetch_add(&c->live, (int64_t)bytes) + (int64_t)bytes;
    if (live > c->most) c->most = live;
    if ((int64_t)bytes > c->largest) c->largest = (int64_t)bytes;
    (void)stream;
    return memory;
}

static void count_out(void *context, void *memory, size_t bytes, void *stream) {
    counted *const c = context;
    atomic_fetch_sub(&c->live, (int64_t)bytes);
    (void)stream;
    tamis_device_free(device, memory);
}

/* ------------------------------------------------------------------------------------------ one case */

enum {
    COLUMN_MAJOR = 1,
    BATCH = 2,
    BETA = 4,
    PATTERN = 8,
    SLICE = 16,
    WIDE = 32,
    D_IS_B = 64,
    VALUES = 128,
    IN_ORDER = 256,
    PADDED = 512,
    INTEGERS = 1024,
    PIECES = 4096, /* one allocation has a sixth of the memory at most, as on many devices of OpenCL */
    LARGE = 2048   /* so that what kernels take for each thread is nothing beside the matrices: the limit is kept */
};

typedef struct row {
    const char *name;
    int64_t rows, cols, nnz, inner, width;
    shape shape;
    int share; /* the device may use operand_bytes / share */
    bool keeps_b;
    unsigned flags;
} row;

static const row cases[] = {
    {"B stays", 900, 60, 9000, 16, 16, SHAPE_UNIFORM, 2, true, 0},
    {"B stays, all options", 700, 50, 7000, 12, 9, SHAPE_UNIFORM, 2, true, COLUMN_MAJOR | BATCH | BETA | WIDE},
    {"B stays, a slice", 900, 60, 9000, 16, 8, SHAPE_RAGGED, 2, true, SLICE | BETA | VALUES},
    {"B stays, a pattern", 900, 60, 9000, 16, 8, SHAPE_UNIFORM, 2, true, PATTERN | PADDED},
    {"B in tiles", 400, 700, 4000, 24, 24, SHAPE_UNIFORM, 2, false, 0},
    {"B in tiles, a third", 400, 700, 4000, 24, 20, SHAPE_UNIFORM, 3, false, BETA | IN_ORDER},
    {"B in tiles, columns first", 300, 600, 3000, 20, 20, SHAPE_UNIFORM, 2, false, COLUMN_MAJOR | BETA | BATCH},
    {"B in tiles, a slice", 400, 700, 4000, 24, 24, SHAPE_RAGGED, 2, false, SLICE | WIDE | BETA | VALUES},
    {"B in tiles, D is B", 400, 700, 4000, 24, 24, SHAPE_SPARSE_ENDS, 2, false, D_IS_B | PATTERN},
    {"B in tiles, one row has all", 300, 500, 3000, 20, 20, SHAPE_LAST_ROW, 2, false, BETA | PADDED},
    {"integers in tiles", 300, 700, 4000, 24, 20, SHAPE_UNIFORM, 2, false, INTEGERS | BETA},
    {"large, B stays", 20000, 2000, 90000, 16, 16, SHAPE_UNIFORM, 2, true, LARGE},
    {"large, B in tiles", 5000, 12000, 40000, 32, 32, SHAPE_UNIFORM, 2, false, LARGE},
    {"large, B in tiles, in pieces", 5000, 12000, 40000, 32, 32, SHAPE_UNIFORM, 1, false, LARGE | PIECES},
    {"integers, B stays", 900, 60, 9000, 16, 16, SHAPE_UNIFORM, 2, true, INTEGERS},
};

enum { CASES = sizeof cases / sizeof *cases, MEMBERS = 2 };

/* Whether softmax has room for the rows of B of one row. */
static bool softmax_fits(const row *c) { return c->shape != SHAPE_LAST_ROW && c->shape != SHAPE_HUB; }

typedef struct trial {
    const row *c;
    tamis_operation operation;
    tamis_edge edge;
    tamis_type type;
    problem p;
    tamis_sparse S;
    tamis_dense A, B, D, out;
    test_call call;
    void *samples, *zeros;
    int64_t first_row, first_entry;
} trial;

static void draw(trial *t) {
    const row *const c = t->c;
    const unsigned flags = c->flags;
    tamis_random random = tamis_random_start(31, (uint64_t)(c - cases));
    const tamis_layout layout = flags & COLUMN_MAJOR ? TAMIS_COLUMN_MAJOR : TAMIS_ROW_MAJOR;
    const tamis_index_type wide = flags & WIDE ? TAMIS_I64 : TAMIS_I32;
    const problem_options o = {.rows = c->rows,
                               .cols = c->cols,
                               .nnz = c->nnz,
                               .inner = c->inner,
                               .width = c->width,
                               .batch = flags & BATCH ? MEMBERS : 1,
                               .shape = c->shape,
                               .type = t->type,
                               .index_type = wide,
                               .offset_type = wide,
                               .layouts = {layout, layout, layout, layout},
                               .pattern = flags & PATTERN,
                               .padding = flags & PADDED ? 3 : 0};
    t->p = problem_make(&o, &random);
    if (flags & INTEGERS) problem_round(&t->p);
    if (flags & D_IS_B) t->p.D = t->p.B;
    t->call = call_of(t->edge, flags & INTEGERS ? 2 : 0.75, flags & BETA ? -1 : 0);
    t->call.options.edge_scale = 0.5;
    t->call.options.edge_epsilon = 0.25;
}

static void take_views(trial *t) {
    const int64_t rows = t->c->flags & SLICE ? t->c->rows * 2 / 3 : t->c->rows;
    const size_t bytes = tamis_type_size(t->type) * (size_t)(t->p.options.batch * (t->p.S.nnz + 1));
    t->first_row = t->c->flags & SLICE ? t->c->rows / 6 : 0;
    assert_int_equal(tamis_slice(&t->p.S, t->first_row, rows, 0, 0, &t->S), TAMIS_OK);
    t->first_entry = t->S.offset_base;
    t->A = test_rows_of(&t->p.A, t->first_row, rows);
    t->B = t->operation == TAMIS_OP_SPMM ? t->p.D : t->p.B;
    t->D = t->p.D;
    t->out = test_rows_of(&t->p.out, t->first_row, rows);
    t->samples = calloc(bytes, 1);
    t->zeros = calloc(bytes, 1);
    assert_non_null(t->samples);
    assert_non_null(t->zeros);
    if (t->operation == TAMIS_OP_SDDMM)
        t->out = (tamis_dense){
            .data = t->samples, .rows = t->S.nnz, .cols = 1, .stride = 1, .type = t->type, .batch_stride = t->S.nnz};
    if (t->c->flags & VALUES) { /* those of the view would be wrong */
        t->call.execution.values = t->S.values;
        t->call.execution.values_stride = t->S.batch_stride;
        t->S.values = t->zeros;
    }
}

static tamis_options options_of(const trial *t) {
    tamis_options o = t->call.options;
    o.operation = t->operation;
    o.type = t->type;
    o.inner = t->c->inner;
    o.width = t->c->width;
    o.batch = t->p.options.batch;
    o.a_layout = o.b_layout = o.d_layout = o.output_layout = t->p.A.layout;
    o.d_is_b = t->c->flags & D_IS_B && t->operation == TAMIS_OP_FUSED;
    o.overlap = t->c->flags & IN_ORDER ? TAMIS_OVERLAP_NEVER : TAMIS_OVERLAP_AUTO;
    o.threads = 2;
    return o;
}

static tamis_status execute(const trial *t, tamis_slab_plan *plan) {
    const tamis_execution *const e = &t->call.execution;
    switch (t->operation) {
    case TAMIS_OP_SDDMM: return tamis_slab_plan_sddmm(plan, &t->A, &t->B, &t->out, e);
    case TAMIS_OP_SPMM: return tamis_slab_plan_spmm(plan, &t->B, &t->out, e);
    case TAMIS_OP_FUSED: return tamis_slab_plan_fused(plan, &t->A, &t->B, &t->D, &t->out, e);
    }
    return TAMIS_ERROR_INTERNAL;
}

static int64_t place_of(const trial *t, int64_t i, int64_t j) {
    return t->operation == TAMIS_OP_SDDMM ? t->first_entry + i : (t->first_row + i) * t->c->width + j;
}

static double *outputs_of(const trial *t, int64_t member) {
    const int64_t count = t->operation == TAMIS_OP_SDDMM ? t->p.S.nnz : t->c->rows * t->c->width;
    double *const outputs = calloc((size_t)count + 1, sizeof *outputs);
    assert_non_null(outputs);
    for (int64_t i = 0; i < t->out.rows; i++)
        for (int64_t j = 0; j < t->out.cols; j++)
            outputs[place_of(t, i, j)] = test_load(t->out.data, t->type, test_position(&t->out, member, i, j));
    return outputs;
}

static void compare(const trial *t, int64_t member, const double *old) {
    const bool exact = t->c->flags & INTEGERS && (t->edge <= TAMIS_EDGE_RESIDUAL || t->operation == TAMIS_OP_SPMM) &&
                       tamis_type_size(t->type) >= 4;
    double *want, *bound;
    expect_member(&t->p, t->operation, &t->call, member, old, &want, &bound);
    for (int64_t i = 0; i < t->out.rows; i++)
        for (int64_t j = 0; j < t->out.cols; j++) {
            const int64_t at = place_of(t, i, j);
            const double got = test_load(t->out.data, t->type, test_position(&t->out, member, i, j));
            if (exact ? got == want[at] : expect_fits(t->type, got, want[at], bound[at])) continue;
            fail_msg("%s, %s, %s, %s: member %d, row %lld, column %lld: %.9g instead of %.9g", t->c->name,
                     tamis_operation_name(t->operation), tamis_edge_name(t->edge), tamis_type_name(t->type),
                     (int)member, (long long)i, (long long)j, got, want[at]);
        }
    free(want);
    free(bound);
}

/* What one member takes, without a limit. */
static int64_t operand_bytes(const trial *t, const tamis_options *o) {
    const tamis_slab_options none = {.device_memory = (int64_t)1 << 40};
    tamis_slab_plan *plan = NULL;
    tamis_slab_report report;
    tamis_options small = *o;
    small.allocator = NULL;
    assert_int_equal(tamis_slab_plan_create(device, &t->S, &small, &none, &plan), TAMIS_OK);
    assert_int_equal(tamis_slab_plan_describe(plan, &report), TAMIS_OK);
    tamis_slab_plan_destroy(plan);
    return report.operand_bytes;
}

static void check_report(const trial *t, const tamis_slab_report *r) {
    assert_true(r->buffer_bytes <= r->device_memory);
    assert_true(r->operand_bytes > r->device_memory * t->c->share - t->c->share);
    assert_true(r->slabs > 1 || (!r->keeps_b && r->pieces > 1));
    assert_true(r->pieces >= r->slabs);
    assert_int_equal(r->keeps_b, t->c->keeps_b);
    if (r->keeps_b) assert_int_equal(r->b_rows, t->S.cols);
    assert_true(r->seconds > 0);
    if (t->c->flags & IN_ORDER)
        assert_true(r->compute_seconds > 0 && r->staging_seconds > 0 &&
                    r->staging_seconds + r->transfer_seconds + r->compute_seconds <= r->seconds);
    else
        assert_true(r->compute_seconds == 0 && r->transfer_seconds == 0);
}

static int64_t piece_most;
static int64_t allocation_most(void *handle) {
    (void)handle;
    return piece_most;
}

static void run_trial(const row *c, tamis_operation operation, tamis_edge edge, tamis_type type) {
    trial t = {.c = c, .operation = operation, .edge = edge, .type = type};
    counted memory = {0};
    const tamis_allocator allocator = {.context = &memory, .allocate = count_in, .release = count_out};
    double *old[MEMBERS];
    tamis_slab_plan *plan = NULL;
    tamis_slab_report report;
    draw(&t);
    take_views(&t);
    tamis_options o = options_of(&t);
    o.allocator = &allocator;
    const tamis_slab_options limit = {.device_memory = operand_bytes(&t, &o) / c->share};
    for (int64_t m = 0; m < o.batch; m++) old[m] = outputs_of(&t, m);
    const tamis_backend *const backend = device->backend;
    tamis_backend in_pieces = *backend;
    in_pieces.allocation_most = allocation_most;
    piece_most = limit.device_memory / 6;
    if (c->flags & PIECES) device->backend = &in_pieces;
    if (tamis_slab_plan_create(device, &t.S, &o, &limit, &plan) != TAMIS_OK || execute(&t, plan) != TAMIS_OK)
        fail_msg("%s, %s, %s: %s", c->name, tamis_operation_name(operation), tamis_edge_name(edge), tamis_last_error());
    for (int64_t m = 0; m < o.batch; m++) compare(&t, m, old[m]);
    assert_int_equal(tamis_slab_plan_describe(plan, &report), TAMIS_OK);
    check_report(&t, &report);
    assert_true(memory.most >= report.buffer_bytes); /* it has been counted */
    if (c->flags & LARGE && memory.most > limit.device_memory)
        fail_msg("%s, %s: %lld bytes in use, %lld allowed", c->name, tamis_operation_name(operation),
                 (long long)memory.most, (long long)limit.device_memory);
    if (c->flags & PIECES) assert_in_range(memory.largest, 1, piece_most);
    tamis_slab_plan_destroy(plan);
    device->backend = backend;
    assert_int_equal(memory.live, 0);
    for (int64_t m = 0; m < o.batch; m++) free(old[m]);
    free(t.samples);
    free(t.zeros);
    problem_free(&t.p);
}

static int step; /* of the cases one in so many */

TEST(test_cases) {
    static const tamis_type types[] = {TAMIS_F32, TAMIS_F64, TAMIS_F16, TAMIS_F32, TAMIS_BF16};
    int number = 0, kept = 0, tiled = 0;
    (void)state;
    for (int i = 0; i < CASES; i++)
        for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++)
            for (int edge = 0; edge < (operation == TAMIS_OP_SPMM ? 1 : TAMIS_EDGE_COUNT); edge++) {
                const bool exact = cases[i].flags & INTEGERS;
                /* least is to spare where there is no sample of each nonzero; emulated, it would compile for seconds */
                const bool always =
                    cases[i].flags & LARGE && operation == TAMIS_OP_SPMM && strncmp(device_name, "cuda", 4) != 0;
                if (number++ % step != 0 && !always) continue;
                if (cases[i].flags & LARGE && edge != TAMIS_EDGE_SCALE && edge != TAMIS_EDGE_SOFTMAX) continue;
                if (edge == TAMIS_EDGE_SOFTMAX && !cases[i].keeps_b && !softmax_fits(&cases[i])) continue;
                run_trial(&cases[i], (tamis_operation)operation, (tamis_edge)edge,
                          types[exact ? number % 2 : number % 5]);
                kept += cases[i].keeps_b;
                tiled += !cases[i].keeps_b;
            }
    assert_true(kept > 0 && tiled > 0);
}

/* ------------------------------------------------------------------------------------------ errors */

static int32_t offsets[] = {0, 1, 3}, columns[] = {1, 0, 2};
static float values[] = {1, 2, 3}, b[9], c[6];

static tamis_sparse small_matrix(void) {
    return (tamis_sparse){
        .format = TAMIS_CSR, .rows = 2, .cols = 3, .nnz = 3, .offsets = offsets, .columns = columns, .values = values};
}

static tamis_options small_options(void) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    o.operation = TAMIS_OP_SPMM;
    o.width = 3;
    return o;
}

TEST(test_errors_of_making) {
    tamis_slab_options slabs = TAMIS_SLAB_OPTIONS_INIT;
    tamis_options o = small_options();
    tamis_sparse S = small_matrix();
    tamis_slab_plan *plan = NULL;
    (void)state;
    slabs.device_memory = 4096;
#define MAKE tamis_slab_plan_create(device, &S, &o, &slabs, &plan)
    REFUSED_MADE(plan, ARGUMENT, "device = NULL", tamis_slab_plan_create(NULL, &S, &o, &slabs, &plan));
    REFUSED(ARGUMENT, "plan = NULL", tamis_slab_plan_create(device, &S, &o, &slabs, NULL));
    REFUSED_MADE(plan, ARGUMENT, "S = NULL", tamis_slab_plan_create(device, NULL, &o, &slabs, &plan));
    REFUSED_MADE(plan, ARGUMENT, "options = NULL", tamis_slab_plan_create(device, &S, NULL, &slabs, &plan));
    SPOILT_MADE(plan, slabs.device_memory, -1, ARGUMENT, "slabs.device_memory = -1", MAKE);
    SPOILT_MADE(plan, slabs.reserved[2], 1, UNSUPPORTED, "slabs.reserved[2]", MAKE);
    SPOILT_MADE(plan, o.transpose, true, UNSUPPORTED, "options.transpose", MAKE);
    SPOILT_MADE(plan, S.location, TAMIS_DEVICE, ARGUMENT, "S.location = device", MAKE);
    SPOILT_MADE(plan, columns[2], 3, PATTERN, "columns[2] = 3", MAKE);
    SPOILT_MADE(plan, o.width, (int64_t)1 << 55, OVERFLOW,
                "options.width = 36028797018963968: expected at most 36028797018963967", MAKE);
    /* a row's bytes fit 64 bits, those of what its call takes do not */
    SPOILT_MADE_BY(plan, o, (o.operation = TAMIS_OP_FUSED, o.inner = o.width = ((int64_t)1 << 55) - 1), OVERFLOW,
                   "options.inner = 36028797018963967, width = 36028797018963967: ", MAKE);
    SPOILT_MADE(plan, slabs.device_memory, 64, MEMORY, "slabs.device_memory = 64: ", MAKE);
    /* what the message says is enough */
    long long would_do = 0;
    assert_int_equal(sscanf(strstr(tamis_last_error(), "at least "), "at least %lld", &would_do), 1);
    slabs.device_memory = would_do;
    assert_int_equal(MAKE, TAMIS_OK);
    tamis_slab_plan_destroy(plan);
    tamis_slab_plan_destroy(NULL);
#undef MAKE
}

/* Of matrices whose later rows and columns need more than the first: what the message says is enough, the first time.
 */
TEST(test_what_is_needed) {
    enum { ROWS = 60, NNZ = ROWS * (ROWS + 1) / 2 };
    static int32_t rising[ROWS + 1], taken[NNZ];
    (void)state;
    for (int32_t i = 0, t = 0; i < ROWS; i++) {
        for (int32_t j = 0; j <= i; j++) taken[t++] = (j * 7 + i) % ROWS;
        rising[i + 1] = t;
    }
    const tamis_sparse S = {
        .rows = ROWS, .cols = ROWS, .nnz = NNZ, .offset_type = TAMIS_I32, .offsets = rising, .columns = taken};
    for (int operation = 0; operation < 3; operation++) {
        for (int64_t memory = 1; memory < 1 << 20; memory *= 3) {
            tamis_slab_options slabs = {.device_memory = memory};
            tamis_options o = TAMIS_OPTIONS_INIT;
            tamis_slab_plan *plan = NULL;
            long long enough = 0;
            o.operation = (tamis_operation)operation;
            o.edge = operation == TAMIS_OP_FUSED ? TAMIS_EDGE_SOFTMAX : TAMIS_EDGE_MASK;
            o.inner = 8;
            o.width = operation == TAMIS_OP_SDDMM ? 0 : 5;
            if (tamis_slab_plan_create(device, &S, &o, &slabs, &plan) != TAMIS_OK) {
                const char *const at = strstr(tamis_last_error(), "at least ");
                if (!at || sscanf(at, "at least %lld", &enough) != 1) fail_msg("%s", tamis_last_error());
                assert_true(enough > memory);
                slabs.device_memory = enough;
                if (tamis_slab_plan_create(device, &S, &o, &slabs, &plan) != TAMIS_OK)
                    fail_msg("with %lld: %s", enough, tamis_last_error());
            }
            tamis_slab_plan_destroy(plan);
        }
    }
}

TEST(test_errors_of_executing) {
    const tamis_slab_options slabs = {.device_memory = 4096};
    const tamis_options o = small_options();
    const tamis_sparse S = small_matrix();
    tamis_dense B = {.data = b, .rows = 3, .cols = 3}, C = {.data = c, .rows = 2, .cols = 3};
    tamis_execution e = TAMIS_EXECUTION_INIT;
    tamis_slab_plan *plan = NULL;
    tamis_slab_report report;
    size_t needed = 0;
    char text[2000];
    (void)state;
    assert_int_equal(tamis_slab_plan_create(device, &S, &o, &slabs, &plan), TAMIS_OK);
    REFUSED(ARGUMENT, "plan = NULL", tamis_slab_plan_spmm(NULL, &B, &C, NULL));
    REFUSED(ARGUMENT, "made for spmm", tamis_slab_plan_sddmm(plan, &B, &B, &C, NULL));
    REFUSED(ARGUMENT, "B = NULL", tamis_slab_plan_spmm(plan, NULL, &C, NULL));
    B.rows = 2;
    REFUSED(ARGUMENT, "B.rows = 2", tamis_slab_plan_spmm(plan, &B, &C, NULL));
    B.rows = 3;
    B.location = TAMIS_DEVICE;
    REFUSED(ARGUMENT, "B.location", tamis_slab_plan_spmm(plan, &B, &C, NULL));
    B.location = TAMIS_HOST;
    e.workspace = b;
    REFUSED(ARGUMENT, "execution.workspace", tamis_slab_plan_spmm(plan, &B, &C, &e));
    REFUSED(ARGUMENT, "report = NULL", tamis_slab_plan_describe(plan, NULL));
    assert_int_equal(tamis_slab_plan_describe(plan, &report), TAMIS_OK);
    assert_true(report.seconds == 0 && report.keeps_b && report.b_rows == 3);
    REFUSED(ARGUMENT, "text = NULL", tamis_slab_plan_explain(plan, NULL, 1, NULL));
    assert_int_equal(tamis_slab_plan_explain(plan, text, sizeof text, &needed), TAMIS_OK);
    assert_int_equal(strlen(text) + 1, needed);
    assert_non_null(strstr(text, "the plan may use 4096 of "));
    tamis_slab_plan_destroy(plan);
}

/* Each allocation fails once: an error, and nothing is left. */
TEST(test_memory_runs_out) {
    const tamis_slab_options slabs = {.device_memory = 700}; /* tiles */
    const tamis_options o = small_options();
    const tamis_sparse S = small_matrix();
    const tamis_dense B = {.data = b, .rows = 3, .cols = 3}, C = {.data = c, .rows = 2, .cols = 3};
    (void)state;
    if (strcmp(device_name, "cpu") != 0) return; /* a GPU keeps what it has once made */
    EACH_FAULT_OF(w, .least = 11) {
        tamis_slab_plan *plan = NULL;
        fault_begin(&w);
        tamis_status status = tamis_slab_plan_create(device, &S, &o, &slabs, &plan);
        if (status == TAMIS_OK) status = tamis_slab_plan_spmm(plan, &B, &C, NULL);
        fault_end(&w, status);
        tamis_slab_plan_destroy(plan);
    }
}

TEST_RUN() {
    if (!named_device_is_here(argc, argv, &device_name)) return 77;
    step = argc > 2 ? atoi(argv[2]) : test_whole() ? 1 : test_rounds(2, 5);
    if (tamis_device_open(device_name, &device) != TAMIS_OK) return 1;
    const int failed = test_run(NULL, NULL, NULL, NULL);
    tamis_device_close(device);
    return failed;
}
