/*
 * SDDMM by panels on tensor cores, with the accuracy of fp32: it computes the whole product of a panel of 128 rows of A
 * and 128 rows of B, and picks the nonzeros from it.
 *
 *   all warps   copy slice s + 1 of K of A and B (cp.async)  -->  the other stage
 *               slice s:  split each number into high + low -> three mma.sync (TF32) -> add to fp32 registers
 *               last slice: products -> shared memory -> pick the cell's entries -> edge -> P
 *
 * The cells are those of sddmm_panels.simt with 128 rows and 128 columns. A group of eight warps computes a cell's 128
 * x 128 products from slices of 32 of K, which asynchronous copies bring into shared memory, one slice ahead (double
 * buffering); a warp holds 64 x 32 products. Every fp32 number is split into two TF32 numbers, high and low. Three of
 * the four products are added, the small ones first (low x low is below the last place). The products then go to shared
 * memory, from where the cell's nonzeros take theirs. If one is not finite, the split itself may be the cause (infinity
 * minus infinity), so it is recomputed in fp32.
 *
 * Tensor cores truncate what they add to a sum: the error of a sum that stays there grows in proportion to K (measured
 * on an H200: 0.9e-6 at K = 128, 14e-6 at 2048). So each 8 of K begin at zero there, and the result is added in fp32
 * registers with rounding to nearest (Ootomo and Yokota, arXiv 2203.03341). In an emulation with cores that keep 26
 * bits, which reproduces the errors measured for sums that stay there, operands uniform in [-1, 1) and N(0, 1) alike
 * have a relative Frobenius error of 1.0e-7 at K = 32, 1.5e-7 at 256, 2.2e-7 at 1024 and 4.2e-7 at 4096, where fp32
 * sums in order have 1.0e-7, 3.0e-7, 5.6e-7 and 12e-7; in [0, 1) both have a quarter to a third less. Below K = 32 the
 * error stays at about 1e-7, from the truncation, while a sum in order goes down to 0.5e-7.
 *
 * PRODUCTS: 3 as above; 1 with math = tf32: both operands are rounded to TF32 and multiplied once, and the sum stays in
 * the tensor cores, whose truncation is smaller than that rounding up to K of about ten thousand.
 *
 * Computes 128 x 128 products for any number of nonzeros in a cell: the right choice if about one product in fifteen or
 * more is wanted, as in meshes with a good order, attention patterns and matrices of some per cent density. CUDA only:
 * tensor cores.
 *
 * Shared memory: 2 stages of 2 x 128 rows of 36 floats, 72 KiB; the products reuse it. Registers: 64 for the products
 * of a thread, 16 for those of 8 of K, and 128 in all.
 */
#define GROUPS 2
#include "simt.h"
#include "edges.h"

#define SIDE 128      /* rows and columns of a cell */
#define SLICE 32      /* of the inner width */
#define PITCH 36      /* floats from row to row in shared memory: fragments are read without bank conflicts */
#define STAGE (2 * SIDE * PITCH)
#define OUT_PITCH 132 /* pitch of the products */
#define STEPS (SLICE / 8)

FUNCTION uint32 shared_address(const void *p) { return (uint32)__cvta_generic_to_shared(p); }

/* Copies sixteen bytes; zeros beyond `left` elements. */
FUNCTION void copy_piece(float *to, const float *from, int64 left, int wide) {
    if (wide && left >= 4) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from));
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++) to[i] = i < left ? from[i] : 0.0f;
    }
}

/* Starts to copy one slice of the panel's rows of A and the cell's rows of B. */
FUNCTION void copy_slice(float *stage, const float *a, int64 a_stride, int height, const float *b, int64 b_stride,
                         const index *list, int width, int64 from, int64 inner, int wide) {
    int item = LOCAL_ID;
    asm volatile("" : "+r"(item)); /* prevents hoisting every row's address into registers, which the products need */
#pragma unroll 4
    for (int i = 0; i < 2 * SIDE * SLICE / 4 / GROUP; i++) {
        const int piece = i * GROUP + item, row = piece / (SLICE / 4) % SIDE, at = piece % (SLICE / 4) * 4;
        const int of_b = piece / (SIDE * SLICE / 4);
        const int there = row < (of_b ? width : height);
        const float *source = of_b ? b + (there ? (int64)list[row] : 0) * b_stride : a + (there ? row : 0) * a_stride;
        copy_piece(stage + (of_b * SIDE + row) * PITCH + at, source + from + at, there ? inner - from - at : 0, wide);
    }
    asm volatile("cp.async.commit_group;");
}

/* x = high + low, each with the eleven bits of TF32. High is rounded to nearest, which leaves low at most twelve bits;
   the last of them is cut off. A NaN may be lost in high, but not in low. */
FUNCTION void split(float x, uint32 &high, uint32 &low) {
    const uint32 kept = 0xffffe000u; /* the bits that TF32 keeps of a float */
    high = (bits_of_float(x) + 0x1000u) & kept;
    low = bits_of_float(x - float_of_bits(high)) & kept;
}

/* x rounded to TF32; neither NaN nor infinity is lost. */
FUNCTION uint32 rounded(float x) {
    uint32 y;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
    return y;
}

/* to = a b + c, over 8 of K */
FUNCTION void multiply_add(float *to, const uint32 *a, const uint32 *b, const float *c) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
        : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

#if PRODUCTS == 1
#define SPLIT(x, high, low) high = rounded(x)
#else
#define SPLIT(x, high, low) split(x, high, low)
#endif

