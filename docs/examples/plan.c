/* A plan for many calls over one pattern: what it chose and why, then SpMM with changing values. */
#include <stdio.h>
#include <stdlib.h>
#include <tamis/generate.h>
#include <tamis/matrix.h>
#include <tamis/tamis.h>

enum { ROWS = 2000, COLS = 1500, WIDTH = 64 };

int main(void) {
    tamis_device *device = NULL;
    tamis_owned_sparse *matrix = NULL;
    tamis_owned_dense *B = NULL, *C = NULL;
    tamis_plan *plan = NULL;
    float *weights = NULL;
    char text[4096];
    int code = 1;

    tamis_generate_options kind = TAMIS_GENERATE_OPTIONS_INIT;
    kind.kind = TAMIS_KIND_UNIFORM;
    kind.rows = ROWS;
    kind.cols = COLS;
    kind.density = 0.1;
    kind.seed = 7;
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.operation = TAMIS_OP_SPMM;
    options.width = WIDTH;        /* columns of B and C */
    options.expected_calls = 500; /* preparing may cost what 500 calls earn back */

    if (tamis_device_open("cpu", &device) != TAMIS_OK) goto done;
    if (tamis_generate(&kind, &matrix) != TAMIS_OK) goto done;
    if (tamis_owned_dense_create(COLS, WIDTH, TAMIS_F32, TAMIS_ROW_MAJOR, &B) != TAMIS_OK) goto done;
    if (tamis_owned_dense_create(ROWS, WIDTH, TAMIS_F32, TAMIS_ROW_MAJOR, &C) != TAMIS_OK) goto done;
    if (tamis_fill_uniform(tamis_owned_dense_view(B), 1, -1, 1) != TAMIS_OK) goto done;

    const tamis_sparse *const S = tamis_owned_sparse_view(matrix);
    if (tamis_plan_create(device, S, &options, &plan) != TAMIS_OK) goto done;
    if (tamis_plan_explain(plan, text, sizeof text, NULL) != TAMIS_OK) goto done;
    fputs(text, stdout);

    /* new values over the same pattern, as between two steps of training: no new plan is needed */
    weights = malloc((size_t)S->nnz * sizeof *weights);
    if (!weights) goto done;
    for (int step = 1; step <= 3; step++) {
        for (int64_t t = 0; t < S->nnz; t++) weights[t] = 1.0f / (float)step;
        tamis_execution execution = TAMIS_EXECUTION_INIT;
        execution.values = weights;
        if (tamis_plan_spmm(plan, tamis_owned_dense_view(B), tamis_owned_dense_view(C), &execution) != TAMIS_OK)
            goto done;
        const float *const c = tamis_owned_dense_view(C)->data;
        printf("step %d: C[0][0] = %.4f\n", step, (double)c[0]);
    }
    code = 0;
done:
    if (code) fprintf(stderr, "%s\n", tamis_last_error());
    free(weights);
    tamis_plan_destroy(plan);
    tamis_owned_dense_free(C);
    tamis_owned_dense_free(B);
    tamis_owned_sparse_free(matrix);
    tamis_device_close(device);
    return code;
}
