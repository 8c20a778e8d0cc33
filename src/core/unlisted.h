/* Patterns of masks (tamis/mask.h) whose columns are not listed: see tamis_sparse.mask. */
#ifndef TAMIS_CORE_UNLISTED_H
#define TAMIS_CORE_UNLISTED_H

#include "core/device.h"

static inline bool tamis_is_unlisted(const tamis_sparse *S) { return S->mask && !S->columns && S->nnz > 0; }

/* Checks the mask of an unlisted pattern that has passed tamis_sparse_check, and, unless `trusted`, its arrays. */
tamis_status tamis_unlisted_check(const tamis_device *device, void *stream, const tamis_sparse *S, bool trusted);

/* Compares its offsets with the mask's, which kernels take as they are; waits for the stream. */
tamis_status tamis_unlisted_check_offsets(const tamis_device *device, void *stream, const tamis_sparse *S);

/* Lists the columns of S, in memory of that stream that the caller releases, and sets S->columns. */
tamis_status tamis_unlisted_list(const tamis_device *device, void *stream, void *kept, int threads, tamis_sparse *S,
                                 void **columns);

#endif
