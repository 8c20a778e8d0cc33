/*
 * Operations on dense matrices that an iterative factorisation needs between sparse calls, on the device that holds the
 * matrices. This is not a linear algebra library: for larger products use a BLAS.
 *
 * Conventions that hold for every function here:
 *   - Matrices are views (tamis_dense), row-major, fp32 or fp64, all of one call of the same type, at the device's
 *     location: host memory on the CPU, the device's own on CUDA and OpenCL. Any stride; any address that is aligned to
 *     one element; on OpenCL data is a cl_mem and the matrix begins at its first byte. batch_stride is ignored.
 *   - A vector of n entries is an n x 1 matrix. With a stride other than 1 it can be a column of a matrix.
 *   - Zero rows and zero columns are valid; an empty sum is 0. With beta = 0 the matrix that it scales is never read.
 *   - An output may be the same view as an input if a comment says so. Otherwise they must not overlap.
 *   - A call allocates nothing and runs in the stream (NULL: the default one; on the CPU, which has no other, the work
 *     is complete when the call returns). On a GPU the first call of a kind and type compiles its kernel. Making a
 *     workspace of that type compiles all kernels in advance. Only tamis_dense_dot and tamis_dense_log_dot wait for the
 *     stream.
 *   - The same inputs on the same device give the same bits: only sizes determine how sums are divided, never threads
 *     or timing. On the CPU, sums over rows are accumulated in double, and so are the sums within a row of
 *     tamis_dense_row_dots and tamis_dense_cg_step. Sums over K of tamis_dense_multiply and over 64 rows of
 *     tamis_dense_gram are in the matrices' own type. On a GPU, dots, logarithms and column sums are in double if the
 *     GPU supports it. Other sums are in the matrices' own type, in blocks that are then added.
 *   - TAMIS_ERROR_ARGUMENT names the argument and its value. TAMIS_ERROR_UNSUPPORTED means half types, column-major
 *     views, a device without fp64, or a backend without these functions; the message says which. Outputs are then
 *     unchanged.
 */
#ifndef TAMIS_DENSE_H
#define TAMIS_DENSE_H

#include <tamis/tamis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- workspace */

/* Scratch memory for sums over rows, on the device. It serves one stream at a time. Destroy it before closing its
   device. */
typedef struct tamis_dense_workspace tamis_dense_workspace;

/*
 * Makes a workspace for matrices of up to `columns` columns (0 or more) and any number of rows, of type TAMIS_F32 or
 * TAMIS_F64, and prepares every function of this header for that type. It takes at most 16 MiB, for up to two million
 * columns, and 2 MiB for 32 columns. The caller must destroy *workspace.
 */
TAMIS_API tamis_status tamis_dense_workspace_create(tamis_device *device, int64_t columns, tamis_type type,
                                                    tamis_dense_workspace **workspace);

/* Destroys a workspace, after all calls that use it; NULL is allowed. */
TAMIS_API void tamis_dense_workspace_destroy(tamis_dense_workspace *workspace);

/* ---------------------------------------------------------------------------------------------- element by element */

/* X_ij = value. Any value, including NaN. */
TAMIS_API tamis_status tamis_dense_fill(tamis_device *device, void *stream, const tamis_dense *X, double value);

/* Y = alpha * X + beta * Y. X and Y have the same shape; Y may be X. alpha = 1, beta = 0 copies. */
TAMIS_API tamis_status tamis_dense_axpby(tamis_device *device, void *stream, double alpha, const tamis_dense *X,
                                         double beta, const tamis_dense *Y);

/* Elementwise functions of tamis_dense_map: x, y and z are the elements at one place, c and d parameters. */
typedef enum tamis_map {
    TAMIS_MAP_MULTIPLY_ADD = 0, /* z = c x y + d */
    TAMIS_MAP_EXP_DIGAMMA = 1,  /* z = exp(psi(c x y + d)), psi the digamma function; 0 at 0, NaN below 0 */
    TAMIS_MAP_DIVIDE = 2,       /* z = c x / max(y, d) */
    TAMIS_MAP_CLAMP = 3,        /* z = min(max(x, c), d), c <= d; Y must be NULL. INFINITY means no limit */
    TAMIS_MAP_ADAGRAD = 4       /* y = y + x^2, then z = z + c x / (sqrt(y) + d): gradient x, its history y, model z,
                                   rate c (negative to descend); d > 0 prevents a division by zero */
} tamis_map;

/* Z = kind(X, Y), all of the same shape; ADAGRAD also changes Y. Z may be X or Y, except with ADAGRAD. NaN stays NaN.
   The error of EXP_DIGAMMA is a few units in the last place times 1 + |psi|. */
TAMIS_API tamis_status tamis_dense_map(tamis_device *device, void *stream, tamis_map kind, double c, double d,
                                       const tamis_dense *X, const tamis_dense *Y, const tamis_dense *Z);

/* Which weight w applies to element (i, j), and whether it multiplies or divides. */
typedef enum tamis_scaling {
    TAMIS_SCALE_ROWS = 0,    /* (w_i + shift) * X_ij */
    TAMIS_SCALE_COLUMNS = 1, /* (w_j + shift) * X_ij */
    TAMIS_DIVIDE_ROWS = 2,   /* X_ij / (w_i + shift) */
    TAMIS_DIVIDE_COLUMNS = 3 /* X_ij / (w_j + shift) */
} tamis_scaling;

