/* See kept.h. The cache has a number for each row and column, and for implicit-als a factors x factors matrix and its
   inverse. */
#include "ml/serve/kept.h"

#include <math.h>

#include "base/scope.h"
#include "base/sizes.h"
#include "ml/fit/group.h"
#include "ml/fit/place.h"
#include "ml/methods/cholesky.h"
#include "ml/numbers.h"
#include "ml/serve/fold.h"

void *ml_kept_publish(_Atomic(void *) *place, void *made) {
    void *there = NULL;
    return atomic_compare_exchange_strong(place, &there, made) ? made : there;
}

/* ------------------------------------------------------------------------------------------ lengths */

tamis_status ml_kept_scales(const tamis_model *model, bool rows, const void **scales) {
    _Atomic(void *) *const place = &model->kept->scales[rows ? 0 : 1];
    const tamis_dense *const X = rows ? &model->row_factors : &model->column_factors;
    *scales = atomic_load(place);
    if (*scales) return TAMIS_OK;
    tamis_dense here;
    void *made;
    TAMIS_SCOPE;
    TRY(ml_dense_here(model, X, &here));
    TRY(tamis_allocate(X->rows, tamis_type_size(X->type), "lengths of factors", &made));
    for (int64_t i = 0; i < X->rows; i++) {
        double square = 0;
        for (int64_t k = 0; k < model->options.factors; k++)
            square += ml_element(&here, i, k) * ml_element(&here, i, k);
        ml_put_number(made, X->type, i, square > 0 ? 1 / sqrt(square) : (double)NAN);
    }
    *scales = ml_kept_publish(place, made);
    if (*scales != made) tamis_release(made);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ pairs not stored */

static void gram_free(const tamis_model *model, ml_gram_kept *gram) {
    if (!gram) return;
    ml_dense_free(model, &gram->G);
    tamis_release(gram->inverse);
    tamis_release(gram);
}

/* Computes the inverse as L^-T L^-1, from the inverse of the Cholesky factor. */
static tamis_status invert(const tamis_model *model, const tamis_dense *G, double **inverse) {
    const int64_t n = G->rows;
    double *L;
    TAMIS_SCOPE;
    TRY(ml_dense_read_doubles(model, G, &L));
    TRY(tamis_allocate_zeroed(tamis_times(n, n), sizeof **inverse, "an inverse", (void **)inverse));
    ml_invert_cholesky(L, n, ml_lambda(model));
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i <= k; i++)
            for (int64_t j = 0; j <= k; j++) (*inverse)[i * n + j] += L[k * n + i] * L[k * n + j];
    return TAMIS_OK;
}

tamis_status ml_kept_gram(const tamis_model *model, const ml_gram_kept **gram) {
    _Atomic(void *) *const place = &model->kept->gram;
    const int64_t width = model->width;
    *gram = atomic_load(place);
    if (*gram) return TAMIS_OK;
    tamis_model own = *model; /* with scratch of its own */
    ml_gram_kept *made;
    tamis_status status;
    own.workspace = NULL;
    TRY(tamis_allocate_zeroed(1, sizeof *made, "a Gram matrix", (void **)&made));
    TRY_GOTO(done, tamis_dense_workspace_create(model->device, width, model->options.type, &own.workspace));
    TRY_GOTO(done, ml_dense_make(model, width, width, &made->G));
    TRY_GOTO(done, ml_gram(&own, &model->column_factors, ml_lambda(model), &made->G));
    if (ml_folds_alone(model, 1)) TRY_GOTO(done, invert(model, &made->G, &made->inverse));
    *gram = ml_kept_publish(place, made);
    if (*gram == made) made = NULL;
done:
    gram_free(model, made);
    tamis_dense_workspace_destroy(own.workspace);
    return status;
}

void ml_forget(const tamis_model *model) {
    struct ml_kept *const kept = model->kept;
    for (int i = 0; i < 2; i++) tamis_release(atomic_exchange(&kept->scales[i], NULL));
    gram_free(model, atomic_exchange(&kept->gram, NULL));
    tamis_release(atomic_exchange(&kept->terms, NULL));
    tamis_release(atomic_exchange(&kept->lists, NULL));
}
