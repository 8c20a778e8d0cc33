/* What fits choose where the options leave it open: models with defaults are never below means and biases or the most
 * popular, what is chosen is told and kept, and does not depend on threads. */
#include "support/test.h"

#include <unistd.h>

#include "ml/numbers.h"
#include "model_rows.h"
#include "support/shared_data.h"

#include "cpu_device.h" /* after the headers whose arguments have the device's name */

/* ------------------------------------------------------------------------------------------ generated sets */

/* What a set is like. Column j is drawn with a chance of 1 / (j + 1)^tail, of uses four times in five from the row's
   own group. Stars: biases, a product of `rank` factors of deviation `signal`, and noise. */
typedef struct set_shape {
    const char *name;
    int64_t rows, cols;
    int a_row;
    double tail;
    int groups;                   /* of uses */
    double signal, biases, noise; /* of ratings */
    double outlier;               /* the value of one entry in two thousand; 0: there are none */
} set_shape;

static double normal(tamis_random *random) {
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += tamis_random_uniform(random);
    return sum;
}

/* A rank below `count` with a chance of about 1 / (rank + 1)^tail. */
static int64_t uneven(tamis_random *random, int64_t count, double tail) {
    const double u = tamis_random_uniform(random), e = 1 - tail;
    const double rank =
        fabs(e) < 1e-6 ? pow((double)count + 1, u) : pow(u * (pow((double)count + 1, e) - 1) + 1, 1 / e);
    return rank - 1 < (double)count - 1 ? (int64_t)(rank - 1) : count - 1;
}

enum { RANK = 5 };

static double star(const set_shape *s, const double *a, const double *b, tamis_random *random) {
    double value = 3.4 + s->biases * (a[RANK] + b[RANK]) + s->noise * normal(random);
    for (int f = 0; f < RANK; f++) value += s->signal / sqrt(RANK) * a[f] * b[f];
    return fmin(fmax(round(value), 1), 5);
}

static data draw_set(const set_shape *s, uint64_t seed) {
    const int64_t size = s->cols / (s->groups ? s->groups : 1), count = s->rows + s->cols;
    data d = data_make(s->rows, s->cols, 0, seed);
    OWN(double) *const hidden = malloc((size_t)count * (RANK + 1) * sizeof *hidden);
    OWN(char) *const used = malloc((size_t)s->cols);
    tamis_random random = tamis_random_start(seed, s->groups ? 9 : 17);
    for (int64_t k = 0; k < count * (RANK + 1) && !s->groups; k++) hidden[k] = normal(&random);
    int64_t t = 0;
    for (int64_t i = 0; i < s->rows; i++) {
        memset(used, 0, (size_t)s->cols);
        for (int n = 0; n < s->a_row; n++) {
            const bool own = tamis_random_below(&random, 5) > 0;
            const int64_t group = !s->groups ? 0 : own ? i % s->groups : tamis_random_below(&random, s->groups);
            used[uneven(&random, size, s->tail) * (s->groups ? s->groups : 1) + group] = 1;
        }
        for (int64_t j = 0; j < s->cols; j++) {
            if (!used[j]) continue;
            d.columns[t] = j;
            d.values[t] =
                s->groups ? 1 : star(s, hidden + i * (RANK + 1), hidden + (s->rows + j) * (RANK + 1), &random);
            if (s->outlier > 0 && t % 2000 == 7) d.values[t] = s->outlier;
            t++;
        }
        d.offsets[i + 1] = t;
    }
    d.view.nnz = t;
    return d;
}

/* ------------------------------------------------------------------------------------------ beside the baselines */

typedef struct found {
    double metric, baseline;
    int64_t entries;
    int64_t factors;
} found;

/* A model with defaults, of what is left of S without a tenth of its ratings or one use of each row; `factors`: no more
   than these, 0: as many as it likes. */
static found measure(const tamis_method_description *about, const tamis_sparse *S, int64_t factors) {
    const tamis_method method = about->method;
    const bool uses = about->data == TAMIS_DATA_USES;
    tamis_split_options split = TAMIS_SPLIT_OPTIONS_INIT;
    split.kind = uses ? TAMIS_SPLIT_LEAVE_ONE : TAMIS_SPLIT_ENTRIES;
    split.seed = 77;
    OWN(tamis_owned_sparse) *kept, *held;
    OWN(tamis_model) *model;
    tamis_score score;
    works(tamis_split(S, &split, &kept, &held));
    tamis_model_options options = default_options(method);
    if (factors > 0 && options.factors > factors) options.factors = factors;
    model = model_fitted(device, &options, tamis_owned_sparse_view(kept));
    const tamis_held_out out = {.entries = tamis_owned_sparse_view(held), .observed = tamis_owned_sparse_view(kept)};
    works(tamis_model_score(model, &out, false, 10, &score));
    found f = {
        .metric = uses ? score.recall : score.rmse, .entries = out.entries->nnz, .factors = model->options.factors};
    works(tamis_baseline(method, out.observed, out.entries, &f.baseline));
    return f;
}

