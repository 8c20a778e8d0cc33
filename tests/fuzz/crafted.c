/* See crafted.h. A model's file is taken apart into the lines of its header and its sections, some are changed, and it
   is put together again. */
#include "crafted.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "ml/files/model_file.h"

enum { LINES = 80, LINE = 160, NUMBERS = 40 * 64 };

typedef struct section {
    bool present, fp64;
    int64_t rows, cols; /* of names: how many, and bytes */
    const uint8_t *data;
    size_t bytes;
    uint8_t own[8 * NUMBERS]; /* of a section that was changed */
} section;

typedef struct crafted {
    char lines[LINES][LINE]; /* of the fields */
    int fields;
    section sections[ML_FILE_SECTIONS];
    uint64_t seed, drawn;
} crafted;

static int64_t draw(crafted *c, int64_t below) {
    return (int64_t)(tamis_random_at(c->seed, 1, c->drawn++) % (uint64_t)below);
}

/* ------------------------------------------------------------------------------------------ taking apart */

static size_t aligned(size_t at) { return (at + ML_FILE_ALIGNMENT - 1) / ML_FILE_ALIGNMENT * ML_FILE_ALIGNMENT; }

static bool take_section(crafted *c, const char *line, int number, const uint8_t *from, size_t size, size_t *at) {
    section *const s = &c->sections[number];
    long long rows, cols;
    char type[8] = "";
    if (sscanf(line, "%lld %lld %7s", &rows, &cols, type) < 2 || rows < 0 || cols < 0) return false;
    const bool names = ml_section_kind_of(number) == ML_SECTION_NAMES;
    s->fp64 = strcmp(type, "fp64") == 0;
    if (rows > 1 << 20 || cols > 1 << 20) return false;
    s->bytes = names ? (size_t)cols : (size_t)(rows * cols) * (s->fp64 ? 8 : 4);
    *at = aligned(*at);
    if (*at > size || s->bytes > size - *at || s->bytes > sizeof s->own) return false;
    s->rows = rows;
    s->cols = cols;
    s->data = from + *at;
    s->present = true;
    *at += s->bytes;
    return true;
}

static int section_of(const char *line, size_t length) {
    for (int i = 0; i < ML_FILE_SECTIONS; i++) {
        const size_t name = strlen(ml_section_names[i]);
        if (name < length && line[name] == '=' && memcmp(line, ml_section_names[i], name) == 0) return i;
    }
    return -1;
}

static bool take_apart(const uint8_t *from, size_t size, crafted *c) {
    uint32_t header;
    if (size < ML_FILE_PREAMBLE + 8 || memcmp(from, ml_file_magic, 8) != 0) return false;
    memcpy(&header, from + 12, sizeof header);
    if (header > size - ML_FILE_PREAMBLE - 8) return false;
    size_t at = ML_FILE_PREAMBLE + header;
    const char *line = (const char *)from + ML_FILE_PREAMBLE, *const end = line + header;
    while (line < end) {
        const char *const stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop || stop - line >= LINE) return false;
        char text[LINE] = {0};
        memcpy(text, line, (size_t)(stop - line));
        const int number = section_of(text, strlen(text));
        if (number >= 0) {
            if (!take_section(c, strchr(text, '=') + 1, number, from, size, &at)) return false;
        } else {
            if (c->fields == LINES) return false;
            memcpy(c->lines[c->fields++], text, LINE);
        }
        line = stop + 1;
    }
    return c->fields > 0;
}

/* ------------------------------------------------------------------------------------------ changing */

static double any_number(crafted *c) {
    static const double special[] = {0, -0.0, 1, -1, 5, 1e10, 3e38, -3e38, 1e-45, 0.0 / 0.0, 1 / 0.0, -1 / 0.0};
    if (draw(c, 10) == 0) return special[draw(c, sizeof special / sizeof *special)];
    return (double)(draw(c, 1001) - 300) / 100;
}

static void put_number(section *s, int64_t i, double number) {
    const float narrow = (float)number;
    if (s->fp64)
        memcpy(s->own + 8 * i, &number, 8);
    else
        memcpy(s->own + 4 * i, &narrow, 4);
}

static bool is_fp64(const crafted *c) {
    for (int i = 0; i < c->fields; i++)
        if (strcmp(c->lines[i], "type=fp64") == 0) return true;
    return false;
}

static int64_t field(const crafted *c, const char *key) {
    const size_t length = strlen(key);
    for (int i = 0; i < c->fields; i++)
        if (memcmp(c->lines[i], key, length) == 0 && c->lines[i][length] == '=')
            return strtoll(c->lines[i] + length + 1, NULL, 10);
    return 0;
}

/* Another matrix in the place of one, or where there was none: often near the sizes that the model has. */
static void change_matrix(crafted *c) {
    section *const s = &c->sections[draw(c, 2 + ML_STATES)];
    const int64_t rows = field(c, "rows") % 100, cols = field(c, "cols") % 100, factors = field(c, "factors") % 100;
    const int64_t sizes[] = {rows, cols, factors, rows, cols, 0, 1, 2, 1, 2, draw(c, 40)};
    s->rows = sizes[draw(c, 11)] + (draw(c, 4) == 0 ? draw(c, 3) - 1 : 0);
    s->cols = sizes[draw(c, 11)] + (draw(c, 4) == 0 ? draw(c, 3) - 1 : 0);
    s->fp64 = is_fp64(c) ^ (draw(c, 20) == 0);
    s->present = s->rows >= 0 && s->cols >= 0 && s->rows <= 40 && s->cols <= 64;
    if (!s->present) return;
    for (int64_t i = 0; i < s->rows * s->cols; i++) put_number(s, i, any_number(c));
    s->bytes = (size_t)(s->rows * s->cols) * (s->fp64 ? 8 : 4);
    s->data = s->own;
}

