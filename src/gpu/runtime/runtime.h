/*
 * Abstraction of the GPU runtime: a table of functions for CUDA and one for OpenCL. Everything above this header is
 * shared; everything below is one file per runtime. Libraries are opened with dlopen: nothing of CUDA or OpenCL is
 * needed to build or to load the library.
 *
 * All functions may be called from any thread. `stream` is the caller's CUstream or cl_command_queue; NULL is CUDA's
 * default stream or the device's own queue. Work on a stream is in order.
 */
#ifndef TAMIS_GPU_RUNTIME_RUNTIME_H
#define TAMIS_GPU_RUNTIME_RUNTIME_H

#include "backend/backend.h"
#include "gpu/runtime/signature.h"

/* Properties and limits of a device; sizes in bytes, 0 if unknown. */
typedef struct tamis_gpu_limits {
    char name[24];         /* "cuda:0" */
    char model[128];       /* the chip's own name */
    char architecture[64]; /* "sm_90", "OpenCL C 1.2" */
    char compiler[288];    /* its compiler, "NVRTC 13.0"; for OpenCL with the options */
    char build[288];       /* further key of compiled code: options, the compiler's patch level */
    char driver[160];      /* version and platform */
    char about[464];       /* driver and compiler, for messages */
    bool is_cpu;           /* an OpenCL device that is a CPU */
    bool has_fp64;
    bool compiles_beside; /* its compiler runs in several threads at once */
    int subgroup;        /* lanes that shuffle without a barrier: 32 on CUDA; 0: teams exchange through shared memory */
    int multiprocessors; /* or compute units */
    int group_most;      /* work-items per group */
    int64_t shared_most; /* shared memory per group */
    int64_t threads_most;                            /* resident work-items of a multiprocessor */
    int64_t cache_l1, cache_l2, memory, memory_most; /* memory_most: largest allocation */
    int64_t groups_most[3];                          /* groups per launch in x, y and z */
} tamis_gpu_limits;

typedef struct tamis_gpu_runtime tamis_gpu_runtime;

/* An opened device, kept until the process ends. */
typedef struct tamis_gpu_device {
    const tamis_gpu_runtime *runtime;
    int number;
    int64_t programs;      /* modules that jit.c holds for it, under its lock */
    bool has_new_programs; /* since idle modules were last counted */
    int64_t profiled;      /* nonzeros and rows that the host has profiled for it: structure/profile.c */
    tamis_gpu_limits limits;
} tamis_gpu_device;

typedef struct tamis_gpu_module tamis_gpu_module; /* compiled code, loaded */

/* A kernel function of a module, used by one thread at a time. */
typedef struct tamis_gpu_kernel {
    void *function;              /* the platform's handle */
    struct tamis_gpu_code *code; /* this and the rest belong to jit.c */
    struct tamis_gpu_kernel *next;
    int64_t shared_bytes;
    bool held;
    char name[TAMIS_GPU_NAME_MOST];
    tamis_gpu_signature *signature;
} tamis_gpu_kernel;

/* Matrices of 16-bit numbers, from which a kernel copies tiles of 64 numbers of `tile_rows` rows. All addresses are
   aligned to 16 bytes. */
typedef struct tamis_gpu_tiles {
    const tamis_matrix *of;
    int64_t numbers, rows, members;
    uint32_t tile_rows;
    _Alignas(128) uint64_t words[16]; /* how the platform describes it; zeros: the kernel copies none */
} tamis_gpu_tiles;

/* A kernel argument, in order. */
typedef struct tamis_gpu_argument {
    tamis_gpu_kind kind;
    union {
        tamis_place place;
        int32_t int32;
        int64_t int64;
        float float32;
        double float64;
        const tamis_gpu_tiles *tiles;
    } value;
} tamis_gpu_argument;

typedef struct tamis_gpu_launch {
    int64_t groups[2]; /* 0 in either: nothing is launched */
    int group_size;
    int64_t shared_bytes; /* dynamic shared memory (SHARED_ARRAY), beyond the kernel's own declarations */
    int64_t members;      /* batch members: number of such grids along z; 0: one */
    bool early; /* programmatic dependent launch: may begin while the previous launch on the stream ends; the kernel
                   waits for it itself */
} tamis_gpu_launch;

/* Compiled code as bytes, to be cached. Release memory with tamis_release. */
typedef struct tamis_gpu_binary {
    void *memory;
    size_t bytes;
} tamis_gpu_binary;

struct tamis_gpu_runtime {
    const char *name; /* "cuda", "opencl" */

    /* Number of devices; 0 with the reason in `why` (which library was tried, and why it failed). Probed once. */
    int (*count)(const char **why);
    /* Opens a device; an error gives the reason if it cannot be used. Later calls return the same device. */
    tamis_status (*open)(int number, tamis_gpu_device **device);