/* No model of the registry for such data, which have no times, is worse by more than a standard deviation of what is
   measured: of a recall p of n entries sqrt(p (1 - p) / n), of an RMSE about a share of 1 / sqrt(2 n) of it. */
static void expect_no_worse(const char *name, tamis_method_data kind, const tamis_sparse *S) {
    for (int i = 0; i < tamis_method_count(); i++) {
        tamis_method_description about;
        works(tamis_method_at(i, &about));
        if (about.data != kind || about.ordered) continue; /* counts are no positions: test_evaluate.py has some */
        const found f = measure(&about, S, 0);
        const double n = (double)f.entries, p = f.baseline;
        print_message("%s, %s: %.4f, the baseline %.4f, %lld factors\n", name, about.name, f.metric, p,
                      (long long)f.factors);
        const bool good =
            kind == TAMIS_DATA_USES ? f.metric >= p - sqrt(p * (1 - p) / n) : f.metric <= p * (1 + 1 / sqrt(2 * n));
        if (!good) fail_msg("%s, %s: %g, the baseline alone %g", name, about.name, f.metric, f.baseline);
    }
}

TEST_TAG(ratings_are_not_below_means_and_biases, "quality") {
    static const set_shape sets[] = {
        {"a heavy tail", 900, 800, 50, 0.9, 0, 0.5, 0.4, 0.8, 0},
        {"a sparse catalogue", 2500, 3000, 9, 0.6, 0, 0.5, 0.4, 0.8, 0},
        {"biases alone", 900, 600, 40, 0.4, 0, 0, 0.5, 0.8, 0},
        {"noise alone", 900, 600, 30, 0.4, 0, 0, 0, 1, 0},
        {"outliers", 900, 600, 40, 0.4, 0, 0.5, 0.4, 0.6, 50},
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        OWN(data) d = draw_set(&sets[i], 3 + i);
        expect_no_worse(sets[i].name, TAMIS_DATA_RATINGS, &d.view);
    }
}

TEST_TAG(uses_are_not_below_the_most_popular, "quality") {
    static const set_shape sets[] = {
        {.name = "a heavy tail", .rows = 1500, .cols = 800, .a_row = 20, .tail = 1.1, .groups = 8},
        {.name = "a sparse catalogue", .rows = 2000, .cols = 3000, .a_row = 9, .tail = 0.3, .groups = 60},
        {.name = "popularity alone", .rows = 3000, .cols = 300, .a_row = 6, .tail = 1, .groups = 1},
        {.name = "outliers", .rows = 1500, .cols = 800, .a_row = 20, .tail = 1, .groups = 8, .outlier = 1e6},
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        OWN(data) d = draw_set(&sets[i], 3 + i);
        expect_no_worse(sets[i].name, TAMIS_DATA_USES, &d.view);
    }
}

/* Where popularity is all there is, a model is no worse; where there are groups, it finds them, in sparse catalogues
   too; and one count of a million spoils nothing. */
TEST_TAG(groups_are_found, "choice") {
    static const struct {
        set_shape set;
        double least; /* times the most popular's recall */
    } cases[] = {{{.rows = 2000, .cols = 200, .a_row = 6, .tail = 1, .groups = 1}, 0.98},
                 {{.rows = 1000, .cols = 300, .a_row = 14, .tail = 1, .groups = 6}, 1.5},
                 {{.rows = 1500, .cols = 3000, .a_row = 9, .tail = 1, .groups = 60}, 3}};
    for (int i = 0; i < test_rounds(3, 1); i++)
        for (int m = 0; m < tamis_method_count(); m++) {
            tamis_method_description about;
            OWN(data) d = draw_set(&cases[i].set, 5 + (uint64_t)i);
            works(tamis_method_at(m, &about));
            if (about.data == TAMIS_DATA_USES) {
                const found f = measure(&about, &d.view, 16);
                if (!(f.metric >= cases[i].least * f.baseline))
                    fail_msg("%s, case %d: recall %g, the most popular %g", about.name, i, f.metric, f.baseline);
                d.values[7] = 1e6;
                const found spoiled = measure(&about, &d.view, 16);
                if (!(spoiled.metric >= 0.95 * f.metric))
                    fail_msg("%s, case %d: recall %g, with an outlier %g", about.name, i, f.metric, spoiled.metric);
            }
        }
}

