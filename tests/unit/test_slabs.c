/* Plans out of core against the oracle: the device may use a part of what the matrices take. */
#include "support/test.h"

#include <stdatomic.h>

#include "base/edges.h"
#include "core/device.h"
#include "named_device.h"
#include "support/part.h"

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
    return memory;
}

static void count_out(void *context, void *memory, size_t bytes, void *stream) {
    counted *const c = context;
    atomic_fetch_sub(&c->live, (int64_t)bytes);
    tamis_device_free(device, memory);
}

/* ------------------------------------------------------------------------------------------ one case */

enum {
    SLICE = PART_OTHERS,
    IN_ORDER = 2 * PART_OTHERS,
    PIECES = 4 * PART_OTHERS, /* one allocation has a sixth of the memory at most, as on many devices of OpenCL */
    LARGE = 8 * PART_OTHERS   /* so that what kernels take for each thread is nothing beside the matrices: the limit is
                                 kept */
};

typedef struct row {
    part_case is;
    int share; /* the device may use operand_bytes / share */
    bool keeps_b;
} row;

static const row cases[] = {
    {{"B stays", 900, 60, 9000, 16, 16, SHAPE_UNIFORM, 0}, 2, true},
    {{"B stays, all options", 700, 50, 7000, 12, 9, SHAPE_UNIFORM,
      PART_COLUMN_MAJOR | PART_BATCH | PART_BETA | PART_WIDE},
     2,
     true},
    {{"B stays, a slice", 900, 60, 9000, 16, 8, SHAPE_RAGGED, SLICE | PART_BETA | PART_VALUES}, 2, true},
    {{"B stays, a pattern", 900, 60, 9000, 16, 8, SHAPE_UNIFORM, PART_PATTERN | PART_PADDED}, 2, true},
    {{"B in tiles", 400, 700, 4000, 24, 24, SHAPE_UNIFORM, 0}, 2, false},
    {{"B in tiles, a third", 400, 700, 4000, 24, 20, SHAPE_UNIFORM, PART_BETA | IN_ORDER}, 3, false},
    {{"B in tiles, columns first", 300, 600, 3000, 20, 20, SHAPE_UNIFORM, PART_COLUMN_MAJOR | PART_BETA | PART_BATCH},
     2,
     false},
    {{"B in tiles, a slice", 400, 700, 4000, 24, 24, SHAPE_RAGGED, SLICE | PART_WIDE | PART_BETA | PART_VALUES},
     2,
     false},
    {{"B in tiles, D is B", 400, 700, 4000, 24, 24, SHAPE_SPARSE_ENDS, PART_SAME | PART_PATTERN}, 2, false},
    {{"B in tiles, one row has all", 300, 500, 3000, 20, 20, SHAPE_LAST_ROW, PART_BETA | PART_PADDED}, 2, false},
    {{"integers in tiles", 300, 700, 4000, 24, 20, SHAPE_UNIFORM, PART_INTEGERS | PART_BETA}, 2, false},
    {{"large, B stays", 20000, 2000, 90000, 16, 16, SHAPE_UNIFORM, LARGE}, 2, true},
    {{"large, B in tiles", 5000, 12000, 40000, 32, 32, SHAPE_UNIFORM, LARGE}, 2, false},
    {{"large, B in tiles, in pieces", 5000, 12000, 40000, 32, 32, SHAPE_UNIFORM, LARGE | PIECES}, 1, false},
    {{"integers, B stays", 900, 60, 9000, 16, 16, SHAPE_UNIFORM, PART_INTEGERS}, 2, true},
};

enum { CASES = sizeof cases / sizeof *cases, MEMBERS = 2 };

/* Whether softmax has room for the rows of B of one row. */
static bool softmax_fits(const row *c) { return c->is.shape != SHAPE_LAST_ROW && c->is.shape != SHAPE_HUB; }

