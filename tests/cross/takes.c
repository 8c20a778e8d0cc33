/*
 * What algorithms of the CPU decline. Each takes all operations, edges, types, formats, index types, layouts and
 * batches but for what is said here: one that declines anything else fails.
 */
#include "cross.h"

#include <string.h>

#include "support/algorithms.h"

/* Tiles without a nonzero, or of rows without an element. */
static bool empty(tamis_operation operation, tamis_edge edge, const problem *p) {
    const problem_options *const o = &p->options;
    const int64_t widths[] = {
        [TAMIS_OP_SDDMM] = o->inner, [TAMIS_OP_SPMM] = o->width, [TAMIS_OP_FUSED] = o->inner + o->width};
    return p->S.nnz == 0 || widths[operation] == 0;
}

/* The plain loops know neither half types nor a second pass over a row nor texts. */
static bool halves_and_softmax(tamis_operation operation, tamis_edge edge, const problem *p) {
    const bool edges = operation != TAMIS_OP_SPMM && (edge == TAMIS_EDGE_SOFTMAX || edge == TAMIS_EDGE_TEXT);
    return edges || p->options.type == TAMIS_F16 || p->options.type == TAMIS_BF16;
}

/* Cells have bits in place of values. */
static bool all_but_patterns(tamis_operation operation, tamis_edge edge, const problem *p) {
    return operation != TAMIS_OP_FUSED || (p->S.values && edge != TAMIS_EDGE_MASK);
}

static bool all_but_bf16(tamis_operation operation, tamis_edge edge, const problem *p) {
    const bool wide = p->S.values && p->S.value_type != TAMIS_BF16;
    return operation == TAMIS_OP_FUSED || p->options.type != TAMIS_BF16 || wide || !cpu_isa_has_amx();
}

static const struct {
    const char *name;
    bool (*declines)(tamis_operation operation, tamis_edge edge, const problem *p);
} rows[] = {
    {"cpu-tiled", empty}, {"cpu-cells", all_but_patterns}, {"cpu-amx", all_but_bf16}, {"naive", halves_and_softmax}};

bool cross_declines(const char *algorithm, tamis_operation operation, tamis_edge edge, const problem *p) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, algorithm) == 0) return rows[i].declines(operation, edge, p);
    return false;
}
