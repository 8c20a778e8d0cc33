/*
 * Groups over two CUDA devices: what the driver is asked to copy, when rows are kept, and that whatever call of the
 * driver fails on one rank, both return soon, with an error that names the rank, and nothing is lost. The driver is
 * fake_cuda.c's; each case is a process of its own. test_gpu_group FAKE FAKE_NCCL      the paths of the fake
 * libraries
 */
#include "support/test.h"

#include <pthread.h>
#include <tamis/group.h>

#include "group/plan.h"
#include "group/threads.h"
#include "processes.h"

enum { RANKS = 2, ROWS = 40, WIDTH = 8, EACH = ROWS / RANKS, RUNS = 3 };

static const char *fake, *fake_nccl;

/* A rank of a ring: each row has its own column and the one opposite, which the other rank owns. */
typedef struct member {
    int rank;
    tamis_device *device;
    const tamis_transport *transport;
    tamis_group *group;
    tamis_group_plan *plan;
    int32_t offsets[EACH + 1], columns[2 * EACH];
    float values[2 * EACH];
    tamis_sparse S;
    void *memory[2];
    tamis_dense B, C;
    tamis_overlap overlap;
    bool transpose;             /* sums of rows go back instead of rows there */
    uint64_t generations[RUNS]; /* of the executions */
    tamis_status made, run[RUNS];
    int failed;        /* number of the first call that failed, the plan's is 0; RUNS + 1: none */
    char message[400]; /* of the first that failed */
} member;

static void member_fill(member *m, int rank) {
    for (int i = 0; i < EACH; i++) {
        m->offsets[i + 1] = 2 * (i + 1);
        for (int j = 0; j < RANKS; j++) m->columns[2 * i + j] = i + j * EACH;
        for (int j = 0; j < RANKS; j++) m->values[2 * i + j] = (float)(2 * i + j + 1);
    }
    m->rank = rank;
    m->S = (tamis_sparse){
        .rows = EACH, .cols = ROWS, .nnz = 2 * EACH, .offsets = m->offsets, .columns = m->columns, .values = m->values};
}

static void keep_message(member *m, tamis_status status, int call) {
    if (status == TAMIS_OK || m->failed <= RUNS) return;
    m->failed = call;
    snprintf(m->message, sizeof m->message, "%s", tamis_last_error());
}

/* The parts of a plan that overlaps have the values of their own columns and of the others', on the device. */
static void expect_values_of_parts(const member *m) {
    for (int part = TAMIS_PIECE_FIRST; part <= TAMIS_PIECE_GHOST; part++) {
        const float *const values = m->plan->pieces[part].S.values;
        const int owner = part == TAMIS_PIECE_FIRST ? m->rank : 1 - m->rank;
        for (int i = 0; i < EACH; i++) CHECK(values[i] == m->values[2 * i + owner]);
    }
}

static void *member_main(void *memory) {
    member *const m = memory;
    tamis_options o = TAMIS_OPTIONS_INIT;
    o.operation = TAMIS_OP_SPMM;
    o.width = WIDTH;
    o.overlap = m->overlap;
    o.transpose = m->transpose;
    m->made = tamis_group_plan_create(m->group, &m->S, EACH, &o, &m->plan);
    keep_message(m, m->made, 0);
    if (m->made == TAMIS_OK && m->overlap == TAMIS_OVERLAP_ALWAYS && !m->transpose) expect_values_of_parts(m);
    for (int i = 0; i < RUNS && m->made == TAMIS_OK; i++) {
        tamis_execution execution = TAMIS_EXECUTION_INIT;
        execution.generation = m->generations[i];
        m->run[i] = tamis_group_plan_spmm(m->plan, &m->B, &m->C, &execution);
        keep_message(m, m->run[i], i + 1);
    }
    tamis_group_plan_destroy(m->plan);
    return NULL;
}

