/*
 * Training through sparse attention: E = softmax(Q K^T / sqrt(d)) V under a sliding-window mask, and gradient descent
 * on Q, K and V until E is near a target. All of it stays where the device computes; only the loss comes back.
 */
#include <math.h>
#include <stdio.h>
#include <tamis/dense.h>
#include <tamis/generate.h>
#include <tamis/gradient.h>
#include <tamis/matrix.h>

enum { TOKENS = 256, HEADS = 2, HEAD = 16, MODEL = HEADS * HEAD, STEPS = 40 };
enum { Q, K, V, TARGET, E, DQ, DK, DV, DE, ARRAYS };

static tamis_device *device;
static void *memory[ARRAYS + 2]; /* the arrays, the mask's offsets and columns */

/* Memory of the device, with a copy of what is on the host. */
static tamis_status send(int at, const void *from, size_t bytes) {
    const tamis_status status = tamis_device_allocate(device, bytes, &memory[at]);
    return status == TAMIS_OK ? tamis_device_upload(device, NULL, memory[at], 0, from, bytes) : status;
}

/* A TOKENS x MODEL array of numbers from `seed`. */
static tamis_status send_random(int at) {
    tamis_owned_dense *array = NULL;
    tamis_status status = tamis_owned_dense_create(TOKENS, MODEL, TAMIS_F32, TAMIS_ROW_MAJOR, &array);
    if (status == TAMIS_OK) status = tamis_fill_uniform(tamis_owned_dense_view(array), (uint64_t)at, -1, 1);
    if (status == TAMIS_OK) status = send(at, tamis_owned_dense_view(array)->data, TOKENS * MODEL * sizeof(float));
    tamis_owned_dense_free(array);
    return status;
}

/* The same memory as one matrix, and as HEADS matrices of HEAD columns side by side. */
static tamis_dense whole(int at, tamis_location location) {
    return (tamis_dense){.data = memory[at], .rows = TOKENS, .cols = MODEL, .location = location};
}

static tamis_dense heads(int at, tamis_location location) {
    tamis_dense view = whole(at, location);
    view.cols = HEAD;
    view.stride = MODEL;
    view.batch_stride = HEAD;
    return view;
}

int main(void) {
    tamis_device_description about;
    tamis_owned_sparse *mask = NULL;
    tamis_plan *plan = NULL;
    tamis_gradient *gradient = NULL;
    tamis_dense_workspace *workspace = NULL;
    double first = 0, loss = 0;
    int code = 1;

    tamis_generate_options window = TAMIS_GENERATE_OPTIONS_INIT;
    window.kind = TAMIS_KIND_WINDOW;
    window.rows = TOKENS;
    window.band = 32;
    window.global = 1;     /* one token sees all and is seen by all: a long row, and a long column */
    window.pattern = true; /* no values: no bias, and no gradient of one */
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.operation = TAMIS_OP_FUSED;
    options.edge = TAMIS_EDGE_SOFTMAX;
    options.edge_scale = 1 / sqrt(HEAD);
    options.inner = options.width = HEAD;
    options.batch = HEADS;
    options.expected_calls = STEPS;

    if (tamis_device_open(NULL, &device) != TAMIS_OK) goto done; /* cuda:0 where there is one, else the CPU */
    if (tamis_device_describe(device, &about) != TAMIS_OK) goto done;
    if (tamis_generate(&window, &mask) != TAMIS_OK) goto done;
    tamis_sparse S = *tamis_owned_sparse_view(mask);
    const size_t offset = tamis_index_size(S.offset_type), index = tamis_index_size(S.index_type);
    if (send(ARRAYS, S.offsets, (TOKENS + 1) * offset) != TAMIS_OK) goto done;
    if (send(ARRAYS + 1, S.columns, (size_t)S.nnz * index) != TAMIS_OK) goto done;
    for (int i = 0; i < ARRAYS; i++)
        if (send_random(i) != TAMIS_OK) goto done;
    S.location = about.location;
    S.offsets = memory[ARRAYS];
    S.columns = memory[ARRAYS + 1];

    if (tamis_plan_create(device, &S, &options, &plan) != TAMIS_OK) goto done;
    if (tamis_gradient_create(device, &S, &options, &gradient) != TAMIS_OK) goto done;
    if (tamis_dense_workspace_create(device, MODEL, TAMIS_F32, &workspace) != TAMIS_OK) goto done;
    const tamis_location at = about.location;
    const tamis_dense q = heads(Q, at), k = heads(K, at), v = heads(V, at), e = heads(E, at);
    const tamis_dense dq = heads(DQ, at), dk = heads(DK, at), dv = heads(DV, at), de = heads(DE, at);
    const tamis_dense target = whole(TARGET, at), output = whole(E, at), difference = whole(DE, at);
    for (int step = 0; step <= STEPS; step++) {
        if (tamis_plan_fused(plan, &q, &k, &v, &e, NULL) != TAMIS_OK) goto done;
        /* the loss is |E - target|^2 / 2, whose gradient by E is E - target */
        if (tamis_dense_axpby(device, NULL, -1, &target, 0, &difference) != TAMIS_OK) goto done;
        if (tamis_dense_axpby(device, NULL, 1, &output, 1, &difference) != TAMIS_OK) goto done;
        if (tamis_dense_dot(device, NULL, workspace, &difference, &difference, &loss) != TAMIS_OK) goto done;
        if (step == 0) first = loss;
        if (step % 10 == 0) printf("step %2d: loss %.0f\n", step, loss / 2);
        if (tamis_fused_backward(gradient, &de, &q, &k, &v, &dq, &dk, &dv, NULL, NULL) != TAMIS_OK) goto done;
        for (int i = 0; i < 3; i++) {
            const tamis_dense slope = whole(DQ + i, at), weights = whole(Q + i, at);
            if (tamis_dense_axpby(device, NULL, -0.5, &slope, 1, &weights) != TAMIS_OK) goto done;
        }
    }
    if (!(loss < 0.8 * first)) {
        fprintf(stderr, "the loss did not fall: %g, then %g\n", first, loss);
        goto done;
    }
    code = 0;
done:
    if (code) fprintf(stderr, "%s\n", tamis_last_error());
    tamis_gradient_destroy(gradient);
    tamis_plan_destroy(plan);
    tamis_dense_workspace_destroy(workspace);
    for (int i = 0; i < ARRAYS + 2; i++) tamis_device_free(device, memory[i]);
    tamis_owned_sparse_free(mask);
    tamis_device_close(device);
    return code;
}
