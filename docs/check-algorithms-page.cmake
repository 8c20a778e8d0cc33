# Fails when PAGE is not what PROGRAM prints from its registry.
execute_process(COMMAND "${PROGRAM}" algorithms --markdown OUTPUT_VARIABLE printed RESULT_VARIABLE code)
if(NOT code EQUAL 0)
    message(FATAL_ERROR "${PROGRAM} algorithms --markdown ended with ${code}")
endif()
file(READ "${PAGE}" page)
if(NOT page STREQUAL printed)
    message(FATAL_ERROR "${PAGE} is not what the registry says: write it anew with\n"
        "  ${PROGRAM} algorithms --markdown > ${PAGE}")
endif()
