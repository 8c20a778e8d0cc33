/* The header of .npy files, versions 1 to 3, and their elements. */
#include "io/formats/npy.h"

#include <stdio.h>
#include <string.h>

#include "base/half.h"
#include "base/status.h"
#include "io/formats/format.h"
#include "io/reading.h"
#include "io/text/number.h"
#include "sparse/element.h"

enum { MAGIC_BYTES = 6, MOST_HEADER = 1 << 20 };
static const unsigned char magic[MAGIC_BYTES] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

static bool sniff_npy(const tamis_bounded_text *text) {
    return text->end - text->begin >= MAGIC_BYTES && memcmp(text->begin, magic, MAGIC_BYTES) == 0;
}

static tamis_status bad_header(const tamis_npy *npy, const char *expected) {
    return tamis_fail(TAMIS_ERROR_FORMAT, "%s: in the .npy header: expected %s", npy->name, expected);
}

static const char *skip(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\t')) p++;
    return p;
}

/* Parses a quoted word at *p. */
static bool take_quoted(const char **p, const char *end, const char **word, int64_t *length) {
    const char *q = skip(*p, end);
    if (q >= end || (*q != '\'' && *q != '"')) return false;
    const char quote = *q++;
    *word = q;
    while (q < end && *q != quote) q++;
    if (q >= end) return false;
    *length = q - *word;
    *p = q + 1;
    return true;
}

static bool take_character(const char **p, const char *end, char requested) {
    const char *const q = skip(*p, end);
    if (q >= end || *q != requested) return false;
    *p = q + 1;
    return true;
}

/* Parses a type such as '<f8': byte order, kind, size. */
static tamis_status take_descr(const char **p, const char *end, tamis_npy *npy) {
    const char *word;
    int64_t length;
    if (skip(*p, end) < end && *skip(*p, end) == '[')
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s: structured arrays are not supported", npy->name);
    if (!take_quoted(p, end, &word, &length) || length < 2) return bad_header(npy, "descr to be a type such as '<f4'");
    char order = '|';
    if (strchr("<>=|", *word)) {
        order = *word++;
        length--;
    }
    npy->kind = *word;
    npy->size = 0;
    for (int64_t i = 1; i < length; i++) {
        if (!tamis_is_digit(word[i]) || npy->size > 1 << 20) return bad_header(npy, "descr to be a type such as '<f4'");
        npy->size = npy->size * 10 + (word[i] - '0');
    }
    npy->swapped = order == '>';
    return TAMIS_OK;
}

static tamis_status take_shape(const char **p, const char *end, tamis_npy *npy) {
    if (!take_character(p, end, '(')) return bad_header(npy, "shape to be a tuple");
    npy->dimensions = 0;
    npy->count = 1;
    while (!take_character(p, end, ')')) {
        int64_t size = 0;
        const char *q = skip(*p, end);
        if (q >= end || npy->dimensions == TAMIS_NPY_DIMENSIONS) return bad_header(npy, "shape of few sizes");
        q = tamis_parse_index(q, &size); /* data or padding follow the header, so this never reads beyond the buffer */
        if (!q || q > end || size > TAMIS_SIZE_MOST) return bad_header(npy, "a size in shape");
        if (q < end && *q == 'L') q++;
        npy->shape[npy->dimensions++] = size;
        if (__builtin_mul_overflow(npy->count, size, &npy->count)) return bad_header(npy, "a shape that fits memory");
        *p = q;
        take_character(p, end, ',');
    }
    return TAMIS_OK;
}

