/* See model_rows.h. */
#include "model_rows.h"

/* ------------------------------------------------------------------------------------------ ways */

typedef enum field_kind { FLIPPED, WHOLE, REAL } field_kind;

/* Each option of a method where it is not as usual. */
static const struct way {
    const char *option;
    size_t offset;
    field_kind kind;
    double value;
} ways[] = {
#define WAY(field, kind, value)                                                                                        \
    { #field, offsetof(tamis_model_options, field), kind, value }
    WAY(type, WHOLE, TAMIS_F64), /* the first two are every method's */
    WAY(skip_loss, FLIPPED, 0),
    WAY(regularization, REAL, 0.05),
    WAY(column_regularization, REAL, 0.02),
    WAY(weighted, FLIPPED, 0),
    WAY(biases, FLIPPED, 0),
    WAY(nonnegative, FLIPPED, 0),
    WAY(maximum_a_posteriori, FLIPPED, 0),
    WAY(learn_row_prior, FLIPPED, 0),
    WAY(by_prediction, FLIPPED, 0),
    WAY(warp, FLIPPED, 0),
    WAY(elbo, FLIPPED, 0),
    WAY(cg_steps, WHOLE, 1),
    WAY(inner_rounds, WHOLE, 2),
    WAY(neighbours, WHOLE, 3),
    WAY(weights, WHOLE, TAMIS_WEIGHTS_ONES),
    WAY(beta, REAL, 0.7),
    WAY(confidence, REAL, 3),
    WAY(row_prior, REAL, 1.5),
    WAY(column_prior, REAL, 0.5),
    WAY(rate, REAL, 0.03),
    WAY(rate_decay, REAL, 0.75),
    WAY(rate_offset, REAL, 9),
    WAY(batch_rows, WHOLE, 0), /* as many as the method likes */
#undef WAY
};
enum { WAYS = (int)(sizeof ways / sizeof *ways), OF_ALL = 2 };

static tamis_method_description about(tamis_method method) {
    tamis_method_description description;
    for (int i = 0; i < tamis_method_count(); i++) {
        works(tamis_method_at(i, &description));
        if (description.method == method) return description;
    }
    fail_msg("method %d is not in the registry", (int)method);
    return description;
}

bool model_has_option(const tamis_method_description *about, const char *name) {
    for (const tamis_method_option *o = about->options; o->name; o++)
        if (strcmp(o->name, name) == 0) return true;
    return false;
}

bool model_takes(const tamis_method_description *about, const char *name) {
    for (int i = 0; i < OF_ALL; i++)
        if (strcmp(ways[i].option, name) == 0) return true;
    return model_has_option(about, name);
}

static void put_way(const struct way *way, double value, tamis_model_options *options) {
    char *const at = (char *)options + way->offset;
    if (way->kind == FLIPPED)
        *(bool *)at = !*(bool *)at;
    else if (way->kind == REAL)
        *(double *)(void *)at = value;
    else if (way->offset == offsetof(tamis_model_options, batch_rows))
        *(int64_t *)(void *)at = (int64_t)value;
    else
        *(int *)(void *)at = (int)value;
}

void model_set_option(tamis_model_options *options, const char *name, double value) {
    for (int i = 0; i < WAYS; i++)
        if (strcmp(ways[i].option, name) == 0) put_way(&ways[i], value, options);
}

model_case model_case_of(tamis_method method) {
    model_case c = {.about = about(method)};
    for (const tamis_method_option *o = c.about.options; o->name; o++) {
        bool known = false;
        for (int i = 0; i < WAYS; i++) known = known || strcmp(ways[i].option, o->name) == 0;
        if (!known) fail_msg("%s has the option %s, which has no value in model_rows.c", c.about.name, o->name);
    }
    works(tamis_model_options_init(&c.options, method));
    c.options.factors = MODEL_FACTORS;
    c.options.iterations = c.about.pairs ? 1 : 3;
    c.options.batch_rows = c.about.mini_batches ? 25 : 0;
    c.options.threads = 1;
    if (c.options.weights == TAMIS_WEIGHTS_AUTO) /* bm25 has a state */
        c.options.weights = c.about.pairs ? TAMIS_WEIGHTS_BM25 : TAMIS_WEIGHTS_LOG;
    snprintf(c.name, sizeof c.name, "%s", c.about.name);
    return c;
}

bool model_next(model_case *c, tamis_method method) {
    int way = c->way; /* 0: before the first one, which is the usual one */
    if (way == 0) {
        *c = model_case_of(method);
        c->way = 1;
        return true;
    }
    *c = model_case_of(method);
    while (way <= WAYS && way > OF_ALL && !model_has_option(&c->about, ways[way - 1].option)) way++;
    if (way > WAYS) return false;
    put_way(&ways[way - 1], ways[way - 1].value, &c->options);
    snprintf(c->name, sizeof c->name, "%s %s", c->about.name, ways[way - 1].option);
    c->way = way + 1;
    return true;
}

/* ------------------------------------------------------------------------------------------ data and models */

data model_data(const tamis_method_description *about, int64_t rows, int64_t cols, uint64_t seed) {
    data d = data_make(rows, cols, cols < 9 ? (int)cols : 9, seed);
    for (int64_t t = 4; t < d.view.nnz && about->data == TAMIS_DATA_USES; t += 9) d.values[t] = -d.values[t];
    /* ratings of noise alone would leave nothing but biases: rows and columns of two kinds like their own */
    for (int64_t t = 0; t < d.view.nnz && about->data == TAMIS_DATA_RATINGS; t++)
        d.values[t] = (d.values[t] > 3) + (d.rows[t] % 2 == d.columns[t] % 2 ? 4 : 1);
    return d;
}

tamis_model *model_made(tamis_device *on, const tamis_model_options *options) {
    tamis_model *model;
    works(tamis_model_create(on, options, &model));
    return model;
}

tamis_model *model_fitted(tamis_device *on, const tamis_model_options *options, const tamis_sparse *S) {
    tamis_model *const model = model_made(on, options);
    works(tamis_model_fit(model, S, NULL));
    return model;
}

double *model_numbers(tamis_owned_dense *array) {
    const tamis_dense *const X = tamis_owned_dense_view(array);
    double *const numbers = calloc((size_t)(X->rows * X->cols) + 1, sizeof *numbers);
    assert_non_null(numbers);
    for (int64_t i = 0; i < X->rows * X->cols; i++) numbers[i] = number(X, i / X->cols, i % X->cols);
    tamis_owned_dense_free(array);
    return numbers;
}

double *model_factors(tamis_model *model, bool rows, int64_t *count) {
    tamis_owned_dense *owned;
    works(rows ? tamis_model_row_factors(model, &owned) : tamis_model_column_factors(model, &owned));
    if (count) *count = tamis_owned_dense_view(owned)->rows;
    return model_numbers(owned);
}

tamis_owned_dense *model_of_rows(tamis_model *model, const tamis_sparse *S) {
    tamis_owned_dense *W;
    works(tamis_owned_dense_create(S->rows, model->width, model->options.type, TAMIS_ROW_MAJOR, &W));
    works(tamis_model_transform(model, S, tamis_owned_dense_view(W)));
    return W;
}

double *model_transformed(tamis_model *model, const tamis_sparse *S) { return model_numbers(model_of_rows(model, S)); }

tamis_model_description model_about(const tamis_model *model) {
    tamis_model_description description;
    works(tamis_model_describe(model, &description));
    return description;
}

double model_loss(const tamis_model *model) { return model_about(model).loss; }

void model_expect_near(const char *what, const double *found, const double *expected, int64_t count, double bound) {
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(found[i] - expected[i]) <= bound))
            fail_msg("%s: number %lld is %.17g, expected %.17g within %.3g", what, (long long)i, found[i], expected[i],
                     bound);
}

