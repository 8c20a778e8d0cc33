/*
 * Measured plans: the choice is one of the candidates, it is right, and the next plan takes it without measuring.
 * test_measured [DEVICE]
 */
#include "support/test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <tamis/stream.h>

#include "core/plan.h"
#include "measured_case.h"
#include "named_device.h"
#include "select/choose.h"
#include "select/measure.h"
#include "select/remembered.h"
#include "support/mirror.h"

static bool is_cpu(void) { return strcmp(device_name, "cpu") == 0; }

/* ------------------------------------------------------------------------------------------ measuring */

TEST_ROW(measured_then_remembered, "anywhere", .setup_func = forget) {
    OWN(problem) p = make_problem(usual());
    OWN(mirror) m = mirror_make(test_device, &p, TAMIS_OP_SDDMM);
    const tamis_options o = options_of(TAMIS_OP_SDDMM, &p);
    tamis_plan_report first, second;
    tamis_plan *plan = make_plan(&m.S, &o, &first);
    assert_int_equal(first.chosen_by, TAMIS_CHOSEN_MEASURED);
    assert_true(first.candidates >= 2 && first.candidates <= TAMIS_CANDIDATES_MOST);
    assert_true(first.measured_seconds > 0 && first.measuring_seconds > 0);
    double before = 0, of_chosen = 0, least = INFINITY;
    for (int i = 0; i < first.candidates; i++) {
        const char *algorithm = NULL;
        double predicted = 0, measured = 0;
        works(tamis_plan_candidate(plan, i, &algorithm, &predicted, &measured));
        assert_true(predicted > 0 && measured > 0);
        if (strcmp(algorithm, first.algorithm) == 0) of_chosen = measured;
        least = fmin(least, measured);
        before = i == 0 ? predicted : before;
    }
    assert_true(of_chosen == first.measured_seconds);
    if (is_cpu()) assert_true(of_chosen <= 1.03 * least); /* nothing to speak of is prepared */
    REFUSED(ARGUMENT, "number = ", tamis_plan_candidate(plan, (int)first.candidates, NULL, NULL, NULL));
    assert_int_equal(tamis_plan_candidate(plan, -1, NULL, NULL, NULL), TAMIS_ERROR_ARGUMENT);
    assert_int_equal(tamis_plan_candidate(NULL, 0, NULL, NULL, NULL), TAMIS_ERROR_ARGUMENT);
    assert_non_null(strstr(first.reason, "smallest measured time for 1000 calls of the "));
    assert_explains(plan, "\nmeasured     in ");
    for (int i = 0; i < first.declined; i++) { /* each of the others once */
        const char *algorithm = NULL;
        works(tamis_plan_declined(plan, i, &algorithm, NULL));
        assert_string_not_equal(algorithm, first.algorithm);
        for (int j = 0; j < i; j++) {
            const char *other = NULL;
            works(tamis_plan_declined(plan, j, &other, NULL));
            assert_string_not_equal(algorithm, other);
        }
    }
    tamis_plan_destroy(plan);
    assert_int_equal(plans_kept(), 1);

    plan = make_plan(&m.S, &o, &second);
    assert_int_equal(second.chosen_by, TAMIS_CHOSEN_REMEMBERED);
    assert_string_equal(second.algorithm, first.algorithm);
    assert_true(second.measuring_seconds == 0);
    assert_true(fabs(second.measured_seconds - first.measured_seconds) <= 1e-5 * first.measured_seconds);
    for (int i = 0; i < second.candidates; i++) {
        double measured = 1;
        works(tamis_plan_candidate(plan, i, NULL, NULL, &measured));
        assert_true(measured == 0);
    }
    assert_non_null(strstr(second.reason, "remembered: an earlier plan measured "));
    assert_explains(plan, "\nmeasured     by an earlier plan: ");
    tamis_plan_destroy(plan);
    assert_int_equal(plans_kept(), 1);
    assert_string_equal(tamis_chosen_by_name(first.chosen_by), "measured");
    assert_string_equal(tamis_chosen_by_name(second.chosen_by), "remembered");

    int64_t removed = 0;
    works(tamis_cache_clear(&removed));
    assert_true(removed >= 1 && plans_kept() == 0);
    assert_int_equal(chosen_by(&m.S, &o), TAMIS_CHOSEN_MEASURED);
}

