# find_package(dushmem) gives dushmem::dushmem, dushmem::static, and dushmem_add_kernels().
cmake_policy(SET CMP0057 NEW) # if(... IN_LIST ...)
get_filename_component(dushmem_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(dushmem_OPTIONS "${CMAKE_CURRENT_LIST_DIR}/dushmem-options.cmake")
set(dushmem_DUSHCC "${dushmem_PREFIX}/bin/dushcc")
set(dushmem_DUSHCXX "${dushmem_PREFIX}/bin/dushc++")
set(dushmem_DUSHRUN "${dushmem_PREFIX}/bin/dushrun")

if(NOT TARGET dushmem::dushmem)
  add_library(dushmem::dushmem SHARED IMPORTED)
  set_target_properties(dushmem::dushmem PROPERTIES
    IMPORTED_LOCATION "${dushmem_PREFIX}/lib/libdushmem.so.0"
    IMPORTED_SONAME "libdushmem.so.0"
    INTERFACE_INCLUDE_DIRECTORIES "${dushmem_PREFIX}/include")

  add_library(dushmem::static STATIC IMPORTED)
  set_target_properties(dushmem::static PROPERTIES
    IMPORTED_LOCATION "${dushmem_PREFIX}/lib/libdushmem.a"
    INTERFACE_INCLUDE_DIRECTORIES "${dushmem_PREFIX}/include"
    INTERFACE_LINK_LIBRARIES "-pthread;util;rt;dl;m;gcc_s")
endif()

# nvcc, as dushcc looks for it, in dushmem_NVCC; and the library of CUDA's runtime, in dushmem_CUDART.
macro(dushmem_find_cuda)
  if(NOT dushmem_NVCC)
    if(NOT "$ENV{DUSHMEM_NVCC}" STREQUAL "")
      set(dushmem_NVCC "$ENV{DUSHMEM_NVCC}" CACHE FILEPATH "nvcc, for kernels of dushmem")
    else()
      find_program(dushmem_NVCC nvcc PATHS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
    endif()
  endif()
  if(NOT dushmem_NVCC)
    message(FATAL_ERROR "dushmem_add_kernels: DEVICE cuda needs nvcc: install the CUDA toolkit, or name nvcc in the "
                        "environment variable DUSHMEM_NVCC, or in -Ddushmem_NVCC=FILE")
  endif()
  get_filename_component(dushmem_toolkit "${dushmem_NVCC}" REALPATH)
  get_filename_component(dushmem_toolkit "${dushmem_toolkit}" DIRECTORY)
  find_library(dushmem_CUDART cudart_static
    HINTS "${dushmem_toolkit}/.." PATH_SUFFIXES lib64 lib targets/${CMAKE_SYSTEM_PROCESSOR}-linux/lib)
  if(NOT dushmem_CUDART)
    message(FATAL_ERROR "dushmem_add_kernels: there is no libcudart_static.a beside ${dushmem_NVCC}; name it in "
                        "-Ddushmem_CUDART=FILE")
  endif()
endmacro()

# The options of a target for dushcc, one a line, in `result`, with generator expressions: as CMake compiles its C++ sources,
# but for -O2 where nothing has a -O and the configuration is not Debug.
function(dushmem_options target options result)
  set(of "$<TARGET_PROPERTY:${target}")
  set(dialect "$<IF:$<OR:$<STREQUAL:${of},CXX_EXTENSIONS>,>,$<BOOL:${of},CXX_EXTENSIONS>>>,gnu,c>")
  set(text "$<$<NOT:$<CONFIG:Debug>>:OPTIMIZE:-O2\n>")
  # The highest that the target wants; kernels are C++17 at least.
  set(higher "")
  foreach(year 26 23 20 17)
    set(wanted "$<OR:$<STREQUAL:${of},CXX_STANDARD>,${year}>,$<IN_LIST:cxx_std_${year},${of},COMPILE_FEATURES>>>")
    string(APPEND text "$<$<AND:${wanted}${higher}>:STANDARD:-std=${dialect}++${year}\n>")
    string(APPEND higher ",$<NOT:${wanted}>")
  endforeach()
  string(APPEND text "SHELL:${CMAKE_CXX_FLAGS}\n")
  foreach(config IN LISTS CMAKE_CONFIGURATION_TYPES CMAKE_BUILD_TYPE)
    string(TOUPPER "${config}" upper)
    string(REPLACE ">" "$<ANGLE-R>" flags "${CMAKE_CXX_FLAGS_${upper}}")
    string(APPEND text "$<$<CONFIG:${config}>:CONFIG:${flags}\n>")
  endforeach()
  foreach(pair INCLUDE_DIRECTORIES:-I COMPILE_DEFINITIONS:-D COMPILE_OPTIONS:)
    string(REGEX MATCH "^([A-Z_]+):(.*)$" pair "${pair}")
    set(list "${of},${CMAKE_MATCH_1}>")
    string(APPEND text "$<$<BOOL:${list}>:${CMAKE_MATCH_2}$<JOIN:${list},\n${CMAKE_MATCH_2}>\n>")
  endforeach()
  string(REPLACE ";" "\n" options "${options}")
  set(${result} "${text}${options}\n" PARENT_SCOPE)
endfunction()

# dushmem_add_kernels(TARGET SOURCE... [DEVICE cpu|cuda] [OPTIONS OPTION...]): compiles sources with kernels by dushcc, for
# the CPU, or for NVIDIA's GPUs, with what the target has its C++ sources compiled with (include folders, definitions,
# options, the standard) and these options of dushcc, adds the objects to the target, and links dushmem::dushmem unless the
# target links dushmem::static already. A target's kernels are all for the same device.
function(dushmem_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DEVICE" "OPTIONS")
  if(NOT arg_DEVICE)
    set(arg_DEVICE cpu)
  endif()
  if(NOT arg_DEVICE STREQUAL "cpu" AND NOT arg_DEVICE STREQUAL "cuda")
    message(FATAL_ERROR "dushmem_add_kernels: DEVICE ${arg_DEVICE}: there are cpu and cuda")
  endif()
  if(NOT arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "dushmem_add_kernels: no sources for ${target}; write them before DEVICE and OPTIONS")
  endif()
  if(NOT TARGET "${target}")
    message(FATAL_ERROR "dushmem_add_kernels: ${target} is not a target: call add_executable or add_library before")
  endif()
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT "CXX" IN_LIST languages)
    message(FATAL_ERROR "dushmem_add_kernels: kernels are C++: add CXX to project() or call enable_language(CXX)")
  endif()
  # CMake does not see the language of objects, and it links C programs without the library of C++.
  get_target_property(linker ${target} LINKER_LANGUAGE)
  if(NOT linker)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
  get_target_property(device ${target} dushmem_DEVICE)
  if(device AND NOT device STREQUAL arg_DEVICE)
    message(FATAL_ERROR "dushmem_add_kernels: ${target} has kernels for ${device}, and can't have some for ${arg_DEVICE}")
  endif()
  set_target_properties(${target} PROPERTIES dushmem_DEVICE ${arg_DEVICE})
  set(compiler "${dushmem_DUSHCC}")
  if(arg_DEVICE STREQUAL "cuda")
    dushmem_find_cuda()
    set(compiler "${CMAKE_COMMAND}" -E env "DUSHMEM_NVCC=${dushmem_NVCC}" "${dushmem_DUSHCC}" --device=cuda)
  endif()
  dushmem_options(${target} "${arg_OPTIONS}" wanted)
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
    get_filename_component(path "${source}" ABSOLUTE)
    get_filename_component(built "${source}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
    foreach(place path built)
      get_source_file_property(generated "${${place}}" GENERATED)
      set(${place}_there FALSE)
      if(generated OR EXISTS "${${place}}")
        set(${place}_there TRUE)
      endif()
    endforeach()
    if(NOT path_there AND built_there)
      set(path "${built}")
    elseif(NOT path_there)
      message(FATAL_ERROR "dushmem_add_kernels: ${source}: there is no such file in ${CMAKE_CURRENT_SOURCE_DIR}; what the "
                          "build makes needs its add_custom_command before, or the property GENERATED")
    endif()
    file(RELATIVE_PATH name "${CMAKE_CURRENT_SOURCE_DIR}" "${path}")
    string(REPLACE "../" "__/" name "${name}")
    set(object "${CMAKE_CURRENT_BINARY_DIR}/${target}.kernels/${name}.o")
    get_filename_component(folder "${object}" DIRECTORY)
    set(language "")
    if(NOT path MATCHES "[.](cu|hip|(cu|hip)[.](cpp|cc|cxx))$")
      set(language -x hip)
    endif()
    if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.20)
      set(depfile DEPFILE "${object}.d")
    else()
      set(depfile "")
    endif()
    # A file, since commands can't have what depends on the language; it is made anew when an option changes.
    file(GENERATE OUTPUT "${object}.$<CONFIG>-$<COMPILE_LANGUAGE>" CONTENT "${wanted}")
    set(list "${object}.$<CONFIG>-CXX")
    add_custom_command(
      OUTPUT "${object}"
      COMMAND "${CMAKE_COMMAND}" -E make_directory "${folder}"
      COMMAND "${CMAKE_COMMAND}" "-DFROM=${list}" "-DTO=${object}.options" -P "${dushmem_OPTIONS}"
      COMMAND ${compiler} -fPIC "@${object}.options" -MD -MF "${object}.d" -MT "${object}"
              -c ${language} "${path}" -o "${object}"
      DEPENDS "${path}" "${list}" ${depfile}
      COMMENT "Building kernels ${target}.kernels/${name}.o"
      VERBATIM)
    target_sources(${target} PRIVATE "${object}")
    set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  endforeach()
  get_target_property(linked ${target} LINK_LIBRARIES)
  if(NOT "dushmem::static" IN_LIST linked)
    target_link_libraries(${target} PRIVATE dushmem::dushmem)
  endif()
  if(arg_DEVICE STREQUAL "cuda")
    target_link_libraries(${target} PRIVATE "${dushmem_CUDART}" dl rt pthread)
  endif()
endfunction()

set(dushmem_FOUND TRUE)
