/*
 * Operation rows: an operation of the public headers declares in a file of tests/operations what its calls are given
 * and what the oracle says of them, and OPERATION(row) tries all that holds for every operation:
 *
 *   correct      every device, instruction set and type: within the row's bounds, no gap written to
 *   same_bits    again, with other numbers of threads, with some of the outputs left out, replayed by a CUDA graph
 *   refused      each field of each matrix, and each of the row's own, spoilt in turn: names it, writes nothing
 *   no_memory    each allocation fails in turn
 *   differences  the oracle's gradients against differences of its values (OPERATION_WITH_GRADIENT)
 *
 *   tamis_test_operations ROW [DEVICE [STEP]]    every STEP-th of the row's cases, on the CPU by default
 *   tamis_test_operations ROW bench [DEVICE]     the time of a call of a few cases
 *   tamis_test_operations ROW unsupported [DEVICE]    what the device declines, how often and why
 *   tamis_test_operations --draw SECONDS --seed N    any case of any row, until the time is over
 */
#ifndef TAMIS_TESTS_OPERATION_H
#define TAMIS_TESTS_OPERATION_H

#include "support/test.h"

#include <tamis/message.h>

#include "support/problem.h"
#include "support/variants.h"

typedef enum operand_role {
    OPERAND_IN,
    OPERAND_OUT,
    OPERAND_SEED,    /* the gradient of a loss by a result */
    OPERAND_GRADIENT /* what the backward call makes of it, by an input */
} operand_role;

/* A matrix of a call, or an array of indices, with what is expected of it. */
typedef struct operand {
    const char *name; /* as messages call it; NULL: there is none */
    operand_role role;
    int by; /* of a seed the result, of a gradient the input; -1: none */
    matrix m;
    bool indices; /* of index_type; m has one column of such */
    tamis_index_type index_type;
    bool borrowed;         /* the row keeps the block: it is neither sent nor freed */
    bool array;            /* a call gets its address alone */
    bool any_size;         /* the call takes its sizes and its type from it */
    bool or_fp32;          /* it may be fp32 whatever its type is */
    bool optional, absent; /* it may be left out; it is, now */
    bool kept;             /* the forward call may leave it out, the backward call may not */
    bool old;              /* what was in it counts */
    bool under;            /* results may be where it is */
    void *before;          /* the block before a call */
    double *want, *bound;  /* of a result: packed, a member after another */
} operand;

enum { OPERANDS = 28 };

typedef enum operation_values {
    VALUES_QUARTERS, /* multiples of 1/4 up to 7/4, not 0, many of them equal: sums are exact */
    VALUES_ANY,      /* -1 to 1 */
    VALUES_APART     /* no two near each other */
} operation_values;

typedef struct operation_case {
    const struct operation_row *row;
    const char *on; /* the device's name */
    tamis_device *device;
    tamis_random random;
    bool aligned;   /* all operands are, as kernels that load many numbers at once want it */
    int64_t number; /* of a sweep: the digits that are left; -1: all is drawn */
    tamis_type type;
    operation_values values;
    int threads, way;
    void *stream;
    bool small;         /* many evaluations follow */
    matrix_place place; /* of the next matrix */
    bool placed;        /* as the row says; drawn otherwise, but for the members */
    bool transpose;     /* the pattern's places are of the transpose */
    pattern pattern;    /* with operation_pattern() */
    tamis_sparse S, there;
    tamis_graph_options graph_options;
    tamis_graph *graph;
    operand of[OPERANDS];
    bool without_signs; /* sizes are asked for: see operation_expect() */
    bool expected;      /* want and bound are filled in */
    bool forward_only;  /* the reference need not fill in gradients */
    bool passed;
    bool unspoilt;  /* a view serves twice: messages name either */
    bool any_order; /* the bits may differ; set by open() */
    char text[300];
    void *own; /* the row's */
} operation_case;

/* A field of the row's own that no call may accept: see SPOILS. */
typedef struct operation_refusal {
    size_t at, bytes;
    int64_t value;
    double number; /* in its place, of a field of double */
    bool is_double;
    tamis_status status;
    const char *words;
} operation_refusal;
#define SPOILS(own, field, to, want, text)                                                                             \
    {                                                                                                                  \
        .at = offsetof(own, field), .bytes = sizeof(((own *)0)->field), .value = (to), .status = TAMIS_ERROR_##want,   \
        .words = (text)                                                                                                \
    }
#define SPOILS_NUMBER(own, field, to, want, text)                                                                      \
    {                                                                                                                  \
        .at = offsetof(own, field), .bytes = sizeof(double), .number = (to), .is_double = true,                        \
        .status = TAMIS_ERROR_##want, .words = (text)                                                                  \
    }

#define OPERATION_REFUSES(list) .refusals = (list), .refusal_count = sizeof(list) / sizeof *(list)
#define OPERATION_OWN(c)        ((own *)(c)->own)