    /* Compiles `source` with `definitions` ("-D NAME=VALUE ..."). The compiler's message becomes the error's. *module:
       the loaded code, or NULL if `load` must be called; binary: the code as bytes, empty if the platform has its own
       cache. */
    tamis_status (*compile)(tamis_gpu_device *device, const char *name, const char *source, const char *definitions,
                            tamis_gpu_binary *binary, tamis_gpu_module **module);
    tamis_status (*load)(tamis_gpu_device *device, const tamis_gpu_binary *binary, tamis_gpu_module **module);
    void (*unload)(tamis_gpu_device *device, tamis_gpu_module *module);
    /* `shared_bytes`: new limit of dynamic shared memory of launches; 0: unchanged */
    tamis_status (*function)(tamis_gpu_device *device, tamis_gpu_module *module, const char *name, int64_t shared_bytes,
                             void **function);
    void (*release_function)(tamis_gpu_device *device, void *function);
    tamis_status (*launch)(tamis_gpu_device *device, void *stream, tamis_gpu_kernel *kernel,
                           const tamis_gpu_launch *launch, const tamis_gpu_argument *arguments, int count);

    /* Sets tiles->words; false if the chip or the driver cannot copy such tiles (NULL: any). NULL: no chip can. */
    bool (*describe_tiles)(tamis_gpu_device *device, tamis_gpu_tiles *tiles);

    /* `stream`: that of the work that will use the memory, or TAMIS_ALL_STREAMS; the same for both. release: false if
       the platform refuses for now (a graph is being captured); then try again later. */
    tamis_status (*allocate)(tamis_gpu_device *device, void *stream, size_t bytes, void **memory);
    bool (*release)(tamis_gpu_device *device, void *stream, void *memory);
    tamis_status (*write)(tamis_gpu_device *device, void *stream, tamis_place to, const void *from, size_t bytes);
    tamis_status (*read)(tamis_gpu_device *device, void *stream, void *to, tamis_place from, size_t bytes); /* waits */
    tamis_status (*copy)(tamis_gpu_device *device, void *stream, tamis_place to, tamis_place from, size_t bytes);
    tamis_status (*write_async)(tamis_gpu_device *device, void *stream, tamis_place to, const void *from, size_t bytes);
    tamis_status (*read_async)(tamis_gpu_device *device, void *stream, void *to, tamis_place from, size_t bytes);
    tamis_status (*copy_from)(tamis_gpu_device *device, void *stream, tamis_place to, tamis_gpu_device *from_device,
                              tamis_place from, size_t bytes); /* does not wait */
    /* pinned host memory, which copies need not stage; host_memory: lives as long as the process, not counted */
    tamis_status (*host_memory)(tamis_gpu_device *device, size_t bytes, void **memory);
    tamis_status (*host_allocate)(tamis_gpu_device *device, size_t bytes, void **memory);
    void (*host_release)(tamis_gpu_device *device, void *memory);
    tamis_status (*stream_create)(tamis_gpu_device *device, bool urgent, void **stream);
    void (*stream_destroy)(tamis_gpu_device *device, void *stream);
    tamis_status (*stream_wait)(tamis_gpu_device *device, void *stream, void *event);
    tamis_status (*fill)(tamis_gpu_device *device, void *stream, tamis_place to, int byte, size_t bytes);
    tamis_status (*finish)(tamis_gpu_device *device, void *stream);
    tamis_status (*check_stream)(tamis_gpu_device *device, void *stream); /* fails if it is being captured */
    /* fails, naming `name`, if kernels cannot read there; NULL: the platform cannot tell */
    tamis_status (*check_place)(tamis_gpu_device *device, const void *pointer, const char *name);
    tamis_status (*memory)(tamis_gpu_device *device, int64_t *free_bytes); /* -1: unknown */

    /* device events */
    tamis_status (*record)(tamis_gpu_device *device, void *stream, void **event); /* *event: NULL makes a new one */
    tamis_status (*elapsed)(tamis_gpu_device *device, void *start, void *end, double *seconds); /* waits for `end` */
    void (*release_event)(tamis_gpu_device *device, void *event);
    bool (*event_passed)(tamis_gpu_device *device, void *event);
};

/* Initialisers of the table that both runtimes have in common, by function name. */
#define TAMIS_GPU_RUNTIME_FUNCTIONS                                                                                    \
    .count = count, .open = open_device, .compile = compile, .load = load, .unload = unload,                           \
    .function = find_function, .release_function = release_function, .launch = launch, .allocate = allocate,           \
    .release = release, .host_memory = host_memory, .write = write_memory, .read = read_memory, .copy = copy_memory,   \
    .write_async = write_async, .read_async = read_async, .copy_from = copy_from, .host_allocate = host_allocate,      \
    .host_release = host_release, .stream_create = stream_create, .stream_destroy = stream_destroy,                    \
    .stream_wait = stream_wait, .fill = fill, .finish = finish, .check_stream = check_stream, .memory = memory_free,   \
    .record = record, .elapsed = elapsed, .event_passed = event_passed, .release_event = release_event

extern const tamis_gpu_runtime tamis_gpu_cuda, tamis_gpu_opencl;

/* Makes a CUDA device's context current for the thread, for libraries that compute on it; and restores the previous
   one. */
tamis_status tamis_cuda_enter(tamis_gpu_device *device);
void tamis_cuda_leave(void);

#endif
