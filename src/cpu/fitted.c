/* The table of fitted numbers: one row serves all processors, since cores differ far less than their memory systems. */
#include "cpu/fitted.h"

/* Fitted on 2026-11-21 to the cases of lab/notes/cpu.md: segments on uniform matrices of 6 to 300 nonzeros each,
   waits at K = 32 and 128 with 10 to 410, `unseen` over the suites at K = 32. Pairs on 2026-11-23, K = 128 from L1, on
   a core of family 25 with AVX512_BF16. Panels, `short_row` and `crowded` that day too, one thread of
   family 25 with AVX-512, 27 matrices beside a specialised loop. `with_amx` on 2026-11-26: a Xeon of family
   6, model 207 does 1.29e9 products of pairs a second, and 179 GFLOP/s of multiply-adds. */
const tamis_cpu_fitted tamis_cpu_fit = {
    .chip = "AMD EPYC, 2 cores, x86-64-v4",
    .interleaved = 0.45e-9,
    .row = 20e-9,
    .short_row = 5e-9,
    .fp16 = 2.2,
    .crowded = 1.12,
    .pairs = {.dots = 2, .sums = 1.5, .with_amx = 0.46},
    .prefetch = {.bytes = 10240,
                 .dot_bytes = 8192,
                 .far_bytes = 16384,
                 .least = 4,
                 .short_least = 6,
                 .short_row = 256,
                 .same_least = 1.5},
    .stream = {.output = 0.25, .all = 0.5},
};
