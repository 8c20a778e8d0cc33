/* Precedence climbing: comparisons, which do not chain, bind less than + and -, these less than * and /, these less
   than a sign. */
#include "expression/parse.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/status.h"

typedef struct reader {
    tamis_program *program;
    const char *text, *at; /* at: the next byte */
    const char *token;     /* the token before `at` */
    int length;            /* 0: the end of the text */
    int depth;
    const tamis_meaning *meanings;
} reader;

typedef struct operator_row {
    const char *sign;
    int kind, level;
} operator_row;

/* Longer signs come before their beginnings. */
static const operator_row operators[] = {
    {"<=", TAMIS_STEP_LESS_EQUAL, 0}, {">=", TAMIS_STEP_GREATER_EQUAL, 0}, {"==", TAMIS_STEP_EQUAL, 0},
    {"!=", TAMIS_STEP_NOT_EQUAL, 0},  {"<", TAMIS_STEP_LESS, 0},           {">", TAMIS_STEP_GREATER, 0},
    {"+", TAMIS_STEP_ADD, 1},         {"-", TAMIS_STEP_SUBTRACT, 1},       {"*", TAMIS_STEP_MULTIPLY, 2},
    {"/", TAMIS_STEP_DIVIDE, 2},
};
enum { OPERATORS = sizeof operators / sizeof *operators, LEVELS = 3 };

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* ------------------------------------------------------------------------------------------ places and messages */

/* The token for messages, in quotes: bytes that are no ASCII are shown as '?'. */
typedef struct shown {
    char text[TAMIS_NAME_MOST + 8];
} shown;

static shown show(const reader *r) {
    shown s;
    const int most = r->length < TAMIS_NAME_MOST ? r->length : TAMIS_NAME_MOST;
    int used = 0;
    s.text[used++] = '\'';
    for (int k = 0; k < most; k++) {
        const char c = r->token[k];
        s.text[used++] = c > ' ' && c < 0x7f ? c : '?';
    }
    s.text[used++] = '\'';
    s.text[used] = '\0';
    if (r->length == 0) snprintf(s.text, sizeof s.text, "the end");
    return s;
}

/* Fails at a place of the text. */
static tamis_status fail_at(const reader *r, const char *place, const char *what, const char *detail) {
    int line = 1, column = 1;
    for (const char *c = r->text; c < place; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
    }
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s:%d:%d: %s%s", r->program->what, line, column, what, detail);
}

/* Letters to insert, drop or change to make one name of the other, at most `most` + 1. */
static int distance(const char *name, int length, const char *other, int most) {
    enum { LONGEST = TAMIS_NAME_MOST };
    const int width = (int)strlen(other);
    int before[LONGEST + 1], now[LONGEST + 1];
    if (length > LONGEST || width > LONGEST) return most + 1;
    for (int j = 0; j <= width; j++) before[j] = j;
    for (int i = 1; i <= length; i++) {
        now[0] = i;
        for (int j = 1; j <= width; j++) {
            const int change = before[j - 1] + (name[i - 1] != other[j - 1]);
            const int one = before[j] < now[j - 1] ? before[j] : now[j - 1];
            now[j] = change < one + 1 ? change : one + 1;
        }
        memcpy(before, now, sizeof now);
    }
    return before[width] <= most ? before[width] : most + 1;
}

/* Fails for the name that the reader has just read, with the nearest name that exists. */
static tamis_status unknown(const reader *r) {
    const char *nearest = NULL;
    int least = r->length > 3 ? 3 : r->length > 1 ? 2 : 1; /* changes that are too many */
    for (const tamis_meaning *m = r->meanings; m->name; m++)
        if (distance(r->token, r->length, m->name, 2) < least) {
            least = distance(r->token, r->length, m->name, 2);
            nearest = m->name;
        }
    for (int kind = TAMIS_STEP_LEAVES; kind < TAMIS_STEP_KINDS; kind++) {
        const char *const name = tamis_function_of(kind)->name;
        if (is_letter(name[0]) && distance(r->token, r->length, name, 2) < least) {
            least = distance(r->token, r->length, name, 2);
            nearest = name;
        }
    }
    char detail[2 * TAMIS_NAME_MOST + 96];
    if (nearest)
        snprintf(detail, sizeof detail, "%s; did you mean '%s'?", show(r).text, nearest);
    else
        snprintf(detail, sizeof detail, "%s; names are %s, functions and the named numbers", show(r).text,
                 (r->program->what == tamis_message_form.what ? &tamis_message_form : &tamis_edge_form)->names);
    return fail_at(r, r->token, "unknown name ", detail);
}

