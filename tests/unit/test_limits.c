/*
 * What is refused because it would go wrong where nobody sees it: workspaces whose size does not fit 64 bits, outputs
 * of a batch that share elements, patterns that are broken and come in a single call.
 */
#include "support/test.h"

#include "cpu_device.h"
#include "small.h"

/* ------------------------------------------------------------------------------------------ workspaces */

/* Operands in column-major order are staged. No element of them need exist: plans see none. */
TEST(workspaces_that_fit_nowhere) {
    static const struct {
        tamis_operation operation;
        tamis_type type;
        int64_t cols, inner, width;
        const char *says;
    } rows[] = {
        {TAMIS_OP_SDDMM, TAMIS_F32, 1LL << 40, 1LL << 30, 0, "1099511627776 x 1073741824 elements"},
        {TAMIS_OP_SPMM, TAMIS_F32, 1LL << 40, 0, 1LL << 30, "1099511627776 x 1073741824 elements"},
        {TAMIS_OP_FUSED, TAMIS_F32, 1LL << 40, 1, 1LL << 30, "1099511627776 x 1073741824 elements"},
        /* the elements fit, their bytes do not */
        {TAMIS_OP_SDDMM, TAMIS_F64, 1LL << 40, 1LL << 22, 0, "4611686018427387904 elements of 8 bytes"},
        /* the bytes fit, rounded up to 64 they do not */
        {TAMIS_OP_SDDMM, TAMIS_F16, (1LL << 31) + 1, (1LL << 31) - 1, 0, "4611686018427387903 elements of 2 bytes"},
        /* each operand fits, both together do not */
        {TAMIS_OP_FUSED, TAMIS_F32, 1LL << 40, 1LL << 20, 1LL << 20, "1152921504606846976 elements of 4 bytes"},
    };
    const int64_t columns[SMALL_NNZ] = {1, 3, 0, 2, 3};
    small s;
    small_make(&s);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tamis_options o = small_options(rows[i].operation);
        tamis_plan *plan;
        tamis_sparse S = s.S;
        S.cols = rows[i].cols;
        S.index_type = TAMIS_I64;
        S.columns = columns;
        S.values = NULL;
        o.type = rows[i].type;
        o.inner = rows[i].inner;
        o.width = rows[i].width;
        o.b_layout = o.d_layout = TAMIS_COLUMN_MAJOR;
        o.no_workspace = true; /* its size is what is asked for */
        REFUSED_MADE(plan, OVERFLOW, rows[i].says, tamis_plan_create(device, &S, &o, &plan));
    }
}

/* ------------------------------------------------------------------------------------------ outputs of a batch */

/* Outputs of 3 rows and 3 columns, 16 elements of room for each. */
static const struct {
    tamis_layout layout;
    int64_t stride, apart, batch;
    bool accepted;
} arrangements[] = {
    {TAMIS_ROW_MAJOR, 0, 0, 2, false},    {TAMIS_ROW_MAJOR, 0, 1, 2, false},
    {TAMIS_ROW_MAJOR, 0, 8, 2, false}, /* the last element is the next one's first */
    {TAMIS_ROW_MAJOR, 0, 9, 2, true},     {TAMIS_ROW_MAJOR, 0, 12, 2, true},
    {TAMIS_ROW_MAJOR, 5, 12, 2, false},   {TAMIS_ROW_MAJOR, 5, 13, 2, true},
    {TAMIS_ROW_MAJOR, 6, 3, 2, true}, /* rows beside one another */
    {TAMIS_ROW_MAJOR, 6, 2, 2, false},    {TAMIS_ROW_MAJOR, 5, 3, 2, false},
    {TAMIS_ROW_MAJOR, 6, 3, 3, false}, /* the third one's are the next row's */
    {TAMIS_ROW_MAJOR, 9, 3, 3, true},     {TAMIS_COLUMN_MAJOR, 0, 8, 2, false},
    {TAMIS_COLUMN_MAJOR, 0, 9, 2, true},  {TAMIS_COLUMN_MAJOR, 6, 3, 2, true},
    {TAMIS_COLUMN_MAJOR, 5, 3, 2, false}, {TAMIS_ROW_MAJOR, 0, 0, 1, true}, /* nobody to overlap with */
};

