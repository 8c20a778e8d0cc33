/* Questions that several peers ask of a problem. */
#include <limits.h>

#include "cli/exit.h"
#include "cli/text.h"
#include "kinds.h"

const char *tool_peer_refusal_of_reals(const tool_problem *problem) {
    const char *refused = tool_peer_refusal(problem);
    return !refused && tamis_type_size(problem->type) == 2 ? "it supports only fp32 and fp64" : refused;
}

bool tool_peer_takes_dense(tool_peer *peer, const tool_problem *problem, const char *what, size_t left,
                           const char *left_words) {
    const tamis_sparse *S = &problem->S;
    const int64_t sizes[] = {S->rows,           S->cols,           problem->inner,        problem->A.stride,
                             problem->B.stride, problem->D.stride, problem->output.stride};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i] > INT_MAX) return tool_peer_decline(peer, "a size does not fit into its int");
    const double wanted = (double)S->rows * (double)S->cols * (double)tamis_type_size(problem->type);
    if (wanted <= (double)left / 4) return true;
    return tool_peer_decline(peer, "the dense %s of %s does not fit into a quarter of the free %s", what,
                             tool_word_bytes((int64_t)wanted).text, left_words);
}

void *tool_peer_values(const tool_problem *problem) {
    const tamis_sparse *S = &problem->S;
    void *const values = tool_allocate((size_t)S->nnz, tamis_type_size(problem->type));
    for (int64_t t = 0; t < S->nnz; t++)
        tool_element_set(values, problem->type, t, S->values ? tool_element_get(S->values, S->value_type, t) : 1);
    return values;
}
