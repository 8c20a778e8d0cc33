# Models and their data.
foreach(name batches data files fit score split using using_errors)
    tamis_add_test(NAME test_ml_${name} SOURCES test_ml_${name}.c LIBRARIES tamis_ml_static TIMEOUT 120)
endforeach()
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
    ml_recommender_ccd.c ml_recommender_sfa.c LIBRARIES tamis_ml_static TIMEOUT 300)
# Topic models, against plain loops.
tamis_add_test(NAME test_ml_topics SOURCES test_ml_topics.c topics_reference.c
    LIBRARIES tamis_ml_static tamis_test_support TIMEOUT 300)
# The recommenders on a device of their own memory, where no view begins within a buffer.
if(NOT TAMIS_SANITIZE AND TAMIS_OPENMP)
    add_test(NAME ml_recommenders_pocl COMMAND "${PROJECT_SOURCE_DIR}/tests/gpu/with.sh" pocl
        "${CMAKE_CURRENT_BINARY_DIR}/ml_recommenders_pocl" $<TARGET_FILE:test_ml_recommenders> opencl:0)
    set_tests_properties(ml_recommenders_pocl PROPERTIES LABELS medium TIMEOUT 600 SKIP_RETURN_CODE 77)
endif()