static void change_numbers(crafted *c) {
    section *const s = &c->sections[draw(c, 2 + ML_STATES)];
    const int64_t count = s->present ? s->rows * s->cols : 0;
    if (count == 0) return;
    if (s->data != s->own) memcpy(s->own, s->data, s->bytes);
    s->data = s->own;
    const int64_t counts[] = {1, 3, count / 4 + 1, count};
    for (int64_t left = counts[draw(c, 4)]; left > 0; left--) put_number(s, draw(c, count), any_number(c));
}

static void change_field(crafted *c) {
    static const char *const whole[] = {"-1", "0",  "1",   "2",          "3",          "5",
                                        "31", "32", "100", "2147483646", "2147483647", "9223372036854775807"};
    static const char *const real[] = {"0x1.0000000000000p+0",
                                       "0x1.0000000000000p-1",
                                       "0x1.0000000000000p+1000",
                                       "0x0.0000000000001p-1022",
                                       "nan",
                                       "inf",
                                       "-0x1.0000000000000p+0",
                                       "0x0.0000000000000p-1022"};
    char *const line = c->lines[draw(c, c->fields)], *const value = strchr(line, '=');
    if (!value) return;
    const size_t room = LINE - (size_t)(value + 1 - line);
    tamis_method_description about;
    const char *put;
    if (strcmp(value, "=true") == 0 || strcmp(value, "=false") == 0)
        put = draw(c, 2) ? "true" : "false";
    else if (memcmp(line, "method", 6) == 0)
        put = tamis_method_at((int)draw(c, tamis_method_count()), &about) == TAMIS_OK ? about.name : NULL;
    else if (memcmp(line, "type", 4) == 0)
        put = draw(c, 2) ? "fp32" : "fp64";
    else if (strstr(value, "0x") || strcmp(value, "=nan") == 0 || strcmp(value, "=inf") == 0)
        put = real[draw(c, sizeof real / sizeof *real)];
    else
        put = whole[draw(c, sizeof whole / sizeof *whole)];
    snprintf(value + 1, room, "%s", put ? put : "als");
}

static void leave_out(crafted *c) { c->sections[draw(c, ML_FILE_SECTIONS)].present = false; }

/* ------------------------------------------------------------------------------------------ putting together */

typedef struct room {
    uint8_t *to;
    size_t used, most;
} room;

static bool put(room *r, const void *data, size_t bytes) {
    if (bytes > r->most - r->used) return false;
    if (bytes > 0) memcpy(r->to + r->used, data, bytes);
    r->used += bytes;
    return true;
}

static bool put_zeros(room *r, size_t upto) {
    static const uint8_t zeros[ML_FILE_ALIGNMENT];
    return upto - r->used <= sizeof zeros && put(r, zeros, upto - r->used);
}

static bool put_header(room *r, const crafted *c) {
    char line[LINE + 2];
    for (int i = 0; i < c->fields; i++) {
        const int n = snprintf(line, sizeof line, "%s\n", c->lines[i]);
        if (!put(r, line, (size_t)n)) return false;
    }
    for (int i = 0; i < ML_FILE_SECTIONS; i++) {
        const section *const s = &c->sections[i];
        const bool matrix = ml_section_kind_of(i) == ML_SECTION_MATRIX;
        if (!s->present) continue;
        const int n =
            snprintf(line, sizeof line, "%s=%lld %lld%s\n", ml_section_names[i], (long long)s->rows, (long long)s->cols,
                     !matrix   ? ""
                     : s->fp64 ? " fp64"
                               : " fp32");
        if (!put(r, line, (size_t)n)) return false;
    }
    return true;
}

void fuzz_mend_model(uint8_t *file, size_t size) {
    const uint64_t length = size;
    ml_checksum sum = ml_checksum_start();
    memcpy(file + 16, &length, 8);
    ml_checksum_add(&sum, file, (int64_t)size - 8);
    const uint64_t end = ml_checksum_end(&sum);
    memcpy(file + size - 8, &end, 8);
}

static size_t put_together(const crafted *c, const uint8_t *from, uint8_t *to, size_t most) {
    room r = {.to = to, .most = most};
    if (!put(&r, from, ML_FILE_PREAMBLE) || !put_header(&r, c)) return 0;
    const uint32_t header = (uint32_t)(r.used - ML_FILE_PREAMBLE);
    memcpy(to + 12, &header, sizeof header);
    for (int i = 0; i < ML_FILE_SECTIONS; i++) {
        const section *const s = &c->sections[i];
        if (s->present && !(put_zeros(&r, aligned(r.used)) && put(&r, s->data, s->bytes))) return 0;
    }
    static const uint8_t sum[8];
    if (!put_zeros(&r, aligned(r.used)) || !put(&r, sum, sizeof sum)) return 0;
    fuzz_mend_model(to, r.used);
    return r.used;
}

size_t fuzz_craft_model(const uint8_t *from, size_t size, uint64_t seed, uint8_t *to, size_t most) {
    static void (*const changes[])(crafted *) = {change_matrix, change_numbers, change_numbers,
                                                 change_field,  change_field,   leave_out};
    crafted *const c = calloc(1, sizeof *c);
    size_t made = 0;
    if (c) {
        c->seed = seed;
        if (take_apart(from, size, c)) {
            for (int64_t left = 1 + draw(c, 3); left > 0; left--) changes[draw(c, 6)](c);
            made = put_together(c, from, to, most);
        }
    }
    free(c);
    return made;
}
