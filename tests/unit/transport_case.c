/* Exchanges and gathers whose bytes every rank can compute. */
#include "transport_case.h"

#include <stdlib.h>

#include "base/random.h"
#include "support/own.h"

/* Bytes that rank `from` sends to rank `to` in a round: every rank can compute them. */
static int64_t length_of(int round, int from, int to) {
    tamis_random dice = tamis_random_start(7, (uint64_t)((round * TRANSPORT_RANKS + from) * TRANSPORT_RANKS + to));
    return from == to || tamis_random_below(&dice, 3) == 0 ? 0 : tamis_random_below(&dice, 3000);
}

static char byte_of(int round, int from, int to, int64_t i) { return (char)(round * 31 + from * 17 + to * 5 + i * 3); }

const char *transport_exchange_round(const tamis_transport *t, int round) {
    int64_t send_starts[TRANSPORT_RANKS + 1] = {0}, receive_starts[TRANSPORT_RANKS + 1] = {0};
    const char *failed = NULL;
    for (int r = 0; r < t->ranks; r++) {
        send_starts[r + 1] = send_starts[r] + length_of(round, t->rank, r);
        receive_starts[r + 1] = receive_starts[r] + length_of(round, r, t->rank);
    }
    OWN(char) *const send = malloc((size_t)send_starts[t->ranks] + 1);
    OWN(char) *const receive = malloc((size_t)receive_starts[t->ranks] + 1);
    if (!send || !receive) abort();
    for (int r = 0; r < t->ranks; r++)
        for (int64_t i = send_starts[r]; i < send_starts[r + 1]; i++)
            send[i] = byte_of(round, t->rank, r, i - send_starts[r]);
    const tamis_transfer transfer = {
        .send = send, .send_starts = send_starts, .receive = receive, .receive_starts = receive_starts};
    if (t->exchange_begin(t->context, &transfer) != TAMIS_OK || t->exchange_end(t->context) != TAMIS_OK)
        failed = tamis_last_error();
    for (int r = 0; r < t->ranks && !failed; r++)
        for (int64_t i = receive_starts[r]; i < receive_starts[r + 1]; i++)
            if (receive[i] != byte_of(round, r, t->rank, i - receive_starts[r])) failed = "a byte is wrong";
    return failed;
}

const char *transport_gather_round(const tamis_transport *t, int round) {
    char mine[TAMIS_TRANSPORT_RECORD], all[TRANSPORT_RANKS * TAMIS_TRANSPORT_RECORD];
    const size_t bytes = (size_t)(1 + round * 73 % TAMIS_TRANSPORT_RECORD);
    for (size_t i = 0; i < bytes; i++) mine[i] = byte_of(round, t->rank, 0, (int64_t)i);
    if (t->gather(t->context, mine, bytes, all) != TAMIS_OK) return tamis_last_error();
    for (int r = 0; r < t->ranks; r++)
        for (size_t i = 0; i < bytes; i++)
            if (all[(size_t)r * bytes + i] != byte_of(round, r, 0, (int64_t)i)) return "a record is wrong";
    return NULL;
}