/* ------------------------------------------------------------------------------------------ real sets */

/* UCI's visits: a line C begins a user, each V is a page visited. */
static data read_visits(const char *path) {
    enum { PAGES = 2000, VISITS = 200000, USERS = 50000 };
    char command[1200], line[200];
    data d = {.offsets = calloc(USERS + 1, sizeof *d.offsets),
              .columns = calloc(VISITS, sizeof *d.columns),
              .values = calloc(VISITS, sizeof *d.values)};
    snprintf(command, sizeof command, "xz -dc '%s'", path);
    FILE *const file = popen(command, "r");
    assert_non_null(file);
    int64_t users = 0, visits = 0;
    while (fgets(line, sizeof line, file)) {
        if (line[0] == 'C') users++;
        if (line[0] != 'V') continue;
        assert_true(visits < VISITS && users <= USERS);
        d.columns[visits] = strtoll(line + 2, NULL, 10) - 1000;
        assert_in_range(d.columns[visits], 0, PAGES - 1);
        d.values[visits++] = 1;
        d.offsets[users] = visits;
    }
    assert_int_equal(pclose(file), 0);
    d.view = CSR(users, PAGES, d.offsets, d.columns, d.values);
    return d;
}

TEST_TAG(real_sets_are_not_below_their_baselines, "quality") {
    const char *const folder = shared_data_folder();
    if (!folder) skip_because("no collection of real matrices (TAMIS_SHARED_DATA)");
    char path[1024];
    tamis_owned_sparse *jester;
    snprintf(path, sizeof path, "%s/ratings/jester5k.mtx.xz", folder);
    works(tamis_read_sparse(path, NULL, &jester));
    expect_no_worse("jester", TAMIS_DATA_RATINGS, tamis_owned_sparse_view(jester));
    tamis_owned_sparse_free(jester);
    snprintf(path, sizeof path, "%s/ratings/anonymous-msweb.data.xz", folder);
    OWN(data) visits = read_visits(path);
    expect_no_worse("msweb", TAMIS_DATA_USES, &visits.view);
}

/* ------------------------------------------------------------------------------------------ what is chosen */

static const set_shape few_factors = {
    .rows = 600, .cols = 300, .a_row = 60, .tail = 0.3, .signal = 1, .biases = 0.2, .noise = 0.3};

/* In a brief run of a few rows, with more than the least entries that are chosen by. */
static data draw_chosen(const set_shape *s, int64_t brief_rows) {
    set_shape drawn = *s;
    if (test_rounds(0, 1)) drawn.rows = brief_rows;
    return draw_set(&drawn, 5);
}

/* Ratings of rank 5 get fewer factors than 32; what options say stays; small data get 32. A file has what was chosen,
   and a fit goes on with it to the same bits. */
static void keeps_its_choice(tamis_method method) {
    OWN(data) d = draw_chosen(&few_factors, 120);
    tamis_model_options options = default_options(method);
    assert_int_equal(options.factors, 0);
    options.threads = 1;
    OWN(tamis_model) *const whole = model_fitted(device, &options, &d.view);
    tamis_model_description description = model_about(whole);
    const int64_t chosen = description.options.factors;
    assert_true(chosen >= 4 && chosen < 32 && description.width == chosen + 1 && description.choice_seconds > 0);
    const double lambda = whole->options.regularization;
    assert_true(method == TAMIS_SFA ? lambda > 0 && lambda < 0.1 : lambda == 0);
    assert_true(whole->options.column_regularization == lambda);
    const int all = options.iterations;
    options.iterations = 6;
    OWN(tamis_model) *const half = model_fitted(device, &options, &d.view), *const more = model_reloaded(device, half);
    options.iterations = all;
    works(tamis_model_continue_with(more, &options));
    works(tamis_model_fit(more, &d.view, NULL));
    description = model_about(more);
    assert_int_equal(description.options.factors, chosen);
    assert_true(description.options.regularization == lambda);
    assert_true(description.choice_seconds == 0);
    assert_memory_equal(more->column_factors.data, whole->column_factors.data,
                        (size_t)(d.view.cols * (chosen + 1)) * 4);
    options.factors = 11;
    options.regularization = 0.03;
    OWN(tamis_model) *const asked = model_fitted(device, &options, &d.view);
    assert_int_equal(asked->options.factors, 11);
    assert_true(asked->options.regularization == 0.03 && asked->choice_seconds == 0);
    assert_true(asked->options.column_regularization == (method == TAMIS_SFA ? 0.03 : 0));
    options.factors = 0;
    options.regularization = 0;
    const tamis_sparse few = CSR(60, d.view.cols, d.offsets, d.columns, d.values);
    OWN(tamis_model) *const small = model_fitted(device, &options, &few);
    assert_int_equal(small->options.factors, 32);
    assert_true(small->options.regularization == (method == TAMIS_SFA ? 0.1 : 0));
}

