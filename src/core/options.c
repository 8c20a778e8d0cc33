#include "core/options.h"

#include <math.h>

#include "base/edges.h"
#include "base/reserved.h"
#include "base/status.h"
#include "sparse/check.h"

static tamis_status check_choice(const char *name, int64_t value, int64_t most, const char *type) {
    if (value >= 0 && value <= most) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.%s = %lld is not a valid %s", name, (long long)value, type);
}

static tamis_status check_choices(const tamis_options *o) {
    TRY(check_choice("operation", (int64_t)o->operation, TAMIS_OP_FUSED, "tamis_operation"));
    if (!tamis_edge_is_valid(o->edge)) TRY(check_choice("edge", (int64_t)o->edge, TAMIS_EDGE_COUNT - 1, "tamis_edge"));
    TRY(check_choice("type", (int64_t)o->type, TAMIS_BF16, "tamis_type"));
    if (o->output_type != TAMIS_SAME_TYPE)
        TRY(check_choice("output_type", (int64_t)o->output_type, TAMIS_BF16, "tamis_type"));
    TRY(check_choice("effort", (int64_t)o->effort, TAMIS_EFFORT_MEASURE, "tamis_effort"));
    TRY(check_choice("overlap", (int64_t)o->overlap, TAMIS_OVERLAP_ALWAYS, "tamis_overlap"));
    TRY(check_choice("exchange", (int64_t)o->exchange, TAMIS_EXCHANGE_COVER, "tamis_exchange"));
    TRY(check_choice("math", (int64_t)o->math, TAMIS_MATH_TF32, "tamis_math"));
    TRY(check_choice("a_layout", (int64_t)o->a_layout, TAMIS_COLUMN_MAJOR, "tamis_layout"));
    TRY(check_choice("b_layout", (int64_t)o->b_layout, TAMIS_COLUMN_MAJOR, "tamis_layout"));
    TRY(check_choice("d_layout", (int64_t)o->d_layout, TAMIS_COLUMN_MAJOR, "tamis_layout"));
    return check_choice("output_layout", (int64_t)o->output_layout, TAMIS_COLUMN_MAJOR, "tamis_layout");
}

static tamis_status check_numbers(const tamis_options *o) {
    if (!isfinite(o->edge_scale))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.edge_scale = %g is not finite", o->edge_scale);
    if (!isfinite(o->edge_slope))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.edge_slope = %g is not finite", o->edge_slope);
    if (!(o->edge_epsilon > 0) || !isfinite(o->edge_epsilon))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.edge_epsilon = %g is not positive and finite",
                          o->edge_epsilon);
    if (o->batch < 1)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.batch = %lld: expected 1 or more", (long long)o->batch);
    if (o->expected_calls < 1)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.expected_calls = %lld: expected 1 or more",
                          (long long)o->expected_calls);
    TRY(tamis_size_check("options", "batch", o->batch));
    if (o->threads < 0 || o->threads > 1024)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.threads = %d is not in 0 .. 1024", o->threads);
    return TAMIS_OK;
}

static tamis_status check_size(const char *name, int64_t value) {
    if (value != -1) return tamis_size_check("options", name, value);
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.%s = -1: it must be set", name);
}

static tamis_status check_combinations(const tamis_options *o) {
    if (o->math == TAMIS_MATH_TF32 && o->type != TAMIS_F32)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.math = tf32 needs options.type = fp32, not %s",
                          tamis_type_name(o->type));
    if (o->output_type != o->type && (o->output_type != TAMIS_F32 || tamis_type_size(o->type) != 2))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.output_type = %s: for %s inputs it must be %s%s",
                          tamis_type_name(o->output_type), tamis_type_name(o->type), tamis_type_name(o->type),
                          tamis_type_size(o->type) == 2 ? " or fp32" : "");
    if (o->transpose && o->operation == TAMIS_OP_SDDMM)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                          "options.transpose = true is not supported for SDDMM: exchange A and B instead");
    if ((o->edge == TAMIS_EDGE_TEXT) != (o->edge_text != NULL) && o->operation != TAMIS_OP_SPMM)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.edge = %s, but options.edge_text is %s: %s",
                          tamis_edge_name(o->edge), o->edge_text ? "set" : "NULL",
                          o->edge_text ? "set options.edge = TAMIS_EDGE_TEXT for an expression" : "set it");
    if (o->keep_softmax && (o->operation == TAMIS_OP_SPMM || o->edge != TAMIS_EDGE_SOFTMAX))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.keep_softmax = true needs options.edge = softmax, not %s%s",
                          tamis_edge_name(o->edge), o->operation == TAMIS_OP_SPMM ? ", and spmm has no edge" : "");
    if (o->d_is_b && o->operation != TAMIS_OP_FUSED)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.d_is_b = true needs options.operation = fused, not %s",
                          tamis_operation_name(o->operation));
    if (o->d_is_b && o->width != o->inner)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "options.d_is_b = true, but options.width = %lld is not options.inner = %lld",
                          (long long)o->width, (long long)o->inner);
    const tamis_allocator *const a = o->allocator;
    if (a && (!a->allocate || !a->release))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.allocator->%s = NULL: expected a function",
                          a->allocate ? "release" : "allocate");
    return TAMIS_OK;
}

tamis_status tamis_options_read(const tamis_options *options, const tamis_device *device, tamis_options *filled) {
    if (!options)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options = NULL: expected options initialised with TAMIS_OPTIONS_INIT");
    TRY(TAMIS_RESERVED(options, "options"));
    *filled = *options;
    TRY(check_choices(filled));
    TRY(check_numbers(filled));
    if (filled->output_type == TAMIS_SAME_TYPE) filled->output_type = filled->type;
    if (filled->threads == 0) filled->threads = device->description.threads;
    if (filled->operation == TAMIS_OP_SDDMM) filled->width = 0;
    if (filled->operation == TAMIS_OP_SPMM) {
        filled->inner = 0;
        filled->edge = TAMIS_EDGE_SCALE;
    }
    if (filled->operation == TAMIS_OP_FUSED && filled->width == -1) filled->width = filled->inner;
    if (filled->d_is_b) filled->d_layout = filled->b_layout;
    TRY(check_size("inner", filled->inner));
    TRY(check_size("width", filled->width));
    return check_combinations(filled);
}

tamis_status tamis_execution_read(const tamis_execution *execution, tamis_execution *filled) {
    static const tamis_execution initial = TAMIS_EXECUTION_INIT;
    *filled = initial;
    if (!execution) return TAMIS_OK;
    TRY(TAMIS_RESERVED(execution, "execution"));
    *filled = *execution;
    if (isnan(filled->alpha)) return tamis_fail(TAMIS_ERROR_ARGUMENT, "execution.alpha is not a number");
    if (isnan(filled->beta)) return tamis_fail(TAMIS_ERROR_ARGUMENT, "execution.beta is not a number");
    return tamis_size_check("execution", "values_stride", filled->values_stride);
}
