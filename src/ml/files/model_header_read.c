/* Parses the headers that model_header.c writes, and refuses anything else. */
#include "ml/files/model_header_read.h"

#include <math.h>
#include <string.h>

#include "ml/files/model_file.h"
#include "ml/files/model_header.h"
#include "ml/methods/method.h"
#include "ml/methods/methods.h"
#include "ml/model.h"

/* A value, up to the line's end or a blank. */
typedef struct cursor {
    const char *at, *end;
} cursor;

static bool take(cursor *c, const char *text) {
    const size_t length = strlen(text);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, text, length) != 0) return false;
    c->at += length;
    return true;
}

static bool take_unsigned(cursor *c, uint64_t most, uint64_t *value) {
    const char *const begin = c->at;
    *value = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        const uint64_t digit = (uint64_t)(*c->at - '0');
        if (*value > (most - digit) / 10) return false;
        *value = *value * 10 + digit;
    }
    return c->at > begin;
}

static bool take_signed(cursor *c, int64_t most, int64_t *value) {
    const bool negative = take(c, "-");
    uint64_t magnitude;
    if (!take_unsigned(c, (uint64_t)most, &magnitude)) return false;
    *value = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}

static bool take_fraction(cursor *c, uint64_t *fraction) {
    static const char digits[] = "0123456789abcdef";
    *fraction = 0;
    for (int i = 0; i < 13; i++) {
        const char *const digit = c->at < c->end && *c->at ? strchr(digits, *c->at) : NULL;
        if (!digit) return false;
        *fraction = *fraction << 4 | (uint64_t)(digit - digits);
        c->at++;
    }
    return true;
}

/* Parses exactly the format of put_double. */
static bool take_double(cursor *c, double *value) {
    uint64_t bits;
    if (take(c, "nan")) {
        *value = NAN;
        return true;
    }
    const uint64_t sign = take(c, "-") ? (uint64_t)1 << 63 : 0;
    if (take(c, "inf")) {
        bits = sign | (uint64_t)0x7ff << 52;
    } else {
        const bool normal = take(c, "0x1.");
        int64_t exponent;
        uint64_t fraction;
        if (!(normal || take(c, "0x0.")) || !take_fraction(c, &fraction) || !take(c, "p")) return false;
        (void)take(c, "+");
        if (!take_signed(c, 1023, &exponent) || exponent < -1022 || (!normal && exponent != -1022)) return false;
        bits = sign | (normal ? (uint64_t)(exponent + 1023) << 52 : 0) | fraction;
    }
    memcpy(value, &bits, sizeof bits);
    return true;
}

/* Parses a word of at most 31 letters, for look-ups of names. */
static bool take_word(cursor *c, char word[32]) {
    int length = 0;
    for (; c->at<c->end && * c->at> ' '; c->at++) {
        if (length == 31) return false;
        word[length++] = *c->at;
    }
    word[length] = '\0';
    return length > 0;
}

static bool take_type(cursor *c, tamis_type *type) {
    char word[32];
    return take_word(c, word) && tamis_type_from_name(word, type) == TAMIS_OK;
}

static bool take_method(cursor *c, tamis_model *model) {
    char word[32];
    if (!take_word(c, word) || tamis_method_from_name(word, &model->options.method) != TAMIS_OK) return false;
    model->method = ml_method_of(model->options.method);
    model->options.beta = model->options.method == TAMIS_ITEM_KNN ? ML_BETA : 0; /* version 5 has none */
    return true;
}

static bool take_parts(cursor *c, double *parts) {
    for (int i = 0; i < ML_PARTS; i++)
        if ((i > 0 && !take(c, " ")) || !take_double(c, &parts[i])) return false;
    return true;
}

static bool take_field(cursor *c, tamis_model *model, const ml_field *f) {
    char *const at = (char *)model + f->offset;
    int64_t number;
    switch (f->kind) {
    case ML_FIELD_METHOD: return take_method(c, model);
    case ML_FIELD_TYPE: return take_type(c, &model->options.type);
    case ML_FIELD_BOOL: *(bool *)at = take(c, "true"); return *(bool *)at || take(c, "false");
    case ML_FIELD_INT:
        if (!take_signed(c, INT32_MAX, &number)) return false;
        *(int *)(void *)at = (int)number;
        return true;
    case ML_FIELD_INT64: return take_signed(c, INT64_MAX, (int64_t *)(void *)at);
    case ML_FIELD_UINT64: return take_unsigned(c, UINT64_MAX, (uint64_t *)(void *)at);
    case ML_FIELD_DOUBLE: return take_double(c, (double *)(void *)at);
    case ML_FIELD_PARTS: return take_parts(c, model->parts);
    }
    return false;
}

static bool take_section(cursor *c, int number, ml_section *s) {
    if (!take_signed(c, INT64_MAX, &s->rows) || !take(c, " ") || !take_signed(c, INT64_MAX, &s->cols)) return false;
    if (ml_section_kind_of(number) == ML_SECTION_MATRIX && (!take(c, " ") || !take_type(c, &s->type))) return false;
    s->present = s->rows >= 0 && s->cols >= 0;
    return s->present;
}

static int section_of(cursor *line) {
    for (int i = 0; i < ML_FILE_SECTIONS; i++) {
        const cursor begin = *line;
        if (take(line, ml_section_names[i]) && take(line, "=")) return i;
        *line = begin;
    }
    return -1;
}

static tamis_status refuse(const char *path, const char *what, const char *begin, const char *end) {
    char shown[64];
    int length = 0;
    for (; begin + length < end && length < 63; length++) { /* keeps messages printable, whatever the file contains */
        const char c = begin[length];
        shown[length] = (char)(c >= ' ' && c <= '~' ? c : '?');
    }
    shown[length] = '\0';
    return tamis_fail(TAMIS_ERROR_FORMAT, "%s: the model's header has %s: '%s'", path, what, shown);
}

/* Returns the next field that a file of this version has, from `i` on. */
static int field_from(int i, int version) {
    while (i < ML_FIELDS && ml_fields[i].since > version) i++;
    return i;
}

tamis_status ml_header_read(const char *path, int version, const char *text, int64_t bytes, tamis_model *model,
                            ml_section *sections) {
    const char *at = text, *const end = text + bytes;
    int section = -1;
    model->scale = 1; /* version 1 has no scale: ratings were not scaled, and lambda was multiplied by their number */
    model->prior_ratings = 0;
    model->share = ML_SHARE;
    for (int i = field_from(0, version); at < end; i = field_from(i + 1, version)) {
        const char *const stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) return refuse(path, "an unterminated line", at, end);
        cursor line = {at, stop};
        if (i < ML_FIELDS) {
            if (!take(&line, ml_fields[i].key) || !take(&line, "="))
                return refuse(path, "an unknown or misplaced line", at, stop);
            if (!take_field(&line, model, &ml_fields[i]) || line.at != stop)
                return refuse(path, "an invalid value", at, stop);
        } else {
            const int found = section_of(&line);
            if (found <= section) return refuse(path, "an unknown or misplaced line", at, stop);
            section = found;
            if (!take_section(&line, section, &sections[section]) || line.at != stop)
                return refuse(path, "an invalid value", at, stop);
        }
        at = stop + 1;
        const int next = field_from(i + 1, version);
        if (at == end && next < ML_FIELDS)
            return tamis_fail(TAMIS_ERROR_FORMAT, "%s: the model's header ends before %s", path, ml_fields[next].key);
    }
    if (bytes == 0) return tamis_fail(TAMIS_ERROR_FORMAT, "%s: the model has no header", path);
    return TAMIS_OK;
}