/* Everything that changes the times is in the key; values are not. */
TEST_ROW(keys, "on_the_cpu", .setup_func = forget) {
    OWN(problem) p = make_problem(usual());
    tamis_sparse S = p.S;
    const tamis_options o = options_of(TAMIS_OP_FUSED, &p);
    int64_t kept = 1;
    assert_int_equal(chosen_by(&S, &o), TAMIS_CHOSEN_MEASURED);
    for (int i = 0; i < 14; i++) {
        tamis_options other = o;
        tamis_sparse view = S;
        bool new_key = true;
        switch (i) {
        case 0: other.inner = 25; break;
        case 1: other.width = 17; break;
        case 2: other.edge = TAMIS_EDGE_SIGMOID; break;
        case 3: other.any_order = true; break;
        case 4: other.threads = 2; break;
        case 5: other.expected_calls = 1; break;
        case 6: other.batch = 2; break;
        case 7: other.operation = TAMIS_OP_SPMM; break;
        case 8: other.math = TAMIS_MATH_TF32; break;
        case 9: other.b_layout = TAMIS_COLUMN_MAJOR; break;
        case 10: view.values = NULL; break;
        case 11: view.cols++; break;
        case 12: /* the same power of two */
            other.expected_calls = 1001;
            new_key = false;
            break;
        default: new_key = false; break;
        }
        kept += new_key;
        const tamis_chosen_by by = chosen_by(&view, &other);
        if (by != (new_key ? TAMIS_CHOSEN_MEASURED : TAMIS_CHOSEN_REMEMBERED)) fail_msg("case %d: %d", i, (int)by);
        assert_int_equal(plans_kept(), kept);
        assert_int_equal(chosen_by(&view, &other), TAMIS_CHOSEN_REMEMBERED);
    }
}

/* What decides on the plan's problem when its pattern looks like this. */
static tamis_chosen_by chosen_for(const tamis_plan *plan, const tamis_profile *profile) {
    tamis_evidence evidence = plan->evidence;
    tamis_problem like = plan->problem;
    tamis_choice choice = {.algorithm = NULL};
    tamis_prepared *prepared = NULL;
    evidence.profile = *profile;
    like.evidence = &evidence;
    works(tamis_choose(like.backend, &like, NULL, false, &choice));
    works(tamis_choose_measured(&like, &plan->device->description, NULL, &choice, &prepared));
    like.backend->release(prepared);
    return choice.chosen_by;
}

/* All that is known of a pattern is in the key: what only some backends look at, too. */
TEST_ROW(profiles_are_in_the_key, "on_the_cpu", .setup_func = forget) {
    OWN(problem) p = make_problem(usual());
    OWN(mirror) m = mirror_make(test_device, &p, TAMIS_OP_SDDMM);
    const tamis_options o = options_of(TAMIS_OP_SDDMM, &p);
    tamis_plan_report report;
    OWN(tamis_plan) *const plan = make_plan(&m.S, &o, &report);
    const tamis_profile seen = plan->evidence.profile;
    assert_int_equal(chosen_for(plan, &seen), TAMIS_CHOSEN_REMEMBERED);
    for (int i = 0; i < 6; i++) {
        tamis_profile other = seen;
        switch (i) {
        case 0: other.sorted = !seen.sorted; break;
        case 1: other.max++; break;
        case 2: other.empty_rows++; break;
        case 3: other.variation = 2 * seen.variation + 1; break;
        case 4: other.bandwidth *= 2; break;
        default: other.mean_span *= 2; break;
        }
        if (chosen_for(plan, &other) != TAMIS_CHOSEN_MEASURED) fail_msg("case %d was remembered", i);
        if (chosen_for(plan, &other) != TAMIS_CHOSEN_REMEMBERED) fail_msg("case %d was measured again", i);
    }
    assert_int_equal(plans_kept(), 7);
}

