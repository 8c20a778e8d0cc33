/*
 * Trials of two algorithms that are predicted to be nearly equal: when there is one, what decides it, and that every
 * execution is right meanwhile. Times are made up, so that a busy machine changes nothing.
 */
#include "support/test.h"

#include <pthread.h>

#include "core/plan.h"
#include "cpu/backend.h"
#include "cpu/rates.h"
#include "measured_case.h"
#include "select/rates.h"
#include "support/decimal_comma.h"
#include "support/mirror.h"

/* Makes the runs of cpu-panels `times` as slow. */
static void slow_panels(double times) {
    double rates[TAMIS_RATES_MOST];
    tamis_rates_built_in(&tamis_cpu_backend, 0, rates);
    tamis_cpu_rates *const r = (tamis_cpu_rates *)(void *)rates;
    r->panels.run *= times;
    r->panels.dots *= times;
    r->panels.sums *= times;
    r->panels.alone *= times;
    assert_true(tamis_rates_set(&tamis_cpu_backend, 0, 1, rates));
}

static int one_thread(void **state) {
    unsetenv("TAMIS_PROBE"); /* with 0 no device has rates of its own */
    return tamis_device_set_threads(test_device, 1) != TAMIS_OK;
}

static tamis_options trying(tamis_operation operation, const problem *p) {
    tamis_options o = options_of(operation, p);
    o.effort = TAMIS_EFFORT_ESTIMATE;
    o.any_order = true;
    o.expected_calls = 1000000; /* so that set-ups decide nothing, whatever a machine's ceilings are */
    return o;
}

static bool is_near(const tamis_plan *plan, const tamis_options *o) {
    const tamis_choice *const choice = &plan->choice;
    const tamis_candidate *const first = &choice->candidates[0], *const second = &choice->candidates[1];
    return choice->candidate_count > 1 && second->total_seconds <= 1.05 * first->total_seconds &&
           second->prediction.call_seconds <= 1.05 * first->prediction.call_seconds &&
           second->prediction.setup_seconds <=
               0.03 * (double)(o->expected_calls - TAMIS_TURNS) * first->prediction.call_seconds;
}

/* A problem with a trial. */
typedef struct tried {
    problem p;
    mirror m;
    tamis_options o;
    tamis_plan *plan;
} tried;

/* From the fastest to the slowest, cpu-panels comes by a rate at which it is as fast as the best of the others. */
static tried find_for(tamis_operation operation, problem_options given, const char *text) {
    given.shape = SHAPE_SHARE; /* rows have columns in common */
    given.share = 0.5;
    tried t = {.p = make_problem(given)};
    double fast = 1e-3, slow = 1e3;
    t.o = trying(operation, &t.p);
    if (text) t.o.edge = TAMIS_EDGE_TEXT, t.o.edge_text = text;
    for (int i = 0; i < 60; i++) {
        tamis_plan_report report;
        slow_panels(sqrt(fast * slow));
        t.plan = make_plan(&t.p.S, &t.o, &report);
        assert_int_equal(report.trial, is_near(t.plan, &t.o) ? TAMIS_TURNS : 0);
        assert_int_equal(t.plan->turns != NULL, report.trial > 0);
        if (report.trial > 0) {
            t.m = mirror_make(test_device, &t.p, operation);
            return t;
        }
        *(strcmp(report.algorithm, "cpu-panels") == 0 ? &fast : &slow) = sqrt(fast * slow);
        tamis_plan_destroy(t.plan);
    }
    fail_msg("no rate makes two algorithms equal");
    return t;
}

static tried find(tamis_operation operation) { return find_for(operation, usual(), NULL); }

static void leave(tried *t) {
    tamis_plan_destroy(t->plan);
    mirror_free(&t->m);
    problem_free(&t->p);
}

static const char *name_of(const tamis_plan *plan, int candidate) {
    return plan->choice.candidates[candidate].algorithm->description.name;
}

static tamis_plan_report report_of(const tamis_plan *plan) {
    tamis_plan_report report;
    works(tamis_plan_describe(plan, &report));
    return report;
}

/* An execution that took so long. */
static void take_turn(const tamis_plan *plan, double first, double second) {
    const tamis_turn turn = tamis_turns_begin(plan->turns);
    assert_true(turn.prepared && turn.counts);
    tamis_turns_end(plan->turns, &turn, turn.place ? second : first);
}

/* ------------------------------------------------------------------------------------------ deciding */

