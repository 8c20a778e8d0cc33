/* A program of 0.2: compiled against the frozen headers, run with the library of now. It keeps structures in arrays and
   structures of its own, copies them, and hands over garbage to be filled in, as programs do. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tamis/ceilings.h>
#include <tamis/generate.h>
#include <tamis/structure.h>
#include <tamis/tamis.h>

#define CHECK(what)                                                                                                    \
    do {                                                                                                               \
        if (!(what)) return fprintf(stderr, "line %d: %s\n%s\n", __LINE__, #what, tamis_last_error()), 1;              \
    } while (0)

enum { ROWS = 40, K = 8, GUARD = 0x5a };

typedef struct fenced { /* what comes behind a structure must stay as it is */
    tamis_profile profile;
    unsigned char after[64];
} fenced;

static int whole(const unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != GUARD) return 0;
    return 1;
}

int main(void) {
    float a[ROWS * K], p[2][ROWS * 4], c[ROWS * K];
    struct {
        tamis_device_description description;
        unsigned char after[64];
    } about;
    struct {
        tamis_plan_report report;
        unsigned char after[64];
    } told;
    fenced seen;
    tamis_device *device;
    tamis_owned_sparse *matrix;
    tamis_plan *plan;
    tamis_generate_options kind = TAMIS_GENERATE_OPTIONS_INIT;
    kind.rows = kind.cols = ROWS;
    kind.nnz = ROWS * 4;
    CHECK(tamis_generate(&kind, &matrix) == TAMIS_OK);
    tamis_sparse S = *tamis_owned_sparse_view(matrix); /* a copy of the library's own */
    memset(&seen, GUARD, sizeof seen);
    CHECK(tamis_row_profile(&S, &seen.profile) == TAMIS_OK);
    CHECK(seen.profile.nnz == ROWS * 4 && seen.profile.max == 4 && whole(seen.after, sizeof seen.after));
    CHECK(tamis_device_open("cpu", &device) == TAMIS_OK);
    memset(&about, GUARD, sizeof about);
    CHECK(tamis_device_describe(device, &about.description) == TAMIS_OK);
    CHECK(strcmp(about.description.name, "cpu") == 0 && whole(about.after, sizeof about.after));

    for (int i = 0; i < ROWS * K; i++) a[i] = (float)(i % 7) - 3;
    const tamis_dense X[2] = {{.data = a, .rows = ROWS, .cols = K}, {.data = a, .rows = ROWS, .cols = K}};
    const tamis_dense P[2] = {{.data = p[0], .rows = S.nnz, .cols = 1}, {.data = p[1], .rows = S.nnz, .cols = 1}};
    const tamis_dense C = {.data = c, .rows = ROWS, .cols = K};
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.inner = K;
    CHECK(tamis_plan_create(device, &S, &options, &plan) == TAMIS_OK);
    memset(&told, GUARD, sizeof told);
    CHECK(tamis_plan_describe(plan, &told.report) == TAMIS_OK);
    CHECK(told.report.threads >= 1 && whole(told.after, sizeof told.after));
    tamis_execution executions[2] = {TAMIS_EXECUTION_INIT, TAMIS_EXECUTION_INIT};
    executions[1].alpha = 2;
    for (int i = 0; i < 2; i++) CHECK(tamis_plan_sddmm(plan, &X[0], &X[1], &P[i], &executions[i]) == TAMIS_OK);
    for (int64_t t = 0; t < S.nnz; t++) CHECK(p[1][t] == 2 * p[0][t]);
    CHECK(tamis_spmm(device, &S, &X[1], &C, NULL, NULL) == TAMIS_OK);
    for (int i = 0; i < ROWS * K; i++) CHECK(isfinite(c[i]));
    executions[0].reserved[3] = 1; /* a field of a version to come */
    CHECK(tamis_plan_sddmm(plan, &X[0], &X[1], &P[0], &executions[0]) == TAMIS_ERROR_UNSUPPORTED);
    tamis_plan_destroy(plan);
    tamis_device_close(device);
    tamis_owned_sparse_free(matrix);
    printf("a program of 0.2 with the library of %s\n", tamis_version());
    return 0;
}
