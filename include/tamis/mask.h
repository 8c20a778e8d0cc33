/*
 * Masks of attention, made where they are used: patterns of causal and windowed attention, global tokens, strides and
 * blocks, in the memory of a device and in the order of a stream. No pattern comes from the host.
 *
 *     tamis_mask mask = TAMIS_MASK_INIT;
 *     mask.rows = mask.cols = 65536;
 *     mask.causal = true;
 *     mask.left = 1023;                                                the window: a place, and 1023 before it
 *     mask.globals = 4;                                                the first four places, which all may see
 *     tamis_mask_create(device, stream, &mask, TAMIS_I32, TAMIS_I32, &matrix);
 *     tamis_plan_create(device, tamis_owned_sparse_view(matrix), &options, &plan);
 *
 * Rows are queries, columns are keys. Row i stands at a place among the columns: i, unless `offset` or `from_end` says
 * otherwise. A row keeps the union of the parts that are set (window, stride, global places, blocks), or every column
 * if none is. Of these, `causal` keeps the columns up to the row's place, and `lengths` those before the member's
 * length. Columns of a row rise and do not repeat.
 *
 * Members: sequences of different lengths, padded to rows x cols, are one pattern with one block for each of them along
 * its diagonal: of member b the rows b * rows .. and the columns b * cols .. . A, B, D and E are then the padded arrays
 * as they are, (members * rows) x K and so on, heads are the batch of the call, and what is padding costs nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TAMIS_MASK_H
#define TAMIS_MASK_H

#include <tamis/matrix.h>
#include <tamis/tamis.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A mask. Initialise it with TAMIS_MASK_INIT, which sets the defaults, given here in parentheses. Sizes, places and
 * distances are at most 2^60. Its arrays are in the memory of the device (on the CPU the host's), and are read in the
 * order of the stream.
 */
typedef struct tamis_mask {
    int64_t rows, cols;  /* of a member (0) */
    int64_t offset;      /* row i stands at place i + offset (0), which may lie outside the columns. Queries at the end
                            of a longer context of a known length: cols - rows */
    int64_t left, right; /* the window: columns from place - left to place + right; -1: without bound on that side;
                            both -1: no window (-1) */
    int64_t dilation;    /* of the window only every dilation-th column, counted from the row's place (1) */
    int64_t every;       /* stride: columns whose distance from the row's place is a multiple of it; 0: no stride (0) */
    int64_t globals;     /* global places: the first `globals` ones (0) */
    const void *global_list;      /* and global_count others, rising (NULL) */
    int64_t global_count;         /* (0) */
    tamis_index_type global_type; /* of global_list (int32) */
    bool sinks;       /* global places are seen by every row, but see no more than others. Otherwise the row at a global
                         place also sees every column (false) */
    bool causal;      /* no columns behind the row's place (false) */
    bool from_end;    /* row i stands at place length - rows + i + offset, where length is the member's: queries at the
                         end of contexts of several lengths (false) */
    bool trust_input; /* the contents of arrays are not checked; wrong ones cause undefined behaviour */
    const tamis_sparse *blocks; /* CSR, whose entry (I, J) keeps the columns J * block .. of the rows I * block .., with
                                   as many rows and columns as cover a member. Columns rise within a row. Values are
                                   not read (NULL) */
    int64_t block;              /* rows and columns of a block; 1 or more with blocks (0) */
    int64_t members;            /* (1) */
    const void *lengths;        /* of each member, 0 .. cols: columns from there on are padding; NULL: cols (NULL) */
    const void *row_lengths;    /* of each member, 0 .. rows: rows from there on keep nothing; NULL: rows. May be the
                                   same array as lengths (NULL) */
    tamis_index_type length_type; /* of lengths and row_lengths (int32) */
    uint64_t reserved[8];
} tamis_mask;

/* The defaults of a tamis_mask. */
#ifdef __cplusplus
#define TAMIS_MASK_INIT                                                                                                \
    ([] {                                                                                                              \
        tamis_mask tamis_initial = {};                                                                                 \
        tamis_initial.left = -1;                                                                                       \
        tamis_initial.right = -1;                                                                                      \
        tamis_initial.dilation = 1;                                                                                    \
        tamis_initial.members = 1;                                                                                     \
        return tamis_initial;                                                                                          \
    }())
#else
#define TAMIS_MASK_INIT                                                                                                \
    { .left = -1, .right = -1, .dilation = 1, .members = 1 }
#endif

/*
 * The row offsets of a mask: members * rows + 1 of them, in the caller's array on the device. *nnz (may be NULL) is how
 * many columns the mask keeps; to know it the function waits for the stream. It also waits if it has arrays to check:
 * global_list, blocks, lengths and row_lengths, unless they are trusted. Otherwise it only submits work.
 * Errors: TAMIS_ERROR_PATTERN names the first bad entry of an array; TAMIS_ERROR_OVERFLOW, an nnz that offset_type does
 * not hold (with nnz = NULL: that it might not hold). The offsets are then unspecified.
 */
TAMIS_API tamis_status tamis_mask_offsets(tamis_device *device, void *stream, const tamis_mask *mask,
                                          tamis_index_type offset_type, void *offsets, int64_t *nnz);

/*
 * The columns of a mask: nnz of them, in the caller's array on the device. `offsets` are those of tamis_mask_offsets,
 * and the arrays of the mask must be as they were then: they are not checked again. Only submits work.
 */
TAMIS_API tamis_status tamis_mask_columns(tamis_device *device, void *stream, const tamis_mask *mask,
                                          tamis_index_type offset_type, const void *offsets,
                                          tamis_index_type index_type, void *columns);

/*
 * Both, in memory of the device that *matrix owns: a CSR pattern without values, (members * rows) x (members * cols).
 * Waits for the stream once, between the two. Work of other streams must come after that of this one. The caller must
 * free *matrix with tamis_owned_sparse_free, which waits for the device's work, after the plans that use it.
 * TAMIS_ERROR_MEMORY if it does not fit.
 */
TAMIS_API tamis_status tamis_mask_create(tamis_device *device, void *stream, const tamis_mask *mask,
                                         tamis_index_type offset_type, tamis_index_type index_type,
                                         tamis_owned_sparse **matrix);

#ifdef __cplusplus
}
#endif

#endif
