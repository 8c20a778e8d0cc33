/* SDDMM in the memory of whatever device is best here: a GPU's, or the host's own. */
#include <stdio.h>
#include <stdlib.h>
#include <tamis/tamis.h>

enum { ROWS = 3, COLS = 4, K = 2, NNZ = 5 };

static const int offsets[ROWS + 1] = {0, 2, 3, 5}, columns[NNZ] = {0, 3, 1, 0, 2};
static const float a[ROWS * K] = {1, 2, 3, 4, 5, 6}, b[COLS * K] = {1, 0, 0, 1, 1, 1, 2, -1};

/* A copy in the device's memory. */
static tamis_status send(tamis_device *device, const void *from, size_t bytes, void **to) {
    const tamis_status status = tamis_device_allocate(device, bytes, to);
    return status == TAMIS_OK ? tamis_device_upload(device, NULL, *to, 0, from, bytes) : status;
}

int main(void) {
    tamis_device *device = NULL;
    tamis_device_description about;
    void *memory[5] = {NULL, NULL, NULL, NULL, NULL};
    tamis_plan *plan = NULL;
    float samples[NNZ];
    int code = 1;

    if (tamis_device_open(NULL, &device) != TAMIS_OK) goto done; /* cuda:0 where there is one, else the CPU */
    if (tamis_device_describe(device, &about) != TAMIS_OK) goto done;
    if (send(device, offsets, sizeof offsets, &memory[0]) != TAMIS_OK) goto done;
    if (send(device, columns, sizeof columns, &memory[1]) != TAMIS_OK) goto done;
    if (send(device, a, sizeof a, &memory[2]) != TAMIS_OK) goto done;
    if (send(device, b, sizeof b, &memory[3]) != TAMIS_OK) goto done;
    if (tamis_device_allocate(device, sizeof samples, &memory[4]) != TAMIS_OK) goto done;

    const tamis_sparse S = {.format = TAMIS_CSR,
                            .location = about.location, /* where the arrays are */
                            .rows = ROWS,
                            .cols = COLS,
                            .nnz = NNZ,
                            .offsets = memory[0],
                            .columns = memory[1]}; /* no values: ones */
    const tamis_dense A = {.data = memory[2], .rows = ROWS, .cols = K, .location = about.location};
    const tamis_dense B = {.data = memory[3], .rows = COLS, .cols = K, .location = about.location};
    const tamis_dense P = {.data = memory[4], .rows = NNZ, .cols = 1, .location = about.location};
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.operation = TAMIS_OP_SDDMM;
    options.inner = K;
    options.expected_calls = 1000;

    if (tamis_plan_create(device, &S, &options, &plan) != TAMIS_OK) goto done;
    if (tamis_plan_sddmm(plan, &A, &B, &P, NULL) != TAMIS_OK) goto done; /* on a GPU: put into its queue */
    if (tamis_device_download(device, NULL, samples, memory[4], 0, sizeof samples) != TAMIS_OK) goto done; /* waits */
    for (int t = 0; t < NNZ; t++) printf("%g%c", (double)samples[t], t + 1 < NNZ ? ' ' : '\n');
    code = 0;
done:
    if (code) fprintf(stderr, "%s\n", tamis_last_error());
    tamis_plan_destroy(plan);
    for (int i = 0; i < 5; i++) tamis_device_free(device, memory[i]);
    tamis_device_close(device);
    return code;
}
