/*
 * Expressions. EDGE_TEXT, if it is defined, are declarations of r0, the value, and in gradients of edges of r1 and r2,
 * its derivatives by x and by s, which src/expression/text.c writes. i and j are where the entry is, and h the member:
 * most kernels of plans do not say it. In messages x is u, s is e, v is the row's element, and h the head. n0, n1, ...
 * are the numbers of named arrays. A kernel may define functions of its own before it includes this.
 */
#define NUMBER(x)                          ((real)(x))
#define SELECT(condition, this, otherwise) ((condition) ? (this) : (otherwise))

/* Kernels of plans that know the places of entries take these; the code of an edge that reads them comes first, and has
   them. */
#ifndef TEXT_PARAMETERS
#define TEXT_PARAMETERS
#endif

/* The named arrays of a text, and four bits for each in array_kinds. */
#define ARRAY_PARAMETERS                                                                                               \
    OUT(element, n0), int64 n0_batch_stride, OUT(element, n1), int64 n1_batch_stride, OUT(element, n2),                \
        int64 n2_batch_stride, OUT(element, n3), int64 n3_batch_stride, OUT(element, n4), int64 n4_batch_stride,       \
        OUT(element, n5), int64 n5_batch_stride, OUT(element, n6), int64 n6_batch_stride, OUT(element, n7),            \
        int64 n7_batch_stride, int32 array_kinds

/* An element for each nonzero, row, column or member. Bits of `kind`: */
#define THERE     1 /* the array is present, or wanted */
#define REALS     2 /* elements are `real` */
#define SCATTERED 4 /* in the caller's order of entries, through the permutation */

FUNCTION real read_array(GLOBAL const element *array, int64 begin, int kind, int64 t, int64 scattered) {
    const int64 at = begin + (kind & SCATTERED ? scattered : t);
    if (kind & REALS) return ((GLOBAL const real *)array)[at];
    return real_of(array[at]);
}

#if defined(EDGE_TEXT)
#define EXP(x)    exp(x)
#define LOG(x)    log(x)
#define ERF(x)    erf(x)
#define ERFC(x)   erfc(x)
#define SQRT(x)   sqrt(x)
#define FLOOR(x)  floor(x)
#define POW(x, y) pow(x, y)
#ifndef TANH
#define TANH(x)        tanh(x)
#define QUOTIENT(x, y) ((x) / (y))
#endif
typedef struct text_results {
    real p, by_x, by_s;
} text_results;
#define NO_ARRAYS 0, 0, 0, 0, 0, 0, 0, 0
FUNCTION text_results text_results_of(real x, real s, real v, real i, real j, real h, real p0, real p1, real p2,
                                      real n0, real n1, real n2, real n3, real n4, real n5, real n6, real n7) {
    text_results found;
    EDGE_TEXT
    found.p = r0;
    found.by_x = r1;
    found.by_s = r2;
    return found;
}

#if defined(ARRAYS) /* how many there are; two bits of ARRAYS_ARE say whether each is of a row, a column, ... */
enum { OF_ROW, OF_COLUMN, OF_ENTRY, OF_MEMBER };
#define ARRAY_IS(k)   (ARRAYS > k ? ARRAYS_ARE >> 2 * k & 3 : -1)
#define EACH_ARRAY(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

/* A text's variables that are the same for all entries of a member. */
typedef struct text_source {
    real p0, p1, p2, h;
    GLOBAL const element *arrays[ARRAYS + 1]; /* one more, since there may be none */
    int64 begins[ARRAYS + 1];
    uint32 kinds;
} text_source;

#define TAKE_ARRAY(k)                                                                                                  \
    if (ARRAYS > k) {                                                                                                  \
        text.arrays[ARRAYS > k ? k : 0] = n##k;                                                                        \
        text.begins[ARRAYS > k ? k : 0] = member_number * n##k##_batch_stride;                                         \
    }
/* In a kernel with the parameters of a text: `text` becomes what it reads of a member. */
#define TAKE_TEXT(member)                                                                                              \
    text_source text;                                                                                                  \
    const int64 member_number = member;                                                                                \
    text.p0 = edge_scale, text.p1 = edge_slope, text.p2 = edge_epsilon, text.h = (real)member_number;                  \
    text.kinds = (uint32)array_kinds;                                                                                  \
    EACH_ARRAY(TAKE_ARRAY)

/* A row, column, entry or member: its number, and the arrays' numbers there. */
typedef struct text_place {
    real at, of[ARRAYS + 1];
} text_place;

#define READ_ARRAY(k)                                                                                                  \
    if (ARRAY_IS(k) == what)                                                                                           \
        place->of[ARRAYS > k ? k : 0] = read_array(text->arrays[ARRAYS > k ? k : 0], text->begins[ARRAYS > k ? k : 0], \
                                                   (int)(text->kinds >> 4 * k & 15), number, scattered);
FUNCTION void read_arrays(text_place *place, const text_source *text, int what, int64 number, int64 scattered) {
    EACH_ARRAY(READ_ARRAY)
}

#define PLACED(k)                                                                                                      \
    (ARRAY_IS(k) == -1          ? (real)0                                                                              \
     : ARRAY_IS(k) == OF_ROW    ? row->of[ARRAYS > k ? k : 0]                                                          \
     : ARRAY_IS(k) == OF_COLUMN ? column->of[ARRAYS > k ? k : 0]                                                       \
                                : other->of[ARRAYS > k ? k : 0])
/* `other`: of the entry and the member. */
FUNCTION text_results text_at(const text_source *text, real x, real s, const text_place *row, const text_place *column,
                              const text_place *other) {
    return text_results_of(x, s, 0, row->at, column->at, text->h, text->p0, text->p1, text->p2, PLACED(0), PLACED(1),
                           PLACED(2), PLACED(3), PLACED(4), PLACED(5), PLACED(6), PLACED(7));
}
#endif
#endif
