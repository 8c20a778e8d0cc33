/* Arrays and dense matrices for tests, on the host and in a device's memory. */
#include "support/matrix.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/element.h"

enum { POISON = 0xff };

void test_must(tamis_status status) {
    if (status == TAMIS_OK) return;
    fprintf(stderr, "a test's own call: %s\n", tamis_last_error());
    abort();
}

static tamis_device_description about(tamis_device *device) {
    tamis_device_description description;
    test_must(tamis_device_describe(device, &description));
    return description;
}

bool test_has_memory(tamis_device *device) { return about(device).location == TAMIS_DEVICE; }

void *test_room(int64_t count, size_t size) {
    void *const memory = calloc((size_t)count + 1, size);
    if (!memory) abort();
    return memory;
}

double *test_doubles(int64_t count) { return test_room(count, sizeof(double)); }

/* ------------------------------------------------------------------------------------------ arrays */

/* Of exactly that size, which malloc() would not make of 0; every second one begins with a line of the cache. */
static void *block(size_t bytes) {
    enum { LINE = 64 };
    static atomic_uint made;
    void *memory = NULL;
    const size_t size = bytes + (bytes == 0);
    if (atomic_fetch_add(&made, 1) % 2 == 0)
        memory = malloc(size);
    else if (posix_memalign(&memory, LINE, size) != 0)
        abort();
    if (!memory) abort();
    return memory;
}

twin twin_make(size_t bytes, size_t front) {
    twin a = {.host = block(bytes), .bytes = bytes, .front = front};
    memset(a.host, POISON, bytes);
    return a;
}

void twin_send(twin *a, tamis_device *device) {
    const tamis_device_description description = about(device);
    a->device = device;
    if (description.location != TAMIS_DEVICE) return;
    a->left_out = strncmp(description.name, "opencl", 6) == 0 ? a->front : 0;
    const size_t bytes = a->bytes - a->left_out;
    if (!a->memory) test_must(tamis_device_allocate(device, bytes + 1, &a->memory));
    if (bytes) test_must(tamis_device_upload(device, NULL, a->memory, 0, a->host + a->left_out, bytes));
}

void twin_fetch(const twin *a) {
    const size_t bytes = a->bytes - a->left_out;
    if (a->memory && bytes)
        test_must(tamis_device_download(a->device, NULL, a->host + a->left_out, a->memory, 0, bytes));
}

void twin_forget(twin *a) {
    if (a->memory) tamis_device_free(a->device, a->memory);
    a->memory = NULL;
}

void twin_free(twin *a) {
    twin_forget(a);
    free(a->host);
    a->host = NULL;
}

void *twin_here(const twin *a) { return a->host + a->front; }

void *twin_there(const twin *a) { return a->memory ? (char *)a->memory + (a->front - a->left_out) : twin_here(a); }

/* ------------------------------------------------------------------------------------------ views */

double test_load(const void *array, tamis_type type, int64_t i) { return tamis_element_load(array, type, i); }
void test_store(void *array, tamis_type type, int64_t i, double value) { tamis_element_store(array, type, i, value); }

static int64_t lines_of(const tamis_dense *X) { return X->layout == TAMIS_ROW_MAJOR ? X->rows : X->cols; }
static int64_t length_of(const tamis_dense *X) { return X->layout == TAMIS_ROW_MAJOR ? X->cols : X->rows; }

int64_t test_position(const tamis_dense *X, int64_t member, int64_t i, int64_t j) {
    const int64_t stride = X->stride ? X->stride : length_of(X);
    return member * X->batch_stride + (X->layout == TAMIS_ROW_MAJOR ? i * stride + j : j * stride + i);
}

int64_t test_extent(const tamis_dense *X, int64_t batch) {
    return X->rows > 0 && X->cols > 0 ? test_position(X, batch - 1, X->rows - 1, X->cols - 1) + 1 : 0;
}

tamis_dense test_rows_of(const tamis_dense *X, int64_t first, int64_t rows) {
    tamis_dense view = *X;
    const int64_t skip = X->layout == TAMIS_ROW_MAJOR ? first * X->stride : first;
    view.rows = rows;
    view.data = (char *)X->data + skip * (int64_t)tamis_type_size(X->type);
    return view;
}

