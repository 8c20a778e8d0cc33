// The public headers must be C++ too.
#include <tamis/data.h>
#include <tamis/dense.h>
#include <tamis/matrix.h>
#include <tamis/ml.h>
#include <tamis/tamis.h>

int main() { return tamis_version()[0] == 0; }
