/* Parser of a kernel's parameter list. The dialect keeps it simple: IN(type, name), OUT(type, name), `type name`,
   MAP(name), and macros for lists that several kernels share. */
#include "gpu/runtime/signature.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

typedef struct span {
    const char *begin, *end;
} span;

typedef struct reader {
    const char *text, *kernel;
    bool real_is_double;
    tamis_gpu_signature *signature;
    struct {
        span type;
        bool written;
    } places[TAMIS_GPU_PARAMETERS_MOST]; /* beside the signature's parameters, for pointers */
} reader;

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

static span trim(span s) {
    while (s.begin < s.end && (isspace((unsigned char)*s.begin) || *s.begin == '\\')) s.begin++;
    while (s.end > s.begin && (isspace((unsigned char)s.end[-1]) || s.end[-1] == '\\')) s.end--;
    return s;
}

static bool is(span s, const char *word) {
    return (size_t)(s.end - s.begin) == strlen(word) && memcmp(s.begin, word, strlen(word)) == 0;
}

static tamis_status not_understood(const reader *r, span s) {
    return tamis_fail(
        TAMIS_ERROR_INTERNAL,
        "kernel %s: its parameter `%.*s` is not understood: expected IN, OUT or MAP, int64, int32, int or real "
        "with a name, or a macro that ends in PARAMETERS",
        r->kernel, (int)(s.end - s.begin), s.begin);
}

static tamis_status add(reader *r, span name, tamis_gpu_kind kind) {
    tamis_gpu_signature *const to = r->signature;
    const size_t bytes = (size_t)(name.end - name.begin);
    if (to->count == TAMIS_GPU_PARAMETERS_MOST || bytes == 0 || bytes >= TAMIS_GPU_NAME_MOST)
        return not_understood(r, name);
    memcpy(to->parameters[to->count].name, name.begin, bytes);
    to->parameters[to->count].name[bytes] = 0;
    to->parameters[to->count].kind = kind;
    to->parameters[to->count++].common = -1;
    return TAMIS_OK;
}

/* Finds the body of `#define name `, including continuation lines. */
static tamis_status find_macro(const reader *r, span name, span *body) {
    char define[TAMIS_GPU_NAME_MOST + 32];
    const int bytes = snprintf(define, sizeof define, "#define %.*s", (int)(name.end - name.begin), name.begin);
    if (bytes >= (int)sizeof define) return not_understood(r, name);
    for (const char *at = r->text; (at = strstr(at, define)) != NULL; at += bytes) {
        if (!isspace((unsigned char)at[bytes])) continue;
        body->begin = at + bytes;
        body->end = strchr(body->begin, '\n');
        while (body->end && body->end[-1] == '\\') body->end = strchr(body->end + 1, '\n');
        if (!body->end) body->end = body->begin + strlen(body->begin);
        return TAMIS_OK;
    }
    return not_understood(r, name);
}

static tamis_status read_place(reader *r, span s) {
    const char *const comma = memchr(s.begin, ',', (size_t)(s.end - s.begin));
    const char *const type = memchr(s.begin, '(', (size_t)(s.end - s.begin));
    if (!comma || s.end[-1] != ')') return not_understood(r, s);
    if (r->signature->count < TAMIS_GPU_PARAMETERS_MOST) {
        r->places[r->signature->count].type = trim((span){type + 1, comma});
        r->places[r->signature->count].written = *s.begin == 'O';
    }
    return add(r, trim((span){comma + 1, s.end - 1}), TAMIS_GPU_PLACE);
}

static tamis_status read_number(reader *r, span s) {
    const struct {
        const char *type;
        tamis_gpu_kind kind;
    } types[] = {{"int64", TAMIS_GPU_INT64},
                 {"int32", TAMIS_GPU_INT32},
                 {"int", TAMIS_GPU_INT32},
                 {"real", r->real_is_double ? TAMIS_GPU_FLOAT64 : TAMIS_GPU_FLOAT32}};
    span type = {s.begin, s.begin};
    while (type.end < s.end && is_word(*type.end)) type.end++;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (is(type, types[i].type)) return add(r, trim((span){type.end, s.end}), types[i].kind);
    return not_understood(r, s);
}

/* List macros have no arguments; they may nest up to DEEPEST levels. */
static tamis_status read_list(reader *r, span list, int depth);

