/* Somebody else's program: SDDMM through the installed package, nothing but public headers. */
#include <stdio.h>
#include <string.h>
#include <tamis/matrix.h>
#include <tamis/tamis.h>

int main(void) {
    int offsets[] = {0, 1, 2}, columns[] = {1, 0};
    float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, p[2] = {0, 0};
    const tamis_sparse S = {.rows = 2, .cols = 2, .nnz = 2, .offsets = offsets, .columns = columns};
    const tamis_dense A = {.data = a, .rows = 2, .cols = 2}, B = {.data = b, .rows = 2, .cols = 2};
    const tamis_dense P = {.data = p, .rows = 2, .cols = 1};
    tamis_device *device = NULL;
    if (strcmp(tamis_version(), TAMIS_VERSION_STRING) != 0) {
        fprintf(stderr, "library %s, headers %s\n", tamis_version(), TAMIS_VERSION_STRING);
        return 1;
    }
    if (tamis_device_open("cpu", &device) != TAMIS_OK || tamis_sddmm(device, &S, &A, &B, &P, NULL, NULL) != TAMIS_OK) {
        fprintf(stderr, "%s\n", tamis_last_error());
        return 1;
    }
    tamis_device_close(device);
    printf("tamis %s: %g %g\n", tamis_version(), (double)p[0], (double)p[1]);
    return p[0] == 23.0F && p[1] == 39.0F ? 0 : 1;
}
