/* One operation on several devices: a thread with a rank of a group for each device of this process, or with
   --transport mpi a process for each device. */
#ifndef TOOL_GROUP_GROUP_H
#define TOOL_GROUP_GROUP_H

#include <pthread.h>
#include <tamis/group.h>

#include "cli/options.h"
#include "cli/problem.h"
#include "group/order.h"

/* Settings of devices that share a problem: `group` in the settings of run, explain, check and bench. Zeros are the
   defaults, also for commands that lack an option. */
typedef struct tool_group_kind {
    tool_chosen devices;            /* none: one device has all rows. With processes: this one's */
    int transport, link, partition; /* a choice of tool_transports, a tamis_link, a choice of tool_partitions */
    int overlap, exchange, spread;  /* a tamis_overlap, a tamis_exchange, a choice of tool_spreads */
} tool_group_kind;

/* The table rows of these options. */
#define TOOL_OVERLAP(at)                                                                                               \
    TOOL_CHOICE("overlap", 0, "WHEN", "auto", at, &tool_overlaps,                                                      \
                "with --devices: whether to compute with a device's own rows of B while the others arrive")
#define TOOL_LINK(at)                                                                                                  \
    TOOL_CHOICE("link", 0, "LINK", "copies", at, &tool_links, "with --devices: what moves rows between CUDA devices")
#define TOOL_EXCHANGE(at)                                                                                              \
    TOOL_CHOICE(                                                                                                       \
        "exchange", 0, "HOW", "auto", at, &tool_exchanges,                                                             \
        "with --devices: how rows of B reach the devices; 1d-fetch: those that are needed; static-split: all; "        \
        "joint-cover: some of them, and partial rows of the result in the place of others")
#define TOOL_SPREAD(at)                                                                                                \
    TOOL_CHOICE("spread", 0, "WHEN", "auto", at, &tool_spreads,                                                        \
                "with --devices; auto: use the first alone if it is predicted to be as fast; always: use all")
#define TOOL_PARTITION(at)                                                                                             \
    TOOL_CHOICE("partition", 0, "HOW", "rows", at, &tool_partitions,                                                   \
                "with --devices or --transport; rows: keep the order of the rows; metis: reorder a square matrix by "  \
                "METIS, so that devices exchange fewer rows")
#define TOOL_TRANSPORT(at)                                                                                             \
    TOOL_CHOICE(                                                                                                       \
        "transport", 0, "TRANSPORT", "threads", at, &tool_transports,                                                  \
        "mpi: split the rows over the processes of mpirun, each with one of --devices (cpu by default); threads: "     \
        "over --devices in one process")
#define TOOL_SHARED_OUT(command)                                                                                       \
    TOOL_EXCHANGE(offsetof(command, group.exchange)), TOOL_SPREAD(offsetof(command, group.spread)),                    \
        TOOL_PARTITION(offsetof(command, group.partition)), TOOL_TRANSPORT(offsetof(command, group.transport))

typedef struct tool_rank tool_rank;

/* Barrier of the ranks before a timed execution. */
typedef struct tool_line {
    pthread_mutex_t lock;
    pthread_cond_t start;
    int ranks, waiting;
    int64_t starts;
} tool_line;

/* The decision between one device and all, and the predictions behind it in seconds (0: none). stays: the first device
   computes alone. */
typedef struct tool_group_choice {
    bool stays;
    double alone, together, exchange; /* exchange: its part of `together` */
} tool_group_choice;

/* Returns the settings for the first device alone. */
static inline tool_group_kind tool_group_first(const tool_group_kind *kind) {
    return (tool_group_kind){.devices = {.count = 1, .at = {kind->devices.at[0]}}};
}

typedef struct tool_group {
    int ranks; /* in all processes */
    bool processes;
    int here;                 /* ranks in this process: all, or one */
    tool_group_choice choice; /* made by tool_group_open_best */
    tool_rank *at;
    const tool_problem *whole; /* the problem that the ranks share: the caller's, or the reordered one */
    tool_order *order;         /* NULL: rows keep their order */
    int64_t *first_rows;       /* first row of each rank, then the number of rows */
    tool_line line;
    tamis_status (*call)(tool_rank *rank); /* the call in progress */
} tool_group;

/* Opens the devices and makes the ranks' plans, which need no operands; copies the operands, which are on the host, to
   the devices. Rows of S are distributed with equal nonzeros; rows of B like the rows of a square S, else in equal
   numbers. The caller must close the group, also after an error. */
tamis_status tool_group_plan(const tool_group_kind *kind, const tool_problem *problem, const tamis_options *planning,
                             tool_group *group);
tamis_status tool_group_fill(tool_group *group);
void tool_group_close(tool_group *group);

/* Executes `count` times, starting from the output on the host, which receives the last result (with processes on rank
   0); with beta != 0 callers execute one at a time. Sets the seconds of each execution, from the common start to the
   end of the last rank. */
tamis_status tool_group_execute(tool_group *group, int count, double *seconds);

/* Takes `count` samples of `burst` consecutive executions, which the ranks enqueue on their devices without waiting.
   Sets the seconds of each execution. The output stays on the devices. kept: rows of B and D are fetched before a
   sample, and reused within it. */
tamis_status tool_group_time(tool_group *group, int count, int burst, bool kept, double *seconds);

/* Opens, executes once, and closes. */
tamis_status tool_group_once(const tool_group_kind *kind, const tool_problem *problem, const tamis_options *planning);

/* Prints the explanation of the first rank's plan and of the exchange. */
tamis_status tool_group_explain(const tool_group *group);

/* Describes the first rank's computation, and the exchange of all ranks. */
tamis_status tool_group_describe(const tool_group *group, tamis_plan_report *local, tamis_group_report *report);

#endif
