#include "gpu/messages/order_call.h"

#include "base/status.h"
#include "gpu/runtime/memory.h"

void tamis_gpu_list_place(tamis_gpu_list *to, const tamis_gpu_order_call *call, const char *name, tamis_place place) {
    tamis_gpu_list_add(to, place.base ? tamis_gpu_place(name, place) : tamis_gpu_memory(name, call->order->offsets));
}

void tamis_gpu_list_matrix(tamis_gpu_list *to, const tamis_gpu_order_call *call, const char *name, const char *stride,
                           const tamis_matrix *x) {
    tamis_gpu_list_place(to, call, name, x->at);
    tamis_gpu_list_add(to, tamis_gpu_integer(stride, x->stride));
}

static void add_pieces(tamis_gpu_list *to, const tamis_gpu_order_call *call) {
    const tamis_message_order *const order = call->order;
    tamis_gpu_list_add(to, tamis_gpu_integer("pieces", call->cuts->pieces));
    tamis_gpu_list_add(to, tamis_gpu_integer("limit", call->cuts->limit));
    tamis_gpu_list_add(to, tamis_gpu_memory("offsets", order->offsets));
    tamis_gpu_list_array(to, call, "entries", order->entries);
    tamis_gpu_list_add(to, tamis_gpu_integer("permuted", order->entries != NULL));
}

void tamis_gpu_list_rows(tamis_gpu_list *to, const tamis_gpu_order_call *call) {
    add_pieces(to, call);
    tamis_gpu_list_add(to, tamis_gpu_integer("rows", call->order->rows));
    tamis_gpu_list_place(to, call, "piece_rows", (tamis_place){call->cuts->piece_rows, 0});
    tamis_gpu_list_place(to, call, "order", (tamis_place){call->cuts->order, 0});
    tamis_gpu_list_add(to, tamis_gpu_integer("ordered", call->cuts->order != NULL));
}

tamis_status tamis_gpu_order_launch(const tamis_gpu_order_call *call, const tamis_gpu_message_variant *variant,
                                    int64_t tasks, int64_t slices, tamis_gpu_list *arguments) {
    const int64_t groups = tamis_gpu_ceiling(tasks, variant->group / variant->team);
    tamis_gpu_list_add(arguments, (tamis_gpu_named){.name = NULL});
    return tamis_gpu_message_launch(call->device, call->stream, variant,
                                    (int64_t[]){tamis_gpu_min(groups, call->device->limits.groups_most[0]), slices},
                                    arguments->of);
}

tamis_status tamis_gpu_order_merge(const tamis_gpu_order_call *call, const tamis_gpu_merge *m) {
    const tamis_gpu_message_variant *const v = &call->variant;
    const int64_t real = v->element == 64 ? 8 : 4;
    tamis_gpu_message_variant variant = {.kernel = TAMIS_ORDER_MERGE,
                                         .element = v->element,
                                         .index = 32,
                                         .offset = v->offset,
                                         .argument = v->argument ? v->argument : 32,
                                         .group = TAMIS_GPU_MERGE_GROUP,
                                         .team = 1,
                                         .each = (int32_t)tamis_gpu_merge_each(m->width, (size_t)real),
                                         .kind = (int32_t)m->kind};
    while (variant.team < TAMIS_GPU_MERGE_TEAM && variant.team < m->width) variant.team *= 2;
    const int64_t slices = tamis_gpu_max(tamis_gpu_ceiling(m->width, variant.team * variant.each), 1);
    tamis_gpu_list to = {.count = 0};
    add_pieces(&to, call);
    tamis_gpu_list_add(&to, tamis_gpu_integer("cut_count", call->cuts->count));
    tamis_gpu_list_add(&to, tamis_gpu_memory("cuts", call->cuts->rows));
    tamis_gpu_list_add(&to, tamis_gpu_integer("heads", m->heads));
    tamis_gpu_list_add(&to, tamis_gpu_integer("width", m->width));
    tamis_gpu_list_place(&to, call, "partials", (tamis_place){call->parts.base, call->parts.bytes + m->before * real});
    tamis_gpu_list_add(&to, tamis_gpu_integer("keeps", m->keeps));
    tamis_gpu_list_place(&to, call, "places", call->places);
    tamis_gpu_list_add(&to, tamis_gpu_real("factor", m->factor));
    tamis_gpu_list_add(&to, tamis_gpu_integer("mean", m->mean));
    tamis_gpu_list_place(&to, call, "out", m->out);
    tamis_gpu_list_add(&to, tamis_gpu_integer("out_row", m->out_row));
    tamis_gpu_list_add(&to, tamis_gpu_integer("out_head", m->out_head));
    tamis_gpu_list_matrix(&to, call, "log_sums", "log_sums_stride", &m->log_sums);
    tamis_gpu_list_add(&to, tamis_gpu_integer("has_log_sums", m->log_sums.at.base != NULL));
    tamis_gpu_list_place(&to, call, "argument", m->argument);
    tamis_gpu_list_add(&to, tamis_gpu_integer("has_argument", m->argument.base != NULL));
    tamis_gpu_list_add(&to, (tamis_gpu_named){.name = NULL});
    const int64_t rows = call->cuts->count * m->heads;
    const int64_t groups[] = {tamis_gpu_merge_groups(call->device, rows, variant.team, slices),
                              tamis_gpu_min(slices, call->device->limits.groups_most[1])};
    return tamis_gpu_message_launch(call->device, call->stream, &variant, groups, to.of);
}

tamis_status tamis_gpu_order_in_parts(tamis_gpu_order_call *call, size_t parts, size_t places,
                                      tamis_status (*run)(void *pass), void *pass) {
    const int64_t first = tamis_gpu_round_up((int64_t)parts, 64);
    void *memory = NULL;
    TRY(tamis_gpu_allocate(call->device, call->stream, (size_t)first + places, "parts of long rows", &memory));
    call->parts = (tamis_place){memory, 0};
    if (places) call->places = (tamis_place){memory, first};
    const tamis_status status = run(pass);
    tamis_gpu_release(call->device, call->stream, memory);
    return status;
}
