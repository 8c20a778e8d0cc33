/* Host side of dense.simt, dense_sums.simt and dense_products.simt. */
#include "gpu/dense/dense.h"

#include <string.h>

#include "base/status.h"
#include "gpu/compile/utility.h"

enum { TEAMS = TAMIS_GPU_GROUP / 32, SIDE = 64, LAUNCH_MOST = 65535 };

static const char *const elements = "dense.simt", *const sums = "dense_sums.simt",
                         *const products = "dense_products.simt";

static tamis_status start(const tamis_dense_job *job, const char *file, const char *kernel, int64_t groups,
                          const tamis_gpu_named *arguments) {
    const tamis_gpu_kinds kinds = {job->type, TAMIS_I32, TAMIS_I32};
    TRY(tamis_gpu_check_type(job->device, job->type));
    return tamis_gpu_utility(job->device, job->stream, file, kernel, kinds,
                             groups < 1             ? 1
                             : groups > LAUNCH_MOST ? LAUNCH_MOST
                                                    : groups,
                             arguments);
}

/* Log2 of the work-items that share a row: a power of two that covers it, or `most`. */
static int32_t shift_of(int64_t cols, int32_t most) {
    int32_t shift = 0;
    while (shift < most && (int64_t)1 << shift < cols) shift++;
    return shift;
}

/* Number of groups that gives each work-item one element of its rows; kernels stride over what exceeds a launch. */
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
    const bool slow =
        job->kind == TAMIS_MAP_EXP_DIGAMMA || job->kind == TAMIS_MAP_DIVIDE || job->kind == TAMIS_MAP_ADAGRAD;
    return start(job, elements, slow ? "dense_map_slow" : "dense_map", row_groups(job, shift),
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", job->rows), tamis_gpu_integer("cols", job->cols),
                                     tamis_gpu_integer("last", job->last), tamis_gpu_integer("shift", shift),
                                     tamis_gpu_integer("kind", job->kind),
                                     tamis_gpu_integer("reads", reads_x | reads_y << 1 | reads_z << 2),
                                     tamis_gpu_real("c", job->c), tamis_gpu_real("d", job->d),
                                     tamis_gpu_place("x", job->x.at), tamis_gpu_integer("x_stride", job->x.stride),
                                     tamis_gpu_place("y", job->y.at), tamis_gpu_integer("y_stride", job->y.stride),
                                     tamis_gpu_place("z", job->z.at), tamis_gpu_integer("z_stride", job->z.stride)));
}

static tamis_status scale(const tamis_dense_job *job) {
    const int32_t shift = shift_of(job->cols, 8);
    return start(job, elements, "dense_scale", row_groups(job, shift),
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", job->rows), tamis_gpu_integer("cols", job->cols),
                                     tamis_gpu_integer("shift", shift), tamis_gpu_integer("kind", job->kind),
                                     tamis_gpu_integer("has_weights", job->weights.at.base != NULL),
                                     tamis_gpu_place("weights", job->weights.at),
                                     tamis_gpu_integer("weights_stride", job->weights.stride),
                                     tamis_gpu_real("add", job->c), tamis_gpu_place("x", job->x.at),
                                     tamis_gpu_integer("x_stride", job->x.stride), tamis_gpu_real("beta", job->d),
                                     tamis_gpu_place("y", job->y.at), tamis_gpu_integer("y_stride", job->y.stride)));
}

/* ------------------------------------------------------------------------------------------ products */

static tamis_status multiply(const tamis_dense_job *job) {
    const int64_t down = (job->rows + SIDE - 1) / SIDE, across = (job->cols + SIDE - 1) / SIDE;
    return start(job, products, "dense_multiply", down > LAUNCH_MOST ? down : down * across,
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", job->rows), tamis_gpu_integer("cols", job->cols),
                                     tamis_gpu_integer("inner", job->inner), tamis_gpu_place("x", job->x.at),
                                     tamis_gpu_integer("x_stride", job->x.stride), tamis_gpu_place("g", job->y.at),
                                     tamis_gpu_integer("g_stride", job->y.stride), tamis_gpu_real("alpha", job->c),
                                     tamis_gpu_real("beta", job->d), tamis_gpu_place("y", job->z.at),
                                     tamis_gpu_integer("y_stride", job->z.stride)));
}

tamis_status tamis_gpu_dense_cross(const tamis_dense_job *job, bool first) {
    const int64_t down = (job->inner + SIDE - 1) / SIDE, across = (job->cols + SIDE - 1) / SIDE;
    return start(job, products, "dense_cross", job->chunks * down * across,
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", job->rows), tamis_gpu_integer("inner", job->inner),
                                     tamis_gpu_integer("cols", job->cols), tamis_gpu_integer("chunks", job->chunks),
                                     tamis_gpu_integer("first", first), tamis_gpu_place("x", job->x.at),
                                     tamis_gpu_integer("x_stride", job->x.stride), tamis_gpu_place("y", job->y.at),
                                     tamis_gpu_integer("y_stride", job->y.stride),
                                     tamis_gpu_place("parts", job->workspace)));
}

static tamis_status gram(const tamis_dense_job *job) {
    const int64_t tiles = (job->cols + SIDE - 1) / SIDE;
    TRY(start(job, products, "dense_gram", job->chunks * tiles * (tiles + 1) / 2,
              TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", job->rows), tamis_gpu_integer("cols", job->cols),
                                  tamis_gpu_integer("chunks", job->chunks), tamis_gpu_place("x", job->x.at),
                                  tamis_gpu_integer("stride", job->x.stride),
                                  tamis_gpu_place("parts", job->workspace))));
    return start(job, products, "dense_gram_finish", tamis_gpu_groups(job->cols * job->cols),
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("cols", job->cols), tamis_gpu_integer("chunks", job->chunks),
                                     tamis_gpu_place("parts", job->workspace), tamis_gpu_real("alpha", job->c),
                                     tamis_gpu_real("diagonal", job->d), tamis_gpu_place("g", job->y.at),
                                     tamis_gpu_integer("stride", job->y.stride)));
}

