/*
 * Sparse attention over several heads: E = softmax(Q K^T / sqrt(d)) V where a sliding-window mask allows it, in one
 * call for all heads, on the best device that is here: the arrays are copied into its memory first.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <tamis/generate.h>
#include <tamis/tamis.h>

enum { TOKENS = 512, HEADS = 4, HEAD = 32, MODEL = HEADS * HEAD, MOST = 16 };

typedef struct place {
    tamis_device *device;
    tamis_location location;
    void *memory[MOST]; /* what is to be freed */
    int count;
} place;

/* Memory of the device, with a copy of `from` where there is something to copy. */
static tamis_status take(place *at, const void *from, size_t bytes, void **memory) {
    tamis_status status = tamis_device_allocate(at->device, bytes, memory);
    if (status != TAMIS_OK) return status;
    at->memory[at->count++] = *memory;
    return from ? tamis_device_upload(at->device, NULL, *memory, 0, from, bytes) : TAMIS_OK;
}

/* The pattern of a CSR matrix on the host, on the device. */
static tamis_status take_pattern(place *at, const tamis_sparse *S, tamis_sparse *there) {
    void *offsets, *columns;
    tamis_status status = take(at, S->offsets, (size_t)(S->rows + 1) * tamis_index_size(S->offset_type), &offsets);
    if (status != TAMIS_OK) return status;
    status = take(at, S->columns, (size_t)S->nnz * tamis_index_size(S->index_type), &columns);
    if (status != TAMIS_OK) return status;
    *there = *S;
    there->location = at->location;
    there->offsets = offsets;
    there->columns = columns;
    there->values = NULL; /* no bias is added to the scores */
    return TAMIS_OK;
}

/* A TOKENS x MODEL array as HEADS matrices of HEAD columns: head h begins h * HEAD elements into each row. */
static tamis_dense heads_of(const place *at, void *data) {
    return (tamis_dense){
        .data = data, .rows = TOKENS, .cols = HEAD, .stride = MODEL, .location = at->location, .batch_stride = HEAD};
}

/* Each row of the result is a mean of rows of V, so that it lies within V's range of [-1, 1). */
static int within_range(const float *e) {
    for (int k = 0; k < TOKENS * MODEL; k++)
        if (!(fabsf(e[k]) <= 1)) {
            fprintf(stderr, "element %d is %g\n", k, (double)e[k]);
            return 0;
        }
    return 1;
}

int main(void) {
    place at = {.count = 0};
    tamis_device_description about;
    tamis_owned_sparse *window = NULL;
    tamis_plan *plan = NULL;
    tamis_sparse mask;
    void *arrays[4]; /* Q, K, V and the result */
    const size_t bytes = sizeof(float) * TOKENS * MODEL;
    float *const host = malloc(bytes);
    int code = 1;

    tamis_generate_options shape = TAMIS_GENERATE_OPTIONS_INIT;
    shape.kind = TAMIS_KIND_WINDOW;
    shape.rows = TOKENS;
    shape.band = 64;  /* each token sees a window of 64 */
    shape.global = 2; /* and 2 tokens see all and are seen by all */
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.operation = TAMIS_OP_FUSED;
    options.edge = TAMIS_EDGE_SOFTMAX;
    options.edge_scale = 1 / sqrt(HEAD);
    options.inner = HEAD;
    options.width = HEAD;
    options.batch = HEADS;
    options.expected_calls = 1000;

    if (!host) goto done;
    if (tamis_device_open(NULL, &at.device) != TAMIS_OK) goto done; /* cuda:0 where there is one, else the CPU */
    if (tamis_device_describe(at.device, &about) != TAMIS_OK) goto done;
    at.location = about.location;
    if (tamis_generate(&shape, &window) != TAMIS_OK) goto done;
    if (take_pattern(&at, tamis_owned_sparse_view(window), &mask) != TAMIS_OK) goto done;
    const tamis_dense random = {.data = host, .rows = TOKENS, .cols = MODEL};
    for (int i = 0; i < 4; i++) {
        if (tamis_fill_uniform(&random, (uint64_t)i, -1, 1) != TAMIS_OK) goto done;
        if (take(&at, i < 3 ? host : NULL, bytes, &arrays[i]) != TAMIS_OK) goto done;
    }
    const tamis_dense Q = heads_of(&at, arrays[0]), K = heads_of(&at, arrays[1]), V = heads_of(&at, arrays[2]),
                      E = heads_of(&at, arrays[3]);
    if (tamis_plan_create(at.device, &mask, &options, &plan) != TAMIS_OK) goto done;
    if (tamis_plan_fused(plan, &Q, &K, &V, &E, NULL) != TAMIS_OK) goto done;
    if (tamis_device_download(at.device, NULL, host, arrays[3], 0, bytes) != TAMIS_OK) goto done; /* waits */

    if (!within_range(host)) goto done;
    const float *const last = host + (size_t)(TOKENS - 1) * MODEL;
    printf("%d heads of %d x %d, %lld pairs of tokens of %d\n", HEADS, TOKENS, HEAD, (long long)mask.nnz,
           TOKENS * TOKENS);
    printf("the last token, first head: %.4f %.4f %.4f ...\n", (double)last[0], (double)last[1], (double)last[2]);
    code = 0;
done:
    if (code) fprintf(stderr, "%s\n", tamis_last_error());
    tamis_plan_destroy(plan);
    for (int i = 0; i < at.count; i++) tamis_device_free(at.device, at.memory[i]);
    tamis_owned_sparse_free(window);
    tamis_device_close(at.device);
    free(host);
    return code;
}
