/* Cases of operation rows: what draw() uses, and what a call is given. */
#include "operation_cases.h"

#include "support/bounds.h"

int64_t operation_below(operation_case *c, int64_t n) { return tamis_random_below(&c->random, n); }
bool operation_once_in(operation_case *c, int64_t n) { return operation_below(c, n) == 0; }

int64_t operation_pick(operation_case *c, int64_t n) {
    if (c->number < 0) return operation_below(c, n);
    const int64_t digit = c->number % n;
    c->number /= n;
    return digit;
}

void operation_says(operation_case *c, const char *format, ...) {
    const size_t used = strlen(c->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(c->text + used, sizeof c->text - used, format, arguments);
    va_end(arguments);
}

/* ------------------------------------------------------------------------------------------ patterns */

/* Entries drawn by rows of the transpose: the columns rise. */
static pattern by_column(const problem_options *o, tamis_random *random) {
    problem_options turned = *o;
    turned.rows = o->cols, turned.cols = o->rows, turned.sorted = true, turned.transpose = false;
    pattern p = pattern_make(&turned, random);
    const pattern made = pattern_of(o, p.column_of, p.row_of, p.S.nnz);
    pattern_free(&p);
    return made;
}

void operation_pattern(operation_case *c) {
    enum { CSR, COO, SLICE, BY_COLUMN, EMPTY, HUB, RAGGED, NONE };
    static const char *const names[] = {"csr", "coo", "slice", "coo by column", "empty", "hub", "ragged", "none"};
    const int64_t kind = operation_pick(c, c->small ? COO + 2 : OPERATION_PATTERNS), most = c->small ? 6 : 40;
    problem_options o = {.rows = 1 + operation_below(c, most),
                         .cols = 1 + operation_below(c, most),
                         .nnz = operation_below(c, c->small ? 12 : 200),
                         .shape = operation_once_in(c, 3) ? SHAPE_UNIFORM : SHAPE_SPARSE_ENDS,
                         .index_type = (tamis_index_type)operation_below(c, 2),
                         .offset_type = (tamis_index_type)operation_below(c, 2),
                         .format = kind == CSR || kind == SLICE || kind == RAGGED ? TAMIS_CSR : TAMIS_COO,
                         .slice = kind == SLICE,
                         .transpose = c->transpose,
                         .sorted = operation_once_in(c, 2) || c->row->cells,
                         .distinct = operation_once_in(c, 2) || c->row->cells,
                         .share = 0.5};
    if (kind == EMPTY) o.nnz = 0, o.format = (tamis_format)operation_below(c, 2);
    if (kind == HUB) o.shape = SHAPE_CROSS, o.rows = 40, o.cols = 50, o.nnz = 2600;
    const int64_t larger = kind == HUB && (c->row->planned || operation_once_in(c, 4)) ? operation_below(c, 5) : 0;
    if (larger == 1) o.rows = 30, o.cols = 40, o.nnz = 9000, o.share = 0.8; /* a row of several stretches of softmax */
    if (larger == 2) o.rows = 5, o.nnz = 9000, o.shape = SHAPE_UNIFORM;     /* several such, side by side */
    if (larger == 3) o.rows = 300, o.cols = 200, o.nnz = 24000;             /* each thread has many ranges */
    if (c->row->cells && kind == CSR && !c->small) o.rows = 130, o.cols = 150, o.nnz = 9000, o.shape = SHAPE_UNIFORM;
    if (kind == RAGGED) o.shape = SHAPE_RAGGED;
    if (kind == NONE) *(operation_once_in(c, 2) ? &o.rows : &o.cols) = 0, o.nnz = 0;
    c->pattern = kind == BY_COLUMN ? by_column(&o, &c->random) : pattern_make(&o, &c->random);
    c->S = c->pattern.S;
    operation_says(c, "%s %lld x %lld, nnz %lld, %s and %s", names[kind], (long long)o.rows, (long long)o.cols,
                   (long long)c->S.nnz, tamis_index_type_name(o.index_type), tamis_index_type_name(o.offset_type));
}

void operation_default_heads(operation_case *c, int64_t *heads) {
    if (*heads == 1 && operation_once_in(c, 2)) *heads = 0;
}

int64_t operation_longest(const operation_case *c) {
    const pattern *const p = &c->pattern;
    int64_t *const rows = test_room(p->S.rows, sizeof *rows), *const cols = test_room(p->S.cols, sizeof *cols),
                   most = 0;
    for (int64_t t = 0; t < p->S.nnz; t++) {
        const int64_t row = ++rows[p->row_of[t]], col = ++cols[p->column_of[t]], longer = row > col ? row : col;
        most = longer > most ? longer : most;
    }
    free(rows);
    free(cols);
    return most;
}

tamis_status operation_open_graph(operation_case *c) {
    tamis_graph_options o = c->graph_options;
    o.threads = c->threads;
    return tamis_graph_create(c->device, &c->there, &o, &c->graph);
}

void operation_close_graph(operation_case *c) {
    tamis_graph_destroy(c->graph);
    c->graph = NULL;
}

/* ------------------------------------------------------------------------------------------ operands */

operand *operand_typed(operation_case *c, int k, operand_role role, int by, const char *name, int64_t rows,
                       int64_t cols, tamis_type type) {
    operand *const x = &c->of[k];
    *x = (operand){.name = name, .role = role, .by = by, .m = matrix_room(type, rows, cols, c->place)};
    operation_says(c, ", %s %lld x %lld", name, (long long)rows, (long long)cols);
    return x;
}

operand *operand_add(operation_case *c, int k, operand_role role, int by, const char *name, int64_t rows,
                     int64_t cols) {
    enum { GAP = 3, LINE = 16 };
    const bool aligned = operation_once_in(c, 2) || c->aligned, turned = c->row->any_layout && operation_once_in(c, 3);
    const int64_t length = turned ? rows : cols, members = c->place.members;
    if (!c->placed)
        c->place = (matrix_place){.layout = turned ? TAMIS_COLUMN_MAJOR : TAMIS_ROW_MAJOR,
                                  .padding = aligned ? LINE - length % LINE : operation_below(c, GAP + 1),
                                  .front = aligned ? LINE : 1,
                                  .behind = LINE,
                                  .members = members};
    return operand_typed(c, k, role, by, name, rows, cols, c->type);
}

operand *operand_indices(operation_case *c, int k, operand_role role, const char *name, int64_t count,
                         tamis_index_type type) {
    operand *const x = &c->of[k];
    *x = (operand){.name = name, .role = role, .by = -1, .indices = true, .index_type = type};
    x->m = (matrix){
        .twin = twin_make((size_t)count * tamis_index_size(type), 0), .members = 1, .here = {.rows = count, .cols = 1}};
    x->m.here.data = twin_here(&x->m.twin);
    return x;
}

static bool is_there(const operand *x) { return x->name && !x->absent; }

const tamis_dense *operand_here(const operation_case *c, int k) {
    return is_there(&c->of[k]) ? &c->of[k].m.here : NULL;
}
const tamis_dense *operand_there(const operation_case *c, int k) {
    return is_there(&c->of[k]) ? &c->of[k].m.there : NULL;
}
void *operand_array(const operation_case *c, int k) {
    return is_there(&c->of[k]) ? twin_there(&c->of[k].m.twin) : NULL;
}

bool operand_is_result(const operand *x) { return x->name && (x->role == OPERAND_OUT || x->role == OPERAND_GRADIENT); }

int64_t operand_count(const operation_case *c, int k) {
    const matrix *const m = &c->of[k].m;
    return m->members * m->here.rows * m->here.cols;
}

double *operand_want(operation_case *c, int k) {
    operand *const x = &c->of[k];
    if (!is_there(x) || (c->forward_only && x->role == OPERAND_GRADIENT)) return NULL;
    if (!x->want) {
        x->want = test_doubles(operand_count(c, k));
        x->bound = test_doubles(operand_count(c, k));
    }
    return x->want;
}

const int64_t operation_shapes[10][2] = {{1, 1},  {1, 16},  {3, 7}, {2, 64}, {1, 37},
                                         {4, 20}, {1, 150}, {5, 0}, {8, 2},  {5, 8}};

double operation_unit(const operation_case *c) { return c->type == TAMIS_F64 ? 0x1p-52 : 0x1p-24; }

void operand_within(operation_case *c, int k, double off, const double *size) {
    const operand *const x = &c->of[k];
    const double v = units_of(x->m.here.type).v; /* it is stored, which rounds what is off as well */
    for (int64_t i = 0; x->want && i < operand_count(c, k); i++)
        x->bound[i] = (1 - v) * off * (size ? size[i] : 1) +
                      (off > 0 && x->m.here.type == TAMIS_F64 ? 0x1p-53 * fabs(x->want[i]) : 0);
}

static void without_signs(matrix *m) {
    const int64_t one = m->here.rows * m->here.cols;
    for (int64_t i = 0; i < m->members * one; i++) {
        const int64_t r = i % one / m->here.cols, j = i % m->here.cols;
        matrix_put(m, i / one, r, j, fabs(matrix_at(m, i / one, r, j)));
    }
}

void operation_expect(operation_case *c, operation_evaluate *evaluate, double roundings) {
    double *to[OPERANDS];
    void *signs[OPERANDS] = {NULL};
    for (int k = 0; k < OPERANDS; k++) to[k] = operand_is_result(&c->of[k]) ? operand_want(c, k) : NULL;
    evaluate(c, to);
    if (roundings == 0 || c->forward_only) return;
    for (int k = 0; k < OPERANDS; k++) {
        operand *const x = &c->of[k];
        if (to[k]) to[k] = test_doubles(operand_count(c, k));
        if (!x->name || x->indices || operand_is_result(x)) continue;
        signs[k] = matrix_copy(&x->m);
        without_signs(&x->m);
    }
    c->without_signs = true;
    evaluate(c, to);
    c->without_signs = false;
    for (int k = 0; k < OPERANDS; k++) {
        if (to[k]) operand_within(c, k, roundings * operation_unit(c), to[k]);
        if (signs[k]) matrix_restore(&c->of[k].m, signs[k]);
        free(to[k]);
        free(signs[k]);
    }
}

/* ------------------------------------------------------------------------------------------ a case */

static double draw_value(operation_case *c, int k, int64_t i) {
    static const double primes[OPERANDS] = {2,  3,  5,  7,  11, 13, 17, 19, 23, 29, 31, 37,  41,  43,
                                            47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107};
    if (c->values == VALUES_APART) return fmod((double)(i + 1) * sqrt(primes[k]), 1) - 0.45;
    if (c->values == VALUES_ANY) return 2 * tamis_random_uniform(&c->random) - 1;
    const double x = ((double)operation_below(c, 7) + 1) / 4;
    return operation_once_in(c, 2) ? -x : x;
}

void operation_fill(operation_case *c, int k) {
    matrix *const m = &c->of[k].m;
    const int64_t one = m->here.rows * m->here.cols;
    for (int64_t i = 0; i < m->members * one; i++)
        matrix_put(m, i / one, i % one / m->here.cols, i % m->here.cols, draw_value(c, k, i));
}

void operation_make(operation_case *c, const operation_row *row, const operation_setting *setting) {
    *c = (operation_case){.row = row,
                          .on = setting->on,
                          .device = setting->device,
                          .random = tamis_random_start(setting->seed, (uint64_t)setting->number),
                          .number = setting->drawn ? -1 : setting->number,
                          .values = setting->values,
                          .small = setting->small};
    c->own = test_room((int64_t)row->own, 1);
    c->type = setting->small ? TAMIS_F64 : (tamis_type)operation_pick(c, 4);
    c->threads = 1 + (int)operation_below(c, 4);
    operation_says(c, "%s on %s: %s, %d threads, ", row->name, setting->on, tamis_type_name(c->type), c->threads);
    c->aligned = operation_once_in(c, 3);
    row->draw(c);
    for (int k = 0; k < OPERANDS; k++) {
        operand *const x = &c->of[k];
        if (x->name && !x->indices && !x->borrowed && (!operand_is_result(x) || x->old)) operation_fill(c, k);
    }
    if (row->fill) row->fill(c);
    for (int k = 0; k < OPERANDS; k++)
        if (operand_is_result(&c->of[k])) c->of[k].before = matrix_copy(&c->of[k].m);
}

void operation_send(operation_case *c) {
    if (c->pattern.row_of) {
        const tamis_sparse there = pattern_send(c->device, &c->pattern);
        c->there = c->S;
        c->there.location = there.location;
        c->there.offsets = there.offsets, c->there.columns = there.columns, c->there.row_indices = there.row_indices;
    }
    for (int k = 0; k < OPERANDS; k++) {
        operand *const x = &c->of[k];
        if (!x->name || x->borrowed) continue;
        if (x->before) matrix_restore(&x->m, x->before);
        if (x->indices)
            twin_send(&x->m.twin, c->device);
        else
            matrix_send(c->device, &x->m);
    }
}

void operation_fetch(operation_case *c) {
    for (int k = 0; k < OPERANDS; k++)
        if (operand_is_result(&c->of[k])) matrix_fetch(&c->of[k].m);
}

void operation_free(operation_case *c) {
    if (c->row->forget) c->row->forget(c);
    for (int k = 0; k < OPERANDS; k++) {
        operand *const x = &c->of[k];
        if (!x->borrowed) matrix_free(&x->m);
        free(x->before);
        free(x->want);
        free(x->bound);
    }
    if (c->pattern.row_of) pattern_free(&c->pattern);
    free(c->own);
}

/* A message that the thread has must be its own: unsupported calls say why. */
tamis_status operation_call(operation_case *c) {
    const operation_row *const row = c->row;
    tamis_status status = row->open ? row->open(c) : TAMIS_OK;
    c->passed = false;
    if (status == TAMIS_OK) status = row->pass(c);
    c->passed = status == TAMIS_OK;
    if (status == TAMIS_OK && row->back) status = row->back(c);
    return status;
}

void operation_close(operation_case *c) {
    if (c->row->close) c->row->close(c);
}
