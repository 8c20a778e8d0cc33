/* Reads a sparse matrix from a file of any known format and shows how its rows are filled. */
#include <stdio.h>
#include <tamis/matrix.h>
#include <tamis/structure.h>
#include <tamis/tamis.h>

int main(int count, char **arguments) {
    tamis_owned_sparse *matrix = NULL;
    tamis_profile profile;
    int code = 1;
    if (count != 2) {
        fprintf(stderr, "usage: %s FILE\n", arguments[0]);
        return 2;
    }
    tamis_read_options options = TAMIS_READ_OPTIONS_INIT;
    options.value_type = TAMIS_F64;
    options.offset_type = TAMIS_I64;           /* more than 2^31 nonzeros would fit */
    options.duplicates = TAMIS_DUPLICATES_SUM; /* entries at one place become their sum */
    if (tamis_read_sparse(arguments[1], &options, &matrix) != TAMIS_OK) goto done;

    const tamis_sparse *const S = tamis_owned_sparse_view(matrix);
    if (tamis_row_profile(S, &profile) != TAMIS_OK) goto done;
    printf("%lld x %lld, %lld nonzeros%s\n", (long long)S->rows, (long long)S->cols, (long long)S->nnz,
           S->values ? "" : " (a pattern)");
    printf("rows hold %lld to %lld, %.2f on average; %lld are empty\n", (long long)profile.min, (long long)profile.max,
           profile.mean, (long long)profile.empty_rows);
    code = 0;
done:
    if (code) fprintf(stderr, "%s\n", tamis_last_error()); /* a bad file: FILE:LINE: what was found and expected */
    tamis_owned_sparse_free(matrix);
    return code;
}
