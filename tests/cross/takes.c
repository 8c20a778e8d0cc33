/*
 * What each algorithm of the CPU takes: all operations, edges, types, formats, index types, layouts and batches but for
 * what is said here. Without it an algorithm that declines everything would pass every test.
 */
#include "cross.h"

#include <string.h>

static bool nothing(tamis_operation operation, tamis_edge edge, const problem *p) {
    (void)operation;
    (void)edge;
    (void)p;
    return false;
}

/* Tiles without a nonzero, or of rows without an element. */
static bool empty(tamis_operation operation, tamis_edge edge, const problem *p) {
    (void)edge;
    const problem_options *const o = &p->options;
    const int64_t widths[] = {
        [TAMIS_OP_SDDMM] = o->inner, [TAMIS_OP_SPMM] = o->width, [TAMIS_OP_FUSED] = o->inner + o->width};
    return p->S.nnz == 0 || widths[operation] == 0;
}

/* The plain loops know neither half types nor a second pass over a row. */
static bool halves_and_softmax(tamis_operation operation, tamis_edge edge, const problem *p) {
    const bool softmax = operation != TAMIS_OP_SPMM && edge == TAMIS_EDGE_SOFTMAX;
    return softmax || p->options.type == TAMIS_F16 || p->options.type == TAMIS_BF16;
}

static const struct {
    const char *name;
    bool (*declines)(tamis_operation operation, tamis_edge edge, const problem *p);
} rows[] = {{"auto", nothing},       {"cpu-nonzeros", nothing},   {"cpu-rows", nothing},        {"cpu-tiled", empty},
            {"cpu-panels", nothing}, {"esimd-row-simd", nothing}, {"naive", halves_and_softmax}};
enum { ROWS = sizeof rows / sizeof *rows };

static int row_of(const char *algorithm) {
    int at = 0;
    while (at < ROWS && strcmp(rows[at].name, algorithm) != 0) at++;
    return at;
}

bool cross_is_known(const char *algorithm) { return row_of(algorithm) < ROWS; }
int cross_known(void) { return ROWS - 1; /* auto is none of them */ }

bool cross_declines(const char *algorithm, tamis_operation operation, tamis_edge edge, const problem *p) {
    const int at = row_of(algorithm);
    return at < ROWS && rows[at].declines(operation, edge, p);
}