static tamis_status take_dictionary(const char *p, const char *end, tamis_npy *npy) {
    unsigned seen = 0;
    if (!take_character(&p, end, '{')) return bad_header(npy, "a dictionary");
    while (!take_character(&p, end, '}')) {
        const char *key;
        int64_t length;
        if (!take_quoted(&p, end, &key, &length) || !take_character(&p, end, ':')) return bad_header(npy, "a key");
        if (length == 5 && memcmp(key, "descr", 5) == 0) {
            TRY(take_descr(&p, end, npy));
            seen |= 1;
        } else if (length == 13 && memcmp(key, "fortran_order", 13) == 0) {
            p = skip(p, end);
            const bool yes = end - p >= 4 && memcmp(p, "True", 4) == 0;
            if (!yes && !(end - p >= 5 && memcmp(p, "False", 5) == 0)) return bad_header(npy, "True or False");
            npy->fortran_order = yes;
            p += yes ? 4 : 5;
            seen |= 2;
        } else if (length == 5 && memcmp(key, "shape", 5) == 0) {
            TRY(take_shape(&p, end, npy));
            seen |= 4;
        } else {
            return bad_header(npy, "descr, fortran_order and shape only");
        }
        take_character(&p, end, ',');
    }
    return seen == 7 ? TAMIS_OK : bad_header(npy, "descr, fortran_order and shape");
}

tamis_status tamis_npy_open(const char *name, const unsigned char *bytes, int64_t known, int64_t size, tamis_npy *npy) {
    *npy = (tamis_npy){.name = name};
    if (known < MAGIC_BYTES + 4 || memcmp(bytes, magic, MAGIC_BYTES) != 0)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: expected the beginning of a .npy array", name);
    const int version = bytes[MAGIC_BYTES], wide = version == 1 ? 0 : 2;
    if (version < 1 || version > 3) return bad_header(npy, "version 1, 2 or 3");
    const int64_t start = MAGIC_BYTES + 4 + wide;
    if (known < start) return bad_header(npy, "more: it is truncated");
    int64_t length = bytes[8] | bytes[9] << 8;
    if (wide) length |= (int64_t)bytes[10] << 16 | (int64_t)bytes[11] << 24;
    if (length > MOST_HEADER || length > known - start) return bad_header(npy, "more: it is truncated");
    /* The number parser stops at the first non-digit. So the header must not end in a digit, as the data may begin with
       one. */
    const char *const header = (const char *)bytes + start;
    if (length == 0 || tamis_is_digit(header[length - 1])) return bad_header(npy, "a dictionary");
    TRY(take_dictionary(header, header + length, npy));
    npy->data = bytes + start + length;
    const int64_t unit = npy->kind == 'U' ? 4 : 1;
    int64_t needed;
    if (__builtin_mul_overflow(npy->count, npy->size * unit, &needed) || needed > size - start - length)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: found %lld bytes of elements, expected %lld elements of %lld bytes",
                          name, (long long)(size - start - length), (long long)npy->count, (long long)npy->size * unit);
    npy->behind = size - start - length - needed;
    return TAMIS_OK;
}

static bool is_power(int size, int least, int most) {
    return size >= least && size <= most && (size & (size - 1)) == 0;
}

tamis_status tamis_npy_need_number(const tamis_npy *npy) {
    const bool known = (npy->kind == 'f' && is_power(npy->size, 2, 8)) ||
                       ((npy->kind == 'i' || npy->kind == 'u') && is_power(npy->size, 1, 8)) ||
                       (npy->kind == 'b' && npy->size == 1);
    if (known) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                      "%s: elements of type %c%d are not supported; expected f2, f4, f8 or integers", npy->name,
                      npy->kind >= ' ' && npy->kind < 0x7f ? npy->kind : '?', npy->size);
}

tamis_status tamis_npy_need_integer(const tamis_npy *npy) {
    TRY(tamis_npy_need_number(npy));
    if (npy->kind != 'f') return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_FORMAT, "%s: found elements of type f%d, expected integers", npy->name, npy->size);
}

/* Returns the element's bits in the machine's order. */
static inline uint64_t element_bits(const tamis_npy *npy, int64_t at) {
    const unsigned char *const p = npy->data + at * npy->size;
    uint64_t bits = 0;
    if (npy->swapped)
        for (int i = 0; i < npy->size; i++) bits = bits << 8 | p[i];
    else
        for (int i = npy->size; i-- > 0;) bits = bits << 8 | p[i];
    return bits;
}

int64_t tamis_npy_integer(const tamis_npy *npy, int64_t at) {
    const uint64_t bits = element_bits(npy, at);
    if (npy->kind == 'b') return bits != 0;
    if (npy->kind == 'u') return bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
    const int unused = 64 - 8 * npy->size;
    return (int64_t)(bits << unused) >> unused;
}