/* Whatever is measured computes what the oracle says. */
TEST_ROW(results, "anywhere", .setup_func = forget) {
    static const struct {
        tamis_operation operation;
        tamis_edge edge;
        tamis_type type;
        tamis_format format;
        int64_t batch;
        tamis_layout layout;
    } cases[] = {
        {TAMIS_OP_SDDMM, TAMIS_EDGE_SCALE, TAMIS_F32, TAMIS_CSR, 1, TAMIS_ROW_MAJOR},
        {TAMIS_OP_SDDMM, TAMIS_EDGE_SOFTMAX, TAMIS_F32, TAMIS_CSR, 3, TAMIS_ROW_MAJOR},
        {TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, TAMIS_F64, TAMIS_COO, 1, TAMIS_ROW_MAJOR},
        {TAMIS_OP_FUSED, TAMIS_EDGE_QUOTIENT, TAMIS_F32, TAMIS_CSR, 2, TAMIS_COLUMN_MAJOR},
        {TAMIS_OP_FUSED, TAMIS_EDGE_SOFTMAX, TAMIS_BF16, TAMIS_CSR, 1, TAMIS_ROW_MAJOR},
        {TAMIS_OP_SDDMM, TAMIS_EDGE_MASK, TAMIS_F16, TAMIS_COO, 2, TAMIS_ROW_MAJOR},
    };
    const size_t count = is_cpu() ? sizeof cases / sizeof cases[0] : 2;
    for (size_t c = 0; c < count; c++) {
        problem_options given = usual();
        given.type = cases[c].type;
        given.format = cases[c].format;
        given.batch = cases[c].batch;
        for (int i = 0; i < 4; i++) given.layouts[i] = cases[c].layout;
        OWN(problem) p = make_problem(given);
        OWN(mirror) m = mirror_make(test_device, &p, cases[c].operation);
        tamis_options o = options_of(cases[c].operation, &p);
        o.edge = cases[c].edge;
        o.edge_epsilon = 0.5; /* far from the pole */
        tamis_plan_report report;
        tamis_plan *const plan = make_plan(&m.S, &o, &report);
        assert_int_equal(report.chosen_by, TAMIS_CHOSEN_MEASURED);
        works(mirror_plan(&m, plan, NULL));
        tamis_plan_destroy(plan);
        const test_call call = {o, TAMIS_EXECUTION_INIT};
        const char *const wrong = mirror_wrong(&m, &p, &call);
        if (wrong) fail_msg("case %zu, %s: %s", c, report.algorithm, wrong);
    }
}

/* ------------------------------------------------------------------------------------------ memory and threads */

typedef struct pool {
    int64_t lent, given, failing_at; /* blocks that are out; bytes in all; the block that is refused, from 1 on */
    int64_t blocks;
} pool;