TEST_ROW(the_faster_one_stays, "on_the_cpu", .setup_func = one_thread) {
    const struct {
        double first, second;
        int winner;
    } cases[] = {{1e-3, 0.9e-3, 1}, {1e-3, 2e-3, 0}, {1e-3, 0.99e-3, 0}, {1e-3, 1e-3, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        tried t = find(TAMIS_OP_SPMM);
        const tamis_plan_report before = report_of(t.plan);
        char words[128];
        assert_int_equal(before.chosen_by, TAMIS_CHOSEN_PREDICTED);
        assert_string_equal(before.algorithm, name_of(t.plan, 0));
        assert_explains(t.plan, "\ntrial        the next 16 executions that run alone take turns");
        int seconds = 0; /* executions of the second algorithm */
        for (int i = 0; i < TAMIS_TURNS; i++) {
            const tamis_turn turn = tamis_turns_begin(t.plan->turns);
            seconds += turn.place;
            /* the first in a row counts for nothing */
            const double slow = i % TAMIS_TURN == 0 ? 1e-9 : 1 + i % 3;
            tamis_turns_end(t.plan->turns, &turn, slow * (turn.place ? cases[c].second : cases[c].first));
            assert_int_equal(report_of(t.plan).trial, TAMIS_TURNS - 1 - i);
        }
        assert_int_equal(seconds, TAMIS_TURNS / 2);
        const tamis_plan_report after = report_of(t.plan);
        assert_int_equal(after.chosen_by, TAMIS_CHOSEN_MEASURED);
        assert_string_equal(after.algorithm, name_of(t.plan, cases[c].winner));
        assert_true(after.measured_seconds == (cases[c].winner ? cases[c].second : cases[c].first));
        assert_non_null(strstr(after.reason, "smallest measured time in the plan's first executions"));
        snprintf(words, sizeof words, "\nmeasured     in the first 16 executions: %s %.3g ms, %s %.3g ms a call",
                 name_of(t.plan, 0), 1e3 * cases[c].first, name_of(t.plan, 1), 1e3 * cases[c].second);
        assert_explains(t.plan, words);
        for (int i = 0; i < 2; i++) {
            double measured = 0;
            works(tamis_plan_candidate(t.plan, i, NULL, NULL, &measured));
            assert_true(measured == (i ? cases[c].second : cases[c].first));
        }
        assert_string_equal(before.algorithm, name_of(t.plan, 0)); /* which lives as long as the plan */
        const tamis_turn later = tamis_turns_begin(t.plan->turns);
        assert_true(later.place == cases[c].winner && !later.counts && !later.overlaps);
        leave(&t);
    }
}

/* The texts that a trial leaves have decimal points, whatever the locale of the execution that decides. */
TEST_ROW(decides_in_the_c_locale, "on_the_cpu", .setup_func = one_thread) {
    tried t = find(TAMIS_OP_SPMM);
    if (!set_decimal_comma()) {
        leave(&t);
        skip_because("no locale with a decimal comma is installed");
    }
    for (int i = 0; i < TAMIS_TURNS; i++) take_turn(t.plan, 1.5e-3, 1.25e-3);
    setlocale(LC_ALL, "C");
    const tamis_plan_report report = report_of(t.plan);
    assert_non_null(strstr(report.reason, " 1.25 ms a call"));
    for (int i = 0; i < report.declined; i++) {
        const char *name, *reason;
        works(tamis_plan_declined(t.plan, i, &name, &reason));
        if (strcmp(name, name_of(t.plan, 0)) == 0) assert_non_null(strstr(reason, "measured 1.5 ms a call"));
    }
    leave(&t);
}

/* Errors do not count, nor do executions beside others; if there are only such, the prediction stays. */
TEST_ROW(disturbed_executions, "on_the_cpu", .setup_func = one_thread) {
    tried t = find(TAMIS_OP_SDDMM);
    take_turn(t.plan, 0, 0);
    assert_int_equal(report_of(t.plan).trial, TAMIS_TURNS);
    take_turn(t.plan, 1, 2);
    const tamis_turn one = tamis_turns_begin(t.plan->turns), beside = tamis_turns_begin(t.plan->turns);
    assert_true(one.counts && beside.overlaps && beside.place == 0);
    tamis_turns_end(t.plan->turns, &one, 1e-9);
    const tamis_turn after = tamis_turns_begin(t.plan->turns); /* beside the one that still runs */
    tamis_turns_end(t.plan->turns, &after, 1e-9);
    tamis_turns_end(t.plan->turns, &beside, 1e-9);
    assert_int_equal(report_of(t.plan).trial, TAMIS_TURNS - 1);
    for (int i = 1; i < TAMIS_TURNS; i++) take_turn(t.plan, 1, 2);
    assert_true(report_of(t.plan).measured_seconds == 1);
    leave(&t);

    t = find(TAMIS_OP_SDDMM);
    for (int i = 0; i < 4 * TAMIS_TURNS; i++) take_turn(t.plan, 0, 0);
    for (int i = 0; i < 4 * TAMIS_TURNS; i++) {
        assert_int_equal(report_of(t.plan).trial, TAMIS_TURNS);
        const tamis_turn counted = tamis_turns_begin(t.plan->turns), other = tamis_turns_begin(t.plan->turns);
        tamis_turns_end(t.plan->turns, &other, 1);
        tamis_turns_end(t.plan->turns, &counted, 1);
    }
    const tamis_plan_report report = report_of(t.plan);
    assert_true(report.trial == 0 && report.chosen_by == TAMIS_CHOSEN_PREDICTED);
    assert_non_null(strstr(report.reason, "; executions ran side by side, so a trial of both found nothing"));
    leave(&t);
}

/* The loser lives while an execution may run it. */
TEST_ROW(an_execution_beside_the_last_one, "on_the_cpu", .setup_func = one_thread) {
    tried t = find(TAMIS_OP_SPMM);
    for (int i = 1; i < TAMIS_TURNS; i++) take_turn(t.plan, 2, 1);
    const tamis_turn last = tamis_turns_begin(t.plan->turns);
    const tamis_turn beside = tamis_turns_begin(t.plan->turns);
    tamis_turns_end(t.plan->turns, &last, 1); /* spoilt */
    assert_int_equal(report_of(t.plan).trial, 1);
    tamis_turns_end(t.plan->turns, &beside, 1);
    take_turn(t.plan, 2, 1);
    assert_string_equal(report_of(t.plan).algorithm, name_of(t.plan, 1));
    leave(&t);
}

/* ------------------------------------------------------------------------------------------ where there is none */

TEST_ROW(no_trial, "on_the_cpu", .setup_func = one_thread) {
    tried t = find(TAMIS_OP_SPMM);
    for (int i = 0; i < 6; i++) {
        tamis_options o = t.o;
        switch (i) {
        case 0: o.any_order = false; break; /* the bits of two algorithms differ */
        case 1: o.expected_calls = 127; break;
        case 2: o.effort = TAMIS_EFFORT_MEASURE; break;
        case 3: o.algorithm = name_of(t.plan, 0); break;
        case 4: o.width = 0; break;
        default: o.parameters = ""; break;
        }
        tamis_plan_report report;
        OWN(tamis_plan) *const plan = make_plan(&t.p.S, &o, &report);
        assert_int_equal(report.trial, i == 5 ? TAMIS_TURNS : 0);
    }
    leave(&t);

    /* a text with arrays is not measured when the plan is made */
    t = find_for(TAMIS_OP_SDDMM, usual(), "x * row.r");
    tamis_plan_report report;
    t.o.effort = TAMIS_EFFORT_MEASURE;
    OWN(tamis_plan) *const plan = make_plan(&t.p.S, &t.o, &report);
    assert_true(report.trial == 0 && report.chosen_by == TAMIS_CHOSEN_PREDICTED);
    leave(&t);
}

/* An execution without outputs has no time. */
TEST_ROW(nothing_to_write, "on_the_cpu", .setup_func = one_thread) {
    problem_options given = usual();
    given.width = 0;
    tried t = find_for(TAMIS_OP_FUSED, given, NULL);
    for (int i = 0; i < 3; i++) works(mirror_plan(&t.m, t.plan, NULL));
    assert_int_equal(report_of(t.plan).trial, TAMIS_TURNS);
    leave(&t);
}

/* The same two algorithms, with a set-up of the second one that a trial does not earn back, or that it does. */
TEST_ROW(a_costly_set_up, "on_the_cpu", .setup_func = one_thread) {
    tried t = find(TAMIS_OP_SPMM);
    for (int i = 0; i < 3; i++) {
        tamis_choice choice = t.plan->choice;
        tamis_prepared *prepared = NULL;
        tamis_prepared_sizes sizes = {.scratch_bytes = 0};
        tamis_turns *turns = NULL;
        const double gain = 0.03 * (double)(t.o.expected_calls - TAMIS_TURNS) * choice.prediction.call_seconds;
        choice.candidates[1].prediction.setup_seconds = i == 1 ? 1.01 * gain : 0.99 * gain;
        if (i == 2) choice.candidates[1].total_seconds = 1.06 * choice.candidates[0].total_seconds;
        works(t.plan->problem.backend->prepare(choice.algorithm, &t.plan->problem, &prepared));
        tamis_turns_make(&t.plan->problem, &choice, &prepared, &sizes, &turns);
        assert_int_equal(turns != NULL, i == 0);
        assert_int_equal(prepared == NULL, i == 0);
        if (prepared) t.plan->problem.backend->release(prepared);
        tamis_turns_free(turns);
    }
    leave(&t);
}

static tamis_prepared_sizes claimed; /* of each algorithm */
static void claim(const tamis_prepared *prepared, tamis_prepared_sizes *sizes) {
    (void)prepared;
    *sizes = claimed;
}

/* The second algorithm may need more scratch than the first, but it neither takes much nor splits a batch. Memory that
   both prepared is reported until one of them stays. */
TEST_ROW(scratch_of_the_second, "on_the_cpu", .setup_func = one_thread) {
    const struct {
        size_t first, second;
        int64_t batch;
        bool own, tries;
    } cases[] = {{0, 64 << 20, 1, false, true},        {0, (64 << 20) + 1, 1, false, false},
                 {80 << 20, 80 << 20, 1, true, true},  {64, 16 << 20, 4, true, true},
                 {64, (16 << 20) + 1, 4, true, false}, {64, (16 << 20) + 1, 4, false, true}};
    tried t = find(TAMIS_OP_SPMM);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        tamis_problem p = t.plan->problem;
        tamis_backend backend = *p.backend;
        tamis_prepared *prepared = NULL;
        tamis_prepared_sizes sizes = {.scratch_bytes = cases[c].first, .own_scratch = cases[c].own};
        tamis_turns *turns = NULL;
        backend.sizes = claim;
        claimed = (tamis_prepared_sizes){
            .scratch_bytes = cases[c].second, .own_scratch = cases[c].own, .prepared_bytes = 100};
        p.backend = &backend;
        p.batch = cases[c].batch;
        works(backend.prepare(t.plan->choice.algorithm, &p, &prepared));
        tamis_turns_make(&p, &t.plan->choice, &prepared, &sizes, &turns);
        if ((turns != NULL) != cases[c].tries) fail_msg("case %zu", c);
        assert_int_equal(sizes.scratch_bytes, cases[c].tries ? cases[c].second : cases[c].first);
        for (int i = 0; turns && i <= TAMIS_TURNS; i++) {
            assert_int_equal(tamis_turns_now(turns).sizes->prepared_bytes, i < TAMIS_TURNS ? 200 : 100);
            const tamis_turn turn = tamis_turns_begin(turns);
            tamis_turns_end(turns, &turn, 1);
        }
        if (prepared) backend.release(prepared);
        tamis_turns_free(turns);
    }
    leave(&t);
}

