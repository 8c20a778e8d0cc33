/* Masks of attention, against the definition of tamis/mask.h read column by column. */
#include "support/operation.h"

#include <tamis/mask.h>

#include "sparse/index.h"

enum { LIST, LENGTHS, ROW_LENGTHS, BLOCK_OFFSETS, BLOCK_COLUMNS, OFFSETS, COLUMNS };

typedef struct own {
    tamis_mask mask;
    tamis_sparse blocks;
    bool told; /* nnz is asked for; without it nothing waits */
    tamis_index_type offset_type, index_type;
} own;

/* Sizes on both sides of a word of columns, of what a group of work-items looks at at once, and of several of that. */
static const struct kind {
    int64_t rows, cols, offset, left, right, dilation, every, globals;
    bool causal, sinks;
} kinds[] = {{1, 1, 0, -1, -1, 1, 0, 0, false, false},       {5, 7, 0, -1, -1, 1, 0, 0, false, false},
             {7, 5, 0, -1, -1, 1, 0, 0, true, false},        {40, 40, 0, -1, -1, 1, 0, 0, true, false},
             {33, 64, 0, 0, 0, 1, 0, 0, false, false},       {100, 100, 0, 3, 5, 1, 0, 0, false, false},
             {100, 100, 0, 31, 0, 1, 0, 0, true, false},     {100, 100, 0, 40, 70, 1, 0, 0, true, false},
             {100, 300, 200, 40, -1, 1, 0, 0, false, false}, {100, 300, 200, -1, 2, 1, 0, 0, false, false},
             {3, 9000, 8997, -1, -1, 1, 0, 0, true, false},  {3, 9000, 8990, 700, 3, 1, 0, 0, false, false},
             {3, 9000, 8990, 700, 0, 1, 0, 70, true, true},  {3, 9000, 8990, 8800, 0, 1, 0, 300, true, true},
             {90, 90, 0, 9, 9, 1, 0, 4, false, false},       {90, 90, 0, 9, 9, 1, 0, 40, true, false},
             {90, 90, 0, 9, 9, 1, 0, 4, false, true},        {90, 90, 0, 40, 40, 3, 0, 0, false, false},
             {90, 90, 0, 40, 0, 7, 0, 2, true, true},        {90, 90, 0, -1, -1, 1, 8, 0, false, false},
             {90, 90, 0, 8, 0, 1, 8, 0, true, false},        {90, 90, 0, 20, 20, 6, 4, 3, false, false},
             {90, 90, 0, 10, 10, 1, 50, 0, false, false},    {60, 20, 0, 3, 3, 1, 0, 2, false, false},
             {60, 20, -30, 3, 3, 1, 5, 2, false, false},     {20, 60, 50, 3, 3, 1, 0, 0, false, false},
             {20, 60, -100, 3, 3, 1, 7, 0, true, false},     {20, 60, 100, 200, 3, 13, 7, 90, false, true},
             {0, 9, 0, 3, 3, 1, 0, 0, false, false},         {9, 0, 0, 3, 3, 1, 0, 0, false, false},
             {9, 40, 0, -1, -1, 1, 0, 40, false, true},      {2, 70, 0, -1, -1, 1, 0, 33, false, true}};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* ------------------------------------------------------------------------------------------ the definition */

static int64_t at(const operation_case *c, int k, int64_t i) {
    return tamis_index_load(c->of[k].m.twin.host, c->of[k].index_type, i);
}

static bool is_listed(const operation_case *c, int64_t place) {
    for (int64_t g = 0; g < OPERATION_OWN(c)->mask.global_count; g++)
        if (at(c, LIST, g) == place) return true;
    return false;
}

static bool has_block(const operation_case *c, int64_t i, int64_t j) {
    const tamis_mask *const m = &OPERATION_OWN(c)->mask;
    if (m->block == 0) return false;
    const int64_t row = i / m->block;
    for (int64_t t = at(c, BLOCK_OFFSETS, row); t < at(c, BLOCK_OFFSETS, row + 1); t++)
        if (at(c, BLOCK_COLUMNS, t) == j / m->block) return true;
    return false;
}

/* True if row i of a member keeps column j of it. */
static bool keeps(const operation_case *c, int64_t member, int64_t i, int64_t j) {
    const tamis_mask *const m = &OPERATION_OWN(c)->mask;
    const int64_t length = c->of[LENGTHS].name ? at(c, LENGTHS, member) : m->cols;
    const int64_t place = (m->from_end ? length - m->rows + i : i) + m->offset;
    const bool window = m->left >= 0 || m->right >= 0;
    const bool any = window || m->every > 0 || m->globals > 0 || m->global_count > 0 || m->block > 0;
    if (j >= length || (c->of[ROW_LENGTHS].name && i >= at(c, ROW_LENGTHS, member))) return false;
    if (m->causal && j > place) return false;
    if (!any) return true;
    if (window && (m->left < 0 || j >= place - m->left) && (m->right < 0 || j <= place + m->right) &&
        (place - j) % m->dilation == 0)
        return true;
    if (m->every > 0 && (place - j) % m->every == 0) return true;
    if (j < m->globals || is_listed(c, j)) return true;
    if (!m->sinks && place >= 0 && place < m->cols && (place < m->globals || is_listed(c, place))) return true;
    return has_block(c, i, j);
}

