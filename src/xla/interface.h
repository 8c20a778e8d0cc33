/*
 * The part of XLA's foreign function interface (its C header xla/ffi/api/c_api.h, which jaxlib ships) that a handler
 * needs, declared here so that the build needs no jaxlib. Interface version 0, of which XLA keeps old binaries working;
 * its structures begin with their size and grow at their ends. tests/python/test_jax.py compares sizes, offsets and
 * numbers with the header of the jaxlib that is installed.
 */
#ifndef TAMIS_XLA_INTERFACE_H
#define TAMIS_XLA_INTERFACE_H

#include <stddef.h>
#include <stdint.h>

enum { XLA_MAJOR = 0, XLA_MINOR = 4 }; /* what is declared here is the same from 0.1 (of JAX 0.5) to 0.4 (of 0.11) */

/* what every structure begins with */
typedef struct xla_extension {
    size_t struct_size;
    int kind; /* XLA_EXTENSION_METADATA */
    struct xla_extension *next;
} xla_extension;
enum { XLA_EXTENSION_METADATA = 1 };

typedef struct xla_version {
    size_t struct_size;
    xla_extension *extensions;
    int major, minor;
} xla_version;

/* A call that asks what the handler is, instead of running it, carries this extension. */
typedef struct xla_metadata {
    size_t struct_size;
    xla_version version;
    uint32_t traits;
    int64_t state_type; /* in later versions; 0: the handler has no state */
} xla_metadata;
typedef struct xla_metadata_extension {
    xla_extension base;
    xla_metadata *metadata;
} xla_metadata_extension;

/* ---------------------------------------------------------------------------------------------- errors, context */

typedef struct xla_error xla_error;
typedef struct xla_context xla_context;
enum { XLA_INVALID_ARGUMENT = 3, XLA_RESOURCE_EXHAUSTED = 8, XLA_UNIMPLEMENTED = 12, XLA_INTERNAL = 13 };

typedef struct xla_error_arguments {
    size_t struct_size;
    xla_extension *extensions;
    const char *message;
    int code;
} xla_error_arguments;

typedef struct xla_destroy_arguments {
    size_t struct_size;
    xla_extension *extensions;
    xla_error *error;
} xla_destroy_arguments;

typedef struct xla_stream_arguments {
    size_t struct_size;
    xla_extension *extensions;
    xla_context *context;
    void *stream; /* out: of CUDA the CUstream */
} xla_stream_arguments;

typedef struct xla_ordinal_arguments {
    size_t struct_size;
    xla_extension *extensions;
    xla_context *context;
    int32_t ordinal; /* out */
} xla_ordinal_arguments;

/* XLA's functions; those that handlers of Tamis do not call have no types here. */
typedef void xla_unused(void);
typedef struct xla_functions {
    size_t struct_size;
    xla_extension *extensions;
    xla_version version;
    const void *internal;
    xla_error *(*create_error)(xla_error_arguments *arguments);
    xla_unused *get_message;
    void (*destroy_error)(xla_destroy_arguments *arguments);
    xla_unused *register_handler;
    xla_error *(*get_stream)(xla_stream_arguments *arguments);
    xla_unused *between[12]; /* of types, state, memory, threads, futures and runs */
    xla_error *(*get_ordinal)(xla_ordinal_arguments *arguments);
} xla_functions;

/* ---------------------------------------------------------------------------------------------- a call */

/* Element types, numbers of XLA. */
enum { XLA_S32 = 4, XLA_S64 = 5, XLA_F16 = 10, XLA_F32 = 11, XLA_F64 = 12, XLA_BF16 = 16 };

typedef struct xla_buffer {
    size_t struct_size;
    xla_extension *extensions;
    int type;
    void *data;
    int64_t rank;
    int64_t *dimensions;
} xla_buffer;

/* Arguments and results. */
enum { XLA_BUFFER = 1 };
typedef struct xla_buffers {
    size_t struct_size;
    xla_extension *extensions;
    int64_t count;
    int *kinds;
    void **buffers;
} xla_buffers;

typedef struct xla_text {
    const char *data;
    size_t length;
} xla_text;

typedef struct xla_scalar {
    int type;
    void *value;
} xla_scalar;

/* Named numbers that are part of the program. */
enum { XLA_SCALAR = 3 };
typedef struct xla_attributes {
    size_t struct_size;
    xla_extension *extensions;
    int64_t count;
    int *kinds;
    xla_text **names;
    void **values;
} xla_attributes;

enum { XLA_EXECUTE = 3 }; /* the stage of a call that computes */

typedef struct xla_frame {
    size_t struct_size;
    xla_extension *extensions;
    const xla_functions *functions;
    xla_context *context;
    int stage;
    xla_buffers arguments, results;
    xla_attributes attributes;
    void *future; /* in later versions */
} xla_frame;

#endif
