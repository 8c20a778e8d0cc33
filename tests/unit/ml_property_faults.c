/* Properties of every model: when memory is taken, and what happens where it ends. */
#include "ml_properties.h"

static int64_t allocations_of(tamis_model_options options, int iterations, const data *d) {
    options.iterations = iterations;
    OWN(tamis_model) *const model = model_made(properties_on, &options);
    const int64_t before = tamis_memory_count();
    works(tamis_model_fit(model, &d->view, NULL));
    const int64_t count = tamis_memory_count() - before;
    return count;
}

/* All memory of a fit is taken before its first iteration. */
void iterations_allocate_nothing(tamis_method method) {
    EACH_WAY(c, method) {
        if (c.about.pairs) return; /* which are made in one iteration */
        OWN(data) d = model_data(&c.about, MODEL_ROWS, MODEL_COLS, 3);
        allocations_of(c.options, 1, &d); /* the first one on a GPU compiles */
        const int64_t none = allocations_of(c.options, 0, &d), many = allocations_of(c.options, 4, &d);
        if (none != many) fail_msg("%s: 4 iterations make %d allocations, none %d", c.name, (int)many, (int)none);
    }
}

/* Each allocation of a fit fails in turn: that status, nothing left behind, and then it can be fitted as if new. */
void fits_survive_faults(tamis_method method) {
    if (!properties_on_cpu()) skip_because("of the CPU alone: compiling allocates as it likes");
    EACH_WAY(c, method) {
        OWN(data) d = model_data(&c.about, 23, 17, 81);
        c.options.iterations = 1;
        c.options.batch_rows = c.options.batch_rows ? 12 : 0;
        OWN(tamis_model) *const whole = model_fitted(properties_on, &c.options, &d.view);
        EACH_FAULT_OF(w, .step = test_rounds(1, 4)) {
            OWN(tamis_model) *model = NULL;
            fault_begin(&w);
            tamis_status status = tamis_model_create(properties_on, &c.options, &model);
            if (status == TAMIS_OK) status = tamis_model_fit(model, &d.view, NULL);
            fault_end(&w, status);
            if (model && status != TAMIS_OK) works(tamis_model_fit(model, &d.view, NULL));
            if (model) model_expect_same(c.name, model, whole);
        }
    }
}

enum { OUTPUT = MODEL_ROWS * MODEL_COLS, BEST = 3 };

/* A call on a model, and where it writes. */
typedef struct use {
    tamis_model *model, *made;
    data *d;
    tamis_dense W; /* of the data's rows */
    double numbers[OUTPUT];
    int64_t columns[OUTPUT];
} use;
OWN_POINTER(use, free)

static tamis_status use_transform(use *u) {
    tamis_dense W = u->W;
    W.data = u->numbers;
    return tamis_model_transform(u->model, &u->d->view, &W);
}
static tamis_status use_predict(use *u) { return tamis_model_predict(u->model, &u->W, &u->d->view, u->numbers); }
static tamis_status use_predict_rows(use *u) {
    return tamis_model_predict_rows(u->model, &u->d->view, &u->d->view, u->numbers);
}
static tamis_status use_predict_own(use *u) { return tamis_model_predict(u->model, NULL, &u->d->view, u->numbers); }
static tamis_status use_recommend(use *u) {
    return tamis_model_recommend(u->model, &u->W, NULL, u->d->view.rows, &u->d->view, BEST, u->columns, u->numbers);
}
/* Seen as COO, whose rows are sorted first. */
static tamis_status use_recommend_own(use *u) {
    const tamis_sparse coo = data_coo(u->d);
    return tamis_model_recommend(u->model, NULL, NULL, coo.rows, &coo, BEST, u->columns, u->numbers);
}
static tamis_status use_similar(use *u) {
    return tamis_model_similar(u->model, false, NULL, u->d->view.cols, BEST, u->columns, u->numbers);
}
static tamis_status use_similar_rows(use *u) {
    return tamis_model_similar(u->model, true, NULL, u->d->view.rows, BEST, u->columns, u->numbers);
}
static tamis_status use_topics(use *u) { return tamis_model_topics(u->model, BEST, u->columns, u->numbers); }
static tamis_status use_score(use *u) {
    tamis_score score;
    return tamis_model_score(u->model, &(tamis_held_out){.entries = &u->d->view, .observed = &u->d->view}, true, BEST,
                             &score);
}
static tamis_status use_copy(use *u) { return tamis_model_copy(u->model, &u->made); }
static tamis_status use_save(use *u) { return tamis_model_save(u->model, properties_path); }
static tamis_status use_load(use *u) { return tamis_model_load(properties_on, properties_path, &u->made); }
static tamis_status use_put_rows(use *u) { return tamis_model_put_rows(u->model, &u->d->view, NULL); }
static tamis_status use_renew(use *u) {
    TRY(tamis_model_renew(u->model));
    return tamis_model_fit(u->model, &u->d->view, NULL);
}
static tamis_status use_partial_fit(use *u) { return tamis_model_partial_fit(u->model, &u->d->view); }

