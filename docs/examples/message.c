/* A message as an expression: the largest leaky ReLU of what both ends and the edge say, and its gradients. */
#include <stdio.h>
#include <tamis/message.h>

static void print(const char *name, const float *x, int count) {
    printf("%-3s", name);
    for (int k = 0; k < count; k++) printf(" %5.2f", (double)x[k]);
    printf("\n");
}

int main(void) {
    const int32_t offsets[] = {0, 2, 3}, columns[] = {0, 1, 2}; /* edges from node 0 and 1 to 0, and from 2 to 1 */
    const tamis_sparse S = {.rows = 2, .cols = 3, .nnz = 3, .offsets = offsets, .columns = columns};
    float u[] = {1, -2, -3, 4, 5, 6}, v[] = {1, 1, -20, -20}, e[] = {0.5, 1, 2}, out[4], du[6], dv[4], de[3];
    float ones[] = {1, 1, 1, 1};
    int32_t argument[4];
    const tamis_dense U = {.data = u, .rows = 3, .cols = 2}, V = {.data = v, .rows = 2, .cols = 2};
    const tamis_dense E = {.data = e, .rows = 3, .cols = 1}, out_of = {.data = out, .rows = 2, .cols = 2};
    const tamis_dense dOut = {.data = ones, .rows = 2, .cols = 2}, dU = {.data = du, .rows = 3, .cols = 2};
    const tamis_dense dV = {.data = dv, .rows = 2, .cols = 2}, dE = {.data = de, .rows = 3, .cols = 1};
    tamis_device *device = NULL;
    tamis_graph *graph = NULL;
    if (tamis_device_open("cpu", &device) != TAMIS_OK) return 1;
    if (tamis_graph_create(device, &S, NULL, &graph) != TAMIS_OK) return 1;

    const tamis_edge_number numbers[] = {{"slope", 0.2}};
    tamis_message_options options = {.op = TAMIS_MESSAGE_TEXT,
                                     .reduce = TAMIS_REDUCE_MAX,
                                     .edge_data = TAMIS_E_NUMBER,
                                     .width = 2,
                                     .text = "leaky_relu(u + v + e, slope)",
                                     .numbers = numbers,
                                     .number_count = 1,
                                     .V = &V};
    if (tamis_message_pass(graph, &options, &U, &E, &out_of, argument, NULL) != TAMIS_OK) return 1;
    print("out", out, 4);
    options.dV = &dV;
    if (tamis_message_backward(graph, &options, &dOut, &U, &E, argument, &dU, &dE, NULL) != TAMIS_OK) return 1;
    print("dU", du, 6);
    print("dV", dv, 4);
    print("dE", de, 3);

    options.text = "leaky_relu(u + w)";
    options.dV = NULL;
    if (tamis_message_pass(graph, &options, &U, &E, &out_of, argument, NULL) != TAMIS_OK)
        printf("%s\n", tamis_last_error());
    tamis_graph_destroy(graph);
    tamis_device_close(device);
    return 0;
}