/* Where columns are kept, all of them; returns how many there are. */
static int64_t define(const operation_case *c, double *offsets, double *columns) {
    const tamis_mask *const m = &OPERATION_OWN(c)->mask;
    int64_t nnz = 0;
    for (int64_t r = 0; r < m->members * m->rows; r++) {
        for (int64_t j = 0; j < m->cols; j++) {
            if (!keeps(c, r / m->rows, r % m->rows, j)) continue;
            if (columns) columns[nnz] = (double)(r / m->rows * m->cols + j);
            nnz++;
        }
        if (offsets) offsets[r + 1] = (double)nnz;
    }
    return nnz;
}

/* ------------------------------------------------------------------------------------------ what is drawn */

static void add_numbers(operation_case *c, int k, const char *name, const int64_t *numbers, int64_t count,
                        tamis_index_type type) {
    operand_indices(c, k, OPERAND_IN, name, count, type)->optional = true;
    for (int64_t i = 0; i < count; i++) tamis_index_store(c->of[k].m.twin.host, type, i, numbers[i]);
}

static tamis_index_type draw_type(operation_case *c) { return (tamis_index_type)operation_below(c, 2); }

static void add_blocks(operation_case *c, own *x) {
    enum { MOST = 1000 };
    static const int64_t sizes[] = {1, 3, 7, 16, 31, 32, 33, 50, 64, 200};
    int64_t offsets[MOST + 1] = {0}, columns[MOST], nnz = 0;
    const int64_t block =
        x->mask.rows + x->mask.cols > 60 ? OPERATION_ONE_OF(c, sizes) + 6 : OPERATION_ONE_OF(c, sizes);
    const int64_t rows = (x->mask.rows + block - 1) / block, cols = (x->mask.cols + block - 1) / block;
    if (rows * cols > MOST) return;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++)
            if (operation_once_in(c, 4)) columns[nnz++] = j;
        offsets[i + 1] = nnz;
    }
    x->mask.block = block;
    add_numbers(c, BLOCK_OFFSETS, "block offsets", offsets, rows + 1, draw_type(c));
    add_numbers(c, BLOCK_COLUMNS, "block columns", columns, nnz, draw_type(c));
    x->blocks = (tamis_sparse){.format = TAMIS_CSR,
                               .location = test_has_memory(c->device) ? TAMIS_DEVICE : TAMIS_HOST,
                               .rows = rows,
                               .cols = cols,
                               .nnz = nnz,
                               .offset_type = c->of[BLOCK_OFFSETS].index_type,
                               .index_type = c->of[BLOCK_COLUMNS].index_type};
}

/* Everything with everything. */
static void draw_any(operation_case *c, own *x) {
    tamis_mask *const m = &x->mask;
    m->rows = 1 + operation_below(c, 70);
    m->cols = 1 + operation_below(c, operation_once_in(c, 8) ? 700 : 90);
    if (operation_once_in(c, 30)) m->rows = 3000, m->cols = 40; /* enough rows for several threads */
    m->members = operation_once_in(c, 3) ? operation_below(c, 5) : 1;
    m->offset = operation_once_in(c, 2) ? operation_below(c, 111) - 20 : 0;
    m->causal = operation_once_in(c, 2);
    m->from_end = operation_once_in(c, 4);
    m->sinks = operation_once_in(c, 2);
    if (operation_once_in(c, 2)) m->left = operation_below(c, 82) - 1, m->right = operation_below(c, 82) - 1;
    if (operation_once_in(c, 3)) m->dilation = 1 + operation_below(c, 40);
    if (operation_once_in(c, 3)) m->every = 1 + operation_below(c, 70);
    if (operation_once_in(c, 3)) m->globals = operation_below(c, 41);
    if (operation_once_in(c, 3)) {
        int64_t places[700], count = 0;
        for (int64_t j = 0; j < m->cols; j++)
            if (operation_once_in(c, j % 32 < 2 || j % 32 == 31 ? 3 : 12)) places[count++] = j;
        m->global_count = count;
        m->global_type = draw_type(c);
        add_numbers(c, LIST, "global list", places, count, m->global_type);
    }
    if (operation_once_in(c, 3)) add_blocks(c, x);
    int64_t lengths[4], row_lengths[4];
    for (int i = 0; i < 4; i++)
        lengths[i] = operation_below(c, m->cols + 1), row_lengths[i] = operation_below(c, m->rows + 1);
    m->length_type = draw_type(c);
    if (operation_once_in(c, 3)) add_numbers(c, LENGTHS, "lengths", lengths, m->members, m->length_type);
    if (operation_once_in(c, 3)) add_numbers(c, ROW_LENGTHS, "row lengths", row_lengths, m->members, m->length_type);
}

