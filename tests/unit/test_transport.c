/* The transport between threads, entry by entry; and groups over tables that programs fill themselves. */
#include "support/test.h"

#include <sched.h>

#include "base/random.h"
#include "base/status.h"
#include "cpu_device.h"
#include "group/share.h"
#include "group/threads.h"
#include "group_threads.h"
#include "transport_case.h"

static void open_transports(int ranks, double time_limit, tamis_transport *transports) {
    tamis_transport_options o = TAMIS_TRANSPORT_OPTIONS_INIT;
    o.time_limit = time_limit;
    works(tamis_threads_open(ranks, &o, transports));
}

static void close_transports(int ranks, tamis_transport *transports) {
    for (int r = 0; r < ranks; r++) tamis_threads_close(transports[r].context);
}

/* ------------------------------------------------------------------------------------------ data */

/* Gathers and exchanges in an order that all ranks draw alike, without anything between them. */
static void many_rounds(group_rank *self) {
    const tamis_transport *const t = (const tamis_transport *)self->context + self->rank;
    tamis_random dice = tamis_random_start(3, 0);
    const int rounds = test_rounds(300, 60);
    for (int round = 0; round < rounds; round++) {
        const char *const failed =
            tamis_random_below(&dice, 2) ? transport_gather_round(t, round) : transport_exchange_round(t, round);
        if (!failed) continue;
        group_says(self, "round %d: %s", round, failed);
        return;
    }
}

TEST(carries_data) {
    for (int ranks = 1; ranks <= GROUP_RANKS; ranks++) {
        tamis_transport transports[GROUP_RANKS];
        open_transports(ranks, 600, transports);
        group_run(ranks, NULL, many_rounds, transports);
        close_transports(ranks, transports);
    }
}

/* ------------------------------------------------------------------------------------------ failing */

static tamis_status exchange(const tamis_transport *t, const tamis_transfer *transfer) {
    const tamis_status status = t->exchange_begin(t->context, transfer);
    return status == TAMIS_OK ? t->exchange_end(t->context) : status;
}

/* Rank 0 sends three bytes to each, of which rank 2 expects two. */
static void other_lengths(group_rank *self) {
    const tamis_transport *const t = (const tamis_transport *)self->context + self->rank;
    const char send[9] = "abcdefgh";
    char receive[9];
    const int64_t send_starts[] = {0, self->rank ? 0 : 3, self->rank ? 0 : 6, self->rank ? 0 : 9};
    const int64_t bytes = self->rank == 0 ? 0 : self->rank == 2 ? 2 : 3;
    const int64_t receive_starts[] = {0, bytes, bytes, bytes};
    const tamis_transfer transfer = {
        .send = send, .send_starts = send_starts, .receive = receive, .receive_starts = receive_starts};
    RANK_REFUSED(DEVICE, "another number of bytes", exchange(t, &transfer));
}

/* Rank 1 gathers where the others exchange; or gathers another size. */
static void other_calls(group_rank *self) {
    const tamis_transport *const t = (const tamis_transport *)self->context + self->rank;
    const int64_t starts[4] = {0};
    const tamis_transfer transfer = {.send_starts = starts, .receive_starts = starts};
    char all[3 * 16], mine[16] = {0};
    RANK_REFUSED(DEVICE, "ranks make different calls",
                 self->rank == 1 || t->name[0] == 'g' ? t->gather(t->context, mine, self->rank == 1 ? 16 : 8, all)
                                                      : exchange(t, &transfer));
}

/* Rank 2 aborts; the others wait for it, and cannot go on after that. */
static void one_aborts(group_rank *self) {
    const tamis_transport *const t = (const tamis_transport *)self->context + self->rank;
    char all[3], mine = 0;
    for (int i = 0; i < 2; i++) {
        if (self->rank == 2 && i == 0) t->abort(t->context, "out of order");
        RANK_REFUSED(DEVICE, "^rank 2: out of order$", t->gather(t->context, &mine, 1, all));
    }
}

