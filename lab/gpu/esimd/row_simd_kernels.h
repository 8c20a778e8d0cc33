/*
 * Shared by the kernels of esimd-row-simd (Zubair, Bauinger: Sparse Matrix Kernels on Intel Max Series GPU): a member
 * is a team; its vectors are distributed over the lanes' registers, LANE_REALS in each; blocks of VLC column indices
 * are loaded ahead and exchanged within the team.
 *
 * Definitions: VLC, BATCH (entries whose sums are reduced together; divides VLC), ROWS (rows of S per group), HELD (1
 * if a whole row of A fits a member's vector).
 */
#define LANE_REALS (PIECES * PIECE)
#define SLICE      (TEAM * LANE_REALS)
#define OWN        (VLC > TEAM ? VLC / TEAM : 1) /* entries of a block per lane: lane j % TEAM holds entry j */

/* After the reduction of a batch lane l holds the sums from number l / PER_SUM * PER_LANE on. */
#define PER_SUM    (BATCH < TEAM ? TEAM / BATCH : 1)
#define PER_LANE   (BATCH > TEAM ? BATCH / TEAM : 1)
#define MINE(lane) ((lane) / PER_SUM * PER_LANE)

/* Loads a vector of a row from element `from` on, zero-padded past the row's end. */
FUNCTION void load_vector(const int wide, real *to, GLOBAL const element *row, int lane, int64 from, int64 inner) {
    UNROLL
    for (int p = 0; p < PIECES; p++) {
        const int64 at = from + (p * TEAM + lane) * PIECE;
        if (EXACT)
            load_units(to + p * PIECE, row + at, wide);
        else
            load_row_piece(to + p * PIECE, row, at, inner, wide);
    }
}

FUNCTION real multiply(real sum, const real *x, const real *y) {
    UNROLL
    for (int i = 0; i < LANE_REALS; i++) sum += x[i] * y[i];
    return sum;
}

/* Loads this lane's part of the block of columns that begins at `at`. Past `end` the last column is repeated. */
FUNCTION void load_block(simt_team team, index *own, GLOBAL const index *columns, int64 at, int64 end) {
    UNROLL
    for (int i = 0; i < OWN; i++) own[i] = columns[min64(at + i * TEAM + team.lane, end - 1)];
}

/* With ROTATES the current batch's columns are at the front of `own`: this moves the next batch's there. `s`: the
   batch's place. */
FUNCTION void rotate_block(index *own, int s) {
    if ((s + BATCH) % TEAM == 0) {
        const int by = BATCH > TEAM ? BATCH / TEAM : 1;
        UNROLL
        for (int i = 0; i + by < OWN; i++) own[i] = own[i + by];
    }
}

/* Column `first` + j of the block. A device without shuffles reads it again, from its cache. */
FUNCTION index block_column(simt_team team, const index *own, GLOBAL const index *columns, int64 at, int64 end,
                            int first, int j) {
#if defined(ROTATES)
    const int slot = j / TEAM;
#else
    const int slot = (first + j) / TEAM;
#endif
#if SIMT_SUBGROUP == 0
    return columns[min64(at + first + j, end - 1)];
#elif defined(SIMT_OPENCL)
    return SHUFFLE(own[slot], (uint)((int)get_sub_group_local_id() - team.lane + (first + j) % TEAM));
#else
    return __shfl_sync(team.mask, own[slot], (first + j) % TEAM, TEAM);
#endif
}

FUNCTION void copy_block(index *to, const index *from) {
    UNROLL
    for (int i = 0; i < OWN; i++) to[i] = from[i];
}

/* Computes the dot products of the BATCH entries from number `first` of the block on, over this lane's part of K. */
FUNCTION void multiply_batch(const int wide, simt_team team, real *sum, real *x, const index *own,
                             GLOBAL const index *restrict columns, int64 at, int64 end, int first,
                             GLOBAL const element *restrict a_row, GLOBAL const element *restrict b, int64 b_stride,
                             int64 inner) {
    index column[BATCH];
    UNROLL
    for (int j = 0; j < BATCH; j++) {
        sum[j] = 0;
        column[j] = block_column(team, own, columns, at, end, first, j);
    }
    for (int64 from = 0; from < inner; from += SLICE) {
        if (!HELD) load_vector(wide, x, a_row, team.lane, from, inner);
        UNROLL
        for (int j = 0; j < BATCH; j++) {
            real y[LANE_REALS];
            load_vector(wide, y, b + (int64)column[j] * b_stride, team.lane, from, inner);
            sum[j] = multiply(sum[j], x, y);
        }
    }
}