double tamis_npy_real(const tamis_npy *npy, int64_t at) {
    if (npy->kind == 'u') return (double)element_bits(npy, at);
    if (npy->kind != 'f') return (double)tamis_npy_integer(npy, at);
    const uint64_t bits = element_bits(npy, at);
    if (npy->size == 2) return tamis_f16_load((uint16_t)bits);
    if (npy->size == 4) return tamis_float_of_bits((uint32_t)bits);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

int64_t tamis_npy_inexact(const tamis_npy *npy, int64_t count) {
    int64_t inexact = 0;
    if (npy->size < 8 || (npy->kind != 'u' && npy->kind != 'i')) return 0;
    for (int64_t at = 0; at < count; at++) {
        const uint64_t bits = element_bits(npy, at);
        const uint64_t magnitude = npy->kind == 'i' && bits >> 63 ? 0 - bits : bits;
        const double rounded = (double)magnitude;
        inexact += rounded >= 0x1p64 || (uint64_t)rounded != magnitude;
    }
    return inexact;
}

int tamis_npy_header(char *header, const char *descr, bool fortran_order, int dimensions, const int64_t *shape) {
    enum { PREFIX = MAGIC_BYTES + 4, ALIGNMENT = 64 };
    memcpy(header, magic, MAGIC_BYTES);
    header[6] = 1;
    header[7] = 0;
    int length =
        PREFIX + snprintf(header + PREFIX, TAMIS_NPY_HEADER - PREFIX, "{'descr': '%s', 'fortran_order': %s, 'shape': (",
                          descr, fortran_order ? "True" : "False");
    for (int i = 0; i < dimensions; i++)
        length += snprintf(header + length, (size_t)(TAMIS_NPY_HEADER - length), "%lld%s", (long long)shape[i],
                           i + 1 < dimensions ? ", "
                           : dimensions == 1  ? ","
                                              : "");
    length += snprintf(header + length, (size_t)(TAMIS_NPY_HEADER - length), "), }");
    while ((length + 1) % ALIGNMENT != 0) header[length++] = ' ';
    header[length++] = '\n';
    header[8] = (char)((length - PREFIX) & 0xff);
    header[9] = (char)((length - PREFIX) >> 8);
    return length;
}

/* ---- dense matrices */

/* Copies elements without conversion if type and byte order are the same. */
static bool same_type(const tamis_npy *npy, tamis_type type) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return !npy->swapped && npy->kind == 'f' && type != TAMIS_BF16 && (size_t)npy->size == tamis_type_size(type);
#else
    (void)npy, (void)type;
    return false;
#endif
}

static tamis_status read_npy(const tamis_bounded_text *text, tamis_type type, tamis_read_report *report,
                             tamis_owned_dense **array) {
    tamis_npy npy;
    TRY(tamis_npy_open(text->name, (const unsigned char *)text->begin, text->end - text->begin, text->end - text->begin,
                       &npy));
    TRY(tamis_npy_need_number(&npy));
    if (npy.dimensions < 1 || npy.dimensions > 2)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: found %d dimensions, expected 1 or 2", text->name, npy.dimensions);
    report->inexact = tamis_npy_inexact(&npy, npy.count);
    const int64_t rows = npy.shape[0], cols = npy.dimensions == 2 ? npy.shape[1] : 1;
    const tamis_layout layout = npy.fortran_order && npy.dimensions == 2 ? TAMIS_COLUMN_MAJOR : TAMIS_ROW_MAJOR;
    TRY(tamis_owned_dense_create(rows, cols, type, layout, array));
    void *const data = tamis_owned_dense_view(*array)->data; /* packed: the order of the file */
    if (npy.count > 0 && same_type(&npy, type))
        memcpy(data, npy.data, (size_t)npy.count * tamis_type_size(type));
    else
        for (int64_t i = 0; i < npy.count; i++) tamis_element_store(data, type, i, tamis_npy_real(&npy, i));
    return TAMIS_OK;
}

const tamis_file_row tamis_npy_file = {
    .format = TAMIS_FILE_NPY,
    .signature = true,
    .name = "npy",
    .endings = ".npy",
    .sniff = sniff_npy,
    .read_dense = read_npy,
};
