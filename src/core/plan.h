/* A plan: the checked problem, the algorithm made ready, the workspace and what explain says. Core's own. */
#ifndef TAMIS_CORE_PLAN_H
#define TAMIS_CORE_PLAN_H

#include "base/backend.h"
#include "core/device.h"
#include "select/choose.h"

/* Where an execution stages an operand: offset in the workspace, -1 for one that is used where it lies. */
typedef struct tamis_staging {
    int64_t a, b, d, out, values, samples; /* samples: SDDMM's output in CSR order */
    int64_t bytes;                         /* of all of them */
} tamis_staging;

struct tamis_plan {
    const tamis_device *device;
    tamis_plan_options options; /* defaults filled in; its pointers are not kept */
    tamis_sparse pattern;       /* the caller's view */
    const void *values;         /* the values in force, of the caller's order */
    int64_t values_stride;
    void *own_values; /* what stands for values = NULL where kernels read values whatever happens; in the backend's
                         memory */
    tamis_problem problem;
    tamis_profile profile;
    tamis_ceilings ceilings;
    tamis_choice choice;
    tamis_prepared *prepared;
    tamis_prepared_sizes sizes;

    tamis_row_order order; /* COO only: what the plan made of it, in the backend's memory */

    tamis_staging staging;
    void *workspace;     /* scratch of the algorithm, then the staged operands, in the backend's memory */
    void *own_workspace; /* the same where the plan allocated it */
    size_t workspace_bytes;
    double check_seconds, setup_seconds;
};

/* options.c: checks and fills in what the caller left out. */
tamis_status tamis_options_read(const tamis_plan_options *options, const tamis_device *device,
                                tamis_plan_options *filled);
tamis_status tamis_options_from_args(const tamis_args *args, tamis_operation operation, tamis_plan_options *options);

/* plan.c: everything of tamis_plan_create. `once` leaves out preparation and the probe; `dry` stops before allocating.
 */
typedef struct tamis_plan_mode {
    bool once, dry;
} tamis_plan_mode;
tamis_status tamis_plan_make(tamis_device *device, const tamis_sparse *S, const tamis_plan_options *options,
                             tamis_plan_mode mode, tamis_plan **plan);
void tamis_plan_release(tamis_plan *plan);

/* execute.c: the operands of any operation; those it has not are NULL. */
tamis_status tamis_plan_run(tamis_plan *plan, tamis_operation operation, void *stream, const tamis_dense *A,
                            const tamis_dense *B, const tamis_dense *D, double alpha, double beta, void *p,
                            const tamis_dense *out);

#endif
