/* Host side of dense.simt, dense_sums.simt and dense_products.simt. */
#include "gpu/dense/dense.h"

#include <string.h>

#include "base/status.h"
#include "gpu/launch/utility.h"

enum { TEAMS = TAMIS_GPU_GROUP / 32, SIDE = 64, LAUNCH_MOST = 65535 };

static const char *const elements = "dense.simt", *const sums = "dense_sums.simt",
                         *const products = "dense_products.simt";

static tamis_status check_type(const tamis_gpu_device *device, tamis_type type) {
    if (type == TAMIS_F64 && !device->limits.has_fp64)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "type = %s: %s has no fp64 arithmetic", tamis_type_name(type),
                          device->limits.name);
    return TAMIS_OK;
}

static tamis_status start(const tamis_dense_job *job, const char *file, const char *kernel, int64_t groups,
                          const tamis_gpu_call *call) {
    const tamis_gpu_kinds kinds = {job->type, TAMIS_I32, TAMIS_I32};
    TRY(check_type(job->device, job->type));
    return tamis_gpu_utility(job->device, job->stream, file, kernel, kinds,
                             groups < 1             ? 1
                             : groups > LAUNCH_MOST ? LAUNCH_MOST
                                                    : groups,
                             call);
}

static void add_operand(tamis_gpu_call *call, const tamis_dense_operand *x) {
    tamis_gpu_add_place(call, x->at);
    tamis_gpu_add_int64(call, x->stride);
}

static tamis_gpu_call call_of(const tamis_dense_job *job) {
    tamis_gpu_call call = {.count = 0};
    tamis_gpu_add_int64(&call, job->rows);
    tamis_gpu_add_int64(&call, job->cols);
    return call;
}

/* The logarithm of the work-items that share a row: a power of two that covers it, or `most`. */
static int32_t shift_of(int64_t cols, int32_t most) {
    int32_t shift = 0;
    while (shift < most && (int64_t)1 << shift < cols) shift++;
    return shift;
}

/* Groups such that each work-item has one place of its rows; the kernels stride over what is beyond a launch. */
static int64_t row_groups(const tamis_dense_job *job, int32_t shift) {
    const int64_t at_once = TAMIS_GPU_GROUP >> shift;
    return (job->rows + at_once - 1) / at_once;
}

/* ------------------------------------------------------------------------------------------ element by element */

static tamis_status map(const tamis_dense_job *job) {
    const int32_t shift = shift_of(job->cols, 8);
    const int reads_x = job->kind != TAMIS_MAP_FILL;
    const int reads_y = job->y.at.base != NULL;
    const int reads_z = job->kind == TAMIS_MAP_ADAGRAD || (job->kind == TAMIS_MAP_COMBINE && job->d != 0);
    tamis_gpu_call call = call_of(job);
    tamis_gpu_add_int64(&call, job->last);
    tamis_gpu_add_int32(&call, shift);
    tamis_gpu_add_int32(&call, job->kind);
    tamis_gpu_add_int32(&call, reads_x | reads_y << 1 | reads_z << 2);
    tamis_gpu_add_real(&call, job->type, job->c);
    tamis_gpu_add_real(&call, job->type, job->d);
    add_operand(&call, &job->x);
    add_operand(&call, &job->y);
    add_operand(&call, &job->z);
    const bool slow =
        job->kind == TAMIS_MAP_EXP_DIGAMMA || job->kind == TAMIS_MAP_DIVIDE || job->kind == TAMIS_MAP_ADAGRAD;
    return start(job, elements, slow ? "dense_map_slow" : "dense_map", row_groups(job, shift), &call);
}

static tamis_status scale(const tamis_dense_job *job) {
    const int32_t shift = shift_of(job->cols, 8);
    tamis_gpu_call call = call_of(job);
    tamis_gpu_add_int32(&call, shift);
    tamis_gpu_add_int32(&call, job->kind);
    tamis_gpu_add_int32(&call, job->weights.at.base != NULL);
    add_operand(&call, &job->weights);
    tamis_gpu_add_real(&call, job->type, job->c);
    add_operand(&call, &job->x);
    tamis_gpu_add_real(&call, job->type, job->d);
    add_operand(&call, &job->y);
    return start(job, elements, "dense_scale", row_groups(job, shift), &call);
}

/* ------------------------------------------------------------------------------------------ products */

static tamis_status multiply(const tamis_dense_job *job) {
    tamis_gpu_call call = call_of(job);
    tamis_gpu_add_int64(&call, job->inner);
    add_operand(&call, &job->x);
    add_operand(&call, &job->y);
    tamis_gpu_add_real(&call, job->type, job->c);
    tamis_gpu_add_real(&call, job->type, job->d);
    add_operand(&call, &job->z);
    const int64_t down = (job->rows + SIDE - 1) / SIDE, across = (job->cols + SIDE - 1) / SIDE;
    return start(job, products, "dense_multiply", down > LAUNCH_MOST ? down : down * across, &call);
}

