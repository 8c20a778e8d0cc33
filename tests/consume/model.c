/* A recommender in another project. */
#include <stdio.h>
#include <tamis/ml.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        if ((call) != TAMIS_OK) return fprintf(stderr, "%s: %s\n", #call, tamis_last_error()), 1;                      \
    } while (0)

int main(void) {
    const int offsets[] = {0, 2, 4, 5}, columns[] = {0, 1, 0, 2, 1};
    const float ratings[] = {5, 1, 4, 2, 3};
    const tamis_sparse S = {.rows = 3, .cols = 3, .nnz = 5, .offsets = offsets, .columns = columns, .values = ratings};
    tamis_device *device;
    CHECK(tamis_device_open("cpu", &device));
    tamis_model_options options;
    CHECK(tamis_model_options_init(&options, TAMIS_ALS));
    options.factors = 2;
    tamis_model *model;
    CHECK(tamis_model_create(device, &options, &model));
    CHECK(tamis_model_fit(model, &S, NULL));
    double predictions[5];
    CHECK(tamis_model_predict(model, NULL, &S, predictions));
    printf("tamis_ml %s: %.2f where %.0f was given\n", tamis_version(), predictions[0], ratings[0]);
    tamis_model_free(model);
    tamis_device_close(device);
    return predictions[0] > predictions[1] ? 0 : 1;
}