static void *take(void *context, size_t bytes, void *stream) {
    pool *const p = context;
    if (++p->blocks == p->failing_at) return NULL;
    p->lent++;
    p->given += (int64_t)bytes;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void give_back(void *context, void *memory, size_t bytes, void *stream) {
    pool *const p = context;
    p->lent--;
    free(memory);
}

/* Operands to measure with are the caller's memory, too, and are given back before the plan is. */
TEST_ROW(callers_memory, "on_the_cpu", .setup_func = forget) {
    OWN(problem) p = make_problem(usual());
    pool lender = {.lent = 0};
    const tamis_allocator allocator = {.context = &lender, .allocate = take, .release = give_back};
    tamis_options o = options_of(TAMIS_OP_FUSED, &p);
    o.allocator = &allocator;
    o.no_workspace = true;
    tamis_plan_report report;
    tamis_plan *plan = make_plan(&p.S, &o, &report);
    const problem_options *const size = &p.options;
    const int64_t elements = (size->rows + size->cols) * (size->inner + size->width) + size->nnz;
    assert_int_equal(report.chosen_by, TAMIS_CHOSEN_MEASURED);
    assert_true(lender.given >= elements * (int64_t)sizeof(float));
    assert_int_equal(lender.lent, 0);
    tamis_plan_destroy(plan);
    const int64_t blocks = lender.blocks;
    assert_true(blocks >= 5);
    for (int64_t n = 1; n <= blocks; n++) { /* a block is refused: the whole plan, or a candidate is passed over */
        tamis_remembered_clear();
        lender = (pool){.failing_at = n};
        const tamis_status status = tamis_plan_create(test_device, &p.S, &o, &plan);
        if (status != TAMIS_OK) assert_int_equal(status, TAMIS_ERROR_MEMORY);
        if (n <= 5) assert_int_equal(status, TAMIS_ERROR_MEMORY); /* the operands */
        if (status == TAMIS_OK) tamis_plan_destroy(plan);
        assert_int_equal(lender.lent, 0);
    }
}

typedef struct planner {
    const problem *p;
    int64_t inner;
    bool good;
} planner;

static void *plan_some(void *given) {
    planner *const self = given;
    tamis_options o = options_of(TAMIS_OP_SDDMM, self->p);
    self->good = true;
    for (int i = 0; i < 3; i++) {
        OWN(tamis_plan) *plan = NULL;
        tamis_plan_report report = {.candidates = 0};
        o.inner = self->inner + i % 2;
        self->good = self->good && tamis_plan_create(test_device, &self->p->S, &o, &plan) == TAMIS_OK &&
                     tamis_plan_describe(plan, &report) == TAMIS_OK &&
                     (report.chosen_by == TAMIS_CHOSEN_MEASURED || report.chosen_by == TAMIS_CHOSEN_REMEMBERED);
    }
    return NULL;
}

TEST_ROW(threads_meet, "on_the_cpu", .setup_func = forget) {
    enum { THREADS = 4 };
    OWN(problem) p = make_problem(usual());
    pthread_t threads[THREADS];
    planner planners[THREADS];
    for (int i = 0; i < THREADS; i++) {
        planners[i] = (planner){&p, 10 + i / 2 * 10, false};
        assert_int_equal(pthread_create(&threads[i], NULL, plan_some, &planners[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(planners[i].good);
    }
    assert_int_equal(plans_kept(), 4);
}

/* A gradient is made of plans, which choose as it is told to. */
TEST_ROW(gradients_measure, "on_the_cpu", .setup_func = forget) {
    OWN(problem) p = make_problem(usual());
    const tamis_options o = options_of(TAMIS_OP_FUSED, &p);
    tamis_gradient *gradient = NULL;
    works(tamis_gradient_create(test_device, &p.S, &o, &gradient));
    tamis_gradient_destroy(gradient);
    assert_true(plans_kept() >= 2);
}

/* ------------------------------------------------------------------------------------------ nothing is measured */

TEST_ROW(nothing_to_measure, "anywhere", .setup_func = forget) {
    OWN(problem) p = make_problem(usual());
    OWN(mirror) m = mirror_make(test_device, &p, TAMIS_OP_SDDMM);
    tamis_options o = options_of(TAMIS_OP_SDDMM, &p);
    tamis_plan_report report;
    tamis_plan *plan = NULL;

    o.algorithm = is_cpu() ? "cpu-nonzeros" : "gpu-nonzeros";
    tamis_plan_destroy(make_plan(&m.S, &o, &report));
    assert_int_equal(report.chosen_by, TAMIS_CHOSEN_NAMED);
    assert_true(report.candidates == 0 && report.measured_seconds == 0 && report.measuring_seconds == 0);
    o.algorithm = NULL;

    o.inner = 0;
    plan = make_plan(&m.S, &o, &report);
    assert_int_equal(report.chosen_by, TAMIS_CHOSEN_PREDICTED);
    assert_non_null(strstr(report.reason, "nothing was measured, since there is nothing to compute"));
    tamis_plan_destroy(plan);
    o.inner = p.options.inner;

    o.effort = TAMIS_EFFORT_ESTIMATE;
    plan = make_plan(&m.S, &o, &report);
    assert_int_equal(report.chosen_by, TAMIS_CHOSEN_PREDICTED);
    assert_true(report.candidates >= 1 && report.measured_seconds == 0);
    if (report.candidates >= 2) assert_non_null(strstr(report.reason, "; the second best, "));
    tamis_plan_destroy(plan);

    SPOILT(o.effort, (tamis_effort)7, ARGUMENT, "^options.effort = 7 is not a valid tamis_effort$",
           tamis_plan_create(test_device, &m.S, &o, &plan));

    /* a single call chooses by prediction */
    works(mirror_once(&m, &o, NULL));
    assert_int_equal(plans_kept(), 0);
}

/* Memory that runs out at any place: an error, nothing leaked; what failed can be tried again. */
TEST_ROW(memory_runs_out, "on_the_cpu", .setup_func = forget) {
    OWN(problem) p = make_problem(usual());
    const tamis_options o = options_of(TAMIS_OP_FUSED, &p);
    EACH_FAULT_OF(w, .least = 14) {
        OWN(tamis_plan) *plan = NULL;
        if (FAULTY(w, tamis_plan_create(test_device, &p.S, &o, &plan)) != TAMIS_OK) assert_null(plan);
    }
}

/* ------------------------------------------------------------------------------------------ queues without times */

typedef int32_t queue_info(void *queue, uint32_t what, size_t bytes, void *value, size_t *needed);
typedef void *queue_create(void *context, void *device, uint64_t properties, int32_t *error);
typedef int32_t queue_release(void *queue);

/* A queue of OpenCL's that was made without profiling has events that tell no times: the host's clock does. */
TEST_ROW(queue_without_profiling, "on_opencl", .setup_func = forget) {
    enum { CONTEXT = 0x1090, DEVICE = 0x1091 };
    const char *const library = getenv("TAMIS_OPENCL");
    void *const loader = dlopen(library ? library : "libOpenCL.so.1", RTLD_NOW), *like = NULL, *context, *chip;
    assert_non_null(loader);
    queue_info *info;
    queue_create *create;
    queue_release *release;
    *(void **)&info = dlsym(loader, "clGetCommandQueueInfo");
    *(void **)&create = dlsym(loader, "clCreateCommandQueue");
    *(void **)&release = dlsym(loader, "clReleaseCommandQueue");
    assert_true(info && create && release);
    works(tamis_stream_create(test_device, &like));
    assert_int_equal(info(like, CONTEXT, sizeof context, (void *)&context, NULL), 0);
    assert_int_equal(info(like, DEVICE, sizeof chip, (void *)&chip, NULL), 0);
    int32_t error = 1;
    void *const queue = create(context, chip, 0, &error);
    assert_int_equal(error, 0);

    problem p = make_problem(usual());
    mirror m = mirror_make(test_device, &p, TAMIS_OP_SDDMM);
    tamis_options o = options_of(TAMIS_OP_SPMM, &p);
    tamis_plan_report report;
    o.stream = queue;
    tamis_plan_destroy(make_plan(&m.S, &o, &report));
    assert_int_equal(report.chosen_by, TAMIS_CHOSEN_MEASURED);
    assert_true(report.measured_seconds > 0);
    assert_string_equal(tamis_last_error(), "");
    mirror_free(&m);
    problem_free(&p);
    release(queue);
    tamis_stream_destroy(test_device, like);
    dlclose(loader);
}

TEST_RUN() {
    int failed = 0;
    if (!named_device_is_here(argc, argv, &device_name)) return 77;
    if (is_cpu()) failed += test_run(NULL, "on_the_cpu", measured_set_up, measured_tear_down);
    failed += test_run(NULL, "anywhere", measured_set_up, measured_tear_down);
    if (strncmp(device_name, "opencl", 6) == 0)
        failed += test_run(NULL, "on_opencl", measured_set_up, measured_tear_down);
    return failed;
}
