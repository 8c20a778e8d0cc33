/* Parts of a shard's pattern in memory that the device reads. */
#include "group/pieces.h"

#include <string.h>

#include "base/scope.h"
#include "base/sizes.h"

/* Returns the number of S's sets of values: one for each member of a batch, or one. */
static int64_t sets_of(const tamis_row_exchange *e) { return tamis_row_lists(e)->local.batch_stride ? e->batch : 1; }

/* Gathers the values of a part, set by set. entries: indices of its entries within a set. */
static tamis_status collect_values(const tamis_row_exchange *e, const int64_t *entries, int64_t nnz, void **values) {
    const tamis_sparse *const whole = &tamis_row_lists(e)->local;
    const int64_t sets = sets_of(e);
    const int64_t size = (int64_t)tamis_type_size(whole->value_type);
    TRY(tamis_scope_allocate(tamis_times(nnz, sets), (size_t)size, "the values of a part", values));
    for (int64_t s = 0; s < sets; s++)
        for (int64_t t = 0; t < nnz; t++) {
            const char *const from = (const char *)whole->values + (s * whole->batch_stride + entries[t]) * size;
            char *const to = (char *)*values + (s * nnz + t) * size;
            memcpy(to, from, (size_t)size);
        }
    return TAMIS_OK;
}

/* Copies the values to the device, if the operation reads them. */
static tamis_status put_values(const tamis_row_exchange *e, const tamis_options *o, const int64_t *entries,
                               tamis_piece *piece) {
    const tamis_group *const group = e->group;
    const tamis_sparse *const whole = &tamis_row_lists(e)->local;
    const int64_t size = (int64_t)tamis_type_size(whole->value_type);
    void *collected;
    TAMIS_SCOPE;
    const void *const values = piece->S.values;
    piece->S.values = NULL;
    if (!whole->values || !tamis_needs_values(o->operation, o->edge)) return TAMIS_OK;
    if (!entries) {
        const int64_t count = (sets_of(e) - 1) * whole->batch_stride + piece->S.nnz;
        return tamis_group_put(group, values, count * size, "the values of a shard", &piece->memory[2],
                               &piece->S.values);
    }
    piece->S.batch_stride = whole->batch_stride ? piece->S.nnz : 0;
    TRY(collect_values(e, entries, piece->S.nnz, &collected));
    return tamis_group_put(group, collected, piece->S.nnz * sets_of(e) * size, "the values of a part",
                           &piece->memory[2], &piece->S.values);
}

tamis_status tamis_piece_put(const tamis_row_exchange *e, const tamis_options *o, const tamis_sparse *S,
                             const int64_t *entries, tamis_piece *piece) {
    const tamis_group *const group = e->group;
    const tamis_sparse *const whole = &tamis_row_lists(e)->local;
    piece->S = *S;
    if (!piece->S.values) piece->S.values = whole->values;
    piece->S.batch_stride = whole->batch_stride;
    if (!tamis_group_on_device(group)) return TAMIS_OK;
    piece->S.location = TAMIS_DEVICE;
    TRY(tamis_group_put(group, S->offsets, (S->rows + 1) * (int64_t)tamis_index_size(S->offset_type),
                        "the offsets of a shard", &piece->memory[0], &piece->S.offsets));
    TRY(tamis_group_put(group, S->columns, S->nnz * (int64_t)tamis_index_size(S->index_type), "the columns of a shard",
                        &piece->memory[1], &piece->S.columns));
    return put_values(e, o, entries, piece);
}

tamis_status tamis_piece_plan_part(const tamis_row_exchange *e, const tamis_options *o, const tamis_sparse *S,
                                   const int64_t *entries, tamis_piece *piece) {
    const tamis_part part = {.entries = entries, .own_values = tamis_group_on_device(e->group)};
    TRY(tamis_piece_put(e, o, S, entries, piece));
    return tamis_plan_make_part(e->group->device, &piece->S, &part, o, &piece->plan);
}

tamis_status tamis_piece_plan(const tamis_row_exchange *e, const tamis_options *o, const tamis_sparse *S,
                              tamis_piece *piece) {
    TRY(tamis_piece_put(e, o, S, NULL, piece));
    return tamis_plan_create(e->group->device, &piece->S, o, &piece->plan);
}

void tamis_piece_release(const tamis_row_exchange *e, tamis_piece *piece) {
    tamis_plan_destroy(piece->plan);
    for (int i = 0; i < 3; i++) tamis_group_release(e->group, piece->memory[i]);
}
