/* The _INIT macros in C and in C++, to which this file belongs too: initial.sh compiles it as both, without a warning,
   and compares what they print. */
#include <stdio.h>
#include <tamis/data.h>
#include <tamis/generate.h>
#include <tamis/mask.h>
#include <tamis/matrix.h>
#include <tamis/shard.h>
#include <tamis/slabs.h>
#include <tamis/tamis.h>
#include <tamis/transport.h>

/* Every word of a structure that has only words of that size: no padding. */
static unsigned long long sum(const void *words, size_t bytes) {
    unsigned long long total = 0;
    for (size_t i = 0; i < bytes; i++) total = total * 31 + ((const unsigned char *)words)[i];
    return total;
}

int main(void) {
    tamis_options options = TAMIS_OPTIONS_INIT;
    tamis_execution execution = TAMIS_EXECUTION_INIT;
    tamis_convert_options converting = TAMIS_CONVERT_OPTIONS_INIT;
    tamis_read_options reading = TAMIS_READ_OPTIONS_INIT;
    tamis_generate_options generating = TAMIS_GENERATE_OPTIONS_INIT;
    tamis_mask mask = TAMIS_MASK_INIT;
    tamis_shard_options shard = TAMIS_SHARD_OPTIONS_INIT;
    tamis_slab_options slabs = TAMIS_SLAB_OPTIONS_INIT;
    tamis_transport_options transport = TAMIS_TRANSPORT_OPTIONS_INIT;
    tamis_ratings_options ratings = TAMIS_RATINGS_OPTIONS_INIT;
    tamis_split_options split = TAMIS_SPLIT_OPTIONS_INIT;
    tamis_text_options text = TAMIS_TEXT_OPTIONS_INIT;
    options = execution.alpha > 0 ? options : options; /* also used as a value */
    printf("options %d %lld %lld %g %g %g %lld %lld\n", (int)options.output_type, (long long)options.inner,
           (long long)options.width, options.edge_scale, options.edge_slope, options.edge_epsilon,
           (long long)options.batch, (long long)options.expected_calls);
    printf("execution %g %g\n", execution.alpha, execution.beta);
    printf("converting %d %d %llu\n", (int)converting.format, (int)converting.value_type,
           sum(converting.reserved, sizeof converting.reserved));
    printf("reading %d %d %llu\n", (int)reading.file_format, reading.threads,
           sum(reading.reserved, sizeof reading.reserved));
    printf("generating %d %lld %llu\n", (int)generating.kind, (long long)generating.rows,
           sum(generating.reserved, sizeof generating.reserved));
    printf("mask %lld %lld %lld %lld\n", (long long)mask.left, (long long)mask.right, (long long)mask.dilation,
           (long long)mask.members);
    printf("shard %d slabs %lld transport %g\n", shard.ranks, (long long)slabs.device_memory, transport.time_limit);
    printf("ratings %g %d split %g %llu\n", ratings.missing_value, (int)ratings.header, split.share,
           (unsigned long long)split.seed);
    printf("text %lld %g %d %llu\n", (long long)text.min_documents, text.max_share, text.words != NULL,
           sum(text.reserved, sizeof text.reserved));
    return 0;
}