static void draw(part *x) {
    const row *const c = (const row *)x->c;
    const int64_t rows = c->is.flags & SLICE ? c->is.rows * 2 / 3 : c->is.rows;
    const int64_t first = c->is.flags & SLICE ? c->is.rows / 6 : 0;
    part_draw(x, MEMBERS, tamis_random_start(31, (uint64_t)(c - cases)));
    assert_true(part_take(x, &(part_rows){first, rows, first, rows, 0, c->is.cols, c->is.cols}));
}

static tamis_options options_of(const part *t) {
    tamis_options o = part_options(t);
    o.d_is_b = t->c->flags & PART_SAME && t->operation == TAMIS_OP_FUSED;
    o.overlap = t->c->flags & IN_ORDER ? TAMIS_OVERLAP_NEVER : TAMIS_OVERLAP_AUTO;
    o.threads = 2;
    return o;
}

static tamis_status execute(const part *t, tamis_slab_plan *plan) {
    const tamis_execution *const e = &t->call.execution;
    switch (t->operation) {
    case TAMIS_OP_SDDMM: return tamis_slab_plan_sddmm(plan, &t->A, &t->B, &t->out, e);
    case TAMIS_OP_SPMM: return tamis_slab_plan_spmm(plan, &t->B, &t->out, e);
    case TAMIS_OP_FUSED: return tamis_slab_plan_fused(plan, &t->A, &t->B, &t->D, &t->out, e);
    }
    return TAMIS_ERROR_INTERNAL;
}

/* What one member takes, without a limit. */
static int64_t operand_bytes(const part *t, const tamis_options *o) {
    const tamis_slab_options none = {.device_memory = (int64_t)1 << 40};
    OWN(tamis_slab_plan) *plan = NULL;
    tamis_slab_report report;
    tamis_options small = *o;
    small.allocator = NULL;
    works(tamis_slab_plan_create(device, &t->S, &small, &none, &plan));
    works(tamis_slab_plan_describe(plan, &report));
    return report.operand_bytes;
}

static void check_report(const part *t, const tamis_slab_report *r) {
    const row *const c = (const row *)t->c;
    assert_true(r->buffer_bytes <= r->device_memory);
    assert_true(r->operand_bytes > r->device_memory * c->share - c->share);
    assert_true(r->slabs > 1 || (!r->keeps_b && r->pieces > 1));
    assert_true(r->pieces >= r->slabs);
    assert_int_equal(r->keeps_b, c->keeps_b);
    if (r->keeps_b) assert_int_equal(r->b_rows, t->S.cols);
    assert_true(r->seconds > 0);
    if (t->c->flags & IN_ORDER)
        assert_true(r->compute_seconds > 0 && r->staging_seconds > 0 &&
                    r->staging_seconds + r->transfer_seconds + r->compute_seconds <= r->seconds);
    else
        assert_true(r->compute_seconds == 0 && r->transfer_seconds == 0);
}

static int64_t piece_most;
static int64_t allocation_most(void *handle) { return piece_most; }

