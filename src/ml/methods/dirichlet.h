/* Sums over Dirichlet distributions, in double on the host, for the bounds of LDA and its learned alpha. */
#ifndef TAMIS_ML_DIRICHLET_H
#define TAMIS_ML_DIRICHLET_H

#include <stdint.h>

/* ln Gamma(x) for x > 0, and its first and second derivative, to 1e-13 of their size or of 1. */
double ml_log_gamma(double x);
double ml_digamma(double x);
double ml_trigamma(double x);

/* Returns what E_q[ln p(theta)] gains on the entropy of q:  E_q[ln p(theta) - ln q(theta)]  for p = Dirichlet(prior), q
   = Dirichlet(posterior), both of n numbers above 0. `logs` (NULL: not requested) gets E_q[ln theta_k] = psi(q_k) -
   psi(sum q). */
double ml_dirichlet_gain(const double *prior, const double *posterior, int64_t n, double *logs);

/* Takes one step of Newton's method towards the prior under which documents with the mean E_q[ln theta_k] =
   mean_logs[k] are most likely: Minka, "Estimating a Dirichlet distribution" (2000), whose Hessian is a diagonal matrix
   and one of rank 1. The step is taken `rate` (0 to 1) of its length, as Hoffman, Blei and Bach, "Online learning for
   latent Dirichlet allocation" (2010), do with a mini-batch's (under "Hyperparameter estimation"), and half as far
   again and again until the likelihood does not fall. No number falls below ML_PRIOR_LEAST: exp(psi(x)), about exp(-1 /
   x), is there a number that fp32 holds with digits to spare. */
#define ML_PRIOR_LEAST 0.02
void ml_dirichlet_step(double *prior, const double *mean_logs, int64_t n, double rate);

#endif
