# Models and their data.
foreach(name batches bpr data files fit items memory names renew score serving split uses using using_errors)
    tamis_add_test(NAME test_ml_${name} SOURCES test_ml_${name}.c LIBRARIES tamis_ml_static TIMEOUT 120)
endforeach()
# Slices, for all functions that take a matrix, those of models too.
tamis_add_test(NAME test_slices SOURCES test_slices.c LIBRARIES tamis_ml_static TIMEOUT 120)
# Whole fits, and those that choose: of generated sets and the collection of real ones.
tamis_add_test(NAME test_ml_defaults SOURCES test_ml_defaults.c LABELS medium LIBRARIES tamis_ml_static TIMEOUT ${TAMIS_TIMEOUT})
add_test(NAME test_ml_choice COMMAND test_ml_defaults choice)
set_tests_properties(test_ml_choice PROPERTIES LABELS quick TIMEOUT ${TAMIS_TIMEOUT})
target_compile_definitions(test_ml_defaults PRIVATE TAMIS_SOURCE_FOLDER="${PROJECT_SOURCE_DIR}")
# It asks other devices too: a processor's OpenCL, which leaks what it compiles with.
set(opencl "POCL_CACHE_DIR=${PROJECT_BINARY_DIR}/tests/gpu/caches/pocl;TAMIS_OPENCL_OPTIONS=-cl-opt-disable") # as tests/gpu does
if(TAMIS_SANITIZE)
    set(opencl TAMIS_OPENCL=no-opencl-loader)
endif()
set_tests_properties(test_ml_using PROPERTIES ENVIRONMENT "${opencl}")
# Packed files to be read in batches, and the collection of real ones.
target_compile_definitions(test_ml_batches PRIVATE TAMIS_SOURCE_FOLDER="${PROJECT_SOURCE_DIR}")
foreach(compression ZLIB LZMA ZSTD)
    if(TAMIS_HAVE_${compression})
        target_compile_definitions(test_ml_batches PRIVATE TAMIS_HAVE_${compression})
        target_include_directories(test_ml_batches SYSTEM PRIVATE "${TAMIS_${compression}_INCLUDE}")
        target_link_libraries(test_ml_batches PRIVATE "${TAMIS_${compression}_LIBRARY}")
    endif()
endforeach()
tamis_add_test(NAME test_ml_recommenders SOURCES test_ml_recommenders.c ml_recommender_support.c ml_recommender_implicit.c
    ml_recommender_ccd.c ml_recommender_sfa.c ml_recommender_defaults.c ml_recommender_noise.c LIBRARIES tamis_ml_static TIMEOUT ${TAMIS_TIMEOUT})
# Topic models, against plain loops.
tamis_add_test(NAME test_ml_bound SOURCES test_ml_bound.c topics_reference.c
    LIBRARIES tamis_ml_static tamis_test_support TIMEOUT ${TAMIS_TIMEOUT})
tamis_add_test(NAME test_ml_topics SOURCES test_ml_topics.c topics_reference.c
    LIBRARIES tamis_ml_static tamis_test_support TIMEOUT ${TAMIS_TIMEOUT})
# Fits on several devices.
tamis_add_test(NAME test_ml_group SOURCES test_ml_group.c ml_recommender_support.c LIBRARIES tamis_ml_static TIMEOUT 300)
tamis_add_test(NAME test_ml_group_choice SOURCES test_ml_group_choice.c ml_recommender_support.c LIBRARIES tamis_ml_static TIMEOUT 120)
