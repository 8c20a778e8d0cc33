/* The table of the CPU backend. Its functions are in the other files of this folder. */
#include "cpu/backend.h"

#include "base/status.h"
#include "base/threads.h"
#include "cpu/algorithms.h"
#include "cpu/execute.h"
#include "cpu/memory.h"
#include "cpu/methods/cells/gradient.h"
#include "cpu/parts.h"
#include "cpu/rates.h"

static int device_count(void) { return 1; }

static tamis_status open_device(int number, void **device) {
    (void)number;
    *device = NULL;
    return TAMIS_OK;
}

static const char *why_absent(int number) {
    const tamis_cpu_variant *variant;
    (void)number;
    return tamis_cpu_variant_choose(&variant) == TAMIS_OK ? "" : tamis_last_error();
}

static tamis_status describe(int number, tamis_device_description *description) {
    const tamis_cpu_variant *variant;
    (void)number;
    TRY(tamis_cpu_variant_choose(&variant));
    const tamis_cpu_machine *const m = tamis_cpu_machine_read();
    const int threads = tamis_threads_default();
    *description =
        (tamis_device_description){.name = "cpu",
                                   .model = m->model,
                                   .instruction_set = variant->name,
                                   .threads = threads,
                                   .cache_l1 = tamis_cpu_cache_of_thread(m->cache_l1, m->sharers_l1, threads),
                                   .cache_l2 = tamis_cpu_cache_of_thread(m->cache_l2, m->sharers_l2, threads),
                                   .cache_l3 = m->cache_l3,
                                   .memory = m->memory,
                                   .location = TAMIS_HOST,
                                   .driver = ""};
    return TAMIS_OK;
}

static tamis_ceilings default_ceilings(int number, int threads);

static tamis_status ceilings(int number, int threads, bool brief, tamis_ceilings *out) {
    const tamis_cpu_variant *variant;
    TRY(tamis_cpu_variant_choose(&variant));
    *out = default_ceilings(number, threads);
    return tamis_cpu_measure_ceilings(variant, threads, brief, out);
}

/* A server core of the 2020s; only the ratios matter to the choice. */
static tamis_ceilings default_ceilings(int number, int threads) {
    (void)number;
    const double n = threads, shared = n < 4 ? n : 4; /* cores share the memory bandwidth, but not the caches */
    const int64_t l1 = tamis_cpu_machine_read()->cache_l1, l2 = tamis_cpu_machine_read()->cache_l2;
    return (tamis_ceilings){
        .threads = threads,
        .fp32_gflops = {100, 100 * n},
        .fp64_gflops = {50, 50 * n},
        .l1_gbs = {200, 200 * n},
        .l2_gbs = {90, 90 * n},
        .l3_gbs = {25, 25 * n},
        .memory_gbs = {12, 12 * shared},
        .gather_gbs = {{180, 75, 25, 15, 8, 6}, {180 * n, 75 * n, 25 * n, 15 * n, 8 * shared, 6 * shared}},
        .gather_bytes = {l1 / 2, l2 / 2, 4 * l2, 16 << 20, 64 << 20, 128 << 20}};
}

static int processors(void) { return tamis_cpu_machine_read()->at_once; }

const tamis_backend tamis_cpu_backend = {
    .name = "cpu",
    .algorithm = tamis_cpu_algorithm,
    .accepts = tamis_cpu_accepts,
    .predict = tamis_cpu_predict,
    .prepare = tamis_cpu_prepare,
    .device_count = device_count,
    .open = open_device,
    .describe = describe,
    .why_absent = why_absent,
    .ceilings = ceilings,
    .default_ceilings = default_ceilings,
    .rates = &tamis_cpu_rate_table,
    .processors = processors,
    .execute = tamis_cpu_execute,
    .sizes = tamis_cpu_sizes,
    .call_bytes = tamis_cpu_call_bytes,
    .release = tamis_cpu_release,
    .location = TAMIS_HOST,
    .allocate = tamis_cpu_allocate,
    .release_memory = tamis_cpu_release_memory,
    .copy_in = tamis_cpu_copy_in,
    .copy_out = tamis_cpu_copy_out,
    .copy_in_async = tamis_cpu_copy_in,
    .copy_out_async = tamis_cpu_copy_out,
    .copy_from = tamis_cpu_copy_from,
    .copy_within = tamis_cpu_copy_within,
    .host_allocate = tamis_cpu_host_allocate,
    .host_release = tamis_cpu_release_event,
    .stream_create = tamis_cpu_stream_create,
    .stream_destroy = tamis_cpu_release_event,
    .stream_wait = tamis_cpu_stream_wait,
    .finish = tamis_cpu_finish,
    .record = tamis_cpu_record,
    .elapsed = tamis_cpu_elapsed,
    .release_event = tamis_cpu_release_event,
    .validate = tamis_cpu_validate,
    .order_rows = tamis_cpu_order_rows,
    .profile = tamis_cpu_profile,
    .mask_offsets = tamis_cpu_mask_offsets,
    .mask_columns = tamis_cpu_mask_columns,
    .ready = tamis_cpu_ready,
    .transpose = tamis_cpu_transpose,
    .permute = tamis_cpu_permute,
    .gather = tamis_cpu_gather,
    .add_rows = tamis_cpu_add_rows,
    .dense = &tamis_cpu_dense_functions,
    .edges = &tamis_cpu_edge_functions,
    .back = &tamis_cpu_cells_backward,
    .messages = &tamis_cpu_message_functions,
    .attention = &tamis_cpu_attention_functions,
    .cached_attend = tamis_cpu_cached_attend,
    .edge_network = &tamis_cpu_edge_network_functions,
};