TEST_TAG(what_is_chosen_is_kept, "choice") {
    keeps_its_choice(TAMIS_ALS);
    keeps_its_choice(TAMIS_SFA);
}

/* ------------------------------------------------------------------------------------------ titles */

/* A model of documents, four fifths of which it is fitted to, and the rest of which are half known. */
static tamis_score score_documents(const tamis_model_options *options, const tamis_sparse *S, double *baseline,
                                   tamis_model_description *description) {
    tamis_split_options split = TAMIS_SPLIT_OPTIONS_INIT;
    OWN(tamis_owned_sparse) *fitted, *others, *known, *held;
    tamis_score score;
    split.kind = TAMIS_SPLIT_ROWS;
    split.share = 0.2;
    works(tamis_split(S, &split, &fitted, &others));
    split.kind = TAMIS_SPLIT_TOKENS;
    split.share = 0.5;
    works(tamis_split(tamis_owned_sparse_view(others), &split, &known, &held));
    OWN(tamis_model) *const model = model_fitted(device, options, tamis_owned_sparse_view(fitted));
    const tamis_held_out out = {.entries = tamis_owned_sparse_view(held), .observed = tamis_owned_sparse_view(known)};
    *description = model_about(model);
    works(tamis_model_score(model, &out, true, 10, &score));
    works(tamis_baseline(options->method, tamis_owned_sparse_view(fitted), out.entries, baseline));
    OWN(tamis_model) *const again = model_reloaded(device, model);
    const tamis_model_description kept = model_about(again);
    assert_true(kept.options.row_prior == description->options.row_prior);
    assert_true(kept.options.column_prior == description->options.column_prior);
    return score;
}

/* Documents of some eight words, where constants were worse than the frequencies of words: with priors that are chosen
   a model is no worse than these if they are all there is, and better by far if there are topics. */
TEST_TAG(titles_are_not_below_frequencies_of_words, "choice") {
    static const struct {
        set_shape set;
        double most; /* perplexity, as a share of that of word frequencies */
    } cases[] = {{{.rows = 1600, .cols = 500, .a_row = 10, .tail = 1, .groups = 1}, 1.01},
                 {{.rows = 1600, .cols = 500, .a_row = 10, .tail = 0.7, .groups = 10}, 0.75}};
    for (int i = 0; i < 2; i++) {
        OWN(data) d = draw_set(&cases[i].set, 11);
        tamis_model_options options = default_options(TAMIS_LDA);
        tamis_model_description made, other;
        double baseline;
        options.threads = 1;
        assert_true(isnan(options.row_prior) && isnan(options.column_prior));
        const tamis_score score = score_documents(&options, &d.view, &baseline, &made);
        const double alpha = made.options.row_prior, beta = made.options.column_prior;
        print_message("titles %d: %.4g of %.4g, priors %.3g %.3g\n", i, score.perplexity, baseline, alpha, beta);
        assert_true(fabs(score.unigram_perplexity - baseline) < 1e-9 * baseline);
        assert_true(made.choice_seconds > 0 && alpha > 0 && beta > 0);
        if (!(score.perplexity <= cases[i].most * baseline))
            fail_msg("titles %d: perplexity %g, by frequencies %g", i, score.perplexity, baseline);
        options.threads = 3;
        const tamis_score same = score_documents(&options, &d.view, &baseline, &other);
        assert_true(fabs(same.perplexity - score.perplexity) <
                    1e-3 * score.perplexity); /* sums are rounded otherwise */
        assert_true(other.options.row_prior == alpha && other.options.column_prior == beta);
        options.row_prior = options.column_prior = 0.1;
        const tamis_score constant = score_documents(&options, &d.view, &baseline, &other);
        assert_true(other.choice_seconds == 0 && other.options.row_prior == 0.1 && other.options.column_prior == 0.1);
        assert_true(score.perplexity < 0.99 * constant.perplexity);
        options.row_prior = (double)NAN;
        options.learn_row_prior = true; /* which begins with the default */
        (void)score_documents(&options, &d.view, &baseline, &other);
        assert_true(other.choice_seconds == 0 && other.options.row_prior == 0.1);
    }
}

