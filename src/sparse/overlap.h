/* Tells whether views share memory: a call that writes one while it reads the other would be wrong without a word. */
#ifndef TAMIS_SPARSE_OVERLAP_H
#define TAMIS_SPARSE_OVERLAP_H

#include <tamis/types.h>

/* An operand of a call; view NULL: absent. */
typedef struct tamis_named_view {
    const char *name;
    const tamis_dense *view;
    int64_t batch; /* matrices at distances of batch_stride; 0 means 1 */
    int64_t skip;  /* elements before the first */
} tamis_named_view;

/*
 * Refuses an output that shares an element with another operand. With `handles`, data are handles of memory in place of
 * addresses. Views whose lines or members lie at different distances are refused if their first or last ones meet, and
 * are taken to be apart otherwise: what is refused is certain. Columns of one wider matrix are apart.
 */
tamis_status tamis_check_apart(bool handles, const tamis_named_view *output, const tamis_named_view *other);

#endif