double *test_values(const tamis_dense *X, int64_t member) {
    double *const values = test_doubles(X->rows * X->cols);
    for (int64_t i = 0; i < X->rows; i++)
        for (int64_t j = 0; j < X->cols; j++)
            values[i * X->cols + j] = test_load(X->data, X->type, test_position(X, member, i, j));
    return values;
}

/* ------------------------------------------------------------------------------------------ matrices */

matrix matrix_room(tamis_type type, int64_t rows, int64_t cols, matrix_place place) {
    matrix m = {.members = place.members ? place.members : 1};
    m.here = (tamis_dense){.rows = rows, .cols = cols, .type = type, .layout = place.layout};
    const int64_t lines = lines_of(&m.here), length = length_of(&m.here);
    m.here.stride = place.within ? m.members * length : length + place.padding;
    const int64_t one = place.within ? length : lines > 0 ? (lines - 1) * m.here.stride + length + place.apart : 0;
    m.here.batch_stride = m.members > 1 ? one : 0;
    const int64_t elements = place.front + test_extent(&m.here, m.members) + place.behind;
    m.twin = twin_make((size_t)elements * tamis_type_size(type), (size_t)place.front * tamis_type_size(type));
    m.here.data = twin_here(&m.twin);
    return m;
}

matrix matrix_like(const matrix *m) {
    matrix like = {.twin = twin_make(m->twin.bytes, m->twin.front), .members = m->members, .here = m->here};
    like.here.data = twin_here(&like.twin);
    return like;
}

void matrix_free(matrix *m) { twin_free(&m->twin); }

const tamis_dense *matrix_send(tamis_device *device, matrix *m) {
    twin_send(&m->twin, device);
    m->there = m->here;
    m->there.data = twin_there(&m->twin);
    if (m->twin.memory) m->there.location = TAMIS_DEVICE;
    return &m->there;
}

void matrix_fetch(matrix *m) { twin_fetch(&m->twin); }

void matrix_draw(matrix *m, double low, double high, tamis_random *random) {
    for (int64_t k = 0; k < m->members; k++)
        for (int64_t i = 0; i < m->here.rows; i++)
            for (int64_t j = 0; j < m->here.cols; j++)
                matrix_put(m, k, i, j, low + (high - low) * tamis_random_uniform(random));
}

void matrix_poison(matrix *m) { memset(m->twin.host, POISON, m->twin.bytes); }

double matrix_at(const matrix *m, int64_t member, int64_t i, int64_t j) {
    return test_load(m->here.data, m->here.type, test_position(&m->here, member, i, j));
}

void matrix_put(matrix *m, int64_t member, int64_t i, int64_t j, double value) {
    test_store(m->here.data, m->here.type, test_position(&m->here, member, i, j), value);
}

double matrix_get(const matrix *m, int64_t i, int64_t j) { return matrix_at(m, 0, i, j); }
void matrix_set(matrix *m, int64_t i, int64_t j, double value) { matrix_put(m, 0, i, j, value); }

double *matrix_values(const matrix *m) {
    const int64_t one = m->here.rows * m->here.cols;
    double *const values = test_doubles(m->members * one);
    for (int64_t i = 0; i < m->members * one; i++)
        values[i] = matrix_at(m, i / one, i % one / m->here.cols, i % m->here.cols);
    return values;
}

void matrix_fill(matrix *m, const double *values) {
    const int64_t one = m->here.rows * m->here.cols;
    for (int64_t i = 0; i < m->members * one; i++)
        matrix_put(m, i / one, i % one / m->here.cols, i % m->here.cols, values[i]);
}

void *matrix_copy(const matrix *m) { return memcpy(test_room((int64_t)m->twin.bytes, 1), m->twin.host, m->twin.bytes); }
void matrix_restore(matrix *m, const void *copy) { memcpy(m->twin.host, copy, m->twin.bytes); }

int64_t matrix_touched(const matrix *m) {
    const size_t size = tamis_type_size(m->here.type);
    OWN(char) *const covered = test_room((int64_t)m->twin.bytes, 1);
    int64_t touched = -1;
    for (int64_t k = 0; k < m->members; k++)
        for (int64_t i = 0; i < m->here.rows; i++)
            for (int64_t j = 0; j < m->here.cols; j++)
                memset(covered + m->twin.front + (size_t)test_position(&m->here, k, i, j) * size, 1, size);
    for (size_t b = 0; b < m->twin.bytes && touched < 0; b++)
        if (!covered[b] && (unsigned char)m->twin.host[b] != POISON) touched = (int64_t)b;
    return touched;
}
