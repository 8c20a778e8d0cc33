# A project without C.
cmake_minimum_required(VERSION 3.25)
project(consumer_cxx LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(tamis 0.1 REQUIRED)
foreach(library tamis tamis_static)
    add_executable(with_${library} header.cpp)
    target_link_libraries(with_${library} PRIVATE tamis::${library})
endforeach()
