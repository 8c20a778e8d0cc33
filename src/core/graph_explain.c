/* Explains a graph: its pattern and orders, and how calls divide its rows. */
#include "base/status.h"
#include "base/text_buffer.h"
#include "core/message.h"
#include "sparse/index.h"

/* Bytes that the graph keeps for an order, beside S's arrays. */
static int64_t bytes_of(const tamis_message_order *order, bool is_S, bool own_columns) {
    const int64_t offsets = (order->rows + 1) * (int64_t)tamis_index_size(order->offset_type);
    const int64_t columns = own_columns ? order->nnz * (int64_t)tamis_index_size(order->column_type) : 0;
    return is_S ? 0 : offsets + columns + (order->entries ? order->nnz * (int64_t)sizeof(int64_t) : 0);
}

static void add_order(tamis_text_buffer *t, const tamis_graph *g, const char *name, const tamis_message_order *order,
                      bool is_S, bool own_columns) {
    const tamis_message_functions *const messages = g->device->backend->messages;
    tamis_text_add(t, "%-12s ", name);
    if (is_S)
        tamis_text_add(t, "S's own arrays");
    else
        tamis_text_add(t, "%lld bytes%s", (long long)bytes_of(order, is_S, own_columns),
                       order->entries ? ", with the place of each entry in S" : "");
    messages->explain(order, t);
    tamis_text_add(t, "\n");
}

tamis_status tamis_graph_explain(const tamis_graph *graph, char *out, size_t bytes, size_t *needed) {
    tamis_clear_error();
    if (!graph) return tamis_fail(TAMIS_ERROR_ARGUMENT, "graph = NULL: make one with tamis_graph_create");
    if (!out && bytes > 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "text = NULL, but bytes = %zu", bytes);
    const tamis_message_order *const rows = &graph->rows;
    tamis_text_buffer t = {out, bytes, 0};
    tamis_text_add(&t, "graph        %lld x %lld, %lld entries, %.3g a row\n", (long long)rows->rows,
                   (long long)rows->cols, (long long)rows->nnz,
                   rows->rows > 0 ? (double)rows->nnz / (double)rows->rows : 0);
    tamis_text_add(&t, "device       %s, %s", graph->device->description.name,
                   graph->device->description.instruction_set);
    if (graph->device->backend->location == TAMIS_HOST)
        tamis_text_add(&t, ", %d thread%s", tamis_message_threads(graph), tamis_message_threads(graph) == 1 ? "" : "s");
    tamis_text_add(&t, "\n");
    add_order(&t, graph, "by rows", rows, !graph->row_order.offsets, graph->row_order.own_columns != NULL);
    if (graph->forward_only)
        tamis_text_add(&t, "by columns   no order: it was made for forward calls only\n");
    else
        add_order(&t, graph, "by columns", &graph->columns, false, graph->column_order.own_columns != NULL);
    if (graph->column_places) tamis_text_add(&t, "             8 bytes an entry tell its place among the columns\n");
    tamis_text_add(&t, "texts        a message that is an expression %s\n", graph->device->backend->messages->texts);
    tamis_graph_passes_explain(atomic_load(&graph->planned), rows->offsets, &t);
    if (needed) *needed = t.used + 1;
    return TAMIS_OK;
}
