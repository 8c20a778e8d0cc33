/* Collects ghost columns by a table of all columns, which yields them in order, or by a hash table with linear probing
   and a radix sort. */
#include "group/ghosts.h"

#include "base/memory.h"
#include "base/status.h"
#include "sparse/order.h"

enum { FIRST_BITS = 8 };

typedef struct tamis_ghost_slot {
    int64_t key; /* column + 1; 0: the slot is free */
    int64_t number;
} slot;

static slot *slot_of(const tamis_ghosts *g, int64_t column) {
    const uint64_t mask = ((uint64_t)1 << g->bits) - 1;
    uint64_t at = (uint64_t)column * 0x9e3779b97f4a7c15u >> (64 - g->bits);
    while (g->slots[at].key != 0 && g->slots[at].key != column + 1) at = (at + 1) & mask;
    return &g->slots[at];
}

int64_t tamis_ghosts_number(const tamis_ghosts *ghosts, int64_t column) {
    if (ghosts->numbers) return ghosts->numbers[column];
    if (!ghosts->slots) return column < ghosts->begin ? column : column - (ghosts->end - ghosts->begin);
    return slot_of(ghosts, column)->number;
}

static tamis_status grow(tamis_ghosts *g, int bits) {
    slot *const before = g->slots;
    const int64_t count = before ? (int64_t)1 << g->bits : 0;
    void *memory = NULL;
    TRY(tamis_allocate_zeroed((int64_t)1 << bits, sizeof *before, "the table of ghost rows", &memory));
    g->slots = memory;
    g->bits = bits;
    for (int64_t i = 0; i < count; i++)
        if (before[i].key != 0) *slot_of(g, before[i].key - 1) = before[i];
    tamis_release(before);
    return TAMIS_OK;
}

static tamis_status insert(tamis_ghosts *g, int64_t column) {
    slot *const found = slot_of(g, column);
    if (found->key != 0) return TAMIS_OK;
    found->key = column + 1;
    g->count++;
    return g->count > (int64_t)1 << (g->bits - 1) ? grow(g, g->bits + 1) : TAMIS_OK;
}

static tamis_status collect(tamis_ghosts *g, int64_t most) {
    void *columns = NULL, *spare = NULL;
    tamis_status status = TAMIS_OK;
    TRY_GOTO(failed, tamis_allocate(g->count, sizeof(int64_t), "the list of ghost rows", &columns));
    TRY_GOTO(failed, tamis_allocate(g->count, sizeof(int64_t), "sorting the ghost rows", &spare));
    int64_t *sorted = columns;
    for (int64_t i = 0, n = 0; i < (int64_t)1 << g->bits; i++)
        if (g->slots[i].key != 0) sorted[n++] = g->slots[i].key - 1;
    tamis_sort_numbers(&sorted, spare, g->count, most);
    for (int64_t i = 0; i < g->count; i++) slot_of(g, sorted[i])->number = i;
    tamis_release(sorted == columns ? spare : columns);
    g->columns = sorted;
    return TAMIS_OK;
failed:
    tamis_release(columns);
    tamis_release(spare);
    return status;
}

static tamis_status find_in_hash(const tamis_sparse *S, int64_t begin, int64_t end, tamis_ghosts *found) {
    TRY(grow(found, FIRST_BITS));
    for (int64_t t = S->offset_base; t < S->offset_base + S->nnz; t++) {
        const int64_t column = tamis_index_load(S->columns, S->index_type, t);
        if (column < begin || column >= end) TRY(insert(found, column));
    }
    return collect(found, S->cols);
}

static tamis_status find_in_table(const tamis_sparse *S, int64_t begin, int64_t end, tamis_ghosts *found) {
    TRY(tamis_allocate_zeroed(S->cols, sizeof *found->numbers, "the table of ghost rows", (void **)&found->numbers));
    int32_t *const numbers = found->numbers;
    for (int64_t t = S->offset_base; t < S->offset_base + S->nnz; t++)
        numbers[tamis_index_load(S->columns, S->index_type, t)] = 1;
    for (int64_t j = begin; j < end; j++) numbers[j] = 0;
    for (int64_t j = 0; j < S->cols; j++) found->count += numbers[j];
    TRY(tamis_allocate(found->count, sizeof *found->columns, "the list of ghost rows", (void **)&found->columns));
    int32_t next = 0;
    for (int64_t j = 0; j < S->cols; j++) {
        if (numbers[j] == 0) continue;
        found->columns[next] = j;
        numbers[j] = next++;
    }
    return TAMIS_OK;
}

tamis_status tamis_ghosts_find(const tamis_sparse *S, int64_t begin, int64_t end, tamis_ghosts *ghosts) {
    tamis_status status = TAMIS_OK;
    tamis_ghosts found = {.columns = NULL};
    const bool few = S->cols / 2 > S->nnz || S->cols > INT32_MAX;
    TRY_GOTO(failed, few ? find_in_hash(S, begin, end, &found) : find_in_table(S, begin, end, &found));
    *ghosts = found;
    return TAMIS_OK;
failed:
    tamis_ghosts_release(&found);
    return status;
}

tamis_status tamis_ghosts_all(int64_t cols, int64_t begin, int64_t end, tamis_ghosts *ghosts) {
    tamis_ghosts all = {.count = cols - (end - begin), .begin = begin, .end = end};
    TRY(tamis_allocate(all.count, sizeof(int64_t), "the list of ghost rows", (void **)&all.columns));
    for (int64_t i = 0; i < all.count; i++) all.columns[i] = i < begin ? i : i + (end - begin);
    *ghosts = all;
    return TAMIS_OK;
}

void tamis_ghosts_release(tamis_ghosts *ghosts) {
    tamis_release(ghosts->columns);
    tamis_release(ghosts->numbers);
    tamis_release(ghosts->slots);
    *ghosts = (tamis_ghosts){.columns = NULL};
}
