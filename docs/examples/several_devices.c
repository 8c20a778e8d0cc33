/* Graph attention on three CPU devices of one process: a thread for each, which has its rows of everything. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <tamis/generate.h>
#include <tamis/group.h>
#include <tamis/matrix.h>
#include <tamis/structure.h>

enum { RANKS = 3, NODES = 3000, WIDTH = 32 };

typedef struct worker {
    tamis_group *group; /* this rank's end */
    tamis_sparse S;     /* its rows of S, with the columns of the whole matrix */
    tamis_dense X, E;   /* its rows of the features and of the result */
    tamis_group_report report;
} worker;

static tamis_options attention(void) {
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.operation = TAMIS_OP_FUSED;
    options.edge = TAMIS_EDGE_SOFTMAX;
    options.edge_scale = 1 / sqrt(WIDTH);
    options.inner = options.width = WIDTH;
    return options;
}

/* The part of each rank: all make the same calls in the same order. */
static tamis_status work(void *workers, int rank) {
    worker *const w = (worker *)workers + rank;
    const tamis_options options = attention();
    tamis_group_plan *plan = NULL;
    tamis_status status = tamis_group_plan_create(w->group, &w->S, w->X.rows, &options, &plan);
    if (status == TAMIS_OK) status = tamis_group_plan_fused(plan, &w->X, &w->X, &w->X, &w->E, NULL);
    if (status == TAMIS_OK) status = tamis_group_plan_describe(plan, &w->report);
    tamis_group_plan_destroy(plan);
    return status;
}

static tamis_dense rows_of(const tamis_dense *X, int64_t first, int64_t rows) {
    tamis_dense view = *X;
    view.data = (float *)X->data + first * X->cols;
    view.rows = rows;
    return view;
}

int main(void) {
    tamis_device *device = NULL, *devices[RANKS];
    tamis_group *groups[RANKS] = {NULL};
    tamis_owned_sparse *graph = NULL;
    tamis_owned_dense *features = NULL, *result = NULL, *alone = NULL;
    worker workers[RANKS];
    int64_t first[RANKS + 1];
    int code = 1;

    tamis_generate_options kind = TAMIS_GENERATE_OPTIONS_INIT;
    kind.kind = TAMIS_KIND_FEM; /* a mesh: most neighbours are near */
    kind.rows = kind.cols = NODES;
    kind.nnz = 20 * NODES;
    if (tamis_device_open("cpu", &device) != TAMIS_OK) goto done;
    if (tamis_generate(&kind, &graph) != TAMIS_OK) goto done;
    if (tamis_owned_dense_create(NODES, WIDTH, TAMIS_F32, TAMIS_ROW_MAJOR, &features) != TAMIS_OK) goto done;
    if (tamis_owned_dense_create(NODES, WIDTH, TAMIS_F32, TAMIS_ROW_MAJOR, &result) != TAMIS_OK) goto done;
    if (tamis_owned_dense_create(NODES, WIDTH, TAMIS_F32, TAMIS_ROW_MAJOR, &alone) != TAMIS_OK) goto done;
    const tamis_sparse *const S = tamis_owned_sparse_view(graph);
    const tamis_dense *const X = tamis_owned_dense_view(features), *const E = tamis_owned_dense_view(result);
    if (tamis_fill_uniform(X, 1, -1, 1) != TAMIS_OK) goto done;

    for (int r = 0; r < RANKS; r++) devices[r] = device;
    if (tamis_group_open_local(devices, RANKS, NULL, groups) != TAMIS_OK) goto done;
    if (tamis_partition(S, RANKS, first) != TAMIS_OK) goto done; /* equal nonzeros */
    for (int r = 0; r < RANKS; r++) {
        const int64_t rows = first[r + 1] - first[r];
        workers[r] = (worker){.group = groups[r], .X = rows_of(X, first[r], rows), .E = rows_of(E, first[r], rows)};
        if (tamis_slice(S, first[r], rows, 0, 0, &workers[r].S) != TAMIS_OK) goto done;
    }
    if (tamis_group_run(RANKS, work, workers) != TAMIS_OK) goto done; /* a thread for each */
    for (int r = 0; r < RANKS; r++) {
        const tamis_group_report *const report = &workers[r].report;
        printf("rank %d: %lld nonzeros, %lld own rows, %lld ghost rows, messages from %d\n", r,
               (long long)report->nnz_here, (long long)report->own_rows, (long long)report->ghost_rows,
               report->sources);
    }

    /* the same on one device */
    const tamis_options options = attention();
    const tamis_dense *const one = tamis_owned_dense_view(alone);
    if (tamis_fused(device, S, X, X, X, one, &options, NULL) != TAMIS_OK) goto done;
    double most = 0;
    for (int64_t i = 0; i < NODES * WIDTH; i++) {
        const double apart = fabs((double)((const float *)E->data)[i] - (double)((const float *)one->data)[i]);
        if (apart > most) most = apart;
    }
    printf("%s\n", most < 1e-5 ? "agrees with one device" : "differs from one device");
    code = most < 1e-5 ? 0 : 1;
done:
    if (code) fprintf(stderr, "%s\n", tamis_last_error());
    for (int r = 0; r < RANKS; r++) tamis_group_close(groups[r]);
    tamis_owned_dense_free(alone);
    tamis_owned_dense_free(result);
    tamis_owned_dense_free(features);
    tamis_owned_sparse_free(graph);
    tamis_device_close(device);
    return code;
}