static void draw(operation_case *c) {
    static const tamis_mask initial = TAMIS_MASK_INIT;
    own *const x = c->own;
    tamis_mask *const m = &x->mask;
    const int64_t number = operation_pick(c, 4 * KINDS);
    *m = initial;
    if (number < KINDS) {
        const struct kind *const k = &kinds[number];
        m->rows = k->rows, m->cols = k->cols, m->offset = k->offset, m->left = k->left, m->right = k->right;
        m->dilation = k->dilation, m->every = k->every, m->globals = k->globals;
        m->causal = k->causal, m->sinks = k->sinks;
    } else {
        draw_any(c, x);
    }
    x->told = operation_once_in(c, 2);
    x->offset_type = draw_type(c);
    x->index_type = draw_type(c);
    operation_says(c,
                   "; %lld x %lld, %lld members, offset %lld%s, left %lld, right %lld, dilation %lld, every %lld, "
                   "globals %lld and %lld%s%s, block %lld",
                   (long long)m->rows, (long long)m->cols, (long long)m->members, (long long)m->offset,
                   m->from_end ? " from the end" : "", (long long)m->left, (long long)m->right, (long long)m->dilation,
                   (long long)m->every, (long long)m->globals, (long long)m->global_count, m->sinks ? " as sinks" : "",
                   m->causal ? ", causal" : "", (long long)m->block);
    operand_indices(c, OFFSETS, OPERAND_OUT, "offsets", m->members * m->rows + 1, x->offset_type);
    operand_indices(c, COLUMNS, OPERAND_OUT, "columns", define(c, NULL, NULL), x->index_type)->kept = true;
}

/* ------------------------------------------------------------------------------------------ the calls */

static tamis_status pass(operation_case *c) {
    own *const x = c->own;
    tamis_mask m = x->mask;
    tamis_sparse blocks = x->blocks;
    int64_t nnz = -1;
    m.global_list = operand_array(c, LIST);
    m.lengths = operand_array(c, LENGTHS);
    m.row_lengths = operand_array(c, ROW_LENGTHS);
    blocks.offsets = operand_array(c, BLOCK_OFFSETS);
    blocks.columns = operand_array(c, BLOCK_COLUMNS);
    if (c->of[BLOCK_OFFSETS].name) m.blocks = &blocks;
    const tamis_status status =
        tamis_mask_offsets(c->device, c->stream, &m, x->offset_type, operand_array(c, OFFSETS), x->told ? &nnz : NULL);
    if (status != TAMIS_OK) return status;
    if (x->told) assert_int_equal(nnz, operand_count(c, COLUMNS));
    return tamis_mask_columns(c->device, c->stream, &m, x->offset_type, operand_array(c, OFFSETS), x->index_type,
                              operand_array(c, COLUMNS));
}

static void reference(operation_case *c) { define(c, operand_want(c, OFFSETS), operand_want(c, COLUMNS)); }

static const operation_refusal refusals[] = {
    SPOILS(own, mask.left, -2, ARGUMENT, "mask.left = -2"),
    SPOILS(own, mask.right, -2, ARGUMENT, "mask.right = -2"),
    SPOILS(own, mask.dilation, 0, ARGUMENT, "mask.dilation = 0"),
    SPOILS(own, mask.every, -1, ARGUMENT, "mask.every = -1"),
    SPOILS(own, mask.globals, -1, ARGUMENT, "mask.globals = -1"),
    SPOILS(own, mask.members, -1, ARGUMENT, "mask.members = -1"),
    SPOILS(own, mask.length_type, 2, ARGUMENT, "mask.length_type = 2"),
    SPOILS(own, mask.reserved[3], 1, UNSUPPORTED, "mask.reserved[3] = 0x1"),
    SPOILS(own, offset_type, 7, ARGUMENT, "offset_type = 7"),
};

static const operation_row row = {.name = "mask",
                                  .own = sizeof(own),
                                  .tables = TEST_MESSAGES,
                                  .cases = 4 * 4 * KINDS * 2,
                                  .may_write = true,
                                  .no_memory = true,
                                  .waits = true,
                                  .no_views = true,
                                  .draw = draw,
                                  .pass = pass,
                                  .reference = reference,
                                  OPERATION_REFUSES(refusals)};

OPERATION(row)
