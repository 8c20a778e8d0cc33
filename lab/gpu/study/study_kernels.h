/*
 * Shared by the study's kernels (Lin, Hsu, Chen: SpMM, SDDMM and SDDMM_SpMM Kernels). There a work-item computes a
 * whole sample: it walks along a row of A and a row of B by itself, PIECE elements at a time, into PIECE independent
 * sums. If a group stays in one row of S it keeps that row of A in shared memory, as reals, SLICE of them at a time
 * (SLICE: a multiple of 8).
 *
 * The inner width is a run-time argument: a constant makes compilers unroll whole rows into registers.
 */

/* Loops are unrolled by hand: a row's loop to eight elements in flight, without spilling registers; the loop around it
   not at all. */
#define ONE_BY_ONE _Pragma("unroll 1")
#if PIECE == 8
#define EIGHT_ELEMENTS _Pragma("unroll 1")
#elif PIECE == 4
#define EIGHT_ELEMENTS _Pragma("unroll 2")
#else
#define EIGHT_ELEMENTS _Pragma("unroll 4")
#endif

FUNCTION void clear(real *part) {
    UNROLL
    for (int i = 0; i < PIECE; i++) part[i] = 0;
}

FUNCTION real total(const real *part) {
    real sum = part[0];
    UNROLL
    for (int i = 1; i < PIECE; i++) sum += part[i];
    return sum;
}

/* <x, y>, both from memory */
FUNCTION real dot(const int wide, GLOBAL const element *x, GLOBAL const element *y, int64 inner) {
    real part[PIECE], p[PIECE], q[PIECE];
    clear(part);
    EIGHT_ELEMENTS
    for (int64 at = 0; at < inner; at += PIECE) {
        load_row_piece(p, x, at, inner, wide);
        load_row_piece(q, y, at, inner, wide);
        UNROLL
        for (int i = 0; i < PIECE; i++) part[i] += p[i] * q[i];
    }
    return total(part);
}

/*
 * <x, y> for every work-item of the group that is `active`, with the same x for all: staged through `slice`, SLICE
 * shared reals. Must be reached by the whole group.
 */
#if defined(SLICE)
FUNCTION real group_dot(const int wide, LOCAL real *slice, GLOBAL const element *x, GLOBAL const element *y, int active,
                        int64 inner) {
    real part[PIECE], q[PIECE];
    clear(part);
    ONE_BY_ONE
    for (int64 from = 0; from < inner; from += SLICE) {
        const int64 end = min64(from + SLICE, inner);
        group_barrier(); /* the previous slice is no longer needed */
        ONE_BY_ONE
        for (int64 at = from + LOCAL_ID * PIECE; at < end; at += GROUP * PIECE) {
            load_row_piece(q, x, at, end, wide);
            UNROLL
            for (int i = 0; i < PIECE; i++) slice[at - from + i] = q[i];
        }
        group_barrier();
        if (active) {
            EIGHT_ELEMENTS
            for (int64 at = from; at < end; at += PIECE) {
                load_row_piece(q, y, at, end, wide);
                UNROLL
                for (int i = 0; i < PIECE; i++) part[i] += slice[at - from + i] * q[i];
            }
        }
    }
    return total(part);
}
#endif

/* Binary search: the first nonzero in begin .. end - 1 of a row, with sorted columns, whose column is >= `column`. */
FUNCTION int64 first_from(GLOBAL const index *columns, int64 begin, int64 end, int64 column) {
    while (begin < end) {
        const int64 middle = begin + (end - begin) / 2;
        if ((int64)columns[middle] < column)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}
