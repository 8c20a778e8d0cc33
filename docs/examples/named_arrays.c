/* Arrays that an edge's text names: the softmax of scores with a temperature and a bias for each column, and the
   gradients by both; and a call that does not give one of them. */
#include <math.h>
#include <stdio.h>
#include <tamis/gradient.h>

enum { ROWS = 3, COLS = 4, NNZ = 6 };

static tamis_dense vector(float *data, int64_t count) { return (tamis_dense){.data = data, .rows = count, .cols = 1}; }

static void print(const char *what, const float *x, int count) {
    printf("%-14s", what);
    for (int i = 0; i < count; i++) printf("%8.4f", (double)x[i]);
    printf("\n");
}

int main(void) {
    const int32_t offsets[] = {0, 2, 4, NNZ}, columns[] = {0, 1, 1, 2, 0, 3};
    const tamis_sparse S = {.rows = ROWS, .cols = COLS, .nnz = NNZ, .offsets = offsets, .columns = columns};
    float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 0, 1, 1, 1, 1, -1}, p[NNZ], dp[NNZ] = {1, 0, 2, 0, 0, 1};
    const tamis_dense A = {.data = a, .rows = ROWS, .cols = 2}, B = {.data = b, .rows = COLS, .cols = 2};
    const tamis_dense P = vector(p, NNZ), dP = vector(dp, NNZ);
    tamis_device *device = NULL;
    tamis_gradient *gradient = NULL;
    if (tamis_device_open("cpu", &device) != TAMIS_OK) return 1;

    float temperature = 2, bias[COLS] = {0, 0.5F, -0.5F, 0}, d_temperature, d_bias[COLS];
    const tamis_dense t = vector(&temperature, 1), c = vector(bias, COLS), dt = vector(&d_temperature, 1),
                      dc = vector(d_bias, COLS);
    const tamis_edge_operand operands[] = {{.name = "t", .values = &t, .gradient = &dt},
                                           {.name = "col.b", .values = &c, .gradient = &dc}};
    const tamis_edge_number numbers[] = {{"t", (double)NAN}};
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.edge = TAMIS_EDGE_TEXT;
    options.edge_text = "softmax(x / t + col.b)";
    options.edge_numbers = numbers;
    options.edge_number_count = 1;
    tamis_execution execution = TAMIS_EXECUTION_INIT;
    execution.edge_operands = operands;
    execution.edge_operand_count = 2;
    if (tamis_sddmm(device, &S, &A, &B, &P, &options, &execution) != TAMIS_OK) return 1;
    print("weights", p, NNZ);

    options.operation = TAMIS_OP_SDDMM;
    options.inner = 2;
    if (tamis_gradient_create(device, &S, &options, &gradient) != TAMIS_OK) return 1;
    if (tamis_sddmm_backward(gradient, &dP, &A, &B, NULL, NULL, NULL, &execution) != TAMIS_OK) return 1;
    print("d temperature", &d_temperature, 1);
    print("d bias", d_bias, COLS);
    tamis_gradient_destroy(gradient);

    execution.edge_operand_count = 1;
    if (tamis_sddmm(device, &S, &A, &B, &P, &options, &execution) != TAMIS_OK) printf("%s\n", tamis_last_error());
    tamis_device_close(device);
    return 0;
}
