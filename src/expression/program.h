/*
 * A program: an edge expression as a list of steps. A step is a number, a variable, or a function of earlier steps;
 * equal steps are one. Programs have no jumps and no memory but the values of their steps, so that each evaluation ends
 * and reads nothing else.
 */
#ifndef TAMIS_EXPRESSION_PROGRAM_H
#define TAMIS_EXPRESSION_PROGRAM_H

#include <tamis/types.h>

#include "expression/functions.h"

enum {
    TAMIS_PROGRAM_STEPS = 512,    /* the most steps, with the derivatives */
    TAMIS_PROGRAM_SLOTS = 32,     /* the most values that are needed at the same time */
    TAMIS_PROGRAM_CONSTANTS = 64, /* the most numbers, besides S's value where there is none */
    TAMIS_PROGRAM_SCALARS = 16,   /* named numbers */
    TAMIS_PROGRAM_ARRAYS = 8,     /* named arrays */
    TAMIS_NAME_MOST = 32,         /* bytes of a name, without the prefix of an array's */
    TAMIS_PROGRAM_RESULTS = 3     /* the value, its derivative by x, its derivative by s */
};

/* Kinds of steps. */
enum {
    TAMIS_STEP_NUMBER,
    TAMIS_STEP_SCALAR, /* a named number, whose value an execution has */
    TAMIS_STEP_X,
    TAMIS_STEP_S,
    TAMIS_STEP_I,
    TAMIS_STEP_J,
    TAMIS_STEP_H,
    TAMIS_STEP_V,    /* of messages: the row's element; there x is u, the column's, and s is e, the entry's */
    TAMIS_STEP_PART, /* of messages: the head of the element, h */
    /* Named arrays: an execution has a number for each row, column, entry or member. HEAD is also a number that the
       execution has. */
    TAMIS_STEP_ROW,
    TAMIS_STEP_COL,
    TAMIS_STEP_ENTRY,
    TAMIS_STEP_HEAD,
    TAMIS_STEP_LEAVES,
    TAMIS_STEP_BEFORE_FUNCTIONS = TAMIS_STEP_LEAVES - 1,
#define ROW(NAME, ...) TAMIS_STEP_##NAME,
    TAMIS_FUNCTIONS(ROW)
#undef ROW
        TAMIS_STEP_KINDS
};

typedef struct tamis_step {
    uint8_t kind;   /* TAMIS_STEP_... */
    uint8_t slot;   /* where its value is kept until the last step that takes it; the number of a constant */
    uint16_t of[3]; /* operands: earlier steps; of[0] of a scalar or an array is its number */
    double number;  /* of TAMIS_STEP_NUMBER */
} tamis_step;

/* An array that steps take: its name with the prefix, "row.b", and TAMIS_STEP_ROW, .... */
typedef struct tamis_array_name {
    char name[TAMIS_NAME_MOST + 8];
    int kind;
} tamis_array_name;

typedef struct tamis_program {
    const char *what; /* begins the messages of errors: "edge" or "message" */
    int count;        /* steps */
    int slots;        /* values that are kept at the same time */
    int constants;    /* steps that are the same for all samples of a member */
    int scalars;      /* named numbers, whether or not steps take them */
    int arrays;       /* named arrays */
    tamis_array_name array[TAMIS_PROGRAM_ARRAYS];
    unsigned leaves; /* bit TAMIS_STEP_... is set if a step is that */
    bool softmax;    /* the edge is the softmax, over each row, of the first result */
    int results;
    uint16_t result[TAMIS_PROGRAM_RESULTS];
    tamis_step steps[TAMIS_PROGRAM_STEPS];
    bool full;         /* while it is made: a step did not fit */
    bool zeros_vanish; /* while it is differentiated: 0 * u is 0 even if u may be infinite */
} tamis_program;

/* True if the step has the same value for all samples of a batch's member. */
static inline bool tamis_step_is_constant(int kind) {
    return kind == TAMIS_STEP_NUMBER || kind == TAMIS_STEP_SCALAR || kind == TAMIS_STEP_H;
}

static inline bool tamis_step_is_array(int kind) { return kind >= TAMIS_STEP_ROW && kind <= TAMIS_STEP_HEAD; }

/* A row of functions.h. */
typedef struct tamis_function {
    const char *name, *derivative;
    int arity, shape;
    double turn;
} tamis_function;

/* The row of a step that is not a leaf. */
const tamis_function *tamis_function_of(int kind);

/* The value of a function, in double. */
double tamis_function_value(int kind, double a, double b, double c);

/*
 * Making a program: each call returns the number of the step, which may be one that exists or a simpler one. Functions
 * of numbers are numbers. A full program returns 0 and says so in `full`.
 */
int tamis_program_number(tamis_program *p, double number);
int tamis_program_leaf(tamis_program *p, int kind, int number); /* of the scalar or the array; else 0 */
int tamis_program_call(tamis_program *p, int kind, int a, int b, int c);

/* Makes these steps the results, drops the steps that none of them needs, and gives each other one its slot. Fails if
   the program is full or needs too many slots. */
tamis_status tamis_program_finish(tamis_program *p, const int *results, int count);

/* True if the programs have the same steps and results. */
bool tamis_program_same(const tamis_program *p, const tamis_program *q);

/* The variables of an evaluation of an edge for up to TAMIS_PROGRAM_RUN samples. Those that no step takes may be NULL.
 */
enum { TAMIS_PROGRAM_RUN = 256 };
typedef struct tamis_variables {
    const double *x, *s, *i, *j;
    double h;
    const double *scalars;
    const double *const *arrays; /* for each named array its numbers of the samples */
} tamis_variables;

#endif
