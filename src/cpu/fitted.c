/* The table of fitted numbers: one row serves all processors, since cores differ by far less than their memory does. */
#include "cpu/fitted.h"

/* Fitted on 2026-11-21 to the cases of lab/notes/cpu.md: segments on uniform matrices of 6 to 300 nonzeros each,
   waits at K = 32 and 128 with 10 to 410, `unseen` over the suites at K = 32. Pairs on 2026-11-23, K = 128 from L1, on
   a core of family 25 with AVX512_BF16. `panels`, `short_row`, `beyond` and `crowded` that day too, one thread of
   family 25 with AVX-512, the matrices of "SpMM beside a specialised loop". */
const tamis_cpu_fitted tamis_cpu_fit = {
    .chip = "AMD EPYC, 2 cores, x86-64-v4",
    .interleaved = 0.45e-9,
    .one_by_one = 1.6e-9,
    .naive = 5e-9,
    .row = 20e-9,
    .short_row = 5e-9,
    .fp16 = 2.2,
    .beyond = 1.9,
    .crowded = 1.12,
    .whole_rows = 1.01,
    .pairs = {.dots = 2, .sums = 1.5},
    .prefetch = {.bytes = 10240, .same_bytes = 8192, .least = 4, .short_least = 6, .short_row = 256},
    .stream = {.output = 0.25, .all = 0.5},
    .panels = {.entry = 0.3e-9,
               .nonzero = 0.1e-9,
               .sample = 1e-9,
               .run = 25e-9,
               .row = 15e-9,
               .unseen = 1.05,
               .local = 1.65,
               .fused = 1.12,
               .bf16 = 1.5,
               .single = 0.25,
               .setup_nonzero = 27e-9},
    .tiles = {.nonzero = 0.45e-9,
              .entry = 0.6e-9,
              .segment = 33e-9,
              .wait_nonzero = 4e-9,
              .wait_most = 300e-9,
              .l1_share = 0.7,
              .l2_share = 0.9,
              .unseen = 1.1,
              .setup_segment = 14e-9,
              .setup_nonzero = 0.3e-9},
};
