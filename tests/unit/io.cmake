# Reading and writing files.
tamis_test_area(io)
foreach(name boeing data faults foreign graphs lists market number numpy packed rights rows scipy svmlight temporal write)
    tamis_add_test(NAME test_io_${name} SOURCES test_io_${name}.c TIMEOUT 120)
endforeach()
