/* The kernels of message passing of one variant and type: compiled for every instruction set and every type, like
   src/cpu/kernels/table.c. TAMIS_MESSAGES_TABLE is the name of the table. */
#include "cpu/edge_network/chunks.h"
#include "cpu/messages/attention.h"
#include "cpu/messages/attention_back.h"
#include "cpu/messages/cached.h"
#include "cpu/messages/entries.h"
#include "cpu/messages/rows.h"
#include "cpu/messages/segments.h"

extern const tamis_cpu_messages TAMIS_MESSAGES_TABLE;

const tamis_cpu_messages TAMIS_MESSAGES_TABLE = {
    .rows = message_rows,
    .entries = message_entries,
    .attention = attention_pass,
    .segments = segment_pass,
    .cached = cached_part,
    .cached_merge = cached_merge,
    .network = {.prepare = network_prepare, .chunk = network_chunk, .join = network_join, .finish = network_finish}};