TEST(outputs_that_overlap) {
    small s;
    small_make(&s);
    float out[48];
    for (size_t i = 0; i < sizeof arrangements / sizeof arrangements[0]; i++) {
        tamis_options o = small_options(TAMIS_OP_SPMM);
        tamis_plan *plan = NULL;
        o.batch = arrangements[i].batch;
        o.output_layout = arrangements[i].layout;
        works(tamis_plan_create(device, &s.S, &o, &plan));
        const tamis_dense C = {.data = out,
                               .rows = SMALL_ROWS,
                               .cols = SMALL_L,
                               .stride = arrangements[i].stride,
                               .layout = arrangements[i].layout,
                               .batch_stride = arrangements[i].apart};
        for (int t = 0; t < 48; t++) out[t] = 77;
        if (arrangements[i].accepted) {
            if (tamis_plan_spmm(plan, &s.D, &C, NULL) != TAMIS_OK)
                fail_msg("arrangement %zu: %s", i, tamis_last_error());
        } else {
            refusals_watch(out, sizeof out);
            REFUSED(ARGUMENT, "C.batch_stride...outputs of the batch would overlap",
                    tamis_plan_spmm(plan, &s.D, &C, NULL));
            REFUSED(ARGUMENT, "overlap", tamis_spmm(device, &s.S, &s.D, &C, &o, NULL));
            refusals_watch(NULL, 0);
        }
        tamis_plan_destroy(plan);
    }
}

TEST(samples_that_overlap) {
    small s;
    small_make(&s);
    float samples[3 * SMALL_NNZ];
    tamis_options o = small_options(TAMIS_OP_SDDMM);
    tamis_plan *plan = NULL;
    o.batch = 3;
    works(tamis_plan_create(device, &s.S, &o, &plan));
    tamis_dense P = samples_of(&s.S, samples, TAMIS_F32);
    for (int64_t apart = 0; apart < SMALL_NNZ; apart++)
        SPOILT(P.batch_stride, apart, ARGUMENT, "overlap", tamis_plan_sddmm(plan, &s.A, &s.B, &P, NULL));
    works(tamis_plan_sddmm(plan, &s.A, &s.B, &P, NULL));
    tamis_plan_destroy(plan);
}

/* ------------------------------------------------------------------------------------------ single calls */

TEST(single_calls_check_the_pattern) {
    small s;
    small_make(&s);
    refusals_watch(&s, sizeof s);
#define SPOILT_PATTERN(S, number, value, words)                                                                        \
    SPOILT(number, value, PATTERN, words, tamis_sddmm(device, &(S), &s.A, &s.B, &s.P, NULL, NULL));                    \
    SPOILT(number, value, PATTERN, words, tamis_spmm(device, &(S), &s.D, &s.E, NULL, NULL));                           \
    SPOILT(number, value, PATTERN, words, tamis_fused(device, &(S), &s.A, &s.B, &s.D, &s.E, NULL, NULL))
    SPOILT_PATTERN(s.S, s.columns[4], SMALL_COLS, "columns[4] = 4");
    SPOILT_PATTERN(s.coo, s.columns[4], SMALL_COLS, "columns[4] = 4");
    SPOILT_PATTERN(s.S, s.columns[0], -1, "columns[0] = -1");
    SPOILT_PATTERN(s.S, s.offsets[1], SMALL_NNZ + 1, "offsets[1] = 6");
    SPOILT_PATTERN(s.coo, s.rows[4], SMALL_ROWS, "row_indices[4] = 3");
    refusals_watch(NULL, 0);
}

TEST_FIXTURE(set_up, tear_down)