/* Devices and operands, without faults. */
static void members_open(member *members, tamis_overlap overlap, bool transpose) {
    use_fake(fake);
    setenv("FAKE_CUDA_DEVICES", "2", 1);
    setenv("TAMIS_NCCL", fake_nccl, 1);
    for (int r = 0; r < RANKS; r++) {
        member *const m = &members[r];
        *m = (member){.overlap = overlap, .transpose = transpose};
        member_fill(m, r);
        CHECK(tamis_device_open(r ? "cuda:1" : "cuda:0", &m->device) == TAMIS_OK);
        for (int i = 0; i < 2; i++)
            CHECK(tamis_device_allocate(m->device, EACH * WIDTH * sizeof(float), &m->memory[i]) == TAMIS_OK);
        m->B = (tamis_dense){.data = m->memory[0], .rows = EACH, .cols = WIDTH, .location = TAMIS_DEVICE};
        m->C = (tamis_dense){.data = m->memory[1], .rows = EACH, .cols = WIDTH, .location = TAMIS_DEVICE};
    }
}

static void members_close(member *members) {
    for (int r = 0; r < RANKS; r++) {
        for (int i = 0; i < 2; i++) tamis_device_free(members[r].device, members[r].memory[i]);
        tamis_device_close(members[r].device);
    }
}

static void members_run(member *members) {
    pthread_t threads[RANKS];
    for (int r = 0; r < RANKS; r++) {
        member *const m = &members[r];
        m->failed = RUNS + 1;
        m->plan = NULL;
        if (pthread_create(&threads[r], NULL, member_main, m) != 0) abort();
    }
    for (int r = 0; r < RANKS; r++) pthread_join(threads[r], NULL);
}

static void open_linked(member *members, double time_limit, tamis_link link) {
    tamis_device *const devices[RANKS] = {members[0].device, members[1].device};
    tamis_group *groups[RANKS];
    tamis_transport_options o = TAMIS_TRANSPORT_OPTIONS_INIT;
    o.time_limit = time_limit;
    o.link = link;
    CHECK(tamis_group_open_local(devices, RANKS, &o, groups) == TAMIS_OK);
    for (int r = 0; r < RANKS; r++) members[r].group = groups[r];
}

static void open_local(member *members) { open_linked(members, 30, TAMIS_LINK_COPIES); }

static void close_groups(member *members) {
    for (int r = 0; r < RANKS; r++) tamis_group_close(members[r].group);
}

/* ------------------------------------------------------------------------------------------ copies */

/* One copy a rank in each exchange, none while the rows are the same, and nothing through the host. */
static void copies_between_devices(member *members, const void *unused) {
    open_local(members);
    const long out = calls("cuMemcpyDtoHAsync_v2");
    const long records = calls("cuEventRecord"), waits = calls("cuStreamWaitEvent");
    members_run(members);
    for (int r = 0; r < RANKS; r++) CHECK(members[r].run[2] == TAMIS_OK);
    CHECK(calls("cuMemcpyPeerAsync") == 3L * RANKS);
    CHECK(calls("cuCtxEnablePeerAccess") == RANKS); /* each asks once */
    /* where the caller's stream is, that rows are ready, that they are copied, that they have come: recorded and waited
     * for */
    CHECK(calls("cuEventRecord") - records == 4L * 3 * RANKS);
    CHECK(calls("cuStreamWaitEvent") - waits == 4L * 3 * RANKS);
    const long looks = calls("cuMemcpyDtoHAsync_v2") - out; /* of making the plans */
    for (int r = 0; r < RANKS; r++)                         /* rank 1 says for the third that its rows have changed */
        for (int i = 0; i < 3; i++) members[r].generations[i] = i == 2 && r == 1 ? 8 : 7;
    members_run(members);
    CHECK(calls("cuMemcpyPeerAsync") == 5L * RANKS);
    CHECK(calls("cuMemcpyDtoHAsync_v2") - out == 2 * looks);
    CHECK(calls("cuCtxEnablePeerAccess") == RANKS);
    close_groups(members);
}

static void *open_one(void *memory) {
    member *const m = memory;
    m->made = tamis_group_open(m->device, m->transport, &m->group);
    return NULL;
}

