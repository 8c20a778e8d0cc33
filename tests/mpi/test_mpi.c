/*
 * The transport over MPI, entry by entry, and groups over it against the oracle; then what goes wrong on one rank. Each
 * test runs on all ranks; one that fails says so and ends the job.
 *   mpirun -np 3 test_mpi
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "group_case.h"
#include "internal.h"
#include "support/call.h"
#include "transport_case.h"

static int rank, ranks;
static char message[300];

static const char *says(const char *what) {
    snprintf(message, sizeof message, "%s: \"%.200s\"", what, tamis_last_error());
    return message;
}

static tamis_status open_transport(double time_limit, tamis_transport *transport) {
    tamis_transport_options o = TAMIS_TRANSPORT_OPTIONS_INIT;
    o.time_limit = time_limit;
    return tamis_mpi_open(MPI_COMM_WORLD, &o, transport);
}

static bool last_error_has(const char *text) { return strstr(tamis_last_error(), text) != NULL; }

/* ------------------------------------------------------------------------------------------ what works */

/* Messages of any length, and such as are sent in several. */
static const char *carries_data(void) {
    static const int64_t chunks[] = {(int64_t)1 << 30, 1000, 7};
    const char *failed = NULL;
    for (int c = 0; c < 3 && !failed; c++) {
        tamis_transport t;
        tamis_mpi_chunk = chunks[c];
        if (open_transport(60, &t) != TAMIS_OK) return says("open");
        for (int round = 0; round < 40 && !failed; round++)
            failed = round % 3 ? transport_exchange_round(&t, round) : transport_gather_round(&t, round);
        tamis_mpi_close(&t);
    }
    tamis_mpi_chunk = chunks[0];
    return failed;
}

/* With `check` on a group over a transport of its own. */
static const char *on_a_group(double time_limit, const char *(*check)(tamis_group *group)) {
    tamis_transport t;
    tamis_device *device = NULL;
    tamis_group *group = NULL;
    const char *failed = NULL;
    if (open_transport(time_limit, &t) != TAMIS_OK) return says("open");
    if (tamis_device_open("cpu", &device) != TAMIS_OK || tamis_group_open(device, &t, &group) != TAMIS_OK)
        failed = says("group");
    else
        failed = check(group);
    tamis_group_close(group);
    tamis_device_close(device);
    tamis_mpi_close(&t);
    return failed;
}

static const char *run_cases(tamis_group *group) { return group_case_run_all(group, ranks, 11); }
static const char *computes(void) { return on_a_group(60, run_cases); }

/* ------------------------------------------------------------------------------------------ what does not */

static const int32_t offsets[] = {0, 1};
static float values[] = {3};

/* The last rank asks for another edge than the others; after that they agree. */
static const char *disagree(tamis_group *group) {
    const int32_t columns[] = {ranks - 1 - rank};
    const tamis_sparse S = CSR(1, ranks, offsets, columns, values);
    const bool wrong = rank == ranks - 1 && ranks > 1;
    tamis_options o = options_for(TAMIS_OP_SPMM, -1, wrong ? 5 : 2);
    tamis_group_plan *plan;
    float b[] = {(float)rank, 1}, c[2];
    const tamis_dense B = {.data = b, .rows = 1, .cols = 2}, C = {.data = c, .rows = 1, .cols = 2};
    char expected[60];
    snprintf(expected, sizeof expected, "rank %d: options.width = 5, but 2 on rank 0", ranks - 1);
    if (ranks > 1 && (tamis_group_plan_create(group, &S, 1, &o, &plan) != TAMIS_ERROR_ARGUMENT ||
                      strcmp(tamis_last_error(), expected) != 0))
        return says("another width");
    o.width = 2;
    if (tamis_group_plan_create(group, &S, 1, &o, &plan) != TAMIS_OK) return says("plan");
    if (tamis_group_plan_spmm(plan, &B, &C, NULL) != TAMIS_OK) return says("spmm");
    tamis_group_plan_destroy(plan);
    return c[0] == (float)(3 * (ranks - 1 - rank)) && c[1] == 3 ? NULL : "the product is wrong";
}