/* Adds the warp's 64 x 32 products over one slice. */
FUNCTION void multiply_slice(float (*c)[4][4], const float *stage, int warp_row, int warp_column, int lane) {
    const float *const a = stage + (warp_row * 64 + lane / 4) * PITCH + lane % 4;
    const float *const b = stage + (SIDE + warp_column * 32 + lane / 4) * PITCH + lane % 4;
#pragma unroll
    for (int step = 0; step < STEPS; step++) {
        uint32 b_high[4][2], b_low[4][2];
#pragma unroll
        for (int n = 0; n < 4; n++)
#pragma unroll
            for (int i = 0; i < 2; i++) SPLIT(b[n * 8 * PITCH + step * 8 + i * 4], b_high[n][i], b_low[n][i]);
#pragma unroll
        for (int m = 0; m < 4; m++) {
            uint32 a_high[4], a_low[4];
#pragma unroll
            for (int i = 0; i < 4; i++)
                SPLIT(a[(m * 16 + i % 2 * 8) * PITCH + step * 8 + i / 2 * 4], a_high[i], a_low[i]);
#if PRODUCTS == 1
#pragma unroll
            for (int n = 0; n < 4; n++) multiply_add(c[m][n], a_high, b_high[n], c[m][n]);
#else
            /* four independent sums, since each waits for its last product */
            const float zeros[4] = {0, 0, 0, 0};
            float sum[4][4];
#pragma unroll
            for (int n = 0; n < 4; n++) multiply_add(sum[n], a_low, b_high[n], zeros);
#pragma unroll
            for (int n = 0; n < 4; n++) multiply_add(sum[n], a_high, b_low[n], sum[n]);
#pragma unroll
            for (int n = 0; n < 4; n++) multiply_add(sum[n], a_high, b_high[n], sum[n]);
#pragma unroll
            for (int n = 0; n < 4; n++)
#pragma unroll
                for (int i = 0; i < 4; i++) c[m][n][i] += sum[n][i];
#endif
        }
    }
}

FUNCTION float plain_product(const float *x, const float *y, int64 inner) {
    float sum = 0;
    for (int64 i = 0; i < inner; i++) sum += x[i] * y[i];
    return sum;
}

KERNEL sddmm_tensor(SDDMM_PARAMETERS, BATCH_PARAMETERS, int64 panel_rows, IN(int64, parts), IN(int64, cells),
                    IN(index, lists), IN(uint32, entry), IN(index, position)) {
    SHARED_ARRAY(memory);
    float *const stages = (float *)memory;
    const int64 cell = parts[3 * GROUP_X];
    const int64 panel = cells[2 * cell], first_row = panel * panel_rows;
    const index *const list = lists + cells[2 * cell + 1];
    const int width = (int)(cells[2 * cell + 3] - cells[2 * cell + 1]);
    const int height = (int)min64(panel_rows, rows - first_row);
    const int lane = LOCAL_ID % 32, warp_row = LOCAL_ID / 32 / 4, warp_column = LOCAL_ID / 32 % 4;
    const int slices = (int)((inner + SLICE - 1) / SLICE);
    /* rows are aligned to 16 bytes, whatever their width: a weaker condition than `wide` */
    const uint64 ends = (uint64)a | (uint64)b | (uint64)(a_stride * 4) | (uint64)(b_stride * 4);
    const int aligned = ends % 16 == 0;
    const float *const a_panel = a + first_row * a_stride;
    float c[4][4][4];
#pragma unroll
    for (int m = 0; m < 4; m++)
#pragma unroll
        for (int n = 0; n < 4; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) c[m][n][i] = 0;
    if (slices > 0) copy_slice(stages, a_panel, a_stride, height, b, b_stride, list, width, 0, inner, aligned);
    for (int s = 0; s < slices; s++) {
        if (s + 1 < slices) {
            copy_slice(stages + (s + 1) % 2 * STAGE, a_panel, a_stride, height, b, b_stride, list, width,
                       (int64)(s + 1) * SLICE, inner, aligned);
            asm volatile("cp.async.wait_group 1;");
        } else {
            asm volatile("cp.async.wait_group 0;");
        }
        __syncthreads();
        multiply_slice(c, stages + s % 2 * STAGE, warp_row, warp_column, lane);
        __syncthreads();
    }
    float *const products = stages; /* the slices are no longer needed */
#pragma unroll
    for (int m = 0; m < 4; m++)
#pragma unroll
        for (int n = 0; n < 4; n++) {
            float *const at = products + (warp_row * 64 + m * 16 + lane / 4) * OUT_PITCH + warp_column * 32 + n * 8 + lane % 4 * 2;
            at[0] = c[m][n][0];
            at[1] = c[m][n][1];
            at[8 * OUT_PITCH] = c[m][n][2];
            at[8 * OUT_PITCH + 1] = c[m][n][3];
        }
    __syncthreads();
    const int64 begin = parts[3 * GROUP_X + 1], end = parts[3 * GROUP_X + 2];
    for (int64 j = begin + 4 * LOCAL_ID; j < end; j += 4 * GROUP) { /* cells are padded to multiples of eight */
        uint32 packed[4];
        index at[4];
        load_words(packed, entry + j, 4);
        load_indices(at, position + j, 4, 1);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int row = (int)(packed[i] >> 16), place = (int)(packed[i] & 0xffffu);
            if (at[i] < 0) continue;
            float x = products[row * OUT_PITCH + place];
            if (!(fabsf(x) < INFINITY))
                x = plain_product(a_panel + row * a_stride, b + (int64)list[place] * b_stride, inner);
            finish_sample(out, values, (int64)at[i], x, EDGE_ARGUMENTS);
        }
    }
}
