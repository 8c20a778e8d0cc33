/* Plan options: reading those of older and newer callers, checking each, filling in defaults. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "core/plan.h"

static tamis_status check_layout(const char *name, tamis_layout layout) {
    if (layout != TAMIS_ROW_MAJOR && layout != TAMIS_COLUMN_MAJOR)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.%s = %d is no tamis_layout", name, (int)layout);
    return TAMIS_OK;
}

static tamis_status check_enums(const tamis_plan_options *o) {
    if ((unsigned)o->operation > TAMIS_OP_FUSED)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.operation = %d is no tamis_operation", (int)o->operation);
    if ((unsigned)o->edge > TAMIS_EDGE_SOFTMAX)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.edge = %d is no tamis_edge", (int)o->edge);
    if ((unsigned)o->type > TAMIS_BF16)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.type = %d is no tamis_type", (int)o->type);
    if ((unsigned)o->math > TAMIS_MATH_TF32)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.math = %d is no tamis_math", (int)o->math);
    TRY(check_layout("a_layout", o->a_layout));
    TRY(check_layout("b_layout", o->b_layout));
    TRY(check_layout("d_layout", o->d_layout));
    return check_layout("output_layout", o->output_layout);
}

static tamis_status check_numbers(const tamis_plan_options *o) {
    if (o->inner < 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.inner = %lld is negative", (long long)o->inner);
    if (o->width < 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.width = %lld is negative", (long long)o->width);
    if (!isfinite(o->edge_scale))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.edge_scale = %g is not finite", o->edge_scale);
    if (!isfinite(o->edge_slope))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.edge_slope = %g is not finite", o->edge_slope);
    if (!(o->edge_epsilon > 0) || !isfinite(o->edge_epsilon))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.edge_epsilon = %g is not positive and finite",
                          o->edge_epsilon);
    if (o->batch < 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.batch = %lld is negative", (long long)o->batch);
    if (o->expected_calls < 0)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.expected_calls = %lld is negative",
                          (long long)o->expected_calls);
    if (o->threads < 0 || o->threads > 1024)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.threads = %d is not in 0 .. 1024", o->threads);
    if (o->workspace && (uintptr_t)o->workspace % 64)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.workspace = %p is not aligned to 64 bytes", o->workspace);
    return TAMIS_OK;
}

tamis_status tamis_options_read(const tamis_plan_options *options, const tamis_device *device,
                                tamis_plan_options *filled) {
    if (!options) return tamis_fail(TAMIS_ERROR_ARGUMENT, "options = NULL: begin with TAMIS_PLAN_OPTIONS_INIT");
    const size_t smallest = offsetof(tamis_plan_options, operation) + sizeof options->operation;
    if (options->size < smallest)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.size = %zu: begin with TAMIS_PLAN_OPTIONS_INIT, which sets it",
                          options->size);
    const tamis_plan_options initial = TAMIS_PLAN_OPTIONS_INIT;
    *filled = initial;
    memcpy(filled, options, options->size < sizeof *filled ? options->size : sizeof *filled);
    for (size_t i = sizeof *filled; i < options->size; i++)
        if (((const unsigned char *)options)[i])
            return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                              "options.size = %zu: a field that this version (size %zu) does not "
                              "know is set",
                              options->size, sizeof *filled);
    filled->size = sizeof *filled;
    TRY(check_enums(filled));
    TRY(check_numbers(filled));
    if (filled->batch == 0) filled->batch = 1;
    if (filled->expected_calls == 0) filled->expected_calls = 1;
    if (filled->threads == 0) filled->threads = device->description.threads;
    if (filled->operation == TAMIS_OP_SDDMM) filled->width = 0;
    if (filled->operation == TAMIS_OP_SPMM) {
        filled->inner = 0;
        filled->edge = TAMIS_EDGE_SCALE;
    }
    return TAMIS_OK;
}

tamis_status tamis_options_from_args(const tamis_args *args, tamis_operation operation, tamis_plan_options *options) {
    const tamis_plan_options initial = TAMIS_PLAN_OPTIONS_INIT;
    *options = initial;
    options->operation = operation;
    if (!args) return TAMIS_OK;
    options->edge = args->edge;
    if (args->edge_scale != 0) options->edge_scale = args->edge_scale;
    if (args->edge_slope != 0) options->edge_slope = args->edge_slope;
    if (args->edge_epsilon != 0) options->edge_epsilon = args->edge_epsilon;
    options->batch = args->batch;
    options->trust_input = args->trust_input;
    options->deterministic = !args->any_order;
    options->threads = args->threads;
    options->algorithm = args->algorithm;
    return TAMIS_OK;
}
