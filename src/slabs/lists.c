/* The lists of slabs and pieces, and the sizes of their contents. */
#include "slabs/slabs.h"

#include "base/memory.h"
#include "base/status.h"

static tamis_status grow(void **list, int64_t *room, int64_t count, size_t size, const char *what) {
    if (count < *room) return TAMIS_OK;
    const int64_t more = *room ? 2 * *room : 16;
    TRY(tamis_reallocate(*room, more, size, what, list));
    *room = more;
    return TAMIS_OK;
}

tamis_status tamis_slab_add(tamis_slab_plan *plan, const tamis_slab *slab) {
    TRY(grow((void **)&plan->slabs, &plan->slab_room, plan->report.slabs, sizeof *slab, "the list of slabs"));
    plan->slabs[plan->report.slabs++] = *slab;
    if (slab->rows > plan->report.rows_most) plan->report.rows_most = slab->rows;
    return TAMIS_OK;
}

tamis_status tamis_slab_add_piece(tamis_slab_plan *plan, const tamis_slab_piece *piece) {
    TRY(grow((void **)&plan->pieces, &plan->piece_room, plan->report.pieces, sizeof *piece, "the list of pieces"));
    plan->pieces[plan->report.pieces++] = *piece;
    if (piece->nnz > plan->report.nnz_most) plan->report.nnz_most = piece->nnz;
    return TAMIS_OK;
}

/* Returns an estimate of the memory of a piece's call beside its operands, for any pattern; a named algorithm may take
   more. */
static tamis_call_bytes call_bytes(const tamis_slab_plan *plan) {
    const tamis_options *const o = &plan->options;
    const tamis_problem problem = {.operation = o->operation,
                                   .edge = o->operation == TAMIS_OP_SPMM ? TAMIS_EDGE_SCALE : o->edge,
                                   .type = o->type,
                                   .output_type = plan->out_type,
                                   .inner = o->inner,
                                   .width = o->width,
                                   .batch = 1,
                                   .d_is_b = o->d_is_b,
                                   .device = plan->device->handle,
                                   .once = true};
    return plan->device->backend->call_bytes(&problem);
}

tamis_status tamis_slab_count_bytes(tamis_slab_plan *plan) {
    const tamis_options *const o = &plan->options;
    const tamis_sparse *const S = &plan->S;
    tamis_slab_bytes *const b = &plan->bytes;
    const int64_t size = (int64_t)tamis_type_size(o->type), out_size = (int64_t)tamis_type_size(plan->out_type);
    const bool spmm = o->operation == TAMIS_OP_SPMM, sddmm = o->operation == TAMIS_OP_SDDMM;
    const int64_t b_cols = spmm ? o->width : o->inner;
    const int64_t d_cols = o->operation == TAMIS_OP_FUSED && !o->d_is_b ? o->width : 0;
    const int64_t row_most = INT64_MAX / 64; /* a few of them can be added without overflow checks */
    b->a = spmm ? 0 : o->inner * size;       /* no overflow: options are within TAMIS_SIZE_MOST */
    b->out = sddmm ? 0 : o->width * out_size;
    b->b = b_cols * size;
    b->d = d_cols * size;
    b->row = b->a + b->out;
    b->b_row = b->b + b->d;
    if (b->row > row_most || b->b_row > row_most)
        return tamis_fail(TAMIS_ERROR_OVERFLOW,
                          "options.inner = %lld, width = %lld: the bytes of a row do not fit 64 bits",
                          (long long)o->inner, (long long)o->width);
    if (S->values && tamis_needs_values(o->operation, o->edge)) b->value = (int64_t)tamis_type_size(S->value_type);
    b->sample = sddmm ? out_size : 0;
    const tamis_call_bytes call = call_bytes(plan);
    b->piece_row = (int64_t)sizeof(int32_t) + call.row;
    b->entry = (int64_t)sizeof(int32_t) + b->value + b->sample + call.entry;
    b->whole_entry = (int64_t)tamis_index_size(S->index_type) + b->value + b->sample + call.entry;
    return TAMIS_OK;
}
