/*
 * Every algorithm at every width of a list, for every type: kernels are made for a width, and one that is right at the
 * others may be wrong at this. What else a problem has goes round: edges, formats, index types, layouts, beta.
 */
#include "cross.h"

static const int64_t widths[] = {1, 3, 7, 32, 37, 64, 100, 128, 200, 256, 512, 1000, 1024, 4096};

enum {
    WIDTHS = sizeof widths / sizeof widths[0],
    TYPES = TAMIS_BF16 + 1,
    OPERATIONS = TAMIS_OP_FUSED + 1,
    PLAIN = OPERATIONS * TYPES * WIDTHS, /* an edge that no algorithm declines, parameters as they come, aligned rows */
    SOFTMAX = TYPES * WIDTHS             /* sddmm and fused in turn, parameters drawn, rows anywhere */
};
const int cross_sweep_count = PLAIN + SOFTMAX;

static cross_case with(int64_t width, unsigned flags) {
    return (cross_case){"width", "kernels are made for a width", 40, 70, 300, width, width, SHAPE_HUB, flags, 0};
}

cross_card cross_sweep_card(int number) {
    static const unsigned plain[] = {0, CASE_COO | CASE_BETA, CASE_WIDE_INDEX | CASE_WIDE_OFFSET, CASE_COLUMN_MAJOR,
                                     CASE_PATTERN | CASE_BETA};
    static const unsigned anywhere[] = {CASE_PADDED, CASE_PADDED | CASE_UNALIGNED, CASE_PADDED | CASE_COLUMN_MAJOR};
    const int width = number % WIDTHS, type = number / WIDTHS % TYPES, operation = number / (WIDTHS * TYPES);
    cross_card card = {.type = (tamis_type)type};
    if (number < PLAIN) { /* five arrangements and seven edges: any two meet */
        const int turn = number + operation;
        card.operation = (tamis_operation)operation;
        card.edge = operation == TAMIS_OP_SPMM ? TAMIS_EDGE_SCALE : (tamis_edge)(turn % TAMIS_EDGE_SOFTMAX);
        /* some methods of SpMM have one place for a column of a row */
        const unsigned distinct = operation == TAMIS_OP_SPMM ? CASE_DISTINCT : 0;
        card.problem = with(widths[width], plain[turn % 5] | CASE_DEFAULTS | distinct);
    } else {
        card.operation = (width + type) % 2 ? TAMIS_OP_FUSED : TAMIS_OP_SDDMM;
        card.edge = TAMIS_EDGE_SOFTMAX;
        card.problem = with(widths[width], anywhere[number % 3]);
    }
    return card;
}
