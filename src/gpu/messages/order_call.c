#include "gpu/messages/order_call.h"

#include "base/status.h"
#include "gpu/runtime/memory.h"

void tamis_gpu_list_place(tamis_gpu_list *to, const tamis_gpu_order_call *call, const char *name, tamis_place place) {
    tamis_gpu_list_add(to, place.base ? tamis_gpu_place(name, place) : tamis_gpu_memory(name, call->order->offsets));
}

void tamis_gpu_list_matrix(tamis_gpu_list *to, const tamis_gpu_order_call *call, const char *name, const char *stride,
                           const tamis_message_operand *x) {
    tamis_gpu_list_place(to, call, name, x->at);
    tamis_gpu_list_add(to, tamis_gpu_integer(stride, x->stride));
}

void tamis_gpu_list_rows(tamis_gpu_list *to, const tamis_gpu_order_call *call, const char *entries) {
    const tamis_message_order *const order = call->order;
    tamis_gpu_list_add(to, tamis_gpu_integer("rows", order->rows));
    tamis_gpu_list_add(to, tamis_gpu_integer("pieces", call->cuts->pieces));
    tamis_gpu_list_add(to, tamis_gpu_integer("limit", call->cuts->limit));
    tamis_gpu_list_place(to, call, "piece_rows", (tamis_place){call->cuts->piece_rows, 0});
    tamis_gpu_list_place(to, call, "order", (tamis_place){call->cuts->order, 0});
    tamis_gpu_list_add(to, tamis_gpu_integer("ordered", call->cuts->order != NULL));
    tamis_gpu_list_add(to, tamis_gpu_memory("offsets", order->offsets));
    tamis_gpu_list_array(to, call, entries, order->entries);
    tamis_gpu_list_add(to, tamis_gpu_integer("permuted", order->entries != NULL));
}

tamis_status tamis_gpu_order_launch(const tamis_gpu_order_call *call, const tamis_gpu_message_variant *variant,
                                    int64_t tasks, int64_t slices, tamis_gpu_list *arguments) {
    const int64_t groups = tamis_gpu_ceiling(tasks, variant->group / variant->team);
    tamis_gpu_list_add(arguments, (tamis_gpu_named){.name = NULL});
    return tamis_gpu_message_launch(call->device, call->stream, variant,
                                    (int64_t[]){tamis_gpu_min(groups, call->device->limits.groups_most[0]), slices},
                                    arguments->of);
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
