/*
 * Sparse attention over several heads: E = softmax(Q K^T / sqrt(d)) V where a sliding-window mask allows it, in one
 * fused call for all heads. The scores are never stored.
 */
#include <math.h>
#include <stdio.h>
#include <tamis/matrix.h>
#include <tamis/tamis.h>

enum { TOKENS = 512, HEADS = 4, HEAD = 32, MODEL = HEADS * HEAD };

/* A TOKENS x MODEL array as HEADS matrices of HEAD columns: head h begins h * HEAD elements into each row. */
static tamis_dense heads_of(const tamis_array *array) {
    tamis_dense view = *tamis_array_view(array);
    view.cols = HEAD;
    view.stride = MODEL;
    view.batch_stride = HEAD;
    return view;
}

int main(void) {
    tamis_device *device = NULL;
    tamis_matrix *mask = NULL;
    tamis_array *arrays[4] = {NULL}; /* Q, K, V and the output */
    tamis_plan *plan = NULL;
    int code = 1;

    tamis_generate_options window = TAMIS_GENERATE_OPTIONS_INIT;
    window.kind = TAMIS_KIND_WINDOW;
    window.rows = TOKENS;
    window.band = 64;      /* each token sees a window of 64 */
    window.global = 2;     /* and 2 tokens see all and are seen by all */
    window.pattern = true; /* no values: no bias is added to the scores */
    tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
    options.operation = TAMIS_OP_FUSED;
    options.edge = TAMIS_EDGE_SOFTMAX;
    options.edge_scale = 1 / sqrt(HEAD);
    options.inner = HEAD;
    options.width = HEAD;
    options.batch = HEADS;
    options.expected_calls = 1000;

    if (tamis_device_open(NULL, &device) != TAMIS_OK) goto done;
    if (tamis_generate(&window, &mask) != TAMIS_OK) goto done;
    for (int i = 0; i < 4; i++) {
        if (tamis_array_create(TOKENS, MODEL, TAMIS_F32, TAMIS_ROW_MAJOR, &arrays[i]) != TAMIS_OK) goto done;
        if (i < 3 && tamis_fill_uniform(tamis_array_view(arrays[i]), (uint64_t)i, -1, 1) != TAMIS_OK) goto done;
    }
    const tamis_dense Q = heads_of(arrays[0]), K = heads_of(arrays[1]), V = heads_of(arrays[2]),
                      E = heads_of(arrays[3]);
    if (tamis_plan_create(device, tamis_matrix_view(mask), &options, &plan) != TAMIS_OK) goto done;
    if (tamis_plan_fused(plan, NULL, &Q, &K, &V, 1, 0, &E) != TAMIS_OK) goto done;

    /* each row of the result is a mean of rows of V, so that it lies within V's range of [-1, 1) */
    const float *const e = tamis_array_view(arrays[3])->data;
    for (int k = 0; k < TOKENS * MODEL; k++)
        if (!(fabsf(e[k]) <= 1)) {
            fprintf(stderr, "element %d is %g\n", k, (double)e[k]);
            goto done;
        }
    printf("%d heads of %d x %d, %lld pairs of tokens of %d\n", HEADS, TOKENS, HEAD,
           (long long)tamis_matrix_view(mask)->nnz, TOKENS * TOKENS);
    printf("the last token, first head: %.4f %.4f %.4f ...\n", (double)e[(TOKENS - 1) * MODEL],
           (double)e[(TOKENS - 1) * MODEL + 1], (double)e[(TOKENS - 1) * MODEL + 2]);
    code = 0;
done:
    if (code) fprintf(stderr, "%s\n", tamis_last_error());
    tamis_plan_destroy(plan);
    for (int i = 0; i < 4; i++) tamis_array_free(arrays[i]);
    tamis_matrix_free(mask);
    tamis_device_close(device);
    return code;
}