static tamis_status gram(const tamis_dense_job *job) {
    const int64_t tiles = (job->cols + SIDE - 1) / SIDE;
    tamis_gpu_call chunks = call_of(job), finish = {.count = 0};
    tamis_gpu_add_int64(&chunks, job->chunks);
    add_operand(&chunks, &job->x);
    tamis_gpu_add_place(&chunks, job->workspace);
    TRY(start(job, products, "dense_gram", job->chunks * tiles * (tiles + 1) / 2, &chunks));
    tamis_gpu_add_int64(&finish, job->cols);
    tamis_gpu_add_int64(&finish, job->chunks);
    tamis_gpu_add_place(&finish, job->workspace);
    tamis_gpu_add_real(&finish, job->type, job->c);
    tamis_gpu_add_real(&finish, job->type, job->d);
    add_operand(&finish, &job->y);
    return start(job, products, "dense_gram_finish", tamis_gpu_groups(job->cols * job->cols), &finish);
}

/* ------------------------------------------------------------------------------------------ sums */

static tamis_status column_sums(const tamis_dense_job *job) {
    const int32_t shift = shift_of(job->cols, 5);
    tamis_gpu_call chunks = call_of(job), finish = {.count = 0};
    tamis_gpu_add_int64(&chunks, job->chunks);
    tamis_gpu_add_int32(&chunks, shift);
    add_operand(&chunks, &job->x);
    tamis_gpu_add_place(&chunks, job->workspace);
    const int64_t tiles = ((job->cols - 1) >> shift) + 1;
    TRY(start(job, sums, "dense_column_sums", tiles > LAUNCH_MOST ? tiles : job->chunks * tiles, &chunks));
    tamis_gpu_add_int64(&finish, job->cols);
    tamis_gpu_add_int64(&finish, job->chunks);
    tamis_gpu_add_place(&finish, job->workspace);
    add_operand(&finish, &job->out);
    return start(job, sums, "dense_column_finish", tamis_gpu_groups(job->cols), &finish);
}

static tamis_status row_dots(const tamis_dense_job *job) {
    tamis_gpu_call call = call_of(job);
    tamis_gpu_add_int32(&call, job->kind);
    add_operand(&call, &job->x);
    add_operand(&call, &job->y);
    add_operand(&call, &job->out);
    return start(job, sums, "dense_row_dots", (job->rows + TEAMS - 1) / TEAMS, &call);
}

static tamis_status dot(const tamis_dense_job *job, double *result) {
    tamis_gpu_device *const device = job->device;
    const int32_t shift = shift_of(job->cols, 8);
    char parts[TAMIS_DENSE_CHUNKS * sizeof(double)];
    double sum = 0;
    tamis_gpu_call call = call_of(job);
    tamis_gpu_add_int64(&call, job->last);
    tamis_gpu_add_int64(&call, job->chunks);
    tamis_gpu_add_int32(&call, shift);
    tamis_gpu_add_int32(&call, job->kind);
    tamis_gpu_add_int32(&call, job->x.at.base != NULL);
    tamis_gpu_add_real(&call, job->type, job->c);
    add_operand(&call, &job->x);
    add_operand(&call, &job->y);
    tamis_gpu_add_place(&call, job->workspace);
    TRY(start(job, sums, "dense_dot", job->chunks, &call));
    const size_t size = device->limits.has_fp64 ? sizeof(double) : sizeof(float);
    TRY(device->runtime->read(device, job->stream, parts, job->workspace, (size_t)job->chunks * size));
    for (int64_t i = 0; i < job->chunks; i++) {
        double wide = 0;
        float narrow = 0;
        memcpy(size == sizeof wide ? (void *)&wide : (void *)&narrow, parts + (size_t)i * size, size);
        sum += size == sizeof wide ? wide : (double)narrow;
    }
    *result = sum;
    return TAMIS_OK;
}

static tamis_status conjugate_step(const tamis_dense_job *job) {
    tamis_gpu_call call = call_of(job);
    tamis_gpu_add_int32(&call, job->weights.at.base != NULL);
    add_operand(&call, &job->weights);
    tamis_gpu_add_real(&call, job->type, job->c);
    add_operand(&call, &job->x);
    add_operand(&call, &job->p);
    add_operand(&call, &job->z);
    add_operand(&call, &job->r);
    add_operand(&call, &job->out);
    return start(job, sums, "dense_conjugate_step", (job->rows + TEAMS - 1) / TEAMS, &call);
}

/* ------------------------------------------------------------------------------------------ table */

static tamis_status ready(void *device, tamis_type type) {
    static const struct {
        const char *const *file;
        const char *kernel;
    } kernels[] = {{&elements, "dense_map"},      {&elements, "dense_map_slow"},  {&elements, "dense_scale"},
                   {&products, "dense_multiply"}, {&products, "dense_gram"},      {&products, "dense_gram_finish"},
                   {&sums, "dense_column_sums"},  {&sums, "dense_column_finish"}, {&sums, "dense_row_dots"},
                   {&sums, "dense_dot"},          {&sums, "dense_conjugate_step"}};
    TRY(check_type(device, type));
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        TRY(tamis_gpu_utility_ready(device, *kernels[i].file, kernels[i].kernel,
                                    (tamis_gpu_kinds){type, TAMIS_I32, TAMIS_I32}));
    return TAMIS_OK;
}

const tamis_dense_functions tamis_gpu_dense_functions = {
    .ready = ready,
    .map = map,
    .scale = scale,
    .multiply = multiply,
    .gram = gram,
    .column_sums = column_sums,
    .row_dots = row_dots,
    .dot = dot,
    .conjugate_step = conjugate_step,
};
