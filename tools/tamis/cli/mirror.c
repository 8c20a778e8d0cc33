/* Copies a problem into a device's memory. If memory has no address, as a cl_mem, arrays begin at its start. */
#include "cli/mirror.h"

#include "cli/exit.h"
#include "cli/progress.h"

enum { OFFSETS, COLUMNS, ROWS, VALUES, OPERAND_A, OPERAND_B, OPERAND_D, OUTPUT };

static tamis_device *device_of(const tool_mirror *mirror) { return mirror->device->device; }

/* Copies `bytes` bytes from the host to new memory, `before` bytes after its start. Empty arrays get memory, too, so
   that they have an address. */
static tamis_status copy(tool_mirror *mirror, int at, const void *from, size_t bytes, size_t before, const void **to) {
    if (!from) return TAMIS_OK;
    TOOL_TRY(tamis_device_allocate(device_of(mirror), before + bytes + 1, &mirror->memory[at]));
    *to = (char *)mirror->memory[at] + before;
    return bytes > 0 ? tamis_device_upload(device_of(mirror), NULL, mirror->memory[at], before, from, bytes) : TAMIS_OK;
}

static size_t dense_bytes(const tamis_dense *dense, int64_t batch, bool whole) {
    const bool by_rows = dense->layout == TAMIS_ROW_MAJOR;
    const int64_t lines = by_rows ? dense->rows : dense->cols, used = by_rows ? dense->cols : dense->rows;
    if (lines == 0) return 0;
    const int64_t others = (batch - 1) * dense->batch_stride;
    return (size_t)(others + (lines - 1) * dense->stride + (whole ? dense->stride : used)) *
           tamis_type_size(dense->type);
}

static tamis_status copy_dense(tool_mirror *mirror, int at, size_t before, tamis_dense *dense) {
    const void *data = NULL;
    const tamis_status status =
        copy(mirror, at, dense->data, dense_bytes(dense, tool_problem_batch(&mirror->problem), false), before, &data);
    dense->data = (void *)(uintptr_t)data;
    dense->location = TAMIS_DEVICE;
    return status;
}

static tamis_status copy_pattern(tool_mirror *mirror) {
    tamis_sparse *S = &mirror->problem.S;
    const tamis_sparse host = *S;
    const size_t index = tamis_index_size(host.index_type), nnz = (size_t)host.nnz;
    const size_t offsets = (size_t)(host.rows + 1) * tamis_index_size(host.offset_type);
    S->location = TAMIS_DEVICE;
    TOOL_TRY(copy(mirror, OFFSETS, host.offsets, offsets, 0, &S->offsets));
    TOOL_TRY(copy(mirror, COLUMNS, host.columns, nnz * index, 0, &S->columns));
    TOOL_TRY(copy(mirror, ROWS, host.row_indices, nnz * index, 0, &S->row_indices));
    return copy(mirror, VALUES, host.values, nnz * tamis_type_size(host.value_type), 0, &S->values);
}

static tamis_status copy_operands(tool_mirror *mirror, size_t before) {
    tool_problem *problem = &mirror->problem;
    const void *shared = problem->D.data && problem->D.data == problem->B.data ? problem->D.data : NULL;
    TOOL_TRY(copy_dense(mirror, OPERAND_A, before, &problem->A));
    TOOL_TRY(copy_dense(mirror, OPERAND_B, before, &problem->B));
    if (!shared) return copy_dense(mirror, OPERAND_D, before, &problem->D);
    problem->D = problem->B;
    return TAMIS_OK;
}

static tamis_status make_output(tool_mirror *mirror, size_t before) {
    tamis_dense *output = &mirror->problem.output;
    if (!output->data) return TAMIS_OK;
    mirror->output = (char *)output->data - before;
    mirror->output_bytes = dense_bytes(output, tool_problem_batch(&mirror->problem), true) + before;
    const tamis_status status =
        tamis_device_allocate(device_of(mirror), mirror->output_bytes + 1, &mirror->memory[OUTPUT]);
    output->data = (char *)mirror->memory[OUTPUT] + (mirror->memory[OUTPUT] ? before : 0);
    output->location = TAMIS_DEVICE;
    return status;
}

tamis_status tool_mirror_create(const tool_device *device, const tool_problem *problem, int64_t shift,
                                tool_mirror *mirror) {
    *mirror = (tool_mirror){.device = device, .problem = *problem, .copies = device->gpu};
    if (!mirror->copies) return TAMIS_OK;
    const double start = tool_seconds();
    const size_t before = device->addresses ? (size_t)shift * tamis_type_size(problem->type) : 0;
    tamis_status status = copy_pattern(mirror);
    if (status == TAMIS_OK) status = copy_operands(mirror, before);
    if (status == TAMIS_OK) status = make_output(mirror, before);
    mirror->seconds = tool_seconds() - start;
    return status;
}

void tool_mirror_free(tool_mirror *mirror) {
    for (int i = 0; i < TOOL_MIRROR_ARRAYS && mirror->copies; i++)
        tamis_device_free(device_of(mirror), mirror->memory[i]);
    *mirror = (tool_mirror){0};
}

tamis_status tool_mirror_put(const tool_mirror *mirror) {
    if (!mirror->copies || mirror->output_bytes == 0) return TAMIS_OK;
    return tamis_device_upload(device_of(mirror), NULL, mirror->memory[OUTPUT], 0, mirror->output,
                               mirror->output_bytes);
}

tamis_status tool_mirror_fetch(const tool_mirror *mirror) {
    if (!mirror->copies || mirror->output_bytes == 0) return TAMIS_OK;
    return tamis_device_download(device_of(mirror), NULL, mirror->output, mirror->memory[OUTPUT], 0,
                                 mirror->output_bytes);
}
