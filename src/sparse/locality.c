/* Estimates the reuse of columns from a sample. A small hash set holds the columns of a window. */
#include "sparse/locality.h"

#include "sparse/index.h"

enum { SLOTS = 8192 };

/* Counts the distinct values among at most TAMIS_LOCALITY_MOST columns. */
static int64_t fresh_count(const void *columns, tamis_index_type type, int64_t count) {
    int16_t kept[SLOTS] = {
        0}; /* 1 + position of the column's first occurrence; small, for stacks of 64 KiB; 0: empty */
    int64_t fresh = 0;
    for (int64_t t = 0; t < count; t++) {
        const int64_t column = tamis_index_load(columns, type, t);
        uint64_t slot = ((uint64_t)column * 0x9e3779b97f4a7c15u) >> 51;
        while (kept[slot] && tamis_index_load(columns, type, kept[slot] - 1) != column) slot = (slot + 1) % SLOTS;
        if (kept[slot]) continue;
        kept[slot] = (int16_t)(t + 1);
        fresh++;
    }
    return fresh;
}

bool tamis_fresh_window(int64_t nnz, int64_t window, int w, int64_t *begin, int64_t *end) {
    if (window > TAMIS_LOCALITY_MOST) window = TAMIS_LOCALITY_MOST;
    if (window < 64) window = 64;
    const int64_t room = nnz - window;
    if (w >= TAMIS_LOCALITY_WINDOWS || (w > 0 && room <= 0)) return false;
    *begin =
        room > 0 ? room / TAMIS_LOCALITY_WINDOWS * w + room % TAMIS_LOCALITY_WINDOWS * w / TAMIS_LOCALITY_WINDOWS : 0;
    *end = *begin + window < nnz ? *begin + window : nnz;
    return true;
}

double tamis_fresh_share(const void *columns, tamis_index_type type, int64_t nnz, int64_t window) {
    int64_t seen = 0, fresh = 0, begin, end;
    for (int w = 0; tamis_fresh_window(nnz, window, w, &begin, &end); w++) {
        seen += end - begin;
        fresh += fresh_count(tamis_index_at(columns, type, begin), type, end - begin);
    }
    return seen ? (double)fresh / (double)seen : 1;
}