typedef enum use_of { ALL, WITH_ROWS, WITHOUT_PAIRS, AT_ONCE, ROWS_AT_ONCE, IN_BATCHES } use_of;

static const struct {
    tamis_status (*call)(use *u);
    use_of of;
    bool changes; /* the model, also where it fails */
} uses[] = {{use_transform, ALL, false},
            {use_predict, ALL, false},
            {use_predict_rows, ALL, false},
            {use_predict_own, WITH_ROWS, false},
            {use_recommend, ALL, false},
            {use_recommend_own, WITH_ROWS, false},
            {use_similar, WITHOUT_PAIRS, false},
            {use_similar_rows, WITH_ROWS, false},
            {use_topics, WITHOUT_PAIRS, false},
            {use_score, ALL, false},
            {use_copy, ALL, false},
            {use_save, ALL, false},
            {use_load, ALL, false},
            {use_put_rows, ROWS_AT_ONCE, false},
            {use_renew, AT_ONCE, true},
            {use_partial_fit, IN_BATCHES, true}};

static bool has_use(const tamis_method_description *about, use_of of) {
    switch (of) {
    case ALL: return true;
    case WITH_ROWS: return about->row_factors;
    case WITHOUT_PAIRS: return !about->pairs;
    case AT_ONCE: return !about->mini_batches;
    case ROWS_AT_ONCE: return about->row_factors && !about->mini_batches;
    case IN_BATCHES: return about->mini_batches;
    }
    return false;
}

/* Each allocation of each call fails in turn, with nothing kept from calls before and with all kept: nothing is written
   where results go, the model stays, nothing is left behind. */
void uses_survive_faults(tamis_method method) {
    if (!properties_on_cpu()) skip_because("of the CPU alone: compiling allocates as it likes");
    model_case c = model_case_of(method);
    OWN(data) d = model_data(&c.about, 23, 17, 14);
    OWN(tamis_model) *const whole = model_fitted(properties_on, &c.options, &d.view);
    OWN(use) *const u = malloc(sizeof *u);
    OWN(double) *const memory = malloc(OUTPUT * sizeof *memory);
    const tamis_dense W = {.data = memory, .rows = 23, .cols = whole->width, .type = c.options.type};
    assert_true(u && memory);
    works(tamis_model_transform(whole, &d.view, &W));
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        if (!has_use(&c.about, uses[i].of)) continue;
        EACH_FAULT_OF(w, .step = test_rounds(1, 4)) {
            *u = (use){.model = model_reloaded(properties_on, whole), .d = &d, .W = W};
            works(tamis_model_save(whole, properties_path));
            for (int t = 0; t < OUTPUT; t++) u->numbers[t] = 77, u->columns[t] = 77;
            for (int again = 0; again < (uses[i].changes ? 1 : 2); again++) {
                const tamis_status status = FAULTY(w, uses[i].call(u));
                if (status == TAMIS_OK) {
                    tamis_model_free(u->made);
                    u->made = NULL;
                    continue;
                }
                assert_null(u->made);
                for (int t = 0; t < OUTPUT && again == 0 && c.about.data != TAMIS_DATA_USES; t++)
                    assert_true(u->numbers[t] == 77 && u->columns[t] == 77);
                if (!uses[i].changes) model_expect_same(c.name, u->model, whole);
            }
            tamis_model_free(u->model);
        }
        OWN(tamis_model) *const saved = model_loaded_from(properties_path, &c.options);
        model_expect_same(c.name, saved, whole);
    }
}
