# Structure helpers, owned matrices, generators.
tamis_test_area(sparse)
foreach(name check validate partition profile reorder sample convert fill faults)
    tamis_add_test(NAME test_sparse_${name} SOURCES test_sparse_${name}.c TIMEOUT 300)
endforeach()
foreach(name kinds options)
    tamis_add_test(NAME test_generate_${name} SOURCES test_generate_${name}.c TIMEOUT 300)
endforeach()