/* ------------------------------------------------------------------------------------------ tokens */

static int number_length(const char *at) {
    const char *c = at;
    while (is_digit(*c)) c++;
    if (*c == '.') c++;
    while (is_digit(*c)) c++;
    if (*c == 'e' || *c == 'E') {
        const char *exponent = c + 1;
        if (*exponent == '+' || *exponent == '-') exponent++;
        if (is_digit(*exponent)) {
            while (is_digit(*exponent)) exponent++;
            c = exponent;
        }
    }
    return (int)(c - at);
}

/* True at the dot of row.NAME. */
static bool begins_part(const char *at) { return at[0] == '.' && is_letter(at[1]); }

static void next(reader *r) {
    const char *at = r->at;
    while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r') at++;
    r->token = at;
    r->length = *at != '\0';
    if (is_letter(*at)) {
        while (is_letter(at[r->length]) || is_digit(at[r->length]) || begins_part(at + r->length)) r->length++;
    } else if (is_digit(*at) || (*at == '.' && is_digit(at[1]))) {
        r->length = number_length(at);
    } else {
        for (int k = 0; k < OPERATORS; k++)
            if (strncmp(at, operators[k].sign, strlen(operators[k].sign)) == 0) {
                r->length = (int)strlen(operators[k].sign);
                break;
            }
    }
    r->at = at + r->length;
}

static bool token_is(const reader *r, const char *text) {
    return r->length == (int)strlen(text) && strncmp(r->token, text, (size_t)r->length) == 0;
}

static tamis_status expect(reader *r, const char *sign, const char *after) {
    char what[96];
    if (token_is(r, sign)) {
        next(r);
        return TAMIS_OK;
    }
    snprintf(what, sizeof what, "expected '%s' after %s, not ", sign, after);
    return fail_at(r, r->token, what, show(r).text);
}

/* ------------------------------------------------------------------------------------------ grammar */

static tamis_status comparison(reader *r, int *step);

static tamis_status number(reader *r, int *step) {
    char digits[64];
    if (r->length >= (int)sizeof digits) return fail_at(r, r->token, "a number of more than 63 characters", "");
    memcpy(digits, r->token, (size_t)r->length);
    digits[r->length] = '\0';
    if (is_letter(*r->at) || *r->at == '.') return fail_at(r, r->at, "a number goes on with what is no digit", "");
    const double value = strtod_l(digits, NULL, tamis_c_locale());
    if (!isfinite(value)) return fail_at(r, r->token, "the number does not fit 64 bits: ", show(r).text);
    *step = tamis_program_number(r->program, value);
    next(r);
    return TAMIS_OK;
}

#define SOFTMAX     "softmax"
#define USUAL_SLOPE 0.01 /* of leaky_relu with one operand */

static tamis_status call(reader *r, int kind, int *step) {
    const tamis_function *const f = tamis_function_of(kind);
    const char *const place = r->token;
    char what[96];
    int given = 0, of[3] = {0, 0, 0};
    next(r);
    if (!token_is(r, "(")) {
        snprintf(what, sizeof what, "%s is a function: expected '(' after it, not ", f->name);
        return fail_at(r, r->token, what, show(r).text);
    }
    do {
        int one = 0;
        next(r);
        TRY(comparison(r, &one));
        if (given < 3) of[given] = one;
        given++;
    } while (token_is(r, ","));
    TRY(expect(r, ")", "the operands of a function"));
    if (kind == TAMIS_STEP_LEAKY_RELU && given == 1) of[given++] = tamis_program_number(r->program, USUAL_SLOPE);
    if (given != f->arity) {
        snprintf(what, sizeof what, "%s takes %s%d operand%s, not %d", f->name,
                 kind == TAMIS_STEP_LEAKY_RELU ? "1 or " : "", f->arity, f->arity == 1 ? "" : "s", given);
        return fail_at(r, place, what, "");
    }
    *step = tamis_program_call(r->program, kind, of[0], of[1], of[2]);
    return TAMIS_OK;
}

