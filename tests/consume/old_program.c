/* A program of 0.2: the sizes, places and numbers of that version are compiled in (layout.h, made from layout-0.2.txt),
   and it runs with the library of now. It keeps structures in arrays, copies them, and hands over garbage to be filled
   in, as programs do. */
#include "layout.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define CHECK(what)                                                                                                    \
    do {                                                                                                               \
        if (!(what)) return fprintf(stderr, "line %d: %s\n%s\n", __LINE__, #what, tamis_last_error()), 1;              \
    } while (0)

enum { ROWS = 40, K = 8, NNZ = ROWS * 4, GUARD = 0x5a, FENCE = 64 };

/* Structures are bytes here: only the layout of 0.2 says what is where. */
const char *tamis_last_error(void), *tamis_version(void);
int tamis_generate(const void *options, void **matrix);
const void *tamis_owned_sparse_view(const void *matrix);
void tamis_owned_sparse_free(void *matrix);
int tamis_row_profile(const void *S, void *profile);
int tamis_device_open(const char *name, void **device);
int tamis_device_describe(const void *device, void *description);
void tamis_device_close(void *device);
int tamis_plan_create(void *device, const void *S, const void *options, void **plan);
int tamis_plan_describe(const void *plan, void *report);
int tamis_plan_sddmm(void *plan, const void *A, const void *B, const void *P, const void *execution);
int tamis_spmm(void *device, const void *S, const void *B, const void *C, const void *options, const void *execution);
void tamis_plan_destroy(void *plan);

static void set_integer(unsigned char *place, int64_t value) { memcpy(place, &value, sizeof value); }
static void set_number(unsigned char *place, double value) { memcpy(place, &value, sizeof value); }
static void set_choice(unsigned char *place, int value) { memcpy(place, &value, sizeof value); }

static int64_t integer_of(const unsigned char *place) {
    int64_t value;
    memcpy(&value, place, sizeof value);
    return value;
}

/* A matrix of fp32, row-major, as TAMIS_F32 and TAMIS_ROW_MAJOR are 0. */
static void make_dense(unsigned char *dense, float *data, int64_t rows, int64_t cols) {
    memset(dense, 0, tamis_dense_size);
    memcpy(dense + tamis_dense_data, &data, sizeof data);
    set_integer(dense + tamis_dense_rows, rows);
    set_integer(dense + tamis_dense_cols, cols);
}

/* What is behind a structure must stay as it is. */
static int whole(const unsigned char *bytes, size_t size) {
    for (size_t i = size; i < size + FENCE; i++)
        if (bytes[i] != GUARD) return 0;
    return 1;
}

int main(void) {
    static float a[ROWS * K], p[2][NNZ], c[ROWS * K];
    _Static_assert(TAMIS_OK == 0 && TAMIS_F32 == 0 && TAMIS_ROW_MAJOR == 0, "zeros mean these");
    _Alignas(16) unsigned char kind[tamis_generate_options_size] = {0}, S[tamis_sparse_size], X[tamis_dense_size],
                               P[2][tamis_dense_size], C[tamis_dense_size], options[tamis_options_size] = {0},
                               executions[2][tamis_execution_size] = {{0}}, profile[tamis_profile_size + FENCE],
                               description[tamis_device_description_size + FENCE],
                               report[tamis_plan_report_size + FENCE];
    void *device, *matrix, *plan;
    const char *name;
    set_choice(kind + tamis_generate_options_kind, TAMIS_KIND_UNIFORM);
    set_integer(kind + tamis_generate_options_rows, ROWS);
    set_integer(kind + tamis_generate_options_cols, ROWS);
    set_integer(kind + tamis_generate_options_nnz, NNZ);
    CHECK(tamis_generate(kind, &matrix) == TAMIS_OK);
    memcpy(S, tamis_owned_sparse_view(matrix), sizeof S); /* a copy of the library's own */
    CHECK(integer_of(S + tamis_sparse_nnz) == NNZ);
    memset(profile, GUARD, sizeof profile);
    CHECK(tamis_row_profile(S, profile) == TAMIS_OK);
    CHECK(integer_of(profile + tamis_profile_nnz) == NNZ && integer_of(profile + tamis_profile_max) == 4);
    CHECK(whole(profile, tamis_profile_size));
    CHECK(tamis_device_open("cpu", &device) == TAMIS_OK);
    memset(description, GUARD, sizeof description);
    CHECK(tamis_device_describe(device, description) == TAMIS_OK);
    memcpy((void *)&name, description + tamis_device_description_name, sizeof name);
    CHECK(strcmp(name, "cpu") == 0);
    CHECK(whole(description, tamis_device_description_size));

    for (int i = 0; i < ROWS * K; i++) a[i] = (float)(i % 7) - 3;
    make_dense(X, a, ROWS, K);
    make_dense(C, c, ROWS, K);
    /* TAMIS_OPTIONS_INIT and TAMIS_EXECUTION_INIT of 0.2 */
    set_choice(options + tamis_options_output_type, -1); /* TAMIS_SAME_TYPE */
    set_integer(options + tamis_options_inner, K);
    set_integer(options + tamis_options_width, -1);
    set_number(options + tamis_options_edge_scale, 1.0);
    set_number(options + tamis_options_edge_slope, 0.01);
    set_number(options + tamis_options_edge_epsilon, 1e-10);
    set_integer(options + tamis_options_batch, 1);
    set_integer(options + tamis_options_expected_calls, 1);
    CHECK(tamis_plan_create(device, S, options, &plan) == TAMIS_OK);
    memset(report, GUARD, sizeof report);
    CHECK(tamis_plan_describe(plan, report) == TAMIS_OK && whole(report, tamis_plan_report_size));
    CHECK(report[tamis_plan_report_threads] >= 1);
    for (int i = 0; i < 2; i++) {
        make_dense(P[i], p[i], NNZ, 1);
        set_number(executions[i] + tamis_execution_alpha, 1.0 + i);
        CHECK(tamis_plan_sddmm(plan, X, X, P[i], executions[i]) == TAMIS_OK);
    }
    for (int t = 0; t < NNZ; t++) CHECK(p[1][t] == 2 * p[0][t]);
    CHECK(tamis_spmm(device, S, X, C, NULL, NULL) == TAMIS_OK);
    for (int i = 0; i < ROWS * K; i++) CHECK(isfinite(c[i]));
    executions[0][tamis_execution_size - 1] = 1; /* a field of a version to come */
    CHECK(tamis_plan_sddmm(plan, X, X, P[0], executions[0]) == TAMIS_ERROR_UNSUPPORTED);
    tamis_plan_destroy(plan);
    tamis_device_close(device);
    tamis_owned_sparse_free(matrix);
    printf("a program of 0.2 with the library of %s\n", tamis_version());
    return 0;
}