TEST(fails_on_all_ranks) {
    void (*const bodies[])(group_rank *) = {other_lengths, other_calls, other_calls, one_aborts};
    for (int i = 0; i < 4; i++)
        for (int round = 0; round < 20; round++) {
            tamis_transport transports[3];
            open_transports(3, 600, transports);
            for (int r = 0; r < 3 && i == 2; r++) transports[r].name = "g";
            group_run(3, NULL, bodies[i], transports);
            close_transports(3, transports);
        }
}

/* ------------------------------------------------------------------------------------------ readers */

/* Rank 2 copies what rank 0 sends when rank 1 aborts. Rank 0, which waits for the end, is told so, and may do what it
   likes with its memory then: not before rank 2 has its copy. Where the copy was quicker than rank 1, the exchange is
   well. */
enum { SENT = 32 << 20, PAGE = 4096 };

typedef struct reading {
    tamis_transport transports[3];
    char *send, *receive;
} reading;

/* Whether some of the copy has come; it races with the copy on purpose. */
#if defined(__GNUC__)
__attribute__((no_sanitize("thread")))
#endif
static bool
has_begun(const volatile char *receive) {
    for (int64_t i = 0; i < SENT; i += 256 * PAGE)
        if (receive[i]) return true;
    return receive[SENT - 1];
}

static void abort_while_one_reads(group_rank *self) {
    const reading *const r = self->context;
    const tamis_transport *const t = &r->transports[self->rank];
    const int64_t sends[] = {0, 0, 0, SENT}, receives[] = {0, SENT, SENT, SENT}, nothing_at_all[4] = {0};
    const tamis_transfer transfer = {.send = r->send,
                                     .send_starts = self->rank == 0 ? sends : nothing_at_all,
                                     .receive = r->receive,
                                     .receive_starts = self->rank == 2 ? receives : nothing_at_all};
    group_works(self, t->exchange_begin(t->context, &transfer));
    if (self->rank == 1) {
        while (!has_begun(r->receive)) sched_yield();
        t->abort(t->context, "enough");
    }
    const tamis_status ended = t->exchange_end(t->context); /* what has begun is ended, also by who aborts */
    if (self->rank != 1 && ended != TAMIS_OK && strcmp(tamis_last_error(), "rank 1: enough") != 0)
        group_says(self, "%s", tamis_last_error());
    if (self->rank == 0) memset(r->send, 'x', SENT);
}

TEST(readers_are_waited_for) {
    for (int round = 0; round < 4; round++) {
        reading r = {.send = malloc(SENT), .receive = calloc(1, SENT)};
        assert_true(r.send && r.receive);
        memset(r.send, 'a', SENT);
        open_transports(3, 600, r.transports);
        group_run(3, NULL, abort_while_one_reads, &r);
        close_transports(3, r.transports);
        if (memchr(r.receive, 'x', SENT)) fail_msg("a rank took its memory away from one that read it");
        free(r.send);
        free(r.receive);
    }
}

/* A rank that fails after the exchange says so: the others learn it with their next call. */
static void abort_of_a_group(group_rank *self) {
    if (self->rank == 1) {
        tamis_clear_error();
        RANK_REFUSED(MEMORY, "^no memory for C$",
                     tamis_group_abort(self->group, tamis_fail(TAMIS_ERROR_MEMORY, "no memory for C")));
    }
    const char *const reason = self->rank == 1 ? "^the group has failed: no memory for C$"
                                               : "^the group has failed: transport threads: rank 1: no memory for C$";
    for (int i = 0; i < 2; i++) RANK_REFUSED(DEVICE, reason, tamis_group_share(self->group, TAMIS_OK, NULL, 0));
}

TEST(group_is_told) { group_run_on(device, 3, 0, abort_of_a_group, NULL); }

/* ------------------------------------------------------------------------------------------ tables of programs */

