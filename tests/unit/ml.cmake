# Models and their data.
tamis_test_area(ml tamis_ml_static)
foreach(name batches bpr data explain features files items names rating_knn renew score serving split texts uses using using_errors)
    tamis_add_test(NAME test_ml_${name} SOURCES test_ml_${name}.c TIMEOUT 120)
endforeach()
# Properties of every model of the registry.
tamis_add_test(NAME test_ml_properties SOURCES test_ml_properties.c ml_property_refusals.c ml_property_faults.c model_rows.c TIMEOUT ${TAMIS_TIMEOUT})
# Slices, for all functions that take a matrix, those of models too.
tamis_add_test(NAME test_slices SOURCES test_slices.c TIMEOUT 120)
# Whole fits, and those that choose: of generated sets and the collection of real ones.
tamis_add_test(NAME test_ml_defaults SOURCES test_ml_defaults.c LABELS medium TIMEOUT ${TAMIS_TIMEOUT})
add_test(NAME test_ml_choice COMMAND tamis_test_ml test_ml_defaults choice)
set_tests_properties(test_ml_choice PROPERTIES LABELS quick TIMEOUT ${TAMIS_TIMEOUT})
# It asks other devices too: a processor's OpenCL, which leaks what it compiles with.
set(opencl "POCL_CACHE_DIR=${PROJECT_BINARY_DIR}/tests/gpu/caches/pocl;TAMIS_OPENCL_OPTIONS=-cl-opt-disable") # as tests/gpu does
if(TAMIS_SANITIZE)
    set(opencl TAMIS_OPENCL=no-opencl-loader)
endif()
if(TEST test_ml_using)
    set_tests_properties(test_ml_using PROPERTIES ENVIRONMENT "${opencl}")
endif()
tamis_add_test(NAME test_ml_recommenders SOURCES test_ml_recommenders.c ml_recommender_support.c ml_recommender_als.c ml_recommender_implicit.c
    ml_recommender_ccd.c ml_recommender_sfa.c ml_recommender_defaults.c ml_recommender_noise.c TIMEOUT ${TAMIS_TIMEOUT})
# Topic models, against plain loops.
tamis_add_test(NAME test_ml_bound SOURCES test_ml_bound.c topics_reference.c TIMEOUT ${TAMIS_TIMEOUT})
tamis_add_test(NAME test_ml_topics SOURCES test_ml_topics.c topics_reference.c TIMEOUT ${TAMIS_TIMEOUT})
tamis_add_test(NAME test_ml_gibbs SOURCES test_ml_gibbs.c topics_reference.c TIMEOUT ${TAMIS_TIMEOUT})
# Fits on several devices.
tamis_add_test(NAME test_ml_group SOURCES test_ml_group.c ml_recommender_support.c TIMEOUT 300)
tamis_add_test(NAME test_ml_group_choice SOURCES test_ml_group_choice.c ml_recommender_support.c TIMEOUT 120)