static tamis_status read_one(reader *r, span s, int depth) {
    enum { DEEPEST = 4 };
    static const char ending[] = "PARAMETERS";
    span word, body = {NULL, NULL};
    s = trim(s);
    if (s.begin == s.end) return TAMIS_OK; /* before a macro that begins with a comma */
    for (word.begin = word.end = s.begin; word.end < s.end && is_word(*word.end);) word.end++;
    if (is(word, "IN") || is(word, "OUT")) return read_place(r, s);
    if (is(word, "MAP")) return add(r, trim((span){word.end + 1, s.end - 1}), TAMIS_GPU_TILES);
    for (const char *at = s.begin; at < s.end; at = word.end + (word.end < s.end)) {
        for (word.begin = word.end = at; word.end < s.end && is_word(*word.end);) word.end++;
        const size_t bytes = (size_t)(word.end - word.begin);
        if (bytes < sizeof ending - 1 || memcmp(word.end - sizeof ending + 1, ending, sizeof ending - 1) != 0) continue;
        if (depth == DEEPEST) return not_understood(r, s);
        TRY(read_one(r, (span){s.begin, word.begin},
                     depth)); /* `int wide KEEP_PARAMETERS`: that macro has its own comma */
        TRY(find_macro(r, word, &body));
        return read_list(r, body, depth + 1);
    }
    return read_number(r, s);
}

static tamis_status read_list(reader *r, span list, int depth) {
    int nested = 0;
    const char *begin = list.begin;
    for (const char *at = list.begin; at < list.end; at++) {
        nested += (*at == '(') - (*at == ')');
        if (*at != ',' || nested > 0) continue;
        TRY(read_one(r, (span){begin, at}, depth));
        begin = at + 1;
    }
    return read_one(r, (span){begin, list.end}, depth);
}

/* Reads the parameters from `begin` on; `end` is the parenthesis that closes them. */
static tamis_status read_parameters(reader *r, const char *begin, const char **end) {
    int nested = 1;
    r->signature->count = 0;
    for (*end = begin; **end; ++*end) {
        nested += (**end == '(') - (**end == ')');
        if (nested == 0) return read_list(r, (span){begin, *end}, 0);
    }
    return tamis_fail(TAMIS_ERROR_INTERNAL, "kernel %s: its parameters have no end", r->kernel);
}

tamis_status tamis_gpu_signature_read(const char *text, const char *kernel, bool real_is_double,
                                      tamis_gpu_signature *signature) {
    char head[TAMIS_GPU_NAME_MOST + 32];
    const char *end;
    reader r = {.text = text, .kernel = kernel, .real_is_double = real_is_double, .signature = signature};
    snprintf(head, sizeof head, "\nKERNEL %s(", kernel);
    const char *const found = strstr(text, head);
    if (!found)
        return tamis_fail(TAMIS_ERROR_INTERNAL, "there is no kernel %s in its file: no line begins with `KERNEL %s(`",
                          kernel, kernel);
    return read_parameters(&r, found + strlen(head), &end);
}

static bool has_batch_stride(const tamis_gpu_signature *s, const char *name) {
    static const char ending[] = "_batch_stride";
    const size_t bytes = strlen(name);
    for (int i = 0; i < s->count; i++)
        if (strncmp(s->parameters[i].name, name, bytes) == 0 && strcmp(s->parameters[i].name + bytes, ending) == 0)
            return true;
    return false;
}

tamis_status tamis_gpu_signature_open(const char *text, const char *at, const char **body, char *statements,
                                      size_t room) {
    tamis_gpu_signature signature;
    char kernel[TAMIS_GPU_NAME_MOST];
    size_t used = 0;
    const char *end;
    const size_t bytes = strcspn(at += strlen("KERNEL "), "(");
    snprintf(kernel, sizeof kernel, "%.*s", (int)bytes, at);
    reader r = {.text = text, .kernel = kernel, .signature = &signature};
    TRY(read_parameters(&r, at + bytes + 1, &end));
    *body = strchr(end, '{');
    if (!*body) return tamis_fail(TAMIS_ERROR_INTERNAL, "kernel %s has no body", kernel);
    ++*body;
    statements[0] = 0;
    for (int i = 0; i < signature.count && used < room; i++) {
        const char *const name = signature.parameters[i].name;
        const span type = r.places[i].type;
        if (signature.parameters[i].kind != TAMIS_GPU_PLACE) continue;
        used +=
            (size_t)snprintf(statements + used, room - used, " %s(%.*s, %s);",
                             r.places[i].written ? "TAKE_OUT" : "TAKE", (int)(type.end - type.begin), type.begin, name);
        if (has_batch_stride(&signature, name) && used < room)
            used += (size_t)snprintf(statements + used, room - used, " MEMBER(%s, %s_batch_stride);", name, name);
    }
    return used < room ? TAMIS_OK : tamis_fail(TAMIS_ERROR_INTERNAL, "kernel %s takes too many pointers", kernel);
}