/* The table of a rank, larger by entries of a later version. */
typedef struct later {
    tamis_transport transport;
    void (*news[2])(void);
} later;

static void nothing(void) {}

static void open_and_close(group_rank *self) {
    later *const tables = self->context;
    tamis_group *group = NULL;
    tamis_group_description about;
    if (group_works(self, tamis_group_open(device, &tables[self->rank].transport, &group)) &&
        (tamis_group_describe(group, &about) != TAMIS_OK || about.rank != self->rank || about.ranks != self->ranks ||
         strcmp(about.transport, "mine") != 0))
        group_says(self, "it describes another group");
    tamis_group_close(group);
}

static void fill_tables(int ranks, tamis_transport *transports, later *tables) {
    open_transports(ranks, 600, transports);
    for (int r = 0; r < ranks; r++) {
        tables[r] = (later){.transport = transports[r]};
        tables[r].transport.name = "mine";
    }
}

/* Tables of this version, of a later one that does not use its news, and of an earlier one. */
TEST(takes_tables) {
    static const size_t sizes[] = {sizeof(tamis_transport), sizeof(later), offsetof(tamis_transport, device_begin)};
    for (int i = 0; i < 3; i++) {
        tamis_transport transports[3];
        later tables[3];
        fill_tables(3, transports, tables);
        for (int r = 0; r < 3; r++) tables[r].transport.size = sizes[i];
        group_run(3, NULL, open_and_close, tables);
        close_transports(3, transports);
    }
}

TEST(refuses_tables) {
    tamis_transport transport;
    tamis_group *group;
    later table;
    fill_tables(1, &transport, &table);
    REFUSED_MADE(group, ARGUMENT, "transport = NULL", tamis_group_open(device, NULL, &group));
#define SPOILT_TABLE(change, want, words)                                                                              \
    SPOILT_MADE_BY(group, table, change, want, words, tamis_group_open(device, &table.transport, &group))
    SPOILT_TABLE(table.transport.device_end = NULL, ARGUMENT,
                 "transport.device_end = NULL, but not transport.device_begin");
    SPOILT_TABLE(table.transport.size = 16, ARGUMENT, "transport.size = 16: expected sizeof(tamis_transport)");
    SPOILT_TABLE((table.transport.size = sizeof table, table.news[1] = nothing), UNSUPPORTED,
                 "those behind them are not zero");
    SPOILT_TABLE(table.transport.gather = NULL, ARGUMENT, "transport.gather = NULL");
    SPOILT_TABLE(table.transport.abort = NULL, ARGUMENT, "transport.abort = NULL");
    SPOILT_TABLE(table.transport.ranks = 0, ARGUMENT, "transport.ranks = 0");
    SPOILT_TABLE(table.transport.rank = 1, ARGUMENT, "transport.rank = 1 is not in 0 .. 0");
    close_transports(1, &transport);
}

/* Rank 0 has the table of rank 1. */
static void open_exchanged(group_rank *self) {
    later *const tables = self->context;
    tamis_group *group;
    RANK_REFUSED(ARGUMENT, "gathered the record of rank",
                 tamis_group_open(device, &tables[self->rank].transport, &group));
}

static void open_without_device(group_rank *self) {
    later *const tables = self->context;
    tamis_group *group;
    RANK_REFUSED(ARGUMENT, "rank 1: device = NULL",
                 tamis_group_open(self->rank == 1 ? NULL : device, &tables[self->rank].transport, &group));
}

TEST(opens_together_or_not) {
    tamis_transport transports[2];
    later tables[2];
    fill_tables(2, transports, tables);
    for (int r = 0; r < 2; r++) tables[r].transport.rank = 1 - r;
    group_run(2, NULL, open_exchanged, tables);
    for (int r = 0; r < 2; r++) tables[r].transport.rank = r;
    group_run(2, NULL, open_without_device, tables);
    group_run(2, NULL, open_and_close, tables);
    close_transports(2, transports);
}

TEST_FIXTURE(set_up, tear_down)
