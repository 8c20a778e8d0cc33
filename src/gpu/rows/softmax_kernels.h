/* Softmax along a row that a team walks, whose LANE_REALS sums a lane has: what one_pass.simt and fused_teams.simt
 * share.
 */

/* The weight of a lane's score; the sums so far, of exponentials and of rows, become relative to the new maximum. */
FUNCTION real softmax_weight(simt_team team, real score, real *most, real *total, real *sum) {
    const real known = score > -INFINITY ? score : -INFINITY; /* no NaN, which the exponential brings back */
    const real batch_most = team_max(team, known);
    if (batch_most > *most) {
        const real shrink = *most == -INFINITY ? (real)0 : exp(*most - batch_most);
        *total *= shrink;
        UNROLL
        for (int k = 0; k < LANE_REALS; k++) sum[k] *= shrink;
        *most = batch_most;
    }
    return exp(score - (*most == -INFINITY ? (real)0 : *most));
}
