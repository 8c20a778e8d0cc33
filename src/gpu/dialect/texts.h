/*
 * Expressions. EDGE_TEXT, if it is defined, are declarations of r0, the value, and in gradients of edges of r1 and r2,
 * its derivatives by x and by s, which src/expression/text.c writes. i and j are where the entry is, and h the member:
 * kernels of plans do not say it. In messages x is u, s is e, v is the row's element, and h the head. n0, n1, ... are
 * the numbers of named arrays.
 */
#define NUMBER(x)                          ((real)(x))
#define SELECT(condition, this, otherwise) ((condition) ? (this) : (otherwise))

#if defined(EDGE_TEXT)
#define EXP(x)    exp(x)
#define LOG(x)    log(x)
#define TANH(x)   tanh(x)
#define ERF(x)    erf(x)
#define ERFC(x)   erfc(x)
#define SQRT(x)   sqrt(x)
#define FLOOR(x)  floor(x)
#define POW(x, y) pow(x, y)
#define QUOTIENT(x, y) ((x) / (y))
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
#endif
