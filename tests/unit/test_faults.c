/* The n-th allocation failing, for every n: a clear status, nothing leaked, outputs untouched, and a next call that
 * works. test_sparse_faults has conversions and generators. */
#include "support/test.h"

#include <tamis/structure.h>

#include "cpu_device.h"
#include "small.h"
#include "support/algorithms.h"

static struct {
    small s;
    const char *algorithm;
    tamis_operation operation;
    tamis_edge edge;
    bool coo, column_major;
} f;

typedef tamis_status action(void);

/* Runs the action with the first, second, ... allocation failing until none is left to fail. */
static void fail_each(action *act, int64_t least) {
    EACH_FAULT_OF(w, .least = least) {
        if (FAULTY(w, act()) == TAMIS_OK) continue;
        for (int i = 0; i < SMALL_NNZ; i++) assert_true(f.s.p[i] == 77);
        for (int i = 0; i < SMALL_ROWS * SMALL_L; i++) assert_true(f.s.out[i] == 77);
    }
}

static tamis_status open_device(void) {
    tamis_device *opened = NULL;
    const tamis_status status = tamis_device_open("cpu", &opened);
    tamis_device_close(opened);
    return status;
}

static tamis_options options_of(void) {
    tamis_options o = small_options(f.operation);
    o.algorithm = f.algorithm;
    o.edge = f.edge;
    o.threads = 3;
    if (f.column_major) o.a_layout = o.b_layout = o.d_layout = o.output_layout = TAMIS_COLUMN_MAJOR;
    return o;
}

static tamis_status make_plan(void) {
    tamis_plan *plan = NULL;
    const tamis_options o = options_of();
    const tamis_status status = tamis_plan_create(device, f.coo ? &f.s.coo : &f.s.S, &o, &plan);
    if (status == TAMIS_OK)
        tamis_plan_destroy(plan);
    else
        assert_null(plan);
    return status;
}

static tamis_status make_gradient(void) {
    tamis_gradient *gradient = NULL;
    tamis_sparse pattern = f.coo ? f.s.coo : f.s.S;
    const tamis_options o = options_of();
    pattern.values = NULL;
    const tamis_status status = tamis_gradient_create(device, &pattern, &o, &gradient);
    if (status == TAMIS_OK)
        assert_string_equal(tamis_gradient_algorithm(gradient), f.column_major ? "steps" : "cpu-cells");
    else
        assert_null(gradient);
    tamis_gradient_destroy(gradient);
    return status;
}

static tamis_status oracle(void) {
    double e[SMALL_ROWS * SMALL_L];
    const tamis_options o = with_edge(f.edge);
    return tamis_reference_fused(&f.s.S, &f.s.A, &f.s.B, &f.s.D, &o, NULL, e);
}

/* Of a slice, whose offsets it copies. */
static tamis_status comparison(void) {
    tamis_options o = small_options(TAMIS_OP_FUSED);
    tamis_sparse slice;
    tamis_dense A = f.s.A;
    tamis_oracle *made = NULL;
    o.edge = TAMIS_EDGE_SOFTMAX;
    works(tamis_slice(&f.s.S, 1, 2, 0, 0, &slice));
    A.rows = 2;
    A.data = f.s.a + SMALL_K;
    const tamis_status status = tamis_oracle_create(&slice, &A, &f.s.B, &f.s.D, &o, 1e9, &made);
    assert_true((made == NULL) == (status != TAMIS_OK));
    tamis_oracle_free(made);
    return status;
}

TEST(test_devices) { fail_each(open_device, 1); }

TEST(test_cells) {
    f.algorithm = "cpu-cells";
    f.operation = TAMIS_OP_FUSED;
    for (int way = 0; way < 4; way++) {
        f.coo = way & 1;
        f.column_major = way & 2;
        f.edge = TAMIS_EDGE_MASK;
        fail_each(make_plan, f.coo ? 10 : 7);
        f.edge = TAMIS_EDGE_SOFTMAX;
        fail_each(make_gradient, 7);
    }
}

TEST(test_helpers) {
    small_make(&f.s);
    f.edge = TAMIS_EDGE_SOFTMAX;
    fail_each(oracle, 4);
    fail_each(comparison, 20);
}

static int set_up_all(void **state) {
    small_make(&f.s);
    return set_up(state);
}

TEST_FIXTURE(set_up_all, tear_down)