/* The kinds of named arrays, by the word before the dot. */
static const tamis_meaning array_kinds[] = {
    {"row", TAMIS_STEP_ROW}, {"col", TAMIS_STEP_COL}, {"entry", TAMIS_STEP_ENTRY}, {"head", TAMIS_STEP_HEAD}};
enum { ARRAY_KINDS = sizeof array_kinds / sizeof *array_kinds };

/* Adds an array unless there is one of that name; returns its number, or -1 if there are too many. */
static int add_array(tamis_program *p, int kind, const char *name, int length) {
    for (int k = 0; k < p->arrays; k++)
        if ((int)strlen(p->array[k].name) == length && memcmp(p->array[k].name, name, (size_t)length) == 0) return k;
    if (p->arrays == TAMIS_PROGRAM_ARRAYS) return -1;
    p->array[p->arrays] = (tamis_array_name){.kind = kind};
    memcpy(p->array[p->arrays].name, name, (size_t)length);
    return p->arrays++;
}

/* A name with a dot. */
static tamis_status array(reader *r, const char *dot, int *step) {
    const int before = (int)(dot - r->token), after = r->length - before - 1;
    int kind = 0;
    while (kind < ARRAY_KINDS && !((int)strlen(array_kinds[kind].name) == before &&
                                   memcmp(array_kinds[kind].name, r->token, (size_t)before) == 0))
        kind++;
    if (kind == ARRAY_KINDS || memchr(dot + 1, '.', (size_t)after))
        return fail_at(r, r->token, show(r).text, ": arrays are row.NAME, col.NAME, entry.NAME and head.NAME");
    if (after > TAMIS_NAME_MOST) return fail_at(r, dot + 1, "the name of an array has more than 32 characters", "");
    const int number = add_array(r->program, array_kinds[kind].step, r->token, r->length);
    if (number < 0) return fail_at(r, r->token, "more than 8 named arrays, and numbers of executions: ", show(r).text);
    *step = tamis_program_leaf(r->program, r->program->array[number].kind, number);
    next(r);
    return TAMIS_OK;
}

static bool has_arrays(const reader *r) { return r->program->what == tamis_edge_form.what; }

static tamis_status name(reader *r, int *step) {
    const char *const dot = memchr(r->token, '.', (size_t)r->length);
    if (dot && has_arrays(r)) return array(r, dot, step);
    if (token_is(r, SOFTMAX) && has_arrays(r))
        return fail_at(r, r->token, "softmax is the last step, over each row: the whole edge is softmax(EXPRESSION)",
                       "");
    for (const tamis_meaning *m = r->meanings; m->name; m++)
        if (token_is(r, m->name)) {
            *step = m->step;
            next(r);
            return TAMIS_OK;
        }
    for (int kind = TAMIS_STEP_LEAVES; kind < TAMIS_STEP_KINDS; kind++)
        if (token_is(r, tamis_function_of(kind)->name)) return call(r, kind, step);
    return unknown(r);
}

static tamis_status primary(reader *r, int *step) {
    if (is_letter(*r->token)) return name(r, step);
    if (is_digit(*r->token) || (*r->token == '.' && r->length > 1)) return number(r, step);
    if (!token_is(r, "(")) return fail_at(r, r->token, "expected a number, a name or '(', not ", show(r).text);
    next(r);
    TRY(comparison(r, step));
    return expect(r, ")", "an expression in parentheses");
}

