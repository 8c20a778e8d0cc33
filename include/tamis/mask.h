/*
 * Attention masks, made on the device that uses them: patterns of causal and windowed attention, global tokens, strides
 * and blocks. They are written to the device's memory in stream order, and nothing is copied from the host.
 *
 *     tamis_mask mask = TAMIS_MASK_INIT;
 *     mask.rows = mask.cols = 65536;
 *     mask.causal = true;
 *     mask.left = 1023;                                                the window: a position, and 1023 before it
 *     mask.globals = 4;                                                the first four positions: global tokens
 *     tamis_mask_create(device, stream, &mask, TAMIS_I32, TAMIS_I32, &matrix);
 *     tamis_plan_create(device, tamis_owned_sparse_view(matrix), &options, &plan);
 *
 * Rows are queries, columns are keys. Row i has a position among the columns: i, unless `offset` or `from_end` says
 * otherwise. A row keeps the union of the parts that are set (window, stride, global tokens, blocks), or every column
 * if none is. Of these, `causal` keeps the columns up to the row's position, and `lengths` those before the member's
 * length. The columns of a row are sorted, without duplicates.
 *
 * A plan or a gradient can also be made of the offsets alone, without a list of columns, which for a window of 4,096 on
 * a million positions is 17 GB: a tamis_sparse with the offsets of tamis_mask_offsets, columns = NULL and the mask,
 * which must live until the plan is made. Fused with softmax on tensor cores, in 16 bits and without values, then never
 * has the list, if the mask has no stride, dilation, global_list and blocks: its rows keep at most two runs of columns,
 * from which the device makes what the kernels read. Every other plan, single calls, transposes and plans that measure
 * list the columns for themselves.
 *
 * Members: sequences of different lengths, padded to rows x cols, form one pattern with one block for each of them
 * along its diagonal: member b has the rows from b * rows and the columns from b * cols on. A, B, D and E are then the
 * padded arrays as they are, (members * rows) x K and so on, heads are the batch of the call, and padding costs
 * nothing.
 */
#ifndef TAMIS_MASK_H
#define TAMIS_MASK_H

#include <tamis/matrix.h>
#include <tamis/tamis.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A mask. Initialise it with TAMIS_MASK_INIT, which sets the defaults, given here in parentheses. Sizes, positions and
 * distances are at most 2^55 - 1. Its arrays are in the memory of the device (on the CPU the host's), and are read in
 * the order of the stream.
 */
typedef struct tamis_mask {
    int64_t rows, cols;  /* of a member (0) */
    int64_t offset;      /* row i has position i + offset (0), which may lie outside the columns. Queries at the end
                            of a longer context of a known length: cols - rows */
    int64_t left, right; /* the window: columns from position - left to position + right; -1: without bound on that
                            side; both -1: no window (-1) */
    int64_t dilation;    /* keep only every dilation-th column of the window, counted from the row's position (1) */
    int64_t every;   /* stride: columns whose distance from the row's position is a multiple of it; 0: no stride (0) */
    int64_t globals; /* global tokens: the first `globals` positions (0) */
    const void *global_list;      /* and global_count others, in increasing order (NULL) */
    int64_t global_count;         /* (0) */
    tamis_index_type global_type; /* of global_list (int32) */
    bool sinks;  /* every row attends to the global tokens, but their own rows get no more columns than others. Without
                    it the row of a global token also keeps every column (false) */
    bool causal; /* no columns after the row's position (false) */
    bool from_end;    /* row i has position length - rows + i + offset, where length is the member's: queries at the
                         end of contexts of several lengths (false) */
    bool trust_input; /* skip the check of the arrays' contents; wrong ones then cause undefined behaviour */
    const tamis_sparse *blocks; /* CSR of as many rows and columns of blocks as cover a member. Entry (I, J) keeps the
                                   block of the rows from I * block and the columns from J * block on. Columns increase
                                   within a row. Values are not read (NULL) */
    int64_t block;              /* rows and columns of a block; 1 or more with blocks (0) */
    int64_t members;            /* (1) */
    const void *lengths; /* length of each member, 0 .. cols: columns from there on are padding; NULL: cols (NULL) */
    const void *row_lengths; /* rows of each member, 0 .. rows: rows from there on keep nothing; NULL: rows. May be the
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
 * The row offsets of a mask: members * rows + 1 of them, in the caller's array on the device. *nnz (may be NULL) is set
 * to the number of columns that the mask keeps, for which the function waits for the stream. It also waits if it has
 * arrays to check: global_list, blocks, lengths and row_lengths, unless they are trusted. Otherwise it only submits
 * work. Errors: TAMIS_ERROR_PATTERN names the first bad entry of an array; TAMIS_ERROR_OVERFLOW, an nnz that
 * offset_type does not hold (with nnz = NULL: that it might not hold). The offsets are then unspecified.
 */
TAMIS_API tamis_status tamis_mask_offsets(tamis_device *device, void *stream, const tamis_mask *mask,
                                          tamis_index_type offset_type, void *offsets, int64_t *nnz);

/*
 * Writes the nnz columns of a mask to the caller's array on the device. `offsets` must be the result of
 * tamis_mask_offsets, and the mask's arrays must not have changed since: they are not checked again. Only submits work.
 */
TAMIS_API tamis_status tamis_mask_columns(tamis_device *device, void *stream, const tamis_mask *mask,
                                          tamis_index_type offset_type, const void *offsets,
                                          tamis_index_type index_type, void *columns);

/*
 * Does both, in device memory that *matrix owns: a CSR pattern without values, (members * rows) x (members * cols).
 * Waits for the stream once, between the two. Other streams must wait for this one before they use the matrix. The
 * caller must free *matrix with tamis_owned_sparse_free, which waits for the device's work, after the plans that use
 * it. TAMIS_ERROR_MEMORY if it does not fit.
 */
TAMIS_API tamis_status tamis_mask_create(tamis_device *device, void *stream, const tamis_mask *mask,
                                         tamis_index_type offset_type, tamis_index_type index_type,
                                         tamis_owned_sparse **matrix);

#ifdef __cplusplus
}
#endif

#endif
