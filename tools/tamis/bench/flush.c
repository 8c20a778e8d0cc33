/*
 * The GPU flushes its own cache: writing from the host would take longer than most products, and the program cannot
 * copy within the device. An SDDMM with one nonzero per row reads each row of A once, and A is four times as large as
 * the L2.
 */
#include "bench/flush.h"

#include <stdint.h>
#include <stdlib.h>

#include "bench/gather.h"
#include "cli/exit.h"
#include "cli/mirror.h"

enum { WIDTH = 1024, LEAST_BYTES = 32 << 20 };

struct tool_flush {
    const tool_device *device;
    int threads;
    int64_t bytes;
    tool_mirror mirror;
    tamis_plan *plan;
};

static tamis_status make_product(tool_flush *flush, const tool_problem *problem) {
    TOOL_TRY(tool_mirror_create(flush->device, problem, 0, &flush->mirror));
    tamis_options options = tool_problem_options(problem);
    options.trust_input = true;
    return tamis_plan_create(flush->device->device, &flush->mirror.problem.S, &options, &flush->plan);
}

static tamis_status make_ready(tool_flush *flush) {
    const int64_t rows = flush->bytes / WIDTH / (int64_t)sizeof(float);
    int32_t *offsets = tool_allocate((size_t)rows + 1, sizeof *offsets);
    int32_t *columns = tool_allocate((size_t)rows, sizeof *columns); /* all 0: B has one row */
    for (int64_t i = 0; i <= rows; i++) offsets[i] = (int32_t)i;
    tool_problem problem = tool_problem_of(TAMIS_OP_SDDMM, TAMIS_EDGE_MASK, TAMIS_F32, WIDTH, WIDTH);
    problem.S = (tamis_sparse){.rows = rows, .cols = 1, .nnz = rows, .offsets = offsets, .columns = columns};
    tool_operands operands;
    tamis_status status = tool_operands_random(&problem, TAMIS_ROW_MAJOR, 0, 0, 1, &operands);
    if (status == TAMIS_OK) {
        status = make_product(flush, &problem);
        tool_operands_free(&operands);
    }
    free(offsets);
    free(columns);
    return status;
}

int tool_flush_create(const tool_device *device, int threads, tool_flush **flush) {
    tool_flush *made = tool_allocate(1, sizeof *made);
    *made = (tool_flush){.device = device, .threads = threads};
    const int64_t cache = device->gpu ? device->description.cache_l2 : device->description.cache_l3;
    made->bytes = cache > 0 ? cache : (int64_t)64 << 20;
    if (device->gpu) {
        made->bytes *= 4;
        if (made->bytes < LEAST_BYTES) made->bytes = LEAST_BYTES;
        const tamis_status status = make_ready(made);
        if (status != TAMIS_OK) {
            const int code = tool_library_error(status, "emptying the cache");
            tool_flush_free(made);
            return code;
        }
    }
    *flush = made;
    return 0;
}

void tool_flush_free(tool_flush *flush) {
    if (!flush) return;
    tamis_plan_destroy(flush->plan);
    tool_mirror_free(&flush->mirror);
    free(flush);
}

tamis_status tool_flush_execute(tool_flush *flush) {
    if (flush->device->gpu) return tool_problem_execute(&flush->mirror.problem, flush->plan);
    tool_flush_caches(flush->bytes, flush->threads);
    return TAMIS_OK;
}
