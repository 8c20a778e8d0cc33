#include "sparse/overlap.h"

#include "base/status.h"
#include "sparse/check.h"

/* `count` lines of `length` bytes that begin at distances of `step`. */
typedef struct lines {
    int64_t at, count, length, step;
} lines;

static lines packed(lines x) {
    if (x.step != x.length && x.count > 1) return x;
    return (lines){x.at, x.count > 0, x.count * x.length, x.count * x.length};
}

/* Members that follow each other are one taller matrix; of others this is member `number`. */
static lines lines_of(const tamis_operand *x, int64_t number) {
    const tamis_dense *const v = x->view;
    const int64_t size = (int64_t)tamis_type_size(v->type), next = v->batch_stride * size;
    const bool rows = v->layout == TAMIS_ROW_MAJOR;
    lines of = packed((lines){(int64_t)(uintptr_t)v->data + x->skip * size, rows ? v->rows : v->cols,
                              (rows ? v->cols : v->rows) * size, tamis_dense_stride(v) * size});
    if (x->batch > 1 && next == of.count * of.step) {
        of.count *= x->batch;
        return packed(of);
    }
    of.at += number * next;
    return of;
}

static int64_t end_of(const lines *x) { return x->at + (x->count - 1) * x->step + x->length; }

/* True if a stretch of bytes meets one of the lines. */
static bool meets_line(int64_t at, int64_t length, const lines *y) {
    const int64_t before = at - y->at - y->length; /* lines that end at or before `at` begin up to here */
    const int64_t first = before < 0 ? 0 : before / y->step + 1;
    return first < y->count && y->at + first * y->step < at + length;
}

/* True if lines of x and y meet whose numbers differ by `apart`; y begins its lines `after` bytes after x. */
static bool some_meet(const lines *x, const lines *y, int64_t apart, int64_t after) {
    const int64_t first = apart > 0 ? apart : 0, last = apart + y->count < x->count ? apart + y->count : x->count;
    return first < last && after < x->length && after + y->length > 0;
}

static bool meet(const lines *x, const lines *y) {
    if (x->count == 0 || y->count == 0 || x->length == 0 || y->length == 0) return false;
    if (end_of(x) <= y->at || end_of(y) <= x->at) return false;
    if (x->count == 1 || y->count == 1 || x->step != y->step)
        return meets_line(x->at, x->length, y) || meets_line(y->at, y->length, x);
    int64_t apart = (y->at - x->at) / x->step, after = (y->at - x->at) % x->step;
    if (after < 0) after += x->step, apart--;
    return some_meet(x, y, apart, after) || some_meet(x, y, apart + 1, after - x->step);
}

/* Members that are told apart by batch_stride: one if all are the same matrix, or one after the other. */
static int64_t members_of(const tamis_operand *x) {
    return x->batch > 1 && lines_of(x, 1).at != lines_of(x, 0).at ? x->batch : 1;
}

/* Compares first members at all distances that members have from each other, as far as their bytes can meet. */
static bool some_members_meet(const lines *x, lines y, int64_t next, int64_t x_members, int64_t y_members) {
    enum { MOST = 1024 }; /* members within members, such as heads of rows: more are not looked at */
    const int64_t at = y.at, ends = end_of(x) - at,
                  begins = x->at - end_of(&y); /* apart from `begins` on, up to `ends` */
    int64_t first = begins / next - 1, last = ends / next + 1;
    if (first < 1 - x_members) first = 1 - x_members;
    if (last > y_members - 1) last = y_members - 1;
    if (last > first + MOST) last = first + MOST;
    for (int64_t k = first; k <= last; k++) {
        y.at = at + k * next;
        if (meet(x, &y)) return true;
    }
    return false;
}

static bool share_memory(const tamis_operand *x, const tamis_operand *y) {
    const int64_t x_members = members_of(x), y_members = members_of(y);
    const lines first_x = lines_of(x, 0), first_y = lines_of(y, 0);
    if (x_members == 1 && y_members == 1) return meet(&first_x, &first_y);
    if (first_x.count == 0 || first_x.length == 0 || first_y.count == 0 || first_y.length == 0) return false;
    const int64_t x_next = lines_of(x, 1).at - first_x.at, y_next = lines_of(y, 1).at - first_y.at;
    if (x_members == 1 || y_members == 1 || x_next == y_next)
        return some_members_meet(&first_x, first_y, x_members > 1 ? x_next : y_next, x_members, y_members);
    for (int i = 0; i < 4; i++) {
        const lines of_x = lines_of(x, i % 2 ? x_members - 1 : 0), of_y = lines_of(y, i / 2 ? y_members - 1 : 0);
        if (meet(&of_x, &of_y)) return true;
    }
    return false;
}

tamis_status tamis_check_apart(bool handles, const tamis_operand *output, const tamis_operand *other) {
    if (!output->view || !other->view || !output->view->data || !other->view->data) return TAMIS_OK;
    if ((handles && output->view->data != other->view->data) || !share_memory(output, other)) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT,
                      "%s.data = %p shares memory with %s.data = %p: an output must not overlap an operand or another "
                      "output",
                      output->name, output->view->data, other->name, other->view->data);
}
