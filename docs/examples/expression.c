/* An edge as an expression: scores capped by a tangent, causal, on a 3 x 3 matrix in CSR; and a mistake. */
#include <stdio.h>
#include <tamis/tamis.h>

int main(void) {
    const int32_t offsets[] = {0, 2, 4, 6}, columns[] = {0, 1, 0, 1, 1, 2};
    const tamis_sparse S = {.rows = 3, .cols = 3, .nnz = 6, .offsets = offsets, .columns = columns};
    float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 0, 1, 1, 1}, p[6];
    const tamis_dense A = {.data = a, .rows = 3, .cols = 2}, B = {.data = b, .rows = 3, .cols = 2};
    const tamis_dense P = {.data = p, .rows = 6, .cols = 1};
    tamis_device *device = NULL;
    if (tamis_device_open("cpu", &device) != TAMIS_OK) return 1;

    const tamis_edge_number numbers[] = {{"cap", 5}};
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.edge = TAMIS_EDGE_TEXT;
    options.edge_text = "where(j <= i, tanh(x / cap) * cap, 0)";
    options.edge_numbers = numbers;
    options.edge_number_count = 1;
    if (tamis_sddmm(device, &S, &A, &B, &P, &options, NULL) != TAMIS_OK) return 1;
    for (int t = 0; t < 6; t++) printf("%.4f%s", (double)p[t], t < 5 ? " " : "\n");

    options.edge_text = "x + tahn(x)";
    if (tamis_sddmm(device, &S, &A, &B, &P, &options, NULL) != TAMIS_OK) printf("%s\n", tamis_last_error());
    tamis_device_close(device);
    return 0;
}
