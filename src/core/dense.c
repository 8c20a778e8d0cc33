/*
 * The dense companions. Each checks its arguments and calls the backend's function. If the shape does not matter, a
 * packed matrix is cut into rows of equal length. Sums are cut into chunks.
 */
#include "backend/dense.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/status.h"
#include "core/operand.h"
#include "sparse/check.h"

/* Elements of a row that a packed matrix is cut into, and of a chunk of a dot product. */
enum { EVEN_ROW = 1024, DOT_CHUNK = 8192 };

/* Scratch for sums, with room for the partial sums of any matrix within its limits. */
struct tamis_dense_workspace {
    tamis_device *device;
    int64_t columns;
    tamis_type type;
    void *memory;
};

static int64_t clamp(int64_t value, int64_t most) { return value > most ? most : value < 1 ? 1 : value; }

/* Returns the number of chunks of rows, if each chunk has `places` sums. */
static int64_t chunks_of(int64_t rows, int64_t places) {
    const int64_t most = clamp(TAMIS_DENSE_PARTIALS / places, TAMIS_DENSE_CHUNKS);
    return clamp(rows / TAMIS_DENSE_CHUNK_ROWS, most);
}

/* ------------------------------------------------------------------------------------------ checks */

/* Rejects 16-bit types. `name`: the argument or field. */
static tamis_status check_type(const char *name, tamis_type type) {
    if (type != TAMIS_F16 && type != TAMIS_BF16) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s = %s: dense companions support only fp32 and fp64", name,
                      tamis_type_name(type));
}

/* Checks that the device has these functions, and that the stream can be one of its streams. */
static tamis_status check_device(const tamis_device *device, const void *stream) {
    TRY(tamis_device_check_stream(device, stream));
    if (device->backend->dense) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "device = %s: its backend has no dense companions",
                      device->description.name);
}

/* Checks that the workspace is of this device and type, and large enough for `columns` columns. */
static tamis_status check_workspace(const tamis_device *device, const tamis_dense_workspace *workspace, tamis_type type,
                                    int64_t columns) {
    if (!workspace)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "workspace = NULL: make one with tamis_dense_workspace_create");
    if (workspace->device != device)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "workspace was made on %s, not on this device",
                          workspace->device->description.name);
    if (workspace->type != type)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "workspace was made for %s, not for %s",
                          tamis_type_name(workspace->type), tamis_type_name(type));
    if (workspace->columns < columns)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "workspace was made for %lld columns, not for %lld",
                          (long long)workspace->columns, (long long)columns);
    return TAMIS_OK;
}

static tamis_status check(const tamis_device *device, const char *name, const tamis_dense *X, int64_t rows,
                          int64_t cols, tamis_type type) {
    return tamis_operand_check(
        device, &(tamis_operand){.name = name, .view = X, .rows = rows, .cols = cols, .type = type, .rows_only = true});
}

/* Checks a matrix of any size. */
static tamis_status check_any(const tamis_device *device, const char *name, const tamis_dense *X) {
    char field[40];
    if (!X) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: expected a dense matrix", name);
    snprintf(field, sizeof field, "%s.type", name);
    TRY(check_type(field, X->type));
    return check(device, name, X, X->rows, X->cols, X->type);
}

static tamis_status check_first(const tamis_device *device, const void *stream, const char *name,
                                const tamis_dense *X) {
    TRY(check_device(device, stream));
    return check_any(device, name, X);
}

static tamis_status check_number(const char *name, double value) {
    return isnan(value) ? tamis_fail(TAMIS_ERROR_ARGUMENT, "%s is not a number", name) : TAMIS_OK;
}

static tamis_status check_apart(const tamis_device *device, const char *out_name, const tamis_dense *out,
                                const char *name, const tamis_dense *X) {
    return tamis_check_apart(device->backend->handles, &(tamis_operand){.name = out_name, .view = out},
                             &(tamis_operand){.name = name, .view = X});
}

/* The same for an output that may be the view X itself. */
static tamis_status check_same_or_apart(const tamis_device *device, const char *out_name, const tamis_dense *out,
                                        const char *name, const tamis_dense *X) {
    return tamis_dense_same(out, X) ? TAMIS_OK : check_apart(device, out_name, out, name, X);
}

/* ------------------------------------------------------------------------------------------ jobs */

