/* Sampling the reuse of columns: a small hash set of the columns of a window, emptied by changing its stamp. */
#include "select/locality.h"

#include <string.h>

#include "sparse/index.h"

enum { WINDOWS = 8, MOST = 2048, SLOTS = 8192 };

static int64_t column_of(const tamis_problem *problem, int64_t t) {
    return tamis_index_load(problem->columns, problem->index_type, t);
}

double tamis_fresh_share(const tamis_problem *problem, int64_t window) {
    int64_t columns[SLOTS];
    uint8_t stamps[SLOTS];
    int64_t seen = 0, fresh = 0;
    memset(stamps, 0, sizeof stamps);
    if (window > MOST) window = MOST;
    if (window < 64) window = 64;
    for (int w = 0; w < WINDOWS; w++) {
        const int64_t room = problem->nnz - window;
        const int64_t begin = room > 0 ? room / WINDOWS * w + room % WINDOWS * w / WINDOWS : 0;
        const int64_t end = begin + window < problem->nnz ? begin + window : problem->nnz;
        for (int64_t t = begin; t < end; t++) {
            const int64_t column = column_of(problem, t);
            uint64_t slot = ((uint64_t)column * 0x9e3779b97f4a7c15u) >> 51;
            while (stamps[slot] == w + 1 && columns[slot] != column) slot = (slot + 1) % SLOTS;
            seen++;
            if (stamps[slot] == w + 1) continue;
            stamps[slot] = (uint8_t)(w + 1);
            columns[slot] = column;
            fresh++;
        }
        if (room <= 0) break;
    }
    return seen ? (double)fresh / (double)seen : 1;
}
