/* The writers: one function a format, into an open output. The arguments have been checked. */
#ifndef TAMIS_IO_WRITING_H
#define TAMIS_IO_WRITING_H

#include "io/files/output.h"

tamis_status tamis_write_market_sparse(tamis_output *output, const tamis_sparse *S);
tamis_status tamis_write_market_dense(tamis_output *output, const tamis_dense *dense); /* stride is never 0 here */
tamis_status tamis_write_npz(tamis_output *output, const tamis_sparse *S);
tamis_status tamis_write_npy(tamis_output *output, const tamis_dense *dense);

#endif
