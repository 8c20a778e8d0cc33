/*
 * COO in any order and with a duplicate. SDDMM gives every stored entry a sample of its own; SpMM adds duplicates up,
 * as a sum of entries does by itself. tamis_convert makes one entry of them where that is wanted.
 */
#include <stdio.h>
#include <tamis/matrix.h>
#include <tamis/tamis.h>

int main(void) {
    /* (1, 0) is there twice, and the rows are not in order */
    const int32_t rows[] = {1, 0, 1, 1};
    const int32_t columns[] = {0, 1, 2, 0};
    const double values[] = {10, 20, 30, 5};
    const tamis_sparse S = {.format = TAMIS_COO,
                            .rows = 2,
                            .cols = 3,
                            .nnz = 4,
                            .value_type = TAMIS_F64,
                            .row_indices = rows,
                            .columns = columns,
                            .values = values};
    double a[] = {1, 2}, b[] = {1, 10, 100}, c[2] = {0}, p[4] = {0};
    const tamis_dense A = {.data = a, .rows = 2, .cols = 1, .type = TAMIS_F64};
    const tamis_dense B = {.data = b, .rows = 3, .cols = 1, .type = TAMIS_F64};
    const tamis_dense C = {.data = c, .rows = 2, .cols = 1, .type = TAMIS_F64};
    const tamis_dense P = {.data = p, .rows = 4, .cols = 1, .type = TAMIS_F64};
    tamis_device *device = NULL;
    tamis_owned_sparse *summed = NULL;
    int code = 1;

    if (tamis_device_open("cpu", &device) != TAMIS_OK) goto done;
    if (tamis_sddmm(device, &S, &A, &B, &P, NULL, NULL) != TAMIS_OK) goto done; /* NULL: edge scale, alpha 1, beta 0 */
    printf("samples, in the order of the entries: %g %g %g %g\n", p[0], p[1], p[2], p[3]);
    if (tamis_spmm(device, &S, &B, &C, NULL, NULL) != TAMIS_OK) goto done;
    printf("S B: %g %g\n", c[0], c[1]);

    tamis_convert_options options = TAMIS_CONVERT_OPTIONS_INIT;
    options.format = TAMIS_CSR;
    options.value_type = TAMIS_F64;
    options.duplicates = TAMIS_DUPLICATES_SUM;
    if (tamis_convert(&S, &options, &summed) != TAMIS_OK) goto done;
    const tamis_sparse *const T = tamis_owned_sparse_view(summed);
    const double *const sums = T->values;
    printf("summed, as CSR: %lld entries, values", (long long)T->nnz);
    for (int64_t t = 0; t < T->nnz; t++) printf(" %g", sums[t]);
    printf("\n");
    code = 0;
done:
    if (code) fprintf(stderr, "%s\n", tamis_last_error());
    tamis_owned_sparse_free(summed);
    tamis_device_close(device);
    return code;
}