/* ------------------------------------------------------------------------------------------ top lists of ratings */

/* Holds out a fifth of the entries. */
static tamis_held_out hold_out(const tamis_sparse *S, tamis_owned_sparse **kept, tamis_owned_sparse **held) {
    tamis_split_options split = TAMIS_SPLIT_OPTIONS_INIT;
    split.share = 0.2;
    works(tamis_split(S, &split, kept, held));
    return (tamis_held_out){.entries = tamis_owned_sparse_view(*held), .observed = tamis_owned_sparse_view(*kept)};
}

/* Each list has the best columns that the row has not rated, by (prediction - mean) / scale + 5 w ln(n + 1/2), w the
   share of the variance of n that is not chance, and their predictions. One row at a time gives the same as all. */
static void expect_by_chance(tamis_model *model, const tamis_sparse *S) {
    enum { ROWS = 40, TOP = 10 };
    const int64_t rows = S->rows, cols = S->cols;
    OWN(double) *const counts = calloc((size_t)cols, sizeof *counts), *const all = calloc((size_t)cols, sizeof *all);
    OWN(int64_t) *const columns = malloc((size_t)cols * sizeof *columns), *const offsets =
                                                                              calloc((size_t)rows + 1, sizeof *offsets);
    int64_t best[ROWS * TOP], one[TOP];
    double scores[ROWS * TOP], alone[TOP];
    assert_true(counts && all && columns && offsets);
    for (int64_t t = 0; t < S->nnz; t++) counts[ml_column(S, t)] += 1;
    for (int64_t j = 0; j < cols; j++) columns[j] = j;
    double variance = 0;
    const double mean = (double)S->nnz / (double)cols;
    for (int64_t j = 0; j < cols; j++) variance += (counts[j] - mean) * (counts[j] - mean) / (double)cols;
    const double weight = fmax(0, 5 * (1 - mean / variance));
    works(tamis_model_recommend(model, NULL, NULL, ROWS, S, TOP, best, scores));
    for (int64_t row = 0; row < ROWS; row++) {
        for (int64_t i = 0; i <= rows; i++) offsets[i] = i > row ? cols : 0;
        const tamis_sparse places = CSR(rows, cols, offsets, columns, NULL);
        works(tamis_model_predict(model, NULL, &places, all));
        double before = INFINITY;
        for (int k = 0; k < TOP; k++) {
            const int64_t j = best[row * TOP + k];
            const double key = (all[j] - model->mean) / model->scale + weight * log(counts[j] + 0.5);
            assert_true(ml_entry_at(S, row, j) < 0 && fabs(scores[row * TOP + k] - all[j]) < 1e-4);
            if (all[j] <= model->least || all[j] >= model->most) continue; /* clamped, which hides the key */
            assert_true(key <= before + 1e-4);
            before = key;
        }
        for (int64_t j = 0; j < cols; j++) { /* none that is left out is better */
            bool listed = false;
            for (int k = 0; k < TOP; k++) listed = listed || best[row * TOP + k] == j;
            const double key = (all[j] - model->mean) / model->scale + weight * log(counts[j] + 0.5);
            if (!listed && ml_entry_at(S, row, j) < 0 && all[j] < model->most) assert_true(key <= before + 1e-4);
        }
        works(tamis_model_recommend(model, NULL, &row, 1, S, TOP, one, alone));
        assert_memory_equal(one, best + row * TOP, sizeof one);
    }
}

/* Models of ratings recommend about as much of what people rate as the most popular do, where by predictions alone they
   have a part of that, and more of what they like. The model is the same otherwise, a file keeps how it ranks, and one
   without counts, from before, ranks by predictions. */
