/* Models in temporary files, for tests of what a file keeps. */
#ifndef TAMIS_TESTS_MODEL_FILES_H
#define TAMIS_TESTS_MODEL_FILES_H

#include "test_io_support.h"
#include "test_ml_models.h"

typedef struct bytes {
    unsigned char *data;
    size_t size;
} bytes;

static inline bytes read_bytes(const char *path) {
    FILE *const file = fopen(path, "rb");
    assert_non_null(file);
    bytes b = {.data = malloc(1 << 20)};
    assert_non_null(b.data);
    b.size = fread(b.data, 1, 1 << 20, file);
    fclose(file);
    return b;
}

/* What the model's file has; the caller frees the data. */
static inline bytes model_bytes(const tamis_model *model) {
    char *const path = io_temporary(".model");
    EXPECT_OK(tamis_model_save(model, path));
    const bytes b = read_bytes(path);
    unlink(path);
    free(path);
    return b;
}

/* The model as its file has it: just loaded, it has kept nothing. */
static inline tamis_model *model_reloaded(tamis_device *on, const tamis_model *model) {
    char *const path = io_temporary(".model");
    tamis_model *loaded;
    EXPECT_OK(tamis_model_save(model, path));
    EXPECT_OK(tamis_model_load(on, path, &loaded));
    unlink(path);
    free(path);
    return loaded;
}

#endif
