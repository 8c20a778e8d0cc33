/* A recommender fitted on three CPU devices of one process: a thread and a model for each, which has some users. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <tamis/generate.h>
#include <tamis/ml.h>
#include <tamis/structure.h>

enum { RANKS = 3, USERS = 900, ITEMS = 200 };

typedef struct worker {
    tamis_group *group; /* this rank's end */
    tamis_model *model;
    tamis_sparse S; /* its users' ratings, with the numbers of all items */
} worker;

static tamis_status fit(void *context, int rank) {
    const worker *const w = (const worker *)context + rank;
    return tamis_model_fit_group(w->model, w->group, &w->S, NULL);
}

static double loss_of(const tamis_model *model) {
    tamis_model_description description = {.loss = NAN};
    (void)tamis_model_describe(model, &description);
    return description.loss;
}

int main(void) {
    tamis_device *device = NULL, *devices[RANKS];
    tamis_group *groups[RANKS] = {NULL};
    tamis_owned_sparse *ratings = NULL;
    tamis_model *alone = NULL;
    worker workers[RANKS] = {{NULL}};
    int64_t first[RANKS + 1];
    int code = 1;

    tamis_generate_options kind = TAMIS_GENERATE_OPTIONS_INIT;
    kind.rows = USERS;
    kind.cols = ITEMS;
    kind.nnz = 20000;
    kind.value_type = TAMIS_F64;
    tamis_model_options options;
    if (tamis_model_options_init(&options, TAMIS_ALS) != TAMIS_OK) goto done;
    options.type = TAMIS_F64;
    options.factors = 8;
    if (tamis_device_open("cpu", &device) != TAMIS_OK) goto done;
    if (tamis_generate(&kind, &ratings) != TAMIS_OK) goto done;
    const tamis_sparse *const S = tamis_owned_sparse_view(ratings);

    for (int r = 0; r < RANKS; r++) devices[r] = device;
    if (tamis_group_open_local(devices, RANKS, NULL, groups) != TAMIS_OK) goto done;
    if (tamis_partition(S, RANKS, first) != TAMIS_OK) goto done; /* equal numbers of ratings */
    for (int r = 0; r < RANKS; r++) {
        workers[r].group = groups[r];
        if (tamis_slice(S, first[r], first[r + 1] - first[r], 0, 0, &workers[r].S) != TAMIS_OK) goto done;
        if (tamis_model_create(device, &options, &workers[r].model) != TAMIS_OK) goto done;
    }
    if (tamis_group_run(RANKS, fit, workers) != TAMIS_OK) goto done;
    for (int r = 0; r < RANKS; r++) {
        tamis_model_description all;
        if (tamis_model_describe(workers[r].model, &all) != TAMIS_OK) goto done;
        printf("rank %d: fitted to %lld users, its model has %lld users and %lld items\n", r,
               (long long)workers[r].S.rows, (long long)all.rows, (long long)all.cols);
    }

    /* the same on one device */
    if (tamis_model_create(device, &options, &alone) != TAMIS_OK) goto done;
    if (tamis_model_fit(alone, S, NULL) != TAMIS_OK) goto done;
    const double loss = loss_of(workers[0].model), expected = loss_of(alone);
    code = fabs(loss - expected) <= 1e-9 * expected ? 0 : 1;
    printf("the loss %s one device's\n", code == 0 ? "is" : "is not");
done:
    if (code) fprintf(stderr, "%s\n", tamis_last_error());
    tamis_model_free(alone);
    for (int r = 0; r < RANKS; r++) tamis_model_free(workers[r].model);
    for (int r = 0; r < RANKS; r++) tamis_group_close(groups[r]);
    tamis_owned_sparse_free(ratings);
    tamis_device_close(device);
    return code;
}