TEST_TAG(top_lists_are_not_below_the_most_popular, "choice") {
    static const set_shape set = {"a heavy tail", 900, 800, 40, 0.9, 0, 0.5, 0.4, 0.8, 0};
    static const tamis_method methods[] = {TAMIS_ALS, TAMIS_CCD};
    OWN(data) d = draw_set(&set, 21);
    OWN(tamis_owned_sparse) *kept, *held;
    const tamis_held_out out = hold_out(&d.view, &kept, &held);
    double popular;
    works(tamis_baseline(TAMIS_IMPLICIT_ALS, out.observed, out.entries, &popular));
    for (int m = 0; m < 2; m++) {
        tamis_model_options options = default_options(methods[m]);
        tamis_score score, by_stars, old;
        options.factors = 8;
        OWN(tamis_model) *const model = model_fitted(device, &options, out.observed);
        OWN(tamis_model) *const again = model_reloaded(device, model);
        works(tamis_model_score(again, &out, false, 10, &score));
        expect_by_chance(again, out.observed);
        options.by_prediction = true;
        OWN(tamis_model) *const other = model_fitted(device, &options, out.observed);
        OWN(tamis_model) *const former = model_reloaded(device, other);
        assert_true(!again->options.by_prediction && former->options.by_prediction);
        works(tamis_model_score(other, &out, false, 10, &by_stars));
        works(tamis_model_score(former, &out, false, 10, &old));
        print_message("%s: recall %.4f, by predictions %.4f, the most popular %.4f\n", tamis_method_name(methods[m]),
                      score.recall, by_stars.recall, popular);
        assert_true(score.rmse == by_stars.rmse && old.recall == by_stars.recall);
        assert_true(score.recall >= 0.98 * popular && by_stars.recall < 0.5 * popular);
    }
}

/* ------------------------------------------------------------------------------------------ WARP */

/* In a sparse catalogue of many groups WARP's first ten have more than BPR's; its bits are those of any threads, and a
   file keeps the loss, by which new rows are folded in. */
TEST_TAG(warp_works_for_the_top, "choice") {
    static const set_shape set = {.name = "groups", .rows = 1500, .cols = 1500, .a_row = 12, .tail = 0.3, .groups = 50};
    OWN(data) d = draw_set(&set, 31);
    OWN(tamis_owned_sparse) *kept, *held;
    const tamis_held_out out = hold_out(&d.view, &kept, &held);
    tamis_model_options options = default_options(TAMIS_BPR);
    tamis_score bpr, warp, folded;
    options.factors = 16;
    options.threads = 1;
    OWN(tamis_model) *const pairs = model_fitted(device, &options, out.observed);
    options.warp = true;
    OWN(tamis_model) *const model = model_fitted(device, &options, out.observed);
    options.threads = 3;
    OWN(tamis_model) *const same = model_fitted(device, &options, out.observed), *const again =
                                                                                     model_reloaded(device, same);
    const size_t bytes = (size_t)(d.view.cols * model->width) * 4;
    assert_memory_equal(same->column_factors.data, model->column_factors.data, bytes);
    assert_true(again->options.warp && model->loss > 0 && model->loss < 2);
    works(tamis_model_score(pairs, &out, false, 10, &bpr));
    works(tamis_model_score(model, &out, false, 10, &warp));
    works(tamis_model_score(again, &out, true, 10, &folded));
    print_message("recall of the first ten: WARP %.4f, folded in %.4f, BPR %.4f\n", warp.recall, folded.recall,
                  bpr.recall);
    assert_true(warp.recall > 1.02 * bpr.recall && folded.recall > 0.8 * warp.recall);
}

/* ------------------------------------------------------------------------------------------ models of pairs */

/* The recall of the first twenty of a model, and what it says of itself. */
static double recall_of(const tamis_held_out *out, const tamis_model_options *options,
                        tamis_model_description *description) {
    tamis_score score;
    OWN(tamis_model) *const model = model_fitted(device, options, out->observed);
    *description = model_about(model);
    works(tamis_model_score(model, out, false, 20, &score));
    return score.recall;
}

static const set_shape chosen_by[] = {
    {.name = "groups", .rows = 1500, .cols = 400, .a_row = 15, .tail = 0.7, .groups = 6},
    {.name = "popularity", .rows = 2000, .cols = 300, .a_row = 8, .tail = 1, .groups = 1},
    {.name = "many columns", .rows = 2500, .cols = 2300, .a_row = 15, .tail = 0, .groups = 50}};
enum { CHOSEN_BY = (int)(sizeof chosen_by / sizeof *chosen_by) };

/* ease finds lambda: its recall is near that of the best of lambdas that are factors of 2 (4) apart. With more columns
   than it chooses by too; small sets also with another number of threads, which finds the same. */
