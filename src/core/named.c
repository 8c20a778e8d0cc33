#include "core/named.h"

#include <stdio.h>
#include <string.h>

#include "base/reserved.h"
#include "base/status.h"

/* The operands of a call, for checks. */
typedef struct taking {
    tamis_named *named;
    tamis_operand inputs[TAMIS_PROGRAM_ARRAYS], outputs[TAMIS_PROGRAM_ARRAYS];
    char gradient_names[TAMIS_PROGRAM_ARRAYS][TAMIS_NAME_MOST + 24];
} taking;

static int number_of(const tamis_edge_text *text, const char *name) {
    for (int k = 0; name && k < text->value.arrays; k++)
        if (strcmp(text->value.array[k].name, name) == 0) return k;
    return -1;
}

/* How many numbers an array has, and what they are for. */
static int64_t count_of(const tamis_named_request *r, int kind, const char **each) {
    *each = kind == TAMIS_STEP_ROW     ? "one for each row of op(S)"
            : kind == TAMIS_STEP_COL   ? "one for each column of op(S)"
            : kind == TAMIS_STEP_ENTRY ? "one for each entry of S"
                                       : "one for each member of the batch, batch_stride apart";
    return kind == TAMIS_STEP_ROW ? r->rows : kind == TAMIS_STEP_COL ? r->cols : kind == TAMIS_STEP_ENTRY ? r->nnz : 1;
}

/* Checks an array or its gradient. */
static tamis_status check(const tamis_named_request *r, const tamis_array_name *array, const tamis_dense *view,
                          bool output, taking *all, tamis_operand *x) {
    const tamis_type type = r->options->type, wide = tamis_sum_type(type);
    const int number = (int)(array - r->text->value.array);
    const bool fits = view->type == wide || (!output && view->type == type);
    const char *each;
    snprintf(all->gradient_names[number], sizeof all->gradient_names[number], "gradient of %s", array->name);
    *x = (tamis_operand){.name = output ? all->gradient_names[number] : array->name,
                         .view = view,
                         .rows = count_of(r, array->kind, &each),
                         .cols = 1,
                         .type = fits ? view->type : wide,
                         .output = output,
                         .packed = true,
                         .batch = r->options->batch,
                         .staged = -1};
    if (!fits && !output && wide != type && (unsigned)view->type <= TAMIS_BF16)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.type = %s: expected %s or %s", array->name,
                          tamis_type_name(view->type), tamis_type_name(type), tamis_type_name(wide));
    return tamis_operand_check(r->device, x);
}

/* Takes one of the execution's. */
static tamis_status take(const tamis_named_request *r, const tamis_edge_operand *given, int64_t at, taking *x) {
    tamis_named *const named = x->named;
    TRY(TAMIS_RESERVED(given, "execution.edge_operands"));
    const tamis_program *const p = &r->text->value;
    const int number = number_of(r->text, given->name);
    if (number < 0)
        return tamis_fail(
            TAMIS_ERROR_ARGUMENT,
            "execution.edge_operands[%lld].name = '%.48s': the edge's text reads no array of that name%s%s",
            (long long)at, given->name ? given->name : "NULL", p->arrays > 0 ? ", but " : "",
            p->arrays > 0 ? p->array[0].name : "");
    if (named->at[number].type != TAMIS_SAME_TYPE)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "execution.edge_operands: two have the name '%s'", given->name);
    if (!given->values)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "execution.edge_operands: %s = NULL: expected an array", given->name);
    const tamis_array_name *const array = &p->array[number];
    TRY(check(r, array, given->values, false, x, &x->inputs[number]));
    const tamis_dense *const v = given->values;
    named->at[number] =
        (tamis_edge_array){{v->data, 0}, v->batch_stride, v->type, array->kind == TAMIS_STEP_ENTRY && r->scattered};
    if (!r->gradients || !given->gradient) return TAMIS_OK;
    named->gradient[number] = given->gradient;
    return check(r, array, given->gradient, true, x, &x->outputs[number]);
}

/* No output may share memory with another array of the call. */
static tamis_status check_apart(const tamis_named_request *r, const taking *x, const tamis_operand *const *others,
                                int other_count) {
    const tamis_named *const named = x->named;
    const bool handles = r->device->backend->handles;
    for (int k = 0; k < r->text->value.arrays; k++) {
        for (int i = 0; i < other_count; i++) {
            if (others[i]->output) TRY(tamis_check_apart(handles, others[i], &x->inputs[k]));
            if (named->gradient[k]) TRY(tamis_check_apart(handles, &x->outputs[k], others[i]));
        }
        for (int i = 0; i < r->text->value.arrays && named->gradient[k]; i++) {
            TRY(tamis_check_apart(handles, &x->outputs[k], &x->inputs[i]));
            if (i < k && named->gradient[i]) TRY(tamis_check_apart(handles, &x->outputs[k], &x->outputs[i]));
        }
    }
    return TAMIS_OK;
}

tamis_status tamis_named_take(const tamis_named_request *r, const tamis_execution *given,
                              const tamis_operand *const *others, int other_count, tamis_named *named) {
    const int64_t count = given->edge_operand_count;
    if (!r->text && count == 0) return TAMIS_OK;
    taking x = {.named = named};
    *named = (tamis_named){.gradient = {NULL}};
    for (int k = 0; k < TAMIS_PROGRAM_ARRAYS; k++) named->at[k].type = TAMIS_SAME_TYPE; /* not given yet */
    if (count < 0 || count > TAMIS_PROGRAM_ARRAYS)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "execution.edge_operand_count = %lld: expected 0 .. %d",
                          (long long)count, TAMIS_PROGRAM_ARRAYS);
    if (count > 0 && !given->edge_operands)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "execution.edge_operands = NULL, but execution.edge_operand_count = %lld", (long long)count);
    if (count > 0 && !r->text)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "execution.edge_operand_count = %lld, but the edge is no text, which alone reads arrays",
                          (long long)count);
    for (int64_t k = 0; k < count; k++) TRY(take(r, &given->edge_operands[k], k, &x));
    for (int k = 0; k < r->text->value.arrays; k++) {
        const tamis_array_name *const array = &r->text->value.array[k];
        const char *each;
        const int64_t expected = count_of(r, array->kind, &each);
        if (named->at[k].type == TAMIS_SAME_TYPE)
            return tamis_fail(
                TAMIS_ERROR_ARGUMENT,
                "execution.edge_operands have no '%s', which the edge's text reads: give %lld number%s, %s",
                array->name, (long long)expected, expected == 1 ? "" : "s", each);
    }
    return check_apart(r, &x, others, other_count);
}
