/* One call of SDDMM on a 3 x 4 matrix in CSR, with two of the edge operations. */
#include <stdio.h>
#include <tamis/tamis.h>

static int fail(void) {
    fprintf(stderr, "%s\n", tamis_last_error());
    return 1;
}

int main(void) {
    /* S has 5 nonzeros:  . 2 . 1
                          . . . .
                          3 . 1 4                      */
    const int32_t offsets[] = {0, 2, 2, 5};
    const int32_t columns[] = {1, 3, 0, 2, 3};
    const float values[] = {2, 1, 3, 1, 4};
    const tamis_sparse S = {.format = TAMIS_CSR,
                            .rows = 3,
                            .cols = 4,
                            .nnz = 5,
                            .value_type = TAMIS_F32,
                            .offsets = offsets,
                            .columns = columns,
                            .values = values};

    /* A is 3 x 2 and B is 4 x 2, both row-major: row i of A meets row j of B where S has a nonzero at (i, j) */
    float a[] = {1, 2, 3, 4, 5, 6};
    float b[] = {1, 0, 0, 1, 1, 1, 2, -1};
    const tamis_dense A = {.data = a, .rows = 3, .cols = 2, .type = TAMIS_F32};
    const tamis_dense B = {.data = b, .rows = 4, .cols = 2, .type = TAMIS_F32};

    tamis_device *device = NULL;
    if (tamis_device_open("cpu", &device) != TAMIS_OK) return fail();

    const tamis_edge edges[] = {TAMIS_EDGE_SCALE, TAMIS_EDGE_MASK};
    for (int e = 0; e < 2; e++) {
        float p[5]; /* one result for each nonzero of S, in its order */
        const tamis_dense P = {.data = p, .rows = 5, .cols = 1, .type = TAMIS_F32};
        tamis_options options = TAMIS_OPTIONS_INIT;
        options.edge = edges[e];
        if (tamis_sddmm(device, &S, &A, &B, &P, &options, NULL) != TAMIS_OK) {
            tamis_device_close(device);
            return fail();
        }
        printf("%-5s", tamis_edge_name(edges[e]));
        for (int t = 0; t < 5; t++) printf(" %4g", (double)p[t]);
        printf("\n");
    }
    tamis_device_close(device);
    return 0;
}