static void finds_lambda(const set_shape *set, const tamis_held_out *out) {
    tamis_model_description made, other;
    tamis_model_options options = default_options(TAMIS_EASE);
    double best = 0;
    options.threads = 1;
    const double own = recall_of(out, &options, &made), chosen = made.regularization;
    assert_true(made.choice_seconds > 0);
    options.threads = 3;
    if (set->cols < 1000)
        assert_true(recall_of(out, &options, &other) == own && other.regularization == made.regularization);
    for (double factor = 1.0 / 16; factor <= 16; factor *= set->cols < 1000 ? 2 : 4) {
        options.regularization = factor * chosen;
        best = fmax(best, recall_of(out, &options, &other));
        assert_true(other.choice_seconds == 0);
    }
    print_message("%s: lambda %.4g, recall %.4f of at most %.4f\n", set->name, chosen, own, best);
    assert_true(own >= 0.98 * best);
}

/* item-knn finds the weights, and the fit has them. */
static void finds_weights(const set_shape *set, const tamis_held_out *out) {
    static const tamis_use_weights weights[] = {TAMIS_WEIGHTS_BM25, TAMIS_WEIGHTS_ONES, TAMIS_WEIGHTS_RP3BETA};
    tamis_model_description made, other;
    tamis_model_options options = default_options(TAMIS_ITEM_KNN);
    double best = 0;
    const double own = recall_of(out, &options, &made);
    assert_true(made.choice_seconds > 0 && made.options.weights != TAMIS_WEIGHTS_AUTO);
    for (int w = 0; w < 3; w++) {
        options.weights = weights[w];
        const double recall = recall_of(out, &options, &other);
        assert_true(other.choice_seconds == 0 && (made.options.weights != weights[w] || recall == own));
        best = fmax(best, recall);
    }
    print_message("%s: weights %d, recall %.4f of at most %.4f\n", set->name, (int)made.options.weights, own, best);
    assert_true(own >= 0.97 * best);
    assert_true(set->tail > 0 || made.options.weights != TAMIS_WEIGHTS_BM25);
}

TEST_TAG(models_of_pairs_choose, "choice") {
    for (int s = 0; s < CHOSEN_BY; s++) {
        OWN(data) d = draw_set(&chosen_by[s], 9 + (uint64_t)s);
        OWN(tamis_owned_sparse) *kept, *held;
        const tamis_held_out out = hold_out(&d.view, &kept, &held);
        finds_lambda(&chosen_by[s], &out);
        finds_weights(&chosen_by[s], &out);
    }
}

/* implicit-als finds how much a use counts: recall and NDCG of the first twenty are near the best of given confidences,
   and where rows have few uses, better than with 1. With more factors than inner fits have it chooses as with those. */
TEST_TAG(confidence_is_chosen, "choice") {
    static const double given[] = {1, 3, 9, 27, 81};
    static const set_shape sets[] = {
        {.name = "groups", .rows = 1500, .cols = 400, .a_row = 15, .tail = 0.7, .groups = 6},
        {.name = "few uses", .rows = 5000, .cols = 280, .a_row = 4, .tail = 1, .groups = 8}};
    double own[2], of_one[2], best;
    for (int s = 0; s < 2; s++) {
        OWN(data) d = draw_set(&sets[s], 9 + (uint64_t)s);
        OWN(tamis_owned_sparse) *kept, *held;
        const tamis_held_out out = hold_out(&d.view, &kept, &held);
        tamis_model_options options = default_options(TAMIS_IMPLICIT_ALS);
        assert_true(isnan(options.confidence));
        options.threads = 1;
        best = 0;
        for (int i = -1; i < 5; i++) {
            tamis_score score;
            if (i >= 0) options.confidence = given[i];
            OWN(tamis_model) *const model = model_fitted(device, &options, out.observed);
            OWN(tamis_model) *const again = model_reloaded(device, model);
            const double confidence = model_about(again).options.confidence;
            works(tamis_model_score(model, &out, false, 20, &score));
            const double worth = (score.recall + score.ndcg) / 2;
            print_message("%s: confidence %g, %.4f\n", sets[s].name, confidence, worth);
            assert_true(i < 0 ? confidence >= 1 : confidence == given[i]);
            if (i < 0) own[s] = worth;
            if (i == 0) of_one[s] = worth;
            best = fmax(best, worth);
        }
        assert_true(own[s] >= 0.97 * best && own[s] >= (s == 0 ? 0.99 : 1.005) * of_one[s]);
    }
    OWN(data) d = draw_set(&sets[0], 9);
    ml_choice first;
    for (int i = 0; i < 2; i++) {
        tamis_model_options options = default_options(TAMIS_IMPLICIT_ALS);
        options.factors = i ? 192 : 128;
        options.iterations = options.threads = 1;
        OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
        const ml_choice now = {.share = model->share, .confidence = model->options.confidence};
        if (i == 0) first = now;
        assert_true(now.share == first.share && now.confidence == first.confidence);
        assert_int_equal(model->options.factors, options.factors);
    }
}