/* ------------------------------------------------------------------------------------------ results */

/* Every execution of a trial, and after it, computes what the oracle says. */
TEST_ROW(results_of_a_trial, "on_the_cpu", .setup_func = one_thread) {
    for (int operation = TAMIS_OP_SDDMM; operation <= TAMIS_OP_FUSED; operation++) {
        tried t = find((tamis_operation)operation);
        for (int i = 0; i < TAMIS_TURNS + 2; i++) {
            assert_int_equal(report_of(t.plan).trial, i < TAMIS_TURNS ? TAMIS_TURNS - i : 0);
            memset(t.m.out.twin.host, 0xff, t.m.out.twin.bytes);
            works(mirror_plan(&t.m, t.plan, NULL));
            const test_call call = {t.o, TAMIS_EXECUTION_INIT};
            const char *const wrong = mirror_wrong(&t.m, &t.p, &call);
            if (wrong) fail_msg("%s, execution %d: %s", tamis_operation_name(t.o.operation), i, wrong);
        }
        assert_int_equal(report_of(t.plan).chosen_by, TAMIS_CHOSEN_MEASURED);
        leave(&t);
    }
}

typedef struct caller {
    const tried *t;
    float *out;
    tamis_status status;
} caller;

static void *call_often(void *given) {
    caller *const self = given;
    const mirror *const m = &self->t->m;
    tamis_dense mine = m->out.there;
    mine.data = self->out;
    for (int i = 0; i < 3 * TAMIS_TURNS && self->status == TAMIS_OK; i++)
        self->status = tamis_plan_spmm(self->t->plan, &m->D, &mine, NULL);
    return NULL;
}

/* Threads that execute one plan: which algorithm stays is open, and each result is right. */
TEST_ROW(threads_take_turns, "on_the_cpu", .setup_func = one_thread) {
    enum { THREADS = 4 };
    tried t = find(TAMIS_OP_SPMM);
    pthread_t threads[THREADS];
    caller callers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (caller){&t, malloc(t.m.out.twin.bytes), TAMIS_OK};
        memset(callers[i].out, 0xff, t.m.out.twin.bytes);
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        const test_call call = {t.o, TAMIS_EXECUTION_INIT};
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        works(callers[i].status);
        memcpy(t.m.out.twin.host, callers[i].out, t.m.out.twin.bytes);
        const char *const wrong = mirror_wrong(&t.m, &t.p, &call);
        if (wrong) fail_msg("thread %d: %s", i, wrong);
        free(callers[i].out);
    }
    leave(&t);
}

TEST_FIXTURE(measured_set_up, measured_tear_down)