typedef struct operation_row {
    const char *name;
    size_t own;         /* bytes of the row's own, zeros at first */
    test_tables tables; /* the CPU's kernels */
    int cases;          /* of a run: as many as the first picks combine to, or more */
    bool any_values;    /* its bounds are of any numbers, not of quarters alone */
    bool any_layout;    /* column-major matrices are taken */
    bool may_write;     /* a call that ran out of memory may have written */
    bool back_reads;    /* the backward call reads all inputs */
    bool cells;         /* patterns have cells: sorted columns, no duplicates, and some are large and full */
    bool planned;       /* by a plan: layouts and members are fixed */
    bool allocates;     /* calls of an open plan or graph do */
    bool no_views;      /* its calls take no tamis_dense: the row spoils what they take instead */
    bool waits;         /* calls wait for the device: none can be captured into a graph */
    bool no_memory;     /* it allocates nothing */
    bool by_threads;    /* another number of threads may give other bits */
    int spoilt;         /* cases that are spoilt; 0: 12 */
    void (*draw)(operation_case *c);
    void (*fill)(operation_case *c); /* values other than those of the harness; NULL: none */
    const char *(*unsupported)(
        const operation_case *c);            /* words of the reason where the device declines; NULL: never */
    int (*ways)(const operation_case *c);    /* how many ways to compute it, c->way names one; NULL: one */
    tamis_status (*open)(operation_case *c); /* a plan, a graph; NULL: none is needed */
    void (*close)(operation_case *c);
    tamis_status (*pass)(operation_case *c);
    tamis_status (*back)(operation_case *c); /* NULL: no gradient */
    void (*reference)(operation_case *c);    /* want and bound of results; what a call found is in the matrices */
    void (*forget)(operation_case *c);       /* what draw() made beside operands */
    const operation_refusal *refusals;
    int refusal_count;
} operation_row;

/* ------------------------------------------------------------------------------------------ for draw() */

/* One of n: in a sweep each in its turn, the first picks fastest. */
int64_t operation_pick(operation_case *c, int64_t n);
int64_t operation_below(operation_case *c, int64_t n);
bool operation_once_in(operation_case *c, int64_t n);
#define OPERATION_ONE_OF(c, array) ((array)[operation_below((c), (int64_t)(sizeof(array) / sizeof *(array)))])

/* Heads and width of vectors: one number, whole and ragged pieces of a register, several heads, none at all. */
enum { OPERATION_SMALL = 8 };
extern const int64_t operation_shapes[10][2];

/* A pattern of a kind that is picked: CSR, COO in no order, a slice, one without entries, COO by columns, with a row
   and a column of over 1000, ragged, none at all. Puts it into c->S. */
enum { OPERATION_PATTERNS = 8 };
void operation_pattern(operation_case *c);
void operation_default_heads(operation_case *c, int64_t *heads); /* sets one head to 0, which means 1, now and then */
int64_t operation_longest(const operation_case *c);              /* entries of the longest row or column */

/* Number k is a matrix of c->type at c->place, with gaps. */
operand *operand_add(operation_case *c, int k, operand_role role, int by, const char *name, int64_t rows, int64_t cols);
operand *operand_typed(operation_case *c, int k, operand_role role, int by, const char *name, int64_t rows,
                       int64_t cols, tamis_type type);
operand *operand_indices(operation_case *c, int k, operand_role role, const char *name, int64_t count,
                         tamis_index_type type);
void operation_says(operation_case *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ------------------------------------------------------------------------------------------ for calls */

/* NULL where there is none, or it is left out. */
const tamis_dense *operand_here(const operation_case *c, int k);
const tamis_dense *operand_there(const operation_case *c, int k);
void *operand_array(const operation_case *c, int k); /* of indices, on the device */
double *operand_want(operation_case *c, int k);      /* NULL likewise */
int64_t operand_count(const operation_case *c, int k);

/* How far an element may be off before it is stored: roundings of sums and terms, each of size[i] (NULL: 1). 0: exact.
 */
void operand_within(operation_case *c, int k, double off, const double *size);
/* Results of `evaluate`, and bounds: so many roundings of its results without signs, which are the sizes of the terms.
 */
typedef void operation_evaluate(operation_case *c, double *const to[OPERANDS]);
void operation_expect(operation_case *c, operation_evaluate *evaluate, double roundings);
double operation_unit(const operation_case *c); /* of what is summed in, twice over */

/* c->graph, of c->S with c->graph_options: a row's open and close. */
tamis_status operation_open_graph(operation_case *c);
void operation_close_graph(operation_case *c);

/* ------------------------------------------------------------------------------------------ the properties */

void operation_correct(const operation_row *row);
void operation_same_bits(const operation_row *row);
void operation_refused(const operation_row *row);
void operation_no_memory(const operation_row *row);
void operation_differences(const operation_row *row);
int operation_run(const operation_row *row, int argc, char **argv);
void operation_draw(const operation_row *row, uint64_t seed); /* one case, any property */

#define OPERATION(row)                                                                                                 \
    TEST_TAG(correct, "devices") { operation_correct(&(row)); }                                                        \
    TEST_TAG(same_bits, "devices") { operation_same_bits(&(row)); }                                                    \
    TEST(refused) { operation_refused(&(row)); }                                                                       \
    TEST(no_memory) { operation_no_memory(&(row)); }                                                                   \
    static void drawn(uint64_t seed) { operation_draw(&(row), seed); }                                                 \
    TEST_REGISTER(drawn, .draw = drawn)                                                                                \
    TEST_RUN() { return operation_run(&(row), argc, argv); }
#define OPERATION_WITH_GRADIENT(row)                                                                                   \
    OPERATION(row)                                                                                                     \
    TEST(differences) { operation_differences(&(row)); }

#endif
