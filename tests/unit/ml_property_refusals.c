/* Properties of every model: what is refused, and what the registry says of a method. */
#include "ml_properties.h"

#include <tamis/group.h>

/* Options that cannot be, of each method that has them; a method's own words come before those for all. */
static const struct wrong {
    const char *option, *of; /* NULL: every method */
    double value;
    const char *words;
} wrong[] = {
    {"type", NULL, TAMIS_F16, "type = fp16, models are fp32 or fp64"},
    {"weights", "implicit-als", 5, "weights = 5, expected 0 to 4"},
    {"weights", "item-knn", 6, "weights = 6, expected 0 to 5"},
    {"weights", "ease", TAMIS_WEIGHTS_BM25, "weights = bm25: ease has linear, log or ones"},
    {"weights", "nmf", 7, "weights = 7, expected 0 to 6"},
    {"weights", "nmf", TAMIS_WEIGHTS_AUTO, "weights = 4: nmf has linear, log, bm25, ones or tfidf"},
    {"weights", NULL, TAMIS_WEIGHTS_AUTO, "weights = 4, expected 0 to 3"},
    {"regularization", "sfa", -1, "regularization = -1, expected a positive number, or 0 to choose it"},
    {"regularization", "sfa", NAN, "regularization = nan, expected a positive number, or 0 to choose it"},
    {"regularization", "sfa", INFINITY, "regularization = inf, expected a positive number, or 0 to choose it"},
    {"regularization", "nmf", -1, "regularization = -1, expected 0 (none) or more"},
    {"regularization", "nmf", NAN, "regularization = nan, expected 0 (none) or more"},
    {"regularization", "nmf", INFINITY, "regularization = inf, expected 0 (none) or more"},
    {"regularization", NULL, -1,
     "regularization = -1, expected a positive number, or 0 to find it by the noise of the data"},
    {"regularization", NULL, NAN,
     "regularization = nan, expected a positive number, or 0 to find it by the noise of the data"},
    {"regularization", NULL, INFINITY,
     "regularization = inf, expected a positive number, or 0 to find it by the noise of the data"},
    {"column_regularization", NULL, -0.5, "column_regularization = -0.5, expected 0 or more"},
    {"cg_steps", NULL, 0, "cg_steps = 0, expected 1 to 1000"},
    {"cg_steps", NULL, -3, "cg_steps = -3, expected 1 to 1000"},
    {"inner_rounds", NULL, 0, "inner_rounds = 0, expected 1 to 1000"},
    {"inner_rounds", NULL, 1001, "inner_rounds = 1001, expected 1 to 1000"},
    {"neighbours", "ease", -2, "neighbours = -2, expected -1 to 4096"},
    {"neighbours", NULL, 4097, "neighbours = 4097, expected 1 to 4096"},
    {"neighbours", NULL, 0, "neighbours = 0, expected 1 to 4096"},
    {"beta", NULL, -0.1, "beta = -0.1, expected 0 to 2"},
    {"beta", NULL, 2.5, "beta = 2.5, expected 0 to 2"},
    {"confidence", NULL, -2, "confidence = -2, expected 0 or more"},
    {"rate", NULL, 0, "rate = 0, expected a positive number"},
    {"rate_decay", NULL, 1.5, "rate_decay = 1.5, expected 0 to 1"},
    {"rate_decay", NULL, NAN, "rate_decay = nan, expected 0 to 1"},
    {"rate_offset", NULL, -1, "rate_offset = -1, expected 0 (which means 1) or more"},
    {"batch_rows", NULL, -1, "batch_rows = -1 is negative"},
    {"row_prior", "lda", -1, "row_prior = -1, expected 0 (1 / factors) or more"},
    {"row_prior", "lda-gibbs", NAN, "row_prior = nan, expected 0 (1 / factors) or more"},
    {"row_prior", "gap", 0, "row_prior = 0, expected a positive number: it is the shape of a gamma distribution"},
    {"row_prior", "gap", 0.8,
     "row_prior = 0.8, expected 1 or more: with a shape below 1 the loss has no minimum, it falls without end as a "
     "factor nears 0"},
    {"column_prior", "lda", INFINITY, "column_prior = inf, expected 0 (1 / factors) or more"},
    {"column_prior", "gap", -3, "column_prior = -3, expected 0 (no scale) or more"},
};

