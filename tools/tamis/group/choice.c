/* Chooses between several devices and the first of them alone, if that is predicted to be as fast. */
#include "group/choice.h"

#include "cli/exit.h"
#include "group/join.h"

enum { AUTO, ALWAYS }; /* in the order of tool_spreads */

int tool_group_begin(tool_group_kind *kind) {
    const struct {
        const char *name;
        int value;
    } options[] = {{"--exchange", kind->exchange},
                   {"--spread", kind->spread},
                   {"--partition", kind->partition},
                   {"--link", kind->link},
                   {"--overlap", kind->overlap}};
    for (size_t i = 0; i < sizeof options / sizeof *options && kind->transport == 0 && kind->devices.count == 0; i++)
        if (options[i].value != 0)
            return tool_usage_error("%s: expected --devices or --transport with it: one device has all rows",
                                    options[i].name);
    return tool_ranks_begin(kind->transport, kind->link, &kind->devices);
}

/* Predicts the seconds of the first device alone; 0: not known, for instance because it has too little memory. */
static double alone_seconds(const tool_group_kind *kind, const tool_problem *problem, const tamis_options *planning) {
    const tool_group_kind first = tool_group_first(kind);
    tool_group group = {0};
    tamis_plan_report local;
    tamis_group_report report = {.ranks = 1};
    tamis_status status = tool_group_plan(&first, problem, planning, &group);
    if (status == TAMIS_OK) status = tool_group_describe(&group, &local, &report);
    tool_group_close(&group);
    return status == TAMIS_OK ? report.together_seconds : 0;
}

/* Returns true if all are the same device. Its ranks share it, so they are no faster than one rank, even if the cost
   model predicts better use of caches by smaller parts. */
static bool one_device(const tool_chosen *devices) {
    for (int i = 1; i < devices->count; i++)
        if (devices->at[i] != devices->at[0]) return false;
    return true;
}

tamis_status tool_group_predict(const tool_group *group, const tool_group_kind *kind, const tool_problem *problem,
                                const tamis_options *planning, tool_group_choice *choice) {
    tamis_plan_report local;
    tamis_group_report report;
    *choice = (tool_group_choice){.stays = false};
    const tamis_status status = tool_group_describe(group, &local, &report);
    if (status != TAMIS_OK || group->ranks == 1 || group->processes) return status;
    choice->together = report.together_seconds;
    choice->exchange = report.exchange_seconds;
    if (choice->together > 0) choice->alone = alone_seconds(kind, problem, planning);
    const double least = choice->alone + choice->exchange;
    if (choice->alone > 0 && one_device(&kind->devices) && choice->together < least) choice->together = least;
    choice->stays = kind->spread == AUTO && choice->alone > 0 && choice->alone <= choice->together;
    return TAMIS_OK;
}

tamis_status tool_group_open_best(const tool_group_kind *kind, const tool_problem *problem,
                                  const tamis_options *planning, tool_group *group) {
    const tool_group_kind first = tool_group_first(kind);
    tool_group_choice choice = {.stays = false};
    tamis_status status = tool_group_plan(kind, problem, planning, group);
    if (status == TAMIS_OK && kind->spread != ALWAYS)
        status = tool_group_predict(group, kind, problem, planning, &choice);
    if (status == TAMIS_OK && choice.stays) {
        tool_group_close(group);
        status = tool_group_plan(&first, problem, planning, group);
    }
    if (status == TAMIS_OK) status = tool_group_fill(group);
    group->choice = choice;
    return status;
}