/* Does the work of each member on its transport, in a thread of its own. */
static void in_threads(member *members, tamis_transport *transports, void *(*work)(void *member)) {
    pthread_t threads[RANKS];
    for (int r = 0; r < RANKS; r++) {
        members[r].transport = &transports[r];
        if (pthread_create(&threads[r], NULL, work, &members[r]) != 0) abort();
    }
    for (int r = 0; r < RANKS; r++) {
        pthread_join(threads[r], NULL);
        CHECK(members[r].made == TAMIS_OK);
    }
}

/* A transport that knows the host's memory alone. */
static void copies_through_the_host(member *members, const void *unused) {
    tamis_transport transports[RANKS];
    const tamis_transport_options o = TAMIS_TRANSPORT_OPTIONS_INIT;
    CHECK(tamis_threads_open(RANKS, &o, transports) == TAMIS_OK);
    for (int r = 0; r < RANKS; r++) transports[r].size = offsetof(tamis_transport, device_begin);
    in_threads(members, transports, open_one);
    const long in = calls("cuMemcpyHtoDAsync_v2"), out = calls("cuMemcpyDtoHAsync_v2");
    members_run(members);
    for (int r = 0; r < RANKS; r++) CHECK(members[r].run[2] == TAMIS_OK);
    CHECK(calls("cuMemcpyPeerAsync") == 0);
    CHECK(calls("cuMemcpyHtoDAsync_v2") - in >= 3L * RANKS);
    CHECK(calls("cuMemcpyDtoHAsync_v2") - out >= 3L * RANKS);
    close_groups(members);
    for (int r = 0; r < RANKS; r++) tamis_threads_close(transports[r].context);
}

/* Sums of rows: one copy a rank in each execution, behind what computes them and before what adds them. */
static void sums_between_devices(member *members, const void *unused) {
    open_local(members);
    members_run(members);
    for (int r = 0; r < RANKS; r++) CHECK(members[r].run[2] == TAMIS_OK);
    CHECK(calls("cuMemcpyPeerAsync") == 3L * RANKS);
    close_groups(members);
}

/* Rank 1 sends, rank 0 receives, and each closes as soon as its exchange is over. */
static void *exchange_and_close(void *memory) {
    static const int64_t none[RANKS + 1] = {0, 0, 0}, some[RANKS + 1] = {0, 64, 64}, from_1[RANKS + 1] = {0, 0, 64};
    member *const m = memory;
    void *const context = m->transport->context;
    const tamis_transfer transfer = {.send = m->memory[0],
                                     .send_starts = m->rank == 1 ? some : none,
                                     .receive = m->memory[1],
                                     .receive_starts = m->rank == 0 ? from_1 : none};
    m->made = m->transport->device_begin(context, m->device, NULL, &transfer);
    if (m->made == TAMIS_OK) m->made = m->transport->device_end(context);
    tamis_threads_close(context);
    return NULL;
}

/* A rank's events stay until the others have had their streams wait for them. */
static void closing_early(member *members, const void *unused) {
    tamis_transport transports[RANKS];
    const tamis_transport_options o = TAMIS_TRANSPORT_OPTIONS_INIT;
    CHECK(tamis_threads_open(RANKS, &o, transports) == TAMIS_OK);
    setenv("FAKE_CUDA_SLOW", "200", 1);
    in_threads(members, transports, exchange_and_close);
}

/* ------------------------------------------------------------------------------------------ NCCL */

/* Messages instead of copies. */
static void messages_by_nccl(member *members, const void *unused) {
    open_linked(members, 30, TAMIS_LINK_NCCL);
    tamis_group_description about;
    CHECK(tamis_group_describe(members[0].group, &about) == TAMIS_OK && strcmp(about.transport, "nccl") == 0);
    members_run(members);
    for (int r = 0; r < RANKS; r++) CHECK(members[r].failed > RUNS);
    CHECK(calls("cuMemcpyPeerAsync") == 0);
    close_groups(members);
}

