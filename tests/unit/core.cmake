tamis_test_area(core)
# What all other tests rest on.
tamis_add_test(NAME test_teardown SOURCES test_teardown.c TIMEOUT 60)
# Threads, and the library's own life.
tamis_add_test(NAME test_scope SOURCES test_scope.c TIMEOUT 60)
tamis_add_test(NAME test_pool SOURCES test_pool.c TIMEOUT 300)
if(NOT TAMIS_SANITIZE) # their libraries cannot be unloaded
    add_executable(test_unload test_unload.c)
    tamis_warnings(test_unload)
    target_compile_options(test_unload PRIVATE -Wno-pedantic) # functions from dlsym
    target_include_directories(test_unload PRIVATE $<TARGET_PROPERTY:tamis_shared,INTERFACE_INCLUDE_DIRECTORIES>)
    target_link_libraries(test_unload PRIVATE ${CMAKE_DL_LIBS})
    add_test(NAME unload COMMAND test_unload $<TARGET_FILE:tamis_shared>)
    set_tests_properties(unload PROPERTIES LABELS quick TIMEOUT ${TAMIS_TIMEOUT})
endif()
# The public calls as a whole: arguments, faults, threads, plans, the oracle.
foreach(test arguments coo dense_arguments device_memory faults floor limits threads plan oracle)
    tamis_add_test(NAME test_${test} SOURCES test_${test}.c TIMEOUT 300)
endforeach()
foreach(test measured remembered turns graph_plan)
    tamis_add_test(NAME test_${test} SOURCES test_${test}.c measured_case.c TIMEOUT 300)
endforeach()
tamis_add_test(NAME test_rates SOURCES test_rates.c TIMEOUT 60)
tamis_add_test(NAME test_profiles SOURCES test_profiles.c TIMEOUT 200)
tamis_add_test(NAME test_predictions SOURCES test_predictions.c TIMEOUT 60)
tamis_add_test(NAME test_mask SOURCES test_mask.c TIMEOUT 120)
tamis_add_test(NAME test_unlisted SOURCES test_unlisted.c TIMEOUT 300)
tamis_add_test(NAME test_graph_arguments SOURCES test_graph_arguments.c TIMEOUT 60)
# Gradients.
tamis_add_test(NAME test_gradient_oracle SOURCES test_gradient_oracle.c TIMEOUT 60)
tamis_add_test(NAME test_expression SOURCES test_expression.c TIMEOUT 120)
tamis_add_test(NAME test_edge_text SOURCES test_edge_text.c TIMEOUT 60)
tamis_add_test(NAME test_edge_rows SOURCES test_edge_rows.c TIMEOUT 60)
tamis_add_test(NAME test_edge SOURCES test_edge.c TIMEOUT 300)
tamis_add_test(NAME test_gradient SOURCES test_gradient.c gradient_case.c gradient_bounds.c TIMEOUT 300)
tamis_add_test(NAME test_gradient_whole SOURCES test_gradient_whole.c softmax_kept.c gradient_case.c gradient_bounds.c FOR_DEVICES)
add_test(NAME gradient_whole_cpu COMMAND tamis_test_core test_gradient_whole cpu 2)
set_tests_properties(gradient_whole_cpu PROPERTIES LABELS quick TIMEOUT ${TAMIS_TIMEOUT})
tamis_add_test(NAME test_cells SOURCES test_cells.c softmax_kept.c gradient_case.c gradient_bounds.c TIMEOUT 60)
tamis_add_test(NAME test_softmax_rows SOURCES test_softmax_rows.c softmax_kept.c gradient_case.c
    gradient_bounds.c TIMEOUT ${TAMIS_TIMEOUT})
# Memory of the caller's and what becomes of it; plans that threads share.
foreach(test allocator shared_plan)
    tamis_add_test(NAME test_${test} SOURCES test_${test}.c softmax_kept.c gradient_case.c gradient_bounds.c
 TIMEOUT ${TAMIS_TIMEOUT})
endforeach()
# D that is B, and sums as exact as in order.
tamis_add_test(NAME test_d_is_b SOURCES test_d_is_b.c TIMEOUT 120)
tamis_add_test(NAME test_two_devices SOURCES test_two_devices.c TIMEOUT 120)
tamis_add_test(NAME test_sums SOURCES test_sums.c LABELS medium TIMEOUT 120)
if(NOT TAMIS_SANITIZE)
    tamis_add_test(NAME test_reading_peak SOURCES test_reading_peak.c TIMEOUT 120)
endif()
# A program of its own, since a sanitizer's limit of allocations is the program's.
tamis_test_area(sizes)
tamis_add_test(NAME test_sizes SOURCES test_sizes.c TIMEOUT 300)
