/*
 * A block owns what it makes. At its end all of that goes, the last first; a test that fails leaves it.
 *
 *   OWN(data) d = data_make(60, 45, 9, 3);
 *   OWN(tamis_model) *const model = model_fitted(device, &options, &d.view), *copy = NULL;
 *   OWN(double) *const numbers = model_numbers(W);
 *
 * Each name of such a declaration is owned. A type says with OWN_POINTER or OWN_VALUE by which function it goes.
 */
#ifndef TAMIS_TESTS_OWN_H
#define TAMIS_TESTS_OWN_H

#include <stdlib.h>
#include <tamis/data.h>
#include <tamis/gradient.h>
#include <tamis/shard.h>
#include <tamis/slabs.h>

#define OWN(type) __attribute__((cleanup(type##_goes))) type
#define OWN_POINTER(type, goes)                                                                                        \
    static inline void type##_goes(type *const *at) { goes(*at); }
#define OWN_VALUE(type, goes)                                                                                          \
    static inline void type##_goes(type *at) { goes(at); }

OWN_POINTER(tamis_batches, tamis_batches_close)
OWN_POINTER(tamis_gradient, tamis_gradient_destroy)
OWN_POINTER(tamis_names, tamis_names_free)
OWN_POINTER(tamis_owned_dense, tamis_owned_dense_free)
OWN_POINTER(tamis_owned_sparse, tamis_owned_sparse_free)
OWN_POINTER(tamis_plan, tamis_plan_destroy)
OWN_POINTER(tamis_shard, tamis_shard_destroy)
OWN_POINTER(tamis_slab_plan, tamis_slab_plan_destroy)
OWN_POINTER(bool, free)
OWN_POINTER(char, free)
OWN_POINTER(double, free)
OWN_POINTER(float, free)
OWN_POINTER(int32_t, free)
OWN_POINTER(int64_t, free)
OWN_POINTER(uint8_t, free)
OWN_POINTER(void, free)

#endif