/* Y = the scaled X + beta * Y. X and Y have the same shape; Y may be X. weights is a vector of X.rows or X.cols
   entries, or NULL, which means only the shift. With lambda as weights of the rows, this adds lambda * P to A P. */
TAMIS_API tamis_status tamis_dense_scale(tamis_device *device, void *stream, tamis_scaling scaling,
                                         const tamis_dense *weights, double shift, const tamis_dense *X, double beta,
                                         const tamis_dense *Y);

/* ---------------------------------------------------------------------------------------------- products */

/* G = alpha * X^T X + diagonal * I. X is M x K with K <= 1024 (else TAMIS_ERROR_UNSUPPORTED). G is K x K and bitwise
   symmetric. The workspace must be for at least K columns. */
TAMIS_API tamis_status tamis_dense_gram(tamis_device *device, void *stream, tamis_dense_workspace *workspace,
                                        double alpha, const tamis_dense *X, double diagonal, const tamis_dense *G);

/* Y = alpha * X G + beta * Y. X is M x K, G is K x L, Y is M x L. Meant for K and L of up to about 1024. */
TAMIS_API tamis_status tamis_dense_multiply(tamis_device *device, void *stream, double alpha, const tamis_dense *X,
                                            const tamis_dense *G, double beta, const tamis_dense *Y);

/* ---------------------------------------------------------------------------------------------- sums */

/* sums_j = sum over i of X_ij. X is M x L, sums is a vector of L. The workspace must be for at least L columns. */
TAMIS_API tamis_status tamis_dense_column_sums(tamis_device *device, void *stream, tamis_dense_workspace *workspace,
                                               const tamis_dense *X, const tamis_dense *sums);

/* sums_i = sum over j of X_ij. X is M x L, sums is a vector of M. */
TAMIS_API tamis_status tamis_dense_row_sums(tamis_device *device, void *stream, const tamis_dense *X,
                                            const tamis_dense *sums);

/* dots_i = <X_i, Y_i>. X and Y have the same shape and may be the same; dots has an entry per row. */
TAMIS_API tamis_status tamis_dense_row_dots(tamis_device *device, void *stream, const tamis_dense *X,
                                            const tamis_dense *Y, const tamis_dense *dots);

/* *result = sum of X_ij Y_ij, on the host; waits for the stream. X and Y have the same shape and may be the same. Any
   workspace of their type suffices. */
TAMIS_API tamis_status tamis_dense_dot(tamis_device *device, void *stream, tamis_dense_workspace *workspace,
                                       const tamis_dense *X, const tamis_dense *Y, double *result);

/* *result = sum of W_ij ln(max(X_ij, epsilon)), on the host; waits for the stream. If X are the samples and W the
   counts, nnz x 1, this is the log-likelihood of a topic model. W has X's shape, or is NULL, which means ones. epsilon
   > 0. */
TAMIS_API tamis_status tamis_dense_log_dot(tamis_device *device, void *stream, tamis_dense_workspace *workspace,
                                           const tamis_dense *W, const tamis_dense *X, double epsilon, double *result);

/* ---------------------------------------------------------------------------------------------- conjugate gradients */

/*
 * One step of conjugate gradients for every row independently, each with its own step length. The operator is
 * A + diag(lambda + shift): AP = A P comes from a sparse call (tamis_plan_fused for the normal equations of least
 * squares), lambda is a vector of M entries or NULL (zeros). With q = AP_i + (lambda_i + shift) P_i, in one pass:
 *
 *   a = rr_i / <P_i, q>      R_i = R_i - a q      s = <R_i, R_i>
 *   X_i = X_i + a P_i        P_i = R_i + b P_i    b = s / rr_i                       rr_i = s
 *
 * All matrices are M x K and distinct; AP is only read. Start with R = B - A X, P = R, rr = the row dots of R. A solved
 * row (rr_i = 0, or <P_i, q> <= 0, which with a positive definite operator means P_i = 0) is not changed: a = b = 0.
 * The steps do not depend on the scale of B.
 */
TAMIS_API tamis_status tamis_dense_cg_step(tamis_device *device, void *stream, const tamis_dense *lambda, double shift,
                                           const tamis_dense *AP, const tamis_dense *P, const tamis_dense *X,
                                           const tamis_dense *R, const tamis_dense *rr);

/* ---------------------------------------------------------------------------------------------- coordinate descent */

/*
 * One sweep of coordinate descent for every row independently, towards the x >= 0 that minimises <x, G x> / 2 - <b, x>:
 * non-negative least squares by normal equations. For j = 0, 1, ... in turn, x_j becomes the best one given the others:
 *
 *   d = max(R_ij / G_jj, -X_ij)      X_ij = X_ij + d      R_i = R_i - d G_j
 *
 * X and R are M x K with K <= 1024 (else TAMIS_ERROR_UNSUPPORTED), G is K x K and symmetric; all are distinct. Start
 * with X >= 0 and R = B - X G, which holds after each sweep, up to rounding. A coordinate with G_jj <= 0 stays. No
 * sweep increases the objective. With G and B from a Gram product and an SpMM call this is HALS (Cichocki and Phan
 * 2009). Sums are in the matrices' own type.
 */
TAMIS_API tamis_status tamis_dense_cd_step(tamis_device *device, void *stream, const tamis_dense *G,
                                           const tamis_dense *R, const tamis_dense *X);

#ifdef __cplusplus
}
#endif

#endif