/* Where it is missing, and where something else has its name. */
static void nccl_is_missing(member *members, const void *file) {
    tamis_group *groups[RANKS];
    tamis_transport_options o = TAMIS_TRANSPORT_OPTIONS_INIT;
    setenv("TAMIS_NCCL", strcmp(file, "cuda") == 0 ? fake : (const char *)file, 1);
    tamis_device *const devices[RANKS] = {members[0].device, members[1].device};
    const int64_t live = tamis_memory_live();
    o.link = TAMIS_LINK_NCCL;
    CHECK(tamis_group_open_local(devices, RANKS, &o, groups) == TAMIS_ERROR_DEVICE);
    CHECK(error_has("no NCCL: ") && error_has("TAMIS_NCCL"));
    CHECK(error_has(strcmp(file, "cuda") == 0 ? "has no nccl" : "not found"));
    CHECK(groups[0] == NULL && groups[1] == NULL && tamis_memory_live() == live);
    o.link = (tamis_link)2;
    CHECK(tamis_group_open_local(devices, RANKS, &o, groups) == TAMIS_ERROR_ARGUMENT && error_has("options.link = 2"));
    tamis_device *cpu = NULL;
    setenv("TAMIS_NCCL", fake_nccl, 1);
    o.link = TAMIS_LINK_NCCL;
    CHECK(tamis_device_open("cpu", &cpu) == TAMIS_OK);
    CHECK(tamis_group_open_local(&cpu, 1, &o, groups) == TAMIS_ERROR_UNSUPPORTED && error_has("cpu is not one"));
    tamis_device_close(cpu);
}

/* One call of NCCL fails on one rank: both learn it, soon. */
static void nccl_fails(member *members, const void *fault) {
    setenv("TAMIS_NCCL", fake_nccl, 1);
    setenv("FAKE_NCCL_FAULT", fault, 1);
    open_linked(members, 20, TAMIS_LINK_NCCL);
    members_run(members);
    for (int r = 0; r < RANKS; r++) {
        CHECK(members[r].failed <= RUNS);
        CHECK(strstr(members[r].message, "a system error of the stub"));
    }
    CHECK(strstr(members[0].message, "rank 1: ") || strstr(members[1].message, "rank 0: "));
    close_groups(members);
}

/* ------------------------------------------------------------------------------------------ faults */

static bool all_well(const member *members) { return members[0].failed > RUNS && members[1].failed > RUNS; }

/* Who fails says what happened, and the other learns it, by its next call at the latest: that may be one too many. */
static void expect_failure(const member *members) {
    const bool second = members[1].failed < members[0].failed;
    const member *const first = &members[second], *const other = &members[!second];
    CHECK(strstr(first->message, "unspecified launch failure"));
    CHECK(other->failed <= first->failed + 1);
    if (other->failed > RUNS) return;
    CHECK(strstr(first->message, "rank ") || strstr(other->message, "rank "));
    CHECK(strstr(other->message, "unspecified launch failure"));
}

/* The n-th call of a function fails with an error that no later call gets over. */
static void each_call_fails(member *members, const void *function) {
    int well = 0, failed = 0;
    open_local(members);
    members_run(members); /* what lives as long as the process */
    close_groups(members);
    const int64_t live = tamis_memory_live();
    const long pieces = note("live");
    for (int n = 1; well < 6; n += test_rounds(1, 3)) { /* the end of a plan has calls whose errors nobody sees */
        char fault[64];
        open_local(members);
        snprintf(fault, sizeof fault, "%s=719@%d", (const char *)function, n);
        setenv("FAKE_CUDA_FAULT", fault, 1);
        const double start = test_seconds();
        members_run(members);
        setenv("FAKE_CUDA_FAULT", "", 1);
        if (test_seconds() - start > 10) CHECK(!"it took longer than ten seconds");
        well = all_well(members) ? well + 1 : 0;
        failed += well == 0;
        if (well == 0) expect_failure(members);
        close_groups(members);
        CHECK(note("wrong") == 0);
        CHECK(tamis_memory_live() == live);
        /* what is released while its context cannot be entered goes with the context */
        CHECK(note("live") == pieces || strcmp(function, "*") == 0);
        CHECK(n < 3000);
    }
    CHECK(failed * test_rounds(1, 3) > 3); /* of those between two that are tried as well */
    printf("    %d calls failed\n", failed);
}

