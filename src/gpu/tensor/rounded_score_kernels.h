/*
 * Functions of texts for scores whose exponentials are rounded to 16 bits, by up to 2^-8 (bf16) or 2^-11 (fp16). An
 * error d of a score changes its exponential by the factor 1 + d, so that a score of size 30 may be off by 2^-13, or
 * 2^-16, of itself. Here quotients are good to 2^-22; tanh to 2^-16 in bf16, where tanh.approx has 2^-11, and to 2^-20
 * in fp16. Included before edges.h.
 */
#include "cell_kernels.h"

FUNCTION float reciprocal_of(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

#define SATURATED 9.0f /* tanh rounds to 1 from here on */
#if __CUDA_ARCH__ >= 860 || !defined(__CUDA_ARCH__)
/* The sign of x, and the smaller magnitude; NaN stays NaN. */
FUNCTION float held(float x) {
    float z;
    asm("min.NaN.xorsign.abs.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(SATURATED));
    return z;
}
#else
FUNCTION float held(float x) { return x != x ? x : fminf(fmaxf(x, -SATURATED), SATURATED); }
#endif

/* tanh = u / sqrt(1 + u^2) with u = sinh, here a polynomial: good to 2^-16.2 in bf16, 2^-20 in fp16. Eight instructions
   and a reciprocal root in bf16, one more in fp16. The fraction of polynomials that was here took ten and a
   reciprocal. */
FUNCTION float tanh_of_score(float x) {
    const float z = held(x), w = z * z;
    float root;
#if ELEMENT == 116
    const float u = z * fmaf(fmaf(fmaf(2.44216033e-04f, w, 8.16837791e-03f), w, 1.66802451e-01f), w, 9.99987960e-01f);
#else
    const float p = fmaf(fmaf(3.51127664e-06f, w, 1.92653140e-04f), w, 8.34693573e-03f);
    const float u = z * fmaf(fmaf(p, w, 1.66658252e-01f), w, 1.00000060f);
#endif
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(fmaf(u, u, 1.0f)));
    return u * root;
}

#define TANH(x)        tanh_of_score(x)
#define QUOTIENT(x, y) ((x)*reciprocal_of(y))