void model_expect_close(const char *what, const double *found, const double *expected, int64_t count, double share) {
    double largest = 0;
    for (int64_t i = 0; i < count; i++) largest = fmax(largest, fabs(expected[i]));
    model_expect_near(what, found, expected, count, share * largest);
}

/* ------------------------------------------------------------------------------------------ the same model */

static bool same_matrices(const tamis_model *found, const tamis_dense *x, const tamis_model *expected,
                          const tamis_dense *y) {
    if (x->rows != y->rows || x->cols != y->cols) return false;
    const size_t size = (size_t)(x->rows * x->cols) * tamis_type_size(found->options.type);
    OWN(char) *const both = calloc(2, size + 1);
    assert_non_null(both);
    if (size > 0) works(ml_dense_read(found, x, both));
    if (size > 0) works(ml_dense_read(expected, y, both + size));
    const bool same = memcmp(both, both + size, size) == 0;
    return same;
}

static bool same_names(const tamis_names *found, const tamis_names *expected) {
    if (!found || !expected) return found == expected;
    if (tamis_names_count(found) != tamis_names_count(expected)) return false;
    for (int64_t i = 0; i < tamis_names_count(found); i++)
        if (strcmp(tamis_names_at(found, i), tamis_names_at(expected, i)) != 0) return false;
    return true;
}

/* NaN is as good as any other. */
static bool same_double(double found, double expected) {
    return isnan(expected) ? isnan(found) : memcmp(&found, &expected, sizeof found) == 0;
}

/* The size of a field's name tell where options are unlike. */
static const char *options_difference(const tamis_model *found, const tamis_model *expected) {
    tamis_model_options o[2] = {found->options, expected->options};
    for (int i = 0; i < 2; i++) { /* which files do not keep */
        o[i].algorithms = o[i].checkpoint = NULL;
        o[i].checkpoint_seconds = 0;
        o[i].callback = NULL;
        o[i].callback_context = NULL;
    }
    for (int i = 0; i < WAYS; i++) {
        const size_t size = ways[i].kind == FLIPPED ? sizeof(bool)
                            : ways[i].kind == REAL  ? sizeof(double)
                                                    : sizeof(int);
        if (memcmp((char *)&o[0] + ways[i].offset, (char *)&o[1] + ways[i].offset, size) != 0) return ways[i].option;
    }
    return memcmp(&o[0], &o[1], sizeof o[0]) == 0 ? NULL : "options";
}

