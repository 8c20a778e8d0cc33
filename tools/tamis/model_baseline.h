/* What a model has to be better than, on the entries held out. */
#ifndef TOOL_MODEL_BASELINE_H
#define TOOL_MODEL_BASELINE_H

#include <tamis/ml.h>

/* Of ratings the RMSE of the mean with biases of rows and columns alone; of implicit data the recall of the most
   popular columns that a row does not have. Both matrices are CSR, sorted, of the same size. NaN for documents. */
double tool_baseline_metric(tamis_method method, const tamis_sparse *trained, const tamis_sparse *held);

/* What it is called: "means and biases", or "the most popular". */
const char *tool_baseline_name(tamis_method method);

#endif
