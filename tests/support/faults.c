
#include "support/test.h"

enum { FAULTS_MOST = 100000 };

bool fault_next(fault_walk *w) {
    if (w->n > 0) {
        const long long left = (long long)(tamis_memory_live() - w->live);
        if (left != 0) fail_msg("%lld blocks are left after allocation %lld failed", left, (long long)w->n);
        if (w->status == TAMIS_OK) {
            const int64_t least = w->least > 0 ? w->least : 1;
            if (w->failures < least)
                fail_msg("%lld failures, expected %lld or more", (long long)w->failures, (long long)least);
            return false;
        }
        assert_true(w->n < FAULTS_MOST);
    }
    w->n += w->n == 0 || w->step == 0 ? 1 : w->step;
    w->live = tamis_memory_live();
    w->status = TAMIS_ERROR_INTERNAL; /* a turn without a call */
    return true;
}

void fault_begin(fault_walk *w) {
    w->count = tamis_memory_count();
    tamis_memory_fail_at(w->n);
}

tamis_status fault_end(fault_walk *w, tamis_status status) {
    const bool reached = tamis_memory_count() - w->count >= w->n;
    const char *const message = w->elsewhere ? status == TAMIS_OK ? "" : "no memory" : tamis_last_error();
    tamis_memory_fail_at(0);
    w->status = status;
    if (status == TAMIS_OK ? message[0] != 0 : status != TAMIS_ERROR_MEMORY || !strstr(message, "no memory"))
        fail_msg("allocation %lld fails: %s: %s", (long long)w->n, tamis_status_name(status), message);
    if (status == TAMIS_OK && reached) fail_msg("allocation %lld fails, and nobody says so", (long long)w->n);
    w->failures += status != TAMIS_OK;
    return status;
}