const char *model_difference(const tamis_model *found, const tamis_model *expected) {
    const char *const options = options_difference(found, expected);
    if (options) return options;
    const struct {
        const char *name;
        double found, expected;
    } reals[] = {
#define REAL_MEMBER(name) {#name, found->name, expected->name}
        REAL_MEMBER(mean),  REAL_MEMBER(scale), REAL_MEMBER(least),  REAL_MEMBER(most),         REAL_MEMBER(lambda),
        REAL_MEMBER(share), REAL_MEMBER(loss),  REAL_MEMBER(metric), REAL_MEMBER(prior_ratings)};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        if (!same_double(reals[i].found, reals[i].expected)) return reals[i].name;
    for (int i = 0; i < ML_PARTS; i++)
        if (!same_double(found->parts[i], expected->parts[i])) return "parts";
    const struct {
        const char *name;
        int64_t found, expected;
    } wholes[] = {
#define WHOLE_MEMBER(name) {#name, (int64_t)found->name, (int64_t)expected->name}
        WHOLE_MEMBER(rows),  WHOLE_MEMBER(cols),     WHOLE_MEMBER(nnz),          WHOLE_MEMBER(width),
        WHOLE_MEMBER(steps), WHOLE_MEMBER(data_sum), WHOLE_MEMBER(batches_done), WHOLE_MEMBER(iterations_done)};
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
        if (wholes[i].found != wholes[i].expected) return wholes[i].name;
    if (!same_matrices(found, &found->row_factors, expected, &expected->row_factors)) return "row factors";
    if (!same_matrices(found, &found->column_factors, expected, &expected->column_factors)) return "column factors";
    for (int i = 0; i < ML_STATES; i++)
        if (!same_matrices(found, &found->states[i], expected, &expected->states[i])) return "a state";
    if (!same_names(found->row_names, expected->row_names)) return "names of rows";
    return same_names(found->column_names, expected->column_names) ? NULL : "names of columns";
}

void model_expect_same(const char *what, const tamis_model *found, const tamis_model *expected) {
    const char *const unlike = model_difference(found, expected);
    if (unlike) fail_msg("%s: another model, by its %s", what, unlike);
}

/* ------------------------------------------------------------------------------------------ what models say */

tamis_sparse model_row_of(const data *d, int64_t row, int64_t offsets[2]) {
    tamis_sparse part = d->view;
    offsets[0] = 0;
    offsets[1] = d->offsets[row + 1] - d->offsets[row];
    part.rows = 1;
    part.nnz = offsets[1];
    part.offsets = offsets;
    part.columns = d->columns + d->offsets[row];
    part.values = d->values + d->offsets[row];
    return part;
}

tamis_dense model_lines(const tamis_model *model, answers *a, int64_t first, int64_t count) {
    return (tamis_dense){.data = (char *)a->W + (size_t)(first * model->width) * tamis_type_size(model->options.type),
                         .rows = count,
                         .cols = model->width,
                         .type = model->options.type};
}

tamis_status model_ask(tamis_model *model, const data *d, int64_t at_once, answers *a) {
    enum { N = MODEL_BEST };
    const bool rows = model->row_factors.rows >= MODEL_ROWS;
    *a = (answers){.W = {0}};
    for (int64_t i = 0; i < MODEL_ROWS; i += at_once) {
        int64_t offsets[2], which[MODEL_ROWS];
        const tamis_sparse one = model_row_of(d, i, offsets), *const S = at_once == 1 ? &one : &d->view;
        const tamis_dense W = model_lines(model, a, i, at_once);
        for (int64_t t = 0; t < at_once; t++) which[t] = i + t;
        TRY(tamis_model_transform(model, S, &W));
        TRY(tamis_model_recommend(model, &W, NULL, at_once, S, N, a->columns + i * N, a->scores + i * N));
        if (!rows) continue;
        TRY(tamis_model_recommend(model, NULL, which, at_once, NULL, N, a->own_columns + i * N, a->own_scores + i * N));
        TRY(tamis_model_similar(model, true, which, at_once, N, a->similar_rows + i * N, a->row_cosines + i * N));
    }
    const int64_t columns = at_once == 1 ? 1 : MODEL_COLS;
    for (int64_t j = 0; j < MODEL_COLS; j += columns)
        TRY(tamis_model_similar(model, false, at_once == 1 ? &j : NULL, columns, N, a->similar + j * N,
                                a->cosines + j * N));
    return TAMIS_OK;
}

void model_expect_answers(const char *what, tamis_model *found, tamis_model *expected, const data *d) {
    OWN(answers) *const one = malloc(sizeof *one), *const other = malloc(sizeof *other);
    assert_true(one && other);
    for (int64_t at_once = 1; at_once <= MODEL_ROWS; at_once += MODEL_ROWS - 1) {
        works(model_ask(found, d, at_once, one));
        works(model_ask(expected, d, at_once, other));
        if (memcmp(one, other, sizeof *one) != 0) fail_msg("%s: another answer, asked for %d", what, (int)at_once);
    }
}