void bad_options_are_named(tamis_method method) {
    const model_case c = model_case_of(method);
    tamis_model_options o;
    tamis_model *model;
    char text[200];
#define SPOILT_OPTION(change, words)                                                                                   \
    SPOILT_MADE_BY(model, o, change, ARGUMENT, words, tamis_model_create(properties_on, &o, &model))
    works(tamis_model_options_init(&o, method));
    const int least = o.factors == 0 ? 0 : 1; /* 0: chosen */
    snprintf(text, sizeof text, "^factors = %d, expected %d to 1024$", least - 1, least);
    SPOILT_OPTION(o.factors = least - 1, text);
    SPOILT_OPTION(o.factors = 1025, "^factors = 1025, expected ");
    SPOILT_OPTION(o.iterations = -1, "^iterations = -1 is negative$");
    SPOILT_OPTION(o.threads = -1, "^threads = -1, expected 0 (the device's) to 1024$");
    SPOILT_OPTION(o.tolerance = NAN, "^tolerance = nan, expected 0 to below 1$");
    SPOILT_OPTION(o.tolerance = 1, "^tolerance = 1, expected 0 to below 1$");
    SPOILT_OPTION(o.checkpoint_seconds = -1, "^checkpoint_seconds = -1, expected 0 or more$");
    SPOILT_OPTION(o.algorithms = "a,b", "^algorithms = \"a,b\", expected one name or three$");
    SPOILT_OPTION(o.reserved_flags[3] = true, "^options.reserved_flags[3] is true: expected false$");
    SPOILT_OPTION(o.method = (tamis_method)99, "^method = 99 is not a valid method$");
    snprintf(text, sizeof text, "^iterations = 0: %s is made in its first iteration: expected 1$", c.about.name);
    if (c.about.pairs) SPOILT_OPTION(o.iterations = 0, text);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct wrong *const w = &wrong[i];
        bool own = w->of && strcmp(w->of, c.about.name) == 0;
        for (size_t other = 0; other < i && !w->of; other++) /* a method may have words of its own */
            own = own || (wrong[other].of && strcmp(wrong[other].option, w->option) == 0 &&
                          strcmp(wrong[other].of, c.about.name) == 0);
        if (w->of ? !own : own || !model_takes(&c.about, w->option)) continue;
        snprintf(text, sizeof text, "^%s$", w->words);
        SPOILT_OPTION(model_set_option(&o, w->option, w->value), text);
    }
    if (model_has_option(&c.about, "maximum_a_posteriori")) {
        SPOILT_OPTION(o.maximum_a_posteriori = o.elbo = true,
                      "^elbo with maximum_a_posteriori: documents have no distributions then$");
        SPOILT_OPTION(o.maximum_a_posteriori = o.elbo = o.learn_row_prior = true,
                      "^learn_row_prior with maximum_a_posteriori: documents have no distributions then$");
    }
    if (method == TAMIS_GAP)
        SPOILT_OPTION((o.row_prior = 1.5, o.column_prior = 0),
                      "^row_prior = 1.5 with column_prior = 0: a shape above 1 "
                      "needs a scale, without it the loss has no minimum$");
}

static tamis_names *names_of(int64_t count) {
    tamis_names *names;
    works(tamis_names_create(&names));
    for (int64_t i = 0; i < count; i++) {
        char name[24];
        int64_t index;
        snprintf(name, sizeof name, "%lld", (long long)i);
        works(tamis_names_add(names, name, strlen(name), &index));
    }
    return names;
}

/* As many names as there are rows and columns, no fewer and no more. */
static void expect_names_counted(const model_case *c, const data *d) {
    static const int more[][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {0, 0}};
    for (int i = 0; i < 5; i++) {
        OWN(tamis_names) *const rows = names_of(MODEL_ROWS + more[i][0]);
        OWN(tamis_names) *const cols = names_of(MODEL_COLS + more[i][1]);
        OWN(tamis_model) *const model = model_made(properties_on, &c->options);
        char text[80];
        works(tamis_model_set_names(model, rows, cols));
        snprintf(text, sizeof text, "^S has %d %s, the model has names for %d$", more[i][0] ? MODEL_ROWS : MODEL_COLS,
                 more[i][0] ? "rows" : "columns", more[i][0] ? MODEL_ROWS + more[i][0] : MODEL_COLS + more[i][1]);
        if (i < 4)
            REFUSED(ARGUMENT, text, tamis_model_fit(model, &d->view, NULL));
        else
            works(tamis_model_fit(model, &d->view, NULL));
    }
}