/* A job with the sizes of `shape`, and up to two numbers and three matrices. */
static tamis_dense_job job_of(const tamis_device *device, void *stream, const tamis_dense *shape, double c, double d,
                              const tamis_dense *x, const tamis_dense *y, const tamis_dense *z) {
    return (tamis_dense_job){.device = device->handle,
                             .stream = stream,
                             .threads = device->description.threads,
                             .type = shape->type,
                             .rows = shape->rows,
                             .cols = shape->cols,
                             .last = shape->cols,
                             .chunks = 1,
                             .c = c,
                             .d = d,
                             .x = tamis_matrix_of(x),
                             .y = tamis_matrix_of(y),
                             .z = tamis_matrix_of(z)};
}

static bool is_empty(const tamis_dense *X) { return X->rows == 0 || X->cols == 0; }

/* Flattens an element-by-element job to packed rows, if no matrix (x, and y and z if present) has gaps between its
   rows. */
static void flatten(tamis_dense_job *job) {
    tamis_matrix *const operands[] = {&job->x, &job->y, &job->z};
    for (int i = 0; i < 3; i++)
        if (operands[i]->at.base && operands[i]->stride != job->cols && job->rows > 1) return;
    const int64_t total = job->rows * job->cols;
    job->rows = (total + EVEN_ROW - 1) / EVEN_ROW;
    job->cols = total < EVEN_ROW ? total : EVEN_ROW;
    job->last = total - (job->rows - 1) * EVEN_ROW;
    for (int i = 0; i < 3; i++) operands[i]->stride = job->cols;
}

/* ------------------------------------------------------------------------------------------ element by element */

static tamis_status map(const tamis_device *device, int kind, tamis_dense_job job) {
    if (job.rows == 0 || job.cols == 0) return TAMIS_OK;
    job.kind = kind;
    flatten(&job);
    return device->backend->dense->map(&job);
}

tamis_status tamis_dense_fill(tamis_device *device, void *stream, const tamis_dense *X, double value) {
    tamis_clear_error();
    TRY(check_first(device, stream, "X", X));
    return map(device, TAMIS_MAP_FILL, job_of(device, stream, X, value, 0, NULL, NULL, X));
}

tamis_status tamis_dense_axpby(tamis_device *device, void *stream, double alpha, const tamis_dense *X, double beta,
                               const tamis_dense *Y) {
    tamis_clear_error();
    TRY(check_first(device, stream, "X", X));
    TRY(check(device, "Y", Y, X->rows, X->cols, X->type));
    TRY(check_number("alpha", alpha));
    TRY(check_number("beta", beta));
    TRY(check_same_or_apart(device, "Y", Y, "X", X));
    return map(device, TAMIS_MAP_COMBINE, job_of(device, stream, X, alpha, beta, X, NULL, Y));
}

tamis_status tamis_dense_map(tamis_device *device, void *stream, tamis_map kind, double c, double d,
                             const tamis_dense *X, const tamis_dense *Y, const tamis_dense *Z) {
    tamis_clear_error();
    TRY(check_first(device, stream, "X", X));
    if ((int)kind < 0 || kind > TAMIS_MAP_ADAGRAD)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "kind = %d: expected 0 .. %d", (int)kind, (int)TAMIS_MAP_ADAGRAD);
    TRY(check_number("c", c));
    TRY(check_number("d", d));
    if (kind == TAMIS_MAP_CLAMP) {
        if (Y) return tamis_fail(TAMIS_ERROR_ARGUMENT, "Y is given, but a clamp has no y: expected NULL");
        if (c > d) return tamis_fail(TAMIS_ERROR_ARGUMENT, "c = %g is greater than d = %g", c, d);
    } else {
        TRY(check(device, "Y", Y, X->rows, X->cols, X->type));
    }
    TRY(check(device, "Z", Z, X->rows, X->cols, X->type));
    if (kind == TAMIS_MAP_ADAGRAD) {
        TRY(check_apart(device, "Y", Y, "X", X));
        TRY(check_apart(device, "Z", Z, "X", X));
        TRY(check_apart(device, "Z", Z, "Y", Y));
    } else {
        TRY(check_same_or_apart(device, "Z", Z, "X", X));
        if (Y) TRY(check_same_or_apart(device, "Z", Z, "Y", Y));
    }
    return map(device, (int)kind, job_of(device, stream, X, c, d, X, Y, Z));
}