static void run_trial(const row *c, tamis_operation operation, tamis_edge edge, tamis_type type) {
    OWN(part) t = {.c = &c->is, .operation = operation, .edge = edge, .type = type};
    counted memory = {0};
    const tamis_allocator allocator = {.context = &memory, .allocate = count_in, .release = count_out};
    tamis_slab_plan *plan = NULL;
    tamis_slab_report report;
    draw(&t);
    tamis_options o = options_of(&t);
    o.allocator = &allocator;
    const tamis_slab_options limit = {.device_memory = operand_bytes(&t, &o) / c->share};
    const tamis_backend *const backend = device->backend;
    tamis_backend in_pieces = *backend;
    in_pieces.allocation_most = allocation_most;
    piece_most = limit.device_memory / 6;
    if (c->is.flags & PIECES) device->backend = &in_pieces;
    const bool runs =
        tamis_slab_plan_create(device, &t.S, &o, &limit, &plan) == TAMIS_OK && execute(&t, plan) == TAMIS_OK;
    const char *const wrong = runs ? part_wrong(&t) : tamis_last_error();
    if (wrong)
        fail_msg("%s, %s, %s, %s: %s", c->is.name, tamis_operation_name(operation), tamis_edge_name(edge),
                 tamis_type_name(type), wrong);
    works(tamis_slab_plan_describe(plan, &report));
    check_report(&t, &report);
    assert_true(memory.most >= report.buffer_bytes); /* it has been counted */
    if (c->is.flags & LARGE && memory.most > limit.device_memory)
        fail_msg("%s, %s: %lld bytes in use, %lld allowed", c->is.name, tamis_operation_name(operation),
                 (long long)memory.most, (long long)limit.device_memory);
    if (c->is.flags & PIECES) assert_in_range(memory.largest, 1, piece_most);
    tamis_slab_plan_destroy(plan);
    device->backend = backend;
    assert_int_equal(memory.live, 0);
}

static int step; /* of the cases one in so many */

