# The public calls as a whole: arguments, faults, threads, plans, the oracle, properties.
foreach(test arguments dense dense_arguments faults threads plan oracle property)
    tamis_add_test(NAME test_${test} SOURCES test_${test}.c LIBRARIES tamis_test_support TIMEOUT 300)
endforeach()