/* ------------------------------------------------------------------------------------------ sums */

static tamis_status column_sums(const tamis_dense_job *job) {
    const int32_t shift = shift_of(job->cols, 5);
    const int64_t tiles = ((job->cols - 1) >> shift) + 1;
    TRY(start(job, sums, "dense_column_sums", tiles > LAUNCH_MOST ? tiles : job->chunks * tiles,
              TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", job->rows), tamis_gpu_integer("cols", job->cols),
                                  tamis_gpu_integer("chunks", job->chunks), tamis_gpu_integer("shift", shift),
                                  tamis_gpu_place("x", job->x.at), tamis_gpu_integer("x_stride", job->x.stride),
                                  tamis_gpu_place("parts", job->workspace))));
    return start(job, sums, "dense_column_finish", tamis_gpu_groups(job->cols),
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("cols", job->cols), tamis_gpu_integer("chunks", job->chunks),
                                     tamis_gpu_place("parts", job->workspace), tamis_gpu_place("sums", job->out.at),
                                     tamis_gpu_integer("stride", job->out.stride)));
}

static tamis_status row_dots(const tamis_dense_job *job) {
    return start(job, sums, "dense_row_dots", (job->rows + TEAMS - 1) / TEAMS,
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", job->rows), tamis_gpu_integer("cols", job->cols),
                                     tamis_gpu_integer("has_y", job->kind), tamis_gpu_place("x", job->x.at),
                                     tamis_gpu_integer("x_stride", job->x.stride), tamis_gpu_place("y", job->y.at),
                                     tamis_gpu_integer("y_stride", job->y.stride), tamis_gpu_place("out", job->out.at),
                                     tamis_gpu_integer("stride", job->out.stride)));
}

static tamis_status dot(const tamis_dense_job *job, double *result) {
    tamis_gpu_device *const device = job->device;
    const int32_t shift = shift_of(job->cols, 8);
    char parts[TAMIS_DENSE_CHUNKS * sizeof(double)];
    double sum = 0;
    TRY(start(job, sums, "dense_dot", job->chunks,
              TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", job->rows), tamis_gpu_integer("cols", job->cols),
                                  tamis_gpu_integer("last", job->last), tamis_gpu_integer("chunks", job->chunks),
                                  tamis_gpu_integer("shift", shift), tamis_gpu_integer("logarithms", job->kind),
                                  tamis_gpu_integer("has_x", job->x.at.base != NULL), tamis_gpu_real("epsilon", job->c),
                                  tamis_gpu_place("x", job->x.at), tamis_gpu_integer("x_stride", job->x.stride),
                                  tamis_gpu_place("y", job->y.at), tamis_gpu_integer("y_stride", job->y.stride),
                                  tamis_gpu_place("parts", job->workspace))));
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
    return start(job, sums, "dense_conjugate_step", (job->rows + TEAMS - 1) / TEAMS,
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", job->rows), tamis_gpu_integer("cols", job->cols),
                                     tamis_gpu_integer("has_lambda", job->weights.at.base != NULL),
                                     tamis_gpu_place("lambda", job->weights.at),
                                     tamis_gpu_integer("lambda_stride", job->weights.stride),
                                     tamis_gpu_real("shift", job->c), tamis_gpu_place("ap", job->x.at),
                                     tamis_gpu_integer("ap_stride", job->x.stride), tamis_gpu_place("p", job->p.at),
                                     tamis_gpu_integer("p_stride", job->p.stride), tamis_gpu_place("x", job->z.at),
                                     tamis_gpu_integer("x_stride", job->z.stride), tamis_gpu_place("r", job->r.at),
                                     tamis_gpu_integer("r_stride", job->r.stride), tamis_gpu_place("rr", job->out.at),
                                     tamis_gpu_integer("rr_stride", job->out.stride)));
}

static tamis_status coordinate_step(const tamis_dense_job *job) {
    return start(job, sums, "dense_coordinate_step", (job->rows + TEAMS - 1) / TEAMS,
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", job->rows), tamis_gpu_integer("cols", job->cols),
                                     tamis_gpu_place("g", job->y.at), tamis_gpu_integer("g_stride", job->y.stride),
                                     tamis_gpu_place("r", job->r.at), tamis_gpu_integer("r_stride", job->r.stride),
                                     tamis_gpu_place("x", job->z.at), tamis_gpu_integer("x_stride", job->z.stride)));
}

/* ------------------------------------------------------------------------------------------ table */

static tamis_status ready(void *device, tamis_type type) {
    static const struct {
        const char *const *file;
        const char *kernel;
    } kernels[] = {{&elements, "dense_map"},      {&elements, "dense_map_slow"},   {&elements, "dense_scale"},
                   {&products, "dense_multiply"}, {&products, "dense_gram"},       {&products, "dense_gram_finish"},
                   {&sums, "dense_column_sums"},  {&sums, "dense_column_finish"},  {&sums, "dense_row_dots"},
                   {&sums, "dense_dot"},          {&sums, "dense_conjugate_step"}, {&sums, "dense_coordinate_step"}};
    TRY(tamis_gpu_check_type(device, type));
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
    .coordinate_step = coordinate_step,
};