tamis_status tamis_dense_scale(tamis_device *device, void *stream, tamis_scaling scaling, const tamis_dense *weights,
                               double shift, const tamis_dense *X, double beta, const tamis_dense *Y) {
    tamis_clear_error();
    TRY(check_first(device, stream, "X", X));
    if ((int)scaling < 0 || scaling > TAMIS_DIVIDE_COLUMNS)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "scaling = %d: expected 0 .. %d", (int)scaling,
                          (int)TAMIS_DIVIDE_COLUMNS);
    const bool rows = scaling == TAMIS_SCALE_ROWS || scaling == TAMIS_DIVIDE_ROWS;
    if (weights) TRY(check(device, "weights", weights, rows ? X->rows : X->cols, 1, X->type));
    TRY(check_number("shift", shift));
    TRY(check_number("beta", beta));
    TRY(check(device, "Y", Y, X->rows, X->cols, X->type));
    TRY(check_same_or_apart(device, "Y", Y, "X", X));
    if (weights) TRY(check_apart(device, "Y", Y, "weights", weights));
    if (is_empty(X)) return TAMIS_OK;
    tamis_dense_job job = job_of(device, stream, X, shift, beta, X, Y, NULL);
    job.kind = (int)scaling;
    job.weights = tamis_matrix_of(weights);
    return device->backend->dense->scale(&job);
}

/* ------------------------------------------------------------------------------------------ products */

tamis_status tamis_dense_gram(tamis_device *device, void *stream, tamis_dense_workspace *workspace, double alpha,
                              const tamis_dense *X, double diagonal, const tamis_dense *G) {
    tamis_clear_error();
    TRY(check_first(device, stream, "X", X));
    if (X->cols > TAMIS_DENSE_GRAM_MOST)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "X.cols = %lld: a Gram product has at most %d columns",
                          (long long)X->cols, (int)TAMIS_DENSE_GRAM_MOST);
    TRY(check_workspace(device, workspace, X->type, X->cols));
    TRY(check_number("alpha", alpha));
    TRY(check_number("diagonal", diagonal));
    TRY(check(device, "G", G, X->cols, X->cols, X->type));
    TRY(check_apart(device, "G", G, "X", X));
    if (X->cols == 0) return TAMIS_OK;
    tamis_dense_job job = job_of(device, stream, X, alpha, diagonal, X, G, NULL);
    job.chunks = chunks_of(X->rows, X->cols * X->cols);
    job.workspace = (tamis_place){workspace->memory, 0};
    return device->backend->dense->gram(&job);
}

tamis_status tamis_dense_multiply(tamis_device *device, void *stream, double alpha, const tamis_dense *X,
                                  const tamis_dense *G, double beta, const tamis_dense *Y) {
    tamis_clear_error();
    TRY(check_first(device, stream, "X", X));
    TRY(check_any(device, "G", G));
    TRY(check(device, "G", G, X->cols, G->cols, X->type));
    TRY(check(device, "Y", Y, X->rows, G->cols, X->type));
    TRY(check_number("alpha", alpha));
    TRY(check_number("beta", beta));
    TRY(check_apart(device, "Y", Y, "X", X));
    TRY(check_apart(device, "Y", Y, "G", G));
    if (is_empty(Y)) return TAMIS_OK;
    tamis_dense_job job = job_of(device, stream, Y, alpha, beta, X, G, Y);
    job.inner = X->cols;
    return device->backend->dense->multiply(&job);
}

/* ------------------------------------------------------------------------------------------ sums */

tamis_status tamis_dense_column_sums(tamis_device *device, void *stream, tamis_dense_workspace *workspace,
                                     const tamis_dense *X, const tamis_dense *sums) {
    tamis_clear_error();
    TRY(check_first(device, stream, "X", X));
    TRY(check_workspace(device, workspace, X->type, X->cols));
    TRY(check(device, "sums", sums, X->cols, 1, X->type));
    TRY(check_apart(device, "sums", sums, "X", X));
    if (X->cols == 0) return TAMIS_OK;
    tamis_dense_job job = job_of(device, stream, X, 0, 0, X, NULL, NULL);
    job.out = tamis_matrix_of(sums);
    job.chunks = chunks_of(X->rows, X->cols);
    job.workspace = (tamis_place){workspace->memory, 0};
    return device->backend->dense->column_sums(&job);
}

