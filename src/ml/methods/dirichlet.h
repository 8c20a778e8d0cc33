/* Sums over Dirichlet distributions, in double on the host, for the bounds of LDA and its learned alpha. */
#ifndef TAMIS_ML_DIRICHLET_H
#define TAMIS_ML_DIRICHLET_H

#include <stdint.h>

/* ln Gamma(x) for x > 0, and its first and second derivative, to 1e-13 of their size or of 1. */
double ml_log_gamma(double x);
double ml_digamma(double x);
double ml_trigamma(double x);

/* Returns -KL(q || p) = E_q[ln p(theta) - ln q(theta)] for p = Dirichlet(prior), q = Dirichlet(posterior), both with n
   positive parameters. Writes E_q[ln theta_k] = psi(q_k) - psi(sum q) to `logs` (NULL: not requested). */
double ml_dirichlet_gain(const double *prior, const double *posterior, int64_t n, double *logs);

/* Takes one step of Newton's method towards the prior under which documents with the mean E_q[ln theta_k] =
   mean_logs[k] are most likely: Minka, "Estimating a Dirichlet distribution" (2000), whose Hessian is a diagonal matrix
   and one of rank 1. The step is scaled by `rate` (0 to 1), as Hoffman, Blei and Bach, "Online learning for latent
   Dirichlet allocation" (2010), do for mini-batches ("Hyperparameter estimation"), and halved until the likelihood does
   not fall. No number falls below ML_PRIOR_LEAST, where exp(psi(x)), about exp(-1 / x), is still well within fp32. */
#define ML_PRIOR_LEAST 0.02
void ml_dirichlet_step(double *prior, const double *mean_logs, int64_t n, double rate);

#endif