static const struct group_case {
    const char *name;
    void (*run)(member *members, const void *context);
    const void *context;
    tamis_overlap overlap;
    bool transpose;
} cases[] = {
    {"copies between devices", copies_between_devices, .overlap = TAMIS_OVERLAP_NEVER},
    {"copies between devices, while computing", copies_between_devices, .overlap = TAMIS_OVERLAP_ALWAYS},
    {"copies through the host", copies_through_the_host, .overlap = TAMIS_OVERLAP_NEVER},
    {"copies through the host, while computing", copies_through_the_host, .overlap = TAMIS_OVERLAP_ALWAYS},
    {"sums between devices", sums_between_devices, .transpose = true},
    {"a rank closes while others end", closing_early},
    {"messages by NCCL", messages_by_nccl, .overlap = TAMIS_OVERLAP_NEVER},
    {"messages by NCCL, while computing", messages_by_nccl, .overlap = TAMIS_OVERLAP_ALWAYS},
    {"NCCL is missing", nccl_is_missing, "/nowhere/libnccl.so.2"},
    {"another library in the place of NCCL", nccl_is_missing, "cuda"},
    {"NCCL makes no id", nccl_fails, "ncclGetUniqueId@1", TAMIS_OVERLAP_ALWAYS},
    {"a rank does not join", nccl_fails, "ncclCommInitRank@2", TAMIS_OVERLAP_ALWAYS},
    {"a message is not sent", nccl_fails, "ncclSend@3", TAMIS_OVERLAP_ALWAYS},
    {"a message is not received", nccl_fails, "ncclRecv@2", TAMIS_OVERLAP_ALWAYS},
    {"an earlier exchange has failed", nccl_fails, "ncclCommGetAsyncError@3", TAMIS_OVERLAP_ALWAYS},
    {"a copy fails", each_call_fails, "cuMemcpyPeerAsync", TAMIS_OVERLAP_ALWAYS},
    {"an event fails", each_call_fails, "cuEventRecord", TAMIS_OVERLAP_ALWAYS},
    {"waiting for an event fails", each_call_fails, "cuStreamWaitEvent", TAMIS_OVERLAP_ALWAYS},
    {"a kernel fails", each_call_fails, "cuLaunchKernel", TAMIS_OVERLAP_ALWAYS},
    {"any call fails", each_call_fails, "*", TAMIS_OVERLAP_ALWAYS},
    {"a copy of sums fails", each_call_fails, "cuMemcpyPeerAsync", TAMIS_OVERLAP_ALWAYS, true},
    {"an event fails, with sums", each_call_fails, "cuEventRecord", TAMIS_OVERLAP_ALWAYS, true},
    {"waiting for an event fails, with sums", each_call_fails, "cuStreamWaitEvent", TAMIS_OVERLAP_ALWAYS, true},
    {"a kernel fails, with sums", each_call_fails, "cuLaunchKernel", TAMIS_OVERLAP_ALWAYS, true},
};

static void run_case(const void *context) {
    const struct group_case *const c = context;
    member members[RANKS];
    members_open(members, c->overlap, c->transpose);
    c->run(members, c->context);
    members_close(members);
    /* what is released while its context cannot be entered goes with the context */
    CHECK(note("wrong") == 0 && (note("live") <= RANKS || (c->context && strcmp(c->context, "*") == 0)));
}

TEST_RUN() {
    int failures = 0;
    if (argc < 3) return 2;
    fake = argv[1];
    fake_nccl = argv[2];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        failures += !process_run(cases[i].name, run_case, &cases[i]);
    printf("%d failed\n", failures);
    return failures != 0;
}
