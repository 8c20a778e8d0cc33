/*
 * Functions of texts for scores whose exponentials are rounded to 16 bits, by up to 2^-8 (bf16) or 2^-11 (fp16). An
 * error d of a score changes its exponential by the factor 1 + d, so that a score of size 30 may be off by 2^-13, or
 * 2^-16, of itself. Here quotients are good to 2^-22; tanh to 2^-15 in bf16, where tanh.approx has 2^-11, and to 2^-19
 * in fp16. Included before edges.h.
 */
#include "cell_kernels.h"

FUNCTION float reciprocal_of(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* z P(z^2) / Q(z^2), fitted up to where tanh rounds to 1, and constant from there on; NaN stays NaN. Ten instructions
   and a reciprocal in bf16, one more in fp16. */
FUNCTION float tanh_of_score(float x) {
    const float most = ELEMENT == 116 ? 6.25f : 7.2f;
    float z;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(-most));
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(z), "f"(most));
    const float w = z * z;
#if ELEMENT == 116
    const float p = fmaf(fmaf(0.00148399109f, w, 0.114355035f), w, 0.999990453f);
    const float q = fmaf(fmaf(fmaf(5.43374828e-05f, w, 0.0174311324f), w, 0.447624962f), w, 1.0f);
#else
    const float p = fmaf(fmaf(fmaf(3.88774086e-06f, w, 0.0022704681f), w, 0.122970152f), w, 0.999998725f);
    const float q = fmaf(fmaf(fmaf(0.000141510557f, w, 0.0210468378f), w, 0.456294121f), w, 1.0f);
#endif
    return z * p * reciprocal_of(q);
}

#define TANH(x)        tanh_of_score(x)
#define QUOTIENT(x, y) ((x)*reciprocal_of(y))