/* Data that cannot be are named, and leave no trace; a fit that has begun goes on with its own data alone. */
void bad_data_are_named(tamis_method method) {
    const model_case c = model_case_of(method);
    OWN(data) d = model_data(&c.about, MODEL_ROWS, MODEL_COLS, 3),
              other = model_data(&c.about, MODEL_ROWS, MODEL_COLS, 4);
    OWN(tamis_model) *const whole = model_fitted(properties_on, &c.options, &d.view);
    watch w = {.stop_at = c.about.pairs ? 0 : 2};
    OWN(tamis_model) *const model = model_watched(&c, &w, NULL);
    char text[120];
    snprintf(text, sizeof text, "^S has the value nan at row %d, column %d: expected a finite number$", (int)d.rows[7],
             (int)d.columns[7]);
    SPOILT(d.values[7], NAN, ARGUMENT, text, tamis_model_fit(model, &d.view, NULL));
    REFUSED(ARGUMENT, "^S is NULL$", tamis_model_fit(model, NULL, NULL));
    const tamis_held_out nothing = {0};
    REFUSED(ARGUMENT, "^held_out.entries is NULL$", tamis_model_fit(model, &d.view, &nothing));
    if (c.about.data == TAMIS_DATA_COUNTS)
        SPOILT(d.values[2], -1, ARGUMENT, "counts cannot be negative", tamis_model_fit(model, &d.view, NULL));
    if (!c.about.pairs) {
        assert_int_equal(tamis_model_fit(model, &d.view, NULL), TAMIS_ERROR_CANCELLED);
        REFUSED(ARGUMENT, "^S differs from the data of the first ", tamis_model_fit(model, &other.view, NULL));
    }
    works(tamis_model_fit(model, &d.view, NULL));
    model_expect_same(c.name, model, whole);
    SPOILT(d.view.cols, MODEL_COLS + 1, ARGUMENT, "^S.cols = 46, the model has 45 columns$",
           tamis_model_fit(model, &d.view, NULL));
    model_expect_same(c.name, model, whole);
    expect_names_counted(&c, &d);
}

/* Calls do what the registry says of a method. */
void registry_is_right(tamis_method method) {
    const model_case c = model_case_of(method);
    const bool batches = c.about.mini_batches, rows = c.about.row_factors;
    OWN(data) d = model_data(&c.about, MODEL_ROWS, MODEL_COLS, 3);
    tamis_model *model = model_fitted(properties_on, &c.options, &d.view), *copy;
    tamis_owned_dense *factors;
    int64_t columns[MODEL_FACTORS], count;
    double scores[MODEL_FACTORS];
    char text[160];
#define ONLY_IF(supported, words, ...)                                                                                 \
    do {                                                                                                               \
        snprintf(text, sizeof text, words, c.about.name);                                                              \
        if (supported)                                                                                                 \
            works(__VA_ARGS__);                                                                                        \
        else                                                                                                           \
            REFUSED(UNSUPPORTED, text, __VA_ARGS__);                                                                   \
    } while (0)
    assert_string_equal(tamis_method_name(method), c.about.name);
    tamis_method named;
    works(tamis_method_from_name(c.about.name, &named));
    assert_int_equal(named, method);
    REFUSED(ARGUMENT, "^method = \"svd\": expected als, ", tamis_method_from_name("svd", &named));
    assert_int_equal(model_about(model).rows, rows ? MODEL_ROWS : 0);
    free(model_factors(model, false, &count));
    assert_int_equal(count, MODEL_COLS);
    assert_true(!c.about.pairs || model->width == MODEL_COLS);
    ONLY_IF(!c.about.pairs, "%s", tamis_model_topics(model, 1, columns, scores));
    ONLY_IF(rows, "^%s stores no row factors", tamis_model_similar(model, true, NULL, 1, 1, columns, scores));
    ONLY_IF(rows, "^%s stores no row factors", tamis_model_row_factors(model, &factors));
    if (rows) tamis_owned_dense_free(factors);
    ONLY_IF(rows && !batches, "^%s stores no rows that others could be put beside$",
            tamis_model_put_rows(model, &d.view, NULL));
    ONLY_IF(!batches, "^%s goes on with other data by mini-batches: tamis_model_partial_fit$",
            tamis_model_renew(model));
    ONLY_IF(batches, "^%s needs all data at once: ", tamis_model_partial_fit(model, &d.view));
    tamis_model_free(model);
    model = model_made(properties_on, &c.options);
    REFUSED(ARGUMENT, "^the model has not been fitted yet$", tamis_model_topics(model, 1, columns, scores));
    REFUSED_MADE(copy, ARGUMENT, "^the model has not been fitted yet$", tamis_model_copy(model, &copy));
    REFUSED(ARGUMENT, "^copy = NULL: expected an address for the model$", tamis_model_copy(model, NULL));
    tamis_group *group;
    works(tamis_group_open_local(&properties_on, 1, NULL, &group));
    ONLY_IF(c.about.groups, "^rank 0: %s cannot be fitted on a group, only ",
            tamis_model_fit_group(model, group, &d.view, NULL));
    tamis_group_close(group);
    tamis_model_free(model);
}
