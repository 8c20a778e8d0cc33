/*
 * A call of a group, on each rank:
 *   1. check the caller's operands and the local plan's, which are laid out in X and in the partial sums (check)
 *   2. share the status, and agree with the other ranks on what is exchanged (tamis_fetch_agree)
 *   3. fetch what is needed before (fetch_more); pack the rows that others need, and send them (tamis_fetch_begin)
 *   4. compute with the own rows meanwhile, where the plan overlaps (compute_own)
 *   5. wait until the ghost rows are there (tamis_move_arrive), and compute (compute)
 *   6. wait until the others have theirs (tamis_move_end)
 *   7. send the partial sums to their owners, and add what comes (tamis_give_back)
 * Without ghost rows on any rank, or where X has the rows of this generation, steps 3 and 6 and the wait are left out;
 * 7 where nothing goes back. An error after step 2 breaks the group, since the other ranks do not ask this one again.
 */
#include "group/exchange/exchange.h"

#include "core/options.h"
#include "group/share.h"

static tamis_status step(const tamis_call *c, tamis_status (*of_caller)(void *context)) {
    return of_caller ? of_caller(c->context) : TAMIS_OK;
}

/* Checks matrices that local plans do not check, since they get copies. */
static tamis_status check_shared(const tamis_call *c) {
    const tamis_device *const device = c->exchange->group->device;
    const tamis_giving *const g = &c->giving;
    for (const tamis_fetch *f = c->fetches; f <= c->fetches + c->more; f++)
        for (int i = 0; i < f->count; i++)
            if (f->from[i].local || !c->check) TRY(tamis_operand_check(device, &f->from[i].given));
    for (int i = 0; i < g->count; i++)
        if (g->to[i].local) TRY(tamis_operand_check(device, &g->to[i].given));
    return TAMIS_OK;
}

/* Does all local checks. */
static tamis_status check(tamis_call *c) {
    const int64_t batch = c->exchange->batch;
    TRY(c->mine);
    TRY(tamis_execution_read(c->given, &c->execution));
    if (c->execution.edge_operands)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "execution.edge_operands is set: groups have edges with names, expected "
                          "NULL");
    TRY(check_shared(c));
    for (tamis_fetch *f = c->fetches; f <= c->fetches + c->more; f++)
        tamis_fetch_lay_out(f, batch, f->second_is_first || f->count < 2 ? 0 : batch);
    tamis_give_back_lay_out(&c->giving);
    return step(c, c->check);
}

static tamis_status agree(tamis_call *c) {
    const tamis_status mine = check(c);
    tamis_agreed agreed = {.alpha = c->execution.alpha, .beta = c->execution.beta};
    for (int i = 0; i < c->giving.count; i++)
        if (c->giving.to[i].given.view) agreed.requested |= 1u << i;
    for (int i = 0; i <= c->more; i++) c->fetches[i].stream = c->execution.stream;
    c->giving.stream = c->execution.stream;
    c->gives_back = agreed.requested != 0 && c->giving.exchange->ghosts > 0;
    return tamis_fetch_agree(c->fetches, 1 + c->more, mine, c->execution.generation, &agreed);
}

static tamis_status compute(const tamis_call *c) {
    TRY(step(c, c->compute_own));
    return step(c, c->compute);
}

static tamis_status fetch_more(tamis_call *c) {
    for (tamis_fetch *f = c->fetches + 1; f <= c->fetches + c->more; f++) {
        if (!f->exchanges) continue;
        TRY(tamis_fetch_begin(f));
        TRY(tamis_move_end(&f->move, tamis_move_arrive(&f->move)));
    }
    return TAMIS_OK;
}

static tamis_status fetch_and_compute(tamis_call *c) {
    tamis_fetch *const f = c->fetches;
    tamis_message kept;
    TRY(tamis_fetch_begin(f));
    tamis_status status = step(c, c->compute_own);
    if (status != TAMIS_OK) (void)tamis_group_abort(c->exchange->group, status); /* the others must not wait */
    tamis_message_keep(&kept);
    const tamis_status arrived = tamis_move_arrive(&f->move);
    if (status != TAMIS_OK)
        tamis_message_restore(&kept);
    else
        status = arrived == TAMIS_OK ? step(c, c->compute) : arrived;
    return tamis_move_end(&f->move, status);
}

tamis_status tamis_call_run(tamis_call *c) {
    tamis_group *const group = c->exchange->group;
    c->fetches[0].exchange = c->exchange;
    if (!c->giving.exchange) c->giving.exchange = c->exchange;
    TRY(agree(c));
    tamis_status status = fetch_more(c);
    if (status == TAMIS_OK) status = c->fetches[0].exchanges ? fetch_and_compute(c) : compute(c);
    if (status == TAMIS_OK && c->gives_back) status = tamis_give_back(&c->giving);
    if (status != TAMIS_OK) return group->broken ? status : tamis_group_abort(group, status);
    tamis_fetch_keep(c->fetches, c->execution.generation);
    return TAMIS_OK;
}
