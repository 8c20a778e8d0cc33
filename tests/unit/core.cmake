# What all other tests rest on.
tamis_add_test(NAME test_teardown SOURCES test_teardown.c TIMEOUT 60)
# The public calls as a whole: arguments, faults, threads, plans, the oracle, properties.
foreach(test arguments coo dense_arguments device_memory faults floor limits threads plan measured oracle property)
    tamis_add_test(NAME test_${test} SOURCES test_${test}.c LIBRARIES tamis_test_support TIMEOUT 300)
endforeach()
tamis_add_test(NAME test_mask SOURCES test_mask.c TIMEOUT 120)
tamis_add_test(NAME test_dense SOURCES test_dense.c dense_elements.c dense_sums.c LIBRARIES tamis_test_support
    TIMEOUT 300)
# Gradients: the oracle's against finite differences, everything else against the oracle.
tamis_add_test(NAME test_gradient_oracle SOURCES test_gradient_oracle.c TIMEOUT 60)
tamis_add_test(NAME test_gradient SOURCES test_gradient.c gradient_case.c gradient_bounds.c TIMEOUT 300)
tamis_add_test(NAME test_gradient_whole SOURCES test_gradient_whole.c gradient_case.c gradient_bounds.c FOR_DEVICES)
tamis_add_test(NAME test_softmax_rows SOURCES test_softmax_rows.c softmax_kept.c gradient_case.c
    gradient_bounds.c TIMEOUT 300)
# Memory of the caller's and what becomes of it; plans that threads share.
foreach(test allocator shared_plan)
    tamis_add_test(NAME test_${test} SOURCES test_${test}.c softmax_kept.c gradient_case.c gradient_bounds.c
        TIMEOUT 300)
endforeach()