/* dB of row j comes from rank ranks - 1 - j. */
static const char *differentiate(tamis_group *group) {
    const int32_t columns[] = {ranks - 1 - rank};
    const tamis_sparse S = CSR(1, ranks, offsets, columns, values);
    const tamis_options o = options_for(TAMIS_OP_SPMM, -1, 2);
    tamis_group_gradient *gradient;
    float b[] = {(float)rank, 1}, dc[] = {2, (float)rank}, db[2], ds = 0;
    const tamis_dense B = {.data = b, .rows = 1, .cols = 2}, dC = {.data = dc, .rows = 1, .cols = 2};
    const tamis_dense dB = {.data = db, .rows = 1, .cols = 2}, dS = {.data = &ds, .rows = 1, .cols = 1};
    if (tamis_group_gradient_create(group, &S, 1, &o, &gradient) != TAMIS_OK) return says("gradient");
    if (tamis_group_spmm_backward(gradient, &dC, &B, &dB, &dS, NULL) != TAMIS_OK) return says("backward");
    tamis_group_gradient_destroy(gradient);
    if (db[0] != 6 || db[1] != (float)(3 * (ranks - 1 - rank))) return "dB is wrong";
    return ds == (float)(2 * (ranks - 1 - rank) + rank) ? NULL : "dS is wrong";
}

static const char *goes_back(void) { return on_a_group(60, differentiate); }

static const char *reports_disagreement(void) { return on_a_group(60, disagree); }

/* The last rank aborts; the others wait for it. */
static const char *hears_of_an_abort(void) {
    tamis_transport t;
    char mine = 0, all[TRANSPORT_RANKS], expected[40];
    snprintf(expected, sizeof expected, "rank %d: out of order", ranks - 1);
    if (open_transport(60, &t) != TAMIS_OK) return says("open");
    if (rank == ranks - 1) t.abort(t.context, "out of order");
    for (int i = 0; i < 2; i++)
        if (t.gather(t.context, &mine, 1, all) != TAMIS_ERROR_DEVICE || strcmp(tamis_last_error(), expected) != 0)
            return says("gather after abort");
    tamis_mpi_close(&t);
    return NULL;
}

static double seconds(void) { return MPI_Wtime(); }

/* Rank 1 comes when the others have given up. */
static const char *waits_for_a_limited_time(void) {
    const struct timespec late = {.tv_sec = 3};
    tamis_transport t;
    char mine = 0, all[TRANSPORT_RANKS];
    if (ranks == 1) return NULL;
    if (open_transport(0.3, &t) != TAMIS_OK) return says("open");
    const double start = seconds();
    if (rank == 1) nanosleep(&late, NULL);
    const tamis_status status = t.gather(t.context, &mine, 1, all);
    /* it may have been received by the late one, whose next call then fails */
    const tamis_status then = t.gather(t.context, &mine, 1, all);
    if (rank != 1 && status != TAMIS_ERROR_DEVICE) return "the others did not give up";
    if (then != TAMIS_ERROR_DEVICE) return "the late one went on";
    if (!last_error_has(rank == 1 ? "after 0.3 seconds all ranks wait"
                                  : "after 0.3 seconds these ranks had not come: 1"))
        return says("late");
    if (seconds() - start > 15) return "it took too long";
    tamis_mpi_close(&t);
    return NULL;
}

static const char *refuses_arguments(void) {
    tamis_transport t;
    tamis_transport_options o = TAMIS_TRANSPORT_OPTIONS_INIT;
    if (tamis_mpi_open(MPI_COMM_NULL, NULL, &t) != TAMIS_ERROR_ARGUMENT || !last_error_has("MPI_COMM_NULL"))
        return says("no communicator");
    if (tamis_mpi_open(MPI_COMM_WORLD, NULL, NULL) != TAMIS_ERROR_ARGUMENT || !last_error_has("transport = NULL"))
        return says("no transport");
    if (open_transport(0, &t) != TAMIS_ERROR_ARGUMENT || !last_error_has("options.time_limit")) return says("no time");
    o.reserved[3] = 1;
    if (tamis_mpi_open(MPI_COMM_WORLD, &o, &t) != TAMIS_ERROR_UNSUPPORTED || !last_error_has("options.reserved"))
        return says("reserved");
    if (t.context) return "a table was filled";
    tamis_mpi_close(&t);
    tamis_mpi_close(NULL);
    return NULL;
}

static const struct {
    const char *name;
    const char *(*run)(void);
} tests[] = {{"carries data", carries_data},
             {"computes", computes},
             {"goes back", goes_back},
             {"reports disagreement", reports_disagreement},
             {"refuses arguments", refuses_arguments},
             {"hears of an abort", hears_of_an_abort},
             {"waits for a limited time", waits_for_a_limited_time}};

int main(void) {
    tamis_transport early;
    if (tamis_mpi_open(MPI_COMM_WORLD, NULL, &early) != TAMIS_ERROR_ARGUMENT || !last_error_has("not initialised"))
        return 1;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        const char *const failed = tests[i].run();
        if (failed) {
            fprintf(stderr, "rank %d of %d, %s: %s\n", rank, ranks, tests[i].name, failed);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        if (rank == 0) printf("%s: ok\n", tests[i].name);
    }
    MPI_Finalize();
    return 0;
}
