/* A call that fetches rows, computes, and gives partial sums back. */
#include "group/trade.h"

/* What has been begun is ended in any case, so that no rank's memory is in use afterwards. */
static tamis_status fetch_and_compute(tamis_fetch *f, tamis_status (*compute)(void *context), void *context) {
    tamis_message kept;
    if (!f->exchanges) return compute(context);
    TRY(tamis_fetch_begin(f));
    tamis_status status = tamis_fetch_arrive(f);
    if (status == TAMIS_OK) status = compute(context);
    tamis_message_keep(&kept);
    const tamis_status ended = tamis_fetch_end(f);
    if (status == TAMIS_OK) return ended;
    tamis_message_restore(&kept);
    return status;
}

tamis_status tamis_trade(tamis_fetch *f, tamis_giving *g, tamis_status (*compute)(void *context), void *context) {
    tamis_group *const group = f->plan->group;
    tamis_status status = fetch_and_compute(f, compute, context);
    if (status == TAMIS_OK && g && f->plan->report.ghosts > 0) status = tamis_give(g);
    if (status != TAMIS_OK) return group->broken ? status : tamis_group_abort(group, status);
    return TAMIS_OK;
}
