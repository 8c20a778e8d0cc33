/* Several devices, or the first of them alone where that is predicted to be as fast. */
#include "cli/exit.h"
#include "group/gang.h"

enum { AUTO, ALWAYS }; /* in the order of tool_spreads */

int tool_gang_begin(tool_gang_kind *kind) {
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

/* What the first device alone is predicted to take; 0: not known, as where it has too little memory. */
static double alone_seconds(const tool_gang_kind *kind, const tool_problem *problem, const tamis_options *planning) {
    const tool_gang_kind first = tool_gang_first(kind);
    tool_gang gang = {0};
    tamis_plan_report local;
    tamis_group_report report = {.ranks = 1};
    tamis_status status = tool_gang_plan(&first, problem, planning, &gang);
    if (status == TAMIS_OK) status = tool_gang_describe(&gang, &local, &report);
    tool_gang_close(&gang);
    return status == TAMIS_OK ? report.together_seconds : 0;
}

/* Whether all are the same device. Its ranks share it: they compute no faster together than it does alone, even where
   the model has caches that grow with the parts. */
static bool one_device(const tool_chosen *devices) {
    for (int i = 1; i < devices->count; i++)
        if (devices->at[i] != devices->at[0]) return false;
    return true;
}

tamis_status tool_gang_predict(const tool_gang *gang, const tool_gang_kind *kind, const tool_problem *problem,
                               const tamis_options *planning, tool_spread *choice) {
    tamis_plan_report local;
    tamis_group_report report;
    *choice = (tool_spread){.stays = false};
    const tamis_status status = tool_gang_describe(gang, &local, &report);
    if (status != TAMIS_OK || gang->ranks == 1 || gang->processes) return status;
    choice->together = report.together_seconds;
    choice->exchange = report.exchange_seconds;
    if (choice->together > 0) choice->alone = alone_seconds(kind, problem, planning);
    const double least = choice->alone + choice->exchange;
    if (choice->alone > 0 && one_device(&kind->devices) && choice->together < least) choice->together = least;
    choice->stays = kind->spread == AUTO && choice->alone > 0 && choice->alone <= choice->together;
    return TAMIS_OK;
}

tamis_status tool_gang_open_best(const tool_gang_kind *kind, const tool_problem *problem, const tamis_options *planning,
                                 tool_gang *gang) {
    const tool_gang_kind first = tool_gang_first(kind);
    tool_spread choice = {.stays = false};
    tamis_status status = tool_gang_plan(kind, problem, planning, gang);
    if (status == TAMIS_OK && kind->spread != ALWAYS)
        status = tool_gang_predict(gang, kind, problem, planning, &choice);
    if (status == TAMIS_OK && choice.stays) {
        tool_gang_close(gang);
        status = tool_gang_plan(&first, problem, planning, gang);
    }
    if (status == TAMIS_OK) status = tool_gang_fill(gang);
    gang->choice = choice;
    return status;
}