TEST(test_cases) {
    static const tamis_type types[] = {TAMIS_F32, TAMIS_F64, TAMIS_F16, TAMIS_F32, TAMIS_BF16};
    int number = 0, kept = 0, tiled = 0;
    for (int i = 0; i < CASES; i++)
        for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++)
            for (int edge = 0; edge < (operation == TAMIS_OP_SPMM ? 1 : TAMIS_EDGE_COUNT); edge++) {
                const bool exact = cases[i].is.flags & PART_INTEGERS;
                /* least is to spare where there is no sample of each nonzero; emulated, it would compile for seconds */
                const bool always =
                    cases[i].is.flags & LARGE && operation == TAMIS_OP_SPMM && strncmp(device_name, "cuda", 4) != 0;
                if (number++ % step != 0 && !always) continue;
                if (cases[i].is.flags & LARGE && edge != TAMIS_EDGE_SCALE && edge != TAMIS_EDGE_SOFTMAX) continue;
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

static tamis_sparse small_matrix(void) { return CSR(2, 3, offsets, columns, values); }

static tamis_options small_options(void) { return options_for(TAMIS_OP_SPMM, -1, 3); }

TEST(test_errors_of_making) {
    tamis_slab_options slabs = TAMIS_SLAB_OPTIONS_INIT;
    tamis_options o = small_options();
    tamis_sparse S = small_matrix();
    tamis_slab_plan *plan = NULL;
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
    const tamis_mask mask = TAMIS_MASK_INIT;
    S.mask = &mask;
    SPOILT_MADE(plan, S.columns, NULL, ARGUMENT, "S.columns = NULL", MAKE);
    S.mask = NULL;
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
    works(MAKE);
    tamis_slab_plan_destroy(plan);
    tamis_slab_plan_destroy(NULL);
#undef MAKE
}

/* Of matrices whose later rows and columns need more than the first: what the message says is enough, the first time.
 */
TEST(test_what_is_needed) {
    enum { ROWS = 60, NNZ = ROWS * (ROWS + 1) / 2 };
    static int32_t rising[ROWS + 1], taken[NNZ];
    for (int32_t i = 0, t = 0; i < ROWS; i++) {
        for (int32_t j = 0; j <= i; j++) taken[t++] = (j * 7 + i) % ROWS;
        rising[i + 1] = t;
    }
    const tamis_sparse S = CSR(ROWS, ROWS, rising, taken, NULL);
    for (int operation = 0; operation < 3; operation++) {
        for (int64_t memory = 1; memory < 1 << 20; memory *= 3) {
            tamis_slab_options slabs = {.device_memory = memory};
            tamis_options o = options_for((tamis_operation)operation, 8, operation == TAMIS_OP_SDDMM ? 0 : 5);
            OWN(tamis_slab_plan) *plan = NULL;
            long long enough = 0;
            o.edge = operation == TAMIS_OP_FUSED ? TAMIS_EDGE_SOFTMAX : TAMIS_EDGE_MASK;
            if (tamis_slab_plan_create(device, &S, &o, &slabs, &plan) != TAMIS_OK) {
                const char *const at = strstr(tamis_last_error(), "at least ");
                if (!at || sscanf(at, "at least %lld", &enough) != 1) fail_msg("%s", tamis_last_error());
                assert_true(enough > memory);
                slabs.device_memory = enough;
                if (tamis_slab_plan_create(device, &S, &o, &slabs, &plan) != TAMIS_OK)
                    fail_msg("with %lld: %s", enough, tamis_last_error());
            }
        }
    }
}

TEST(test_errors_of_executing) {
    static const tamis_edge_operand operand = {.name = "row.b"};
    const tamis_slab_options slabs = {.device_memory = 4096};
    const tamis_options o = small_options();
    const tamis_sparse S = small_matrix();
    tamis_dense B = {.data = b, .rows = 3, .cols = 3}, C = {.data = c, .rows = 2, .cols = 3};
    tamis_execution e = TAMIS_EXECUTION_INIT;
    OWN(tamis_slab_plan) *plan = NULL;
    tamis_slab_report report;
    size_t needed = 0;
    char text[2000];
    works(tamis_slab_plan_create(device, &S, &o, &slabs, &plan));
    REFUSED(ARGUMENT, "plan = NULL", tamis_slab_plan_spmm(NULL, &B, &C, NULL));
    REFUSED(ARGUMENT, "made for spmm", tamis_slab_plan_sddmm(plan, &B, &B, &C, NULL));
    REFUSED(ARGUMENT, "B = NULL", tamis_slab_plan_spmm(plan, NULL, &C, NULL));
    SPOILT(B.rows, 2, ARGUMENT, "B.rows = 2", tamis_slab_plan_spmm(plan, &B, &C, NULL));
    SPOILT(B.location, TAMIS_DEVICE, ARGUMENT, "B.location", tamis_slab_plan_spmm(plan, &B, &C, NULL));
    SPOILT(e.workspace, b, ARGUMENT, "execution.workspace", tamis_slab_plan_spmm(plan, &B, &C, &e));
    SPOILT(e.edge_operands, &operand, ARGUMENT, "execution.edge_operands is set",
           tamis_slab_plan_spmm(plan, &B, &C, &e));
    REFUSED(ARGUMENT, "report = NULL", tamis_slab_plan_describe(plan, NULL));
    works(tamis_slab_plan_describe(plan, &report));
    assert_true(report.seconds == 0 && report.keeps_b && report.b_rows == 3);
    REFUSED(ARGUMENT, "text = NULL", tamis_slab_plan_explain(plan, NULL, 1, NULL));
    works(tamis_slab_plan_explain(plan, text, sizeof text, &needed));
    assert_int_equal(strlen(text) + 1, needed);
    assert_non_null(strstr(text, "the plan may use 4096 of "));
}

/* Each allocation fails once: an error, and nothing is left. */
TEST(test_memory_runs_out) {
    const tamis_slab_options slabs = {.device_memory = 700}; /* tiles */
    const tamis_options o = small_options();
    const tamis_sparse S = small_matrix();
    const tamis_dense B = {.data = b, .rows = 3, .cols = 3}, C = {.data = c, .rows = 2, .cols = 3};
    if (strcmp(device_name, "cpu") != 0) return; /* a GPU keeps what it has once made */
    EACH_FAULT_OF(w, .least = 11) {
        OWN(tamis_slab_plan) *plan = NULL;
        fault_begin(&w);
        tamis_status status = tamis_slab_plan_create(device, &S, &o, &slabs, &plan);
        if (status == TAMIS_OK) status = tamis_slab_plan_spmm(plan, &B, &C, NULL);
        fault_end(&w, status);
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