/* Computes the dot products of rows, or their sums if Y is NULL. */
static tamis_status row_dots(tamis_device *device, void *stream, const tamis_dense *X, const tamis_dense *Y,
                             const char *name, const tamis_dense *out) {
    TRY(check(device, name, out, X->rows, 1, X->type));
    TRY(check_apart(device, name, out, "X", X));
    if (Y) TRY(check_apart(device, name, out, "Y", Y));
    if (X->rows == 0) return TAMIS_OK;
    tamis_dense_job job = job_of(device, stream, X, 0, 0, X, Y, NULL);
    job.out = tamis_matrix_of(out);
    job.kind = Y != NULL;
    return device->backend->dense->row_dots(&job);
}

tamis_status tamis_dense_row_sums(tamis_device *device, void *stream, const tamis_dense *X, const tamis_dense *sums) {
    tamis_clear_error();
    TRY(check_first(device, stream, "X", X));
    return row_dots(device, stream, X, NULL, "sums", sums);
}

tamis_status tamis_dense_row_dots(tamis_device *device, void *stream, const tamis_dense *X, const tamis_dense *Y,
                                  const tamis_dense *dots) {
    tamis_clear_error();
    TRY(check_first(device, stream, "X", X));
    TRY(check(device, "Y", Y, X->rows, X->cols, X->type));
    return row_dots(device, stream, X, Y, "dots", dots);
}

/* x is the caller's X or W, y its Y or X. */
static tamis_status dot(tamis_device *device, void *stream, const tamis_dense_workspace *workspace, int logarithms,
                        double epsilon, const tamis_dense *x, const tamis_dense *y, double *result) {
    if (!result) return tamis_fail(TAMIS_ERROR_ARGUMENT, "result = NULL: expected an address for the sum");
    if (is_empty(y)) {
        *result = 0;
        return TAMIS_OK;
    }
    tamis_dense_job job = job_of(device, stream, y, epsilon, 0, x, y, NULL);
    job.kind = logarithms;
    flatten(&job);
    job.chunks = clamp(job.rows, clamp((job.rows - 1) * job.cols / DOT_CHUNK, TAMIS_DENSE_CHUNKS));
    job.workspace = (tamis_place){workspace->memory, 0};
    return device->backend->dense->dot(&job, result);
}

tamis_status tamis_dense_dot(tamis_device *device, void *stream, tamis_dense_workspace *workspace, const tamis_dense *X,
                             const tamis_dense *Y, double *result) {
    tamis_clear_error();
    TRY(check_first(device, stream, "X", X));
    TRY(check_workspace(device, workspace, X->type, 0));
    TRY(check(device, "Y", Y, X->rows, X->cols, X->type));
    return dot(device, stream, workspace, 0, 0, X, Y, result);
}

tamis_status tamis_dense_log_dot(tamis_device *device, void *stream, tamis_dense_workspace *workspace,
                                 const tamis_dense *W, const tamis_dense *X, double epsilon, double *result) {
    tamis_clear_error();
    TRY(check_first(device, stream, "X", X));
    TRY(check_workspace(device, workspace, X->type, 0));
    if (W) TRY(check(device, "W", W, X->rows, X->cols, X->type));
    if (!(epsilon > 0)) return tamis_fail(TAMIS_ERROR_ARGUMENT, "epsilon = %g: expected more than 0", epsilon);
    return dot(device, stream, workspace, 1, epsilon, W, X, result);
}

/* ------------------------------------------------------------------------------------------ conjugate gradients */