/* Small data have a confidence of 1, and no file has none. */
TEST_TAG(a_confidence_is_a_number, "choice") {
    static const set_shape small = {.name = "few", .rows = 60, .cols = 40, .a_row = 9, .tail = 0.7, .groups = 6};
    OWN(data) d = draw_set(&small, 2);
    tamis_model_options options = default_options(TAMIS_IMPLICIT_ALS);
    OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
    assert_true(model->options.confidence == 1 && model->choice_seconds == 0);
    model->options.confidence = (double)NAN; /* as no fit leaves it */
    REFUSED(INTERNAL, "confidence = nan: a fit would have chosen it",
            tamis_model_save(model, "/tmp/tamis-confidence.model"));
}

/* What comes in mini-batches one after another has nothing chosen. */
TEST_TAG(a_stream_has_constants, "choice") {
    OWN(data) d = draw_set(&few_factors, 5);
    OWN(tamis_model) *model;
    tamis_model_options options = default_options(TAMIS_SFA);
    works(tamis_model_create(device, &options, &model));
    for (int i = 0; i < 2; i++) {
        works(tamis_model_partial_fit(model, &d.view));
        assert_int_equal(model->options.factors, 32);
        assert_true(model->options.regularization == 0.1 && model->options.column_regularization == 0.1);
    }
    const char *const path = "/tmp/tamis-stream.model";
    OWN(tamis_model) *loaded = NULL;
    model->options.regularization = 0; /* as no fit leaves it */
    REFUSED(INTERNAL, "the positive number that was chosen", tamis_model_save(model, path));
    model->options.regularization = 0.1;
    model->options.column_regularization = 0; /* as in a file of before: items have none */
    works(tamis_model_save(model, path));
    works(tamis_model_load(device, path, &loaded));
    unlink(path);
    works(tamis_model_partial_fit(loaded, &d.view));
    assert_true(loaded->options.column_regularization == 0);
}

TEST_TAG(the_choice_is_that_of_any_threads, "choice") {
    static const set_shape uses = {.rows = 1500, .cols = 1500, .a_row = 12, .tail = 0.3, .groups = 40};
    data d[3] = {draw_chosen(&few_factors, 120), draw_chosen(&uses, 500), draw_chosen(&few_factors, 120)};
    static const tamis_method methods[] = {TAMIS_ALS, TAMIS_IMPLICIT_ALS, TAMIS_SFA};
    for (int k = 0; k < 3; k++) {
        ml_choice first;
        for (int threads = 1; threads <= 3; threads += test_rounds(1, 2)) {
            tamis_model_options options = default_options(methods[k]);
            options.threads = threads;
            options.iterations = 1;
            OWN(tamis_model) *const model = model_fitted(device, &options, &d[k].view);
            const ml_choice now = {.share = model->share,
                                   .regularization = model->options.regularization,
                                   .factors = model->options.factors,
                                   .weights = model->options.weights};
            if (threads == 1) first = now;
            assert_true(now.share == first.share && now.regularization == first.regularization &&
                        now.factors == first.factors && now.weights == first.weights);
        }
        data_free(&d[k]);
    }
}

/* A fit that fails or is stopped before its first iteration leaves nothing chosen: the next one chooses by its data. */
TEST_TAG(a_refused_fit_leaves_nothing_chosen, "choice") {
    OWN(data) d = draw_chosen(&few_factors, 120);
    tamis_model_options options = default_options(TAMIS_ALS);
    options.iterations = 0;
    OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
    assert_true(model->options.factors < 32);
    const tamis_sparse few = CSR(60, d.view.cols, d.offsets, d.columns, d.values);
    options.iterations = 2;
    works(tamis_model_continue_with(model, &options));
    works(tamis_model_fit(model, &few, NULL));
    assert_int_equal(model->options.factors, 32);
    assert_int_equal(model->width, 33);
}

/* test_ml_defaults [choice]: how well defaults predict, which takes a minute; or how they are chosen and kept. */
TEST_RUN() {
    if (argc > 1 && strcmp(argv[1], "choice") == 0) return test_run(NULL, "choice", set_up, tear_down);
    return test_run(NULL, "quality", set_up, tear_down);
}
