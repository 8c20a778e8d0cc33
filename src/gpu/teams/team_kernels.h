/*
 * Shared by teams.simt and fused_teams.simt: several neighbouring teams of a group divide one row, and their sums are
 * reduced by shuffles within a warp, then through shared memory, in the order of the teams. So the result is
 * deterministic. The kernels define LANES and LANE_REALS, the layout of a team's sums.
 */
#define TEAMS (GROUP / TEAM)
#if SIMT_SUBGROUP > TEAM
#define HELD (SIMT_SUBGROUP / TEAM) /* teams of a warp */
#else
#define HELD 1
#endif
#define HOLDERS (TEAMS < HELD ? 1 : TEAMS / HELD)
#define NOTES   2 /* softmax: the largest score and the sum of exponentials */
#define PART    (LANES * LANE_REALS + NOTES)

#if TEAMS > HELD
#define TEAM_PARTS(name) SHARED(real, name, HOLDERS *PART)
#else
#define TEAM_PARTS(name) LOCAL real *const name = 0
#endif

/* The stride from a team's block of TEAM nonzeros to its next one, and the number of nonzeros for which it takes steps.
   With APART the `teams` of a row take its blocks in turn, so that they read about the same columns at the same
   time. */
FUNCTION place task_stride(int teams) { return APART ? teams * TEAM : TEAM; }
FUNCTION place task_length(place begin, place end, int teams) {
#if APART
    const place stride = task_stride(teams), rounds = (end - begin) / stride;
    return rounds * TEAM + first_of(end - begin - rounds * stride, TEAM);
#else
    (void)teams;
    return end - begin;
#endif
}

/* The largest number of nonzeros among the teams that step together. */
FUNCTION place longest_of(GLOBAL const int4 *tasks, int64 base, int64 tasks_count, place own) {
#if SIMT_SUBGROUP > 0
    (void)tasks, (void)base, (void)tasks_count;
    return subgroup_max(own);
#else
    for (int other = 0; other < TEAMS; other++) {
        const int4 task = tasks[min64(base + other, tasks_count - 1)];
        const place length = task_length(task.y, task.z, task.w);
        if (length > own) own = length;
    }
    return own;
#endif
}

/* The partial result of a row, of one team or several. */
typedef struct row_part {
    real sum[LANE_REALS], most, total; /* softmax: the largest score, and the sum of exponentials relative to it */
} row_part;

FUNCTION softmax_factors join_scores(const int softmax, row_part *part, real most, real total) {
    softmax_factors f;
    f.mine = f.theirs = 1;
    if (softmax) {
        f = softmax_joined(part->most, most);
        part->total = part->total * f.mine + total * f.theirs;
        part->most = f.most;
    }
    return f;
}

/* Reduces the parts of each row's `teams` teams into the first of them. `own`: the team's number in the group; `most`:
   teams of the group's first row, which has the most. */
FUNCTION void add_teams(simt_team team, const int softmax, int own, int teams, int most, row_part *part,
                        LOCAL real *parts) {
#if HELD > 1
    UNROLL
    for (int distance = 1; distance < HELD; distance *= 2)
        if (distance < most) { /* uniform over the group */
            softmax_factors f;
            f.mine = f.theirs = 1;
            if (softmax) {
                const real other = subgroup_xor(part->most, distance * TEAM);
                const real other_total = subgroup_xor(part->total, distance * TEAM);
                if (distance < teams) f = join_scores(softmax, part, other, other_total);
            }
            UNROLL
            for (int k = 0; k < LANE_REALS; k++) {
                const real other = subgroup_xor(part->sum[k], distance * TEAM);
                if (distance < teams) part->sum[k] = part->sum[k] * f.mine + other * f.theirs;
            }
        }
#endif
#if TEAMS > HELD
    const int always = SIMT_SUBGROUP == 0; /* PoCL does not see that it is uniform over the group */
    if (most > HELD || always) {
        if (own % HELD == 0 && team.lane < LANES) {
            LOCAL real *const to = parts + own / HELD * PART;
            UNROLL
            for (int k = 0; k < LANE_REALS; k++) to[k * LANES + team.lane] = part->sum[k];
            if (softmax && team.lane == 0) {
                to[LANES * LANE_REALS] = part->most;
                to[LANES * LANE_REALS + 1] = part->total;
            }
        }
        group_barrier();
        if (own % teams == 0 && team.lane < LANES) {
            for (int other = own / HELD + 1; other < (own + teams) / HELD; other++) {
                LOCAL const real *const from = parts + other * PART;
                const softmax_factors f = join_scores(softmax, part, softmax ? from[LANES * LANE_REALS] : (real)0,
                                                      softmax ? from[LANES * LANE_REALS + 1] : (real)0);
                UNROLL
                for (int k = 0; k < LANE_REALS; k++)
                    part->sum[k] = part->sum[k] * f.mine + from[k * LANES + team.lane] * f.theirs;
            }
        }
    }
#endif
}
