/* Online softmax along a row, LANE_REALS sums per lane; shared by one_pass.simt and fused_teams.simt. */

/* Returns the weight of a lane's score, and rescales the sums so far, of exponentials and of rows, to the new
   maximum. */
FUNCTION real softmax_weight(simt_team team, real score, real *most, real *total, real *sum) {
    const real known = score > -INFINITY ? score : -INFINITY; /* ignores NaN, which the exponential brings back */
    const real batch_most = team_max(team, known);
    if (batch_most > *most) {
        const real shrink = raise_most(most, total, batch_most);
        UNROLL
        for (int k = 0; k < LANE_REALS; k++) sum[k] *= shrink;
    }
    return relative_exp(score, *most);
}