static tamis_status sign(reader *r, int *step) {
    int negative = 0;
    for (; token_is(r, "-"); next(r)) negative++;
    TRY(primary(r, step));
    if (negative % 2) *step = tamis_program_call(r->program, TAMIS_STEP_NEGATE, *step, 0, 0);
    return TAMIS_OK;
}

static const operator_row *operator_at(const reader *r, int level) {
    for (int k = 0; k < OPERATORS; k++)
        if (operators[k].level == level && token_is(r, operators[k].sign)) return &operators[k];
    return NULL;
}

static tamis_status operation(reader *r, int level, int *step) {
    const operator_row *row;
    if (level == LEVELS) return sign(r, step);
    TRY(operation(r, level + 1, step));
    while ((row = operator_at(r, level))) {
        const int left = *step;
        int right = 0;
        next(r);
        TRY(operation(r, level + 1, &right));
        *step = tamis_program_call(r->program, row->kind, left, right, 0);
        if (level == 0 && operator_at(r, 0))
            return fail_at(r, r->token, "comparisons do not chain: put one of them in parentheses before ",
                           show(r).text);
    }
    return TAMIS_OK;
}

static tamis_status comparison(reader *r, int *step) {
    if (r->depth == TAMIS_TEXT_DEPTH) return fail_at(r, r->token, "more than 64 levels of parentheses", "");
    r->depth++;
    TRY(operation(r, 0, step));
    r->depth--;
    return TAMIS_OK;
}

tamis_status tamis_parse(tamis_program *p, const char *text, const tamis_meaning *meanings, int *step) {
    reader r = {.program = p, .text = text, .at = text, .meanings = meanings};
    next(&r);
    if (token_is(&r, SOFTMAX) && has_arrays(&r)) {
        p->softmax = true;
        next(&r);
        TRY(expect(&r, "(", SOFTMAX));
        TRY(comparison(&r, step));
        TRY(expect(&r, ")", "the operand of softmax"));
        if (r.length == 0) return TAMIS_OK;
        return fail_at(&r, r.token, "softmax is the last step: expected the end after it, not ", show(&r).text);
    }
    TRY(comparison(&r, step));
    if (r.length == 0) return TAMIS_OK;
    return fail_at(&r, r.token, "expected an operator or the end, not ", show(&r).text);
}

/* ------------------------------------------------------------------------------------------ forms */

const tamis_form tamis_edge_form = {
    .what = "edge",
    .fields = "edge_",
    .names = "x, s, i, j, h, row.NAME, col.NAME, entry.NAME, head.NAME",
    .arrays = true,
    .variables = {
        {"x", TAMIS_STEP_X}, {"s", TAMIS_STEP_S}, {"i", TAMIS_STEP_I}, {"j", TAMIS_STEP_J}, {"h", TAMIS_STEP_H}}};
const tamis_form tamis_message_form = {.what = "message",
                                       .fields = "",
                                       .names = "u, v, e, i, j, h",
                                       .variables = {{"u", TAMIS_STEP_X},
                                                     {"v", TAMIS_STEP_V},
                                                     {"e", TAMIS_STEP_S},
                                                     {"i", TAMIS_STEP_I},
                                                     {"j", TAMIS_STEP_J},
                                                     {"h", TAMIS_STEP_PART}}};
enum { VARIABLES_MOST = sizeof tamis_edge_form.variables / sizeof *tamis_edge_form.variables };

static tamis_status check_name(const tamis_form *form, const char *name) {
    size_t length = 0;
    if (!name || !is_letter(name[0]))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s: the name '%.40s' of a number does not begin with a letter",
                          form->what, name ? name : "");
    while (is_letter(name[length]) || is_digit(name[length])) length++;
    if (name[length] != '\0' || length > TAMIS_NAME_MOST)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "%s: the name '%.40s' of a number is not up to %d letters, digits and _", form->what, name,
                          TAMIS_NAME_MOST);
    for (const tamis_meaning *v = form->variables; v->name; v++)
        if (strcmp(name, v->name) == 0)
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s: the name '%s' of a number is that of a variable", form->what,
                              name);
    bool is_function = form->arrays && strcmp(name, SOFTMAX) == 0;
    for (int kind = TAMIS_STEP_LEAVES; kind < TAMIS_STEP_KINDS; kind++)
        is_function = is_function || strcmp(name, tamis_function_of(kind)->name) == 0;
    if (is_function)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s: the name '%s' of a number is that of a function", form->what,
                          name);
    return TAMIS_OK;
}

