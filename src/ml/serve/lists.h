/* Models that keep, for each column, a list of columns with weights: item-knn, ease with neighbours. A row's score of a
   column is the sum over the row's entries of their weights for that column, so that a row has few scores; in
   rating-knn it is a mean with these weights. */
#ifndef TAMIS_ML_LISTS_H
#define TAMIS_ML_LISTS_H

#include "ml/model.h"

struct ml_best;

/* A line of the model's column data has n columns, as numbers of its type, -1 behind the last, and their n weights. */
enum { ML_LISTS_COLUMNS_MOST = 1 << 24 /* integers that fp32 represents exactly */, ML_LISTS_MOST = 4096 };

/* Checks that options.neighbours is least to ML_LISTS_MOST. */
tamis_status ml_lists_check_option(const tamis_model_options *options, int least);
/* Checks the lines that a file has. The message begins with its name. */
tamis_status ml_lists_check(const char *path, const tamis_dense *kept);

/* Returns true if the model keeps lists. */
static inline bool ml_has_lists(const tamis_model *model) {
    return model->method->lists && model->method->lists(&model->options) != ML_LISTS_NONE;
}

/* Returns true if a row's scores are sums of a few weights, and 0 elsewhere. Ratings are predicted for all columns. */
static inline bool ml_has_few_scores(const tamis_model *model) {
    return ml_has_lists(model) && model->method->about.data == TAMIS_DATA_USES;
}

/* The weights that each column gives to others: CSR, by giving columns, on the host. */
typedef struct ml_lists {
    int64_t cols;
    tamis_type type;
    int64_t *offsets;
    int32_t *columns;
    void *weights;
} ml_lists;

/* Returns the lists of a model, which are made once and cached (kept.h). */
tamis_status ml_kept_lists(const tamis_model *model, const ml_lists **lists);

/* Computes all scores of rows: ml_method.transform. */
tamis_status ml_lists_transform(tamis_model *model, const tamis_sparse *data, const tamis_dense *W);
/* Finds the n best columns of each row of `data`, which prepare() has weighted, as tamis_model_recommend does, without
   an array of all scores. A row's own columns are left out; `allowed` restricts the columns (NULL: all). */
tamis_status ml_lists_best(tamis_model *model, const tamis_sparse *data, const bool *allowed, int n, int64_t *columns,
                           double *scores);
/* Offers the columns to which `column` gives a weight. */
void ml_lists_similar(const ml_lists *lists, int64_t column, struct ml_best *best);

#endif
