cmake_minimum_required(VERSION 3.16)
project(options C CXX)
find_package(dushmem REQUIRED)
set(CMAKE_CXX_FLAGS "-DFLAG='\"c  d\"'")
add_executable(program main.cpp)
target_compile_features(program PRIVATE cxx_std_20)
target_compile_definitions(program PRIVATE "NAME=\"a 'b\\\\\"")
dushmem_add_kernels(program one/kernel.cu two/kernel.cu ../beside/kernel.cu OPTIONS -DLAST)
# What is said of the target afterwards counts, too.
target_compile_options(program PRIVATE
  $<$<COMPILE_LANGUAGE:CXX>:-DOPTION> $<$<COMPILE_LANGUAGE:C>:-DNO_OPTION>
  "SHELL:-include \"${CMAKE_CURRENT_SOURCE_DIR}/with blank/all.h\"")
set_target_properties(program PROPERTIES CXX_EXTENSIONS OFF)