/* values: NULL, or the numbers' values: executions give the numbers that are NaN. */
static tamis_status parse(tamis_program *p, const tamis_form *form, const char *text, const char *const *scalars,
                          const double *values, int scalar_count) {
    tamis_meaning meanings[VARIABLES_MOST + TAMIS_PROGRAM_SCALARS + 1] = {{NULL, 0}};
    int step = 0, variables = 0;
    *p = (tamis_program){.what = form->what, .scalars = scalar_count};
    if (!text)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s: its text is NULL: expected an expression of %s", form->what,
                          form->names);
    if (strnlen(text, TAMIS_TEXT_MOST + 1) > TAMIS_TEXT_MOST)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s: a text of more than %d bytes", form->what, TAMIS_TEXT_MOST);
    if (scalar_count < 0 || scalar_count > TAMIS_PROGRAM_SCALARS)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s: %d named numbers: expected at most %d", form->what, scalar_count,
                          TAMIS_PROGRAM_SCALARS);
    for (const tamis_meaning *v = form->variables; v->name; v++)
        meanings[variables++] = (tamis_meaning){v->name, tamis_program_leaf(p, v->step, 0)};
    for (int k = 0; k < scalar_count; k++) {
        TRY(check_name(form, scalars[k]));
        for (int other = 0; other < k; other++)
            if (strcmp(scalars[k], scalars[other]) == 0)
                return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s: two numbers have the name '%s'", form->what, scalars[k]);
        const bool later = form->arrays && values && isnan(values[k]);
        const int number = later ? add_array(p, TAMIS_STEP_HEAD, scalars[k], (int)strlen(scalars[k])) : k;
        if (number < 0)
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s: the number '%s' is the ninth that executions give: at most 8",
                              form->what, scalars[k]);
        meanings[variables + k] =
            (tamis_meaning){scalars[k], tamis_program_leaf(p, later ? TAMIS_STEP_HEAD : TAMIS_STEP_SCALAR, number)};
    }
    TRY(tamis_parse(p, text, meanings, &step));
    return tamis_program_finish(p, &step, 1);
}

tamis_status tamis_program_parse(tamis_program *p, const tamis_form *form, const char *text, const char *const *scalars,
                                 int scalar_count) {
    return parse(p, form, text, scalars, NULL, scalar_count);
}

tamis_status tamis_program_read(tamis_program *p, const tamis_form *form, const char *text,
                                const tamis_edge_number *numbers, int64_t count, double values[TAMIS_PROGRAM_SCALARS]) {
    const char *const what = form->what;
    const char *names[TAMIS_PROGRAM_SCALARS] = {NULL};
    if (count < 0 || count > TAMIS_PROGRAM_SCALARS)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.%snumber_count = %lld: expected 0 .. %d", form->fields,
                          (long long)count, TAMIS_PROGRAM_SCALARS);
    if (count > 0 && !numbers)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.%snumbers = NULL, but options.%snumber_count = %lld",
                          form->fields, form->fields, (long long)count);
    for (int k = 0; k < (int)count; k++) {
        names[k] = numbers[k].name;
        values[k] = numbers[k].value;
    }
    TRY(parse(p, form, text, names, values, (int)count));
    for (int k = 0; k < (int)count; k++) {
        if (form->arrays && isnan(values[k]))
            values[k] = 0; /* executions have it */
        else if (!isfinite(values[k]))
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s: the number '%s' = %g is not finite", what, names[k],
                              values[k]);
    }
    return TAMIS_OK;
}
