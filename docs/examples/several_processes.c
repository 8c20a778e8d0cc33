/* SpMM on the processes of an MPI job, each of which makes its own rows: C = S B for a matrix of three diagonals. */
#include <stdio.h>
#include <tamis/group.h>
#include <tamis/mpi.h>

enum { ROWS = 1000 /* of each process */, WIDTH = 16 };

static int32_t columns[3 * ROWS];
static int64_t offsets[ROWS + 1];
static float values[3 * ROWS], b[ROWS * WIDTH], c[ROWS * WIDTH];

/* -1, 2, -1 in the rows of this rank, with columns of the whole matrix. */
static tamis_sparse make_rows(int64_t first, int64_t total) {
    int64_t t = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t j = first + i - 1; j <= first + i + 1; j++) {
            if (j < 0 || j >= total) continue;
            columns[t] = (int32_t)j;
            values[t++] = j == first + i ? 2 : -1;
        }
        offsets[i + 1] = t;
    }
    return (tamis_sparse){.rows = ROWS,
                          .cols = total,
                          .nnz = t,
                          .offset_type = TAMIS_I64,
                          .offsets = offsets,
                          .columns = columns,
                          .values = values};
}

int main(int count, char **arguments) {
    tamis_transport transport = {.size = 0};
    tamis_device *device = NULL;
    tamis_group *group = NULL;
    tamis_group_plan *plan = NULL;
    tamis_options options = TAMIS_OPTIONS_INIT;
    char text[4096];
    int rank, ranks, code = 1;

    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (tamis_mpi_open(MPI_COMM_WORLD, NULL, &transport) != TAMIS_OK) goto done;
    if (tamis_device_open("cpu", &device) != TAMIS_OK) goto done;
    if (tamis_group_open(device, &transport, &group) != TAMIS_OK) goto done;

    const int64_t first = (int64_t)rank * ROWS, total = (int64_t)ranks * ROWS;
    const tamis_sparse S = make_rows(first, total);
    const tamis_dense B = {.data = b, .rows = ROWS, .cols = WIDTH}, C = {.data = c, .rows = ROWS, .cols = WIDTH};
    for (int64_t i = 0; i < ROWS * WIDTH; i++) b[i] = (float)(first + i / WIDTH); /* B(i, k) = i */
    options.operation = TAMIS_OP_SPMM;
    options.width = WIDTH;
    if (tamis_group_plan_create(group, &S, ROWS, &options, &plan) != TAMIS_OK) goto done;
    if (tamis_group_plan_spmm(plan, &B, &C, NULL) != TAMIS_OK) goto done;
    if (tamis_group_plan_explain(plan, text, sizeof text, NULL) != TAMIS_OK) goto done;
    if (rank == ranks / 2) fputs(text, stdout);

    code = 0; /* second differences of a line are 0, but at its ends */
    for (int64_t i = 0; i < ROWS; i++) {
        const int64_t row = first + i, last = total - 1;
        const float expected = row == last ? (float)(last + 1) : row == 0 ? -1 : 0;
        if (c[i * WIDTH] != expected) code = 2;
    }
done:
    if (code == 1) fprintf(stderr, "rank %d: %s\n", rank, tamis_last_error());
    if (code) MPI_Abort(MPI_COMM_WORLD, code);
    tamis_group_plan_destroy(plan);
    tamis_group_close(group);
    tamis_device_close(device);
    tamis_mpi_close(&transport);
    MPI_Finalize();
    return 0;
}