tamis_status tamis_dense_cg_step(tamis_device *device, void *stream, const tamis_dense *lambda, double shift,
                                 const tamis_dense *AP, const tamis_dense *P, const tamis_dense *X,
                                 const tamis_dense *R, const tamis_dense *rr) {
    const struct {
        const char *name;
        const tamis_dense *view;
    } all[] = {{"AP", AP}, {"P", P}, {"X", X}, {"R", R}, {"rr", rr}, {"lambda", lambda}};
    tamis_clear_error();
    TRY(check_first(device, stream, "AP", AP));
    for (int i = 1; i < 6; i++)
        if (i < 5 || lambda) TRY(check(device, all[i].name, all[i].view, AP->rows, i < 4 ? AP->cols : 1, AP->type));
    TRY(check_number("shift", shift));
    for (int i = 1; i < 5; i++) /* each output against all earlier views, and lambda */
        for (int j = 0; j < 6; j++)
            if ((j < i || j == 5) && all[j].view)
                TRY(check_apart(device, all[i].name, all[i].view, all[j].name, all[j].view));
    if (AP->rows == 0) return TAMIS_OK;
    tamis_dense_job job = job_of(device, stream, AP, shift, 0, AP, NULL, X);
    job.p = tamis_matrix_of(P);
    job.r = tamis_matrix_of(R);
    job.out = tamis_matrix_of(rr);
    job.weights = tamis_matrix_of(lambda);
    return device->backend->dense->conjugate_step(&job);
}

/* ------------------------------------------------------------------------------------------ coordinate descent */

tamis_status tamis_dense_cd_step(tamis_device *device, void *stream, const tamis_dense *G, const tamis_dense *R,
                                 const tamis_dense *X) {
    tamis_clear_error();
    TRY(check_first(device, stream, "X", X));
    if (X->cols > TAMIS_DENSE_GRAM_MOST)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "X.cols = %lld: coordinate descent has at most %d unknowns a row",
                          (long long)X->cols, (int)TAMIS_DENSE_GRAM_MOST);
    TRY(check(device, "G", G, X->cols, X->cols, X->type));
    TRY(check(device, "R", R, X->rows, X->cols, X->type));
    TRY(check_apart(device, "R", R, "G", G));
    TRY(check_apart(device, "X", X, "G", G));
    TRY(check_apart(device, "X", X, "R", R));
    if (is_empty(X)) return TAMIS_OK;
    tamis_dense_job job = job_of(device, stream, X, 0, 0, NULL, G, X);
    job.r = tamis_matrix_of(R);
    return device->backend->dense->coordinate_step(&job);
}

/* ------------------------------------------------------------------------------------------ the workspace */

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* Upper bound of the partial sums of any matrix of up to `columns` columns, by chunks_of(). */
static int64_t places_of(int64_t columns) {
    const int64_t gram = columns < TAMIS_DENSE_GRAM_MOST ? columns : TAMIS_DENSE_GRAM_MOST;
    const int64_t chunks = TAMIS_DENSE_CHUNKS, most = TAMIS_DENSE_PARTIALS;
    const int64_t squares = gram * gram > most / chunks ? most : chunks * gram * gram;
    const int64_t sums = columns > most / chunks ? larger(most, columns) : chunks * columns;
    return larger(chunks, larger(squares, sums));
}

tamis_status tamis_dense_workspace_create(tamis_device *device, int64_t columns, tamis_type type,
                                          tamis_dense_workspace **workspace) {
    tamis_status status = TAMIS_OK;
    tamis_dense_workspace *made = NULL;
    tamis_clear_error();
    if (!workspace) return tamis_fail(TAMIS_ERROR_ARGUMENT, "workspace = NULL: expected an address for the result");
    TRY(check_device(device, NULL));
    TRY(tamis_size_check("", "columns", columns));
    TRY(check_type("type", type));
    if (type != TAMIS_F32 && type != TAMIS_F64)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "type = %d: expected 0 .. %d", (int)type, (int)TAMIS_F64);
    TRY(device->backend->dense->ready(device->handle, type));
    TRY(tamis_allocate_zeroed(1, sizeof *made, "a dense workspace", (void **)&made));
    *made = (tamis_dense_workspace){.device = device, .columns = columns, .type = type};
    TRY_GOTO(failed, device->backend->allocate(device->handle, TAMIS_ALL_STREAMS,
                                               tamis_bytes(places_of(columns), sizeof(double)), "a dense workspace",
                                               &made->memory));
    *workspace = made;
    return TAMIS_OK;
failed:
    tamis_release(made);
    return status;
}

void tamis_dense_workspace_destroy(tamis_dense_workspace *workspace) {
    if (!workspace) return;
    workspace->device->backend->release_memory(workspace->device->handle, TAMIS_ALL_STREAMS, workspace->memory);
    tamis_release(workspace);
}
