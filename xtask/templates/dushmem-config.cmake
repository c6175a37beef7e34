# find_package(dushmem) gives dushmem::dushmem, dushmem::static, and dushmem_add_kernels().
cmake_policy(SET CMP0057 NEW) # if(... IN_LIST ...)
get_filename_component(dushmem_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
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

# dushmem_add_kernels(TARGET SOURCE...): compiles sources with kernels for the CPU by dushcc, with the
# target's include folders and definitions, adds the objects to the target, and links dushmem::dushmem
# unless the target links dushmem::static already.
function(dushmem_add_kernels target)
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
  set(includes "$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>")
  set(definitions "$<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>")
  foreach(source IN LISTS ARGN)
    get_filename_component(path "${source}" ABSOLUTE)
    get_filename_component(name "${source}" NAME)
    set(object "${CMAKE_CURRENT_BINARY_DIR}/${target}.kernels/${name}.o")
    set(options "")
    if(NOT path MATCHES "[.](cu|hip|(cu|hip)[.](cpp|cc|cxx))$")
      set(options -x hip)
    endif()
    if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.20)
      set(depfile DEPFILE "${object}.d")
    else()
      set(depfile "")
    endif()
    add_custom_command(
      OUTPUT "${object}"
      COMMAND "${CMAKE_COMMAND}" -E make_directory "${CMAKE_CURRENT_BINARY_DIR}/${target}.kernels"
      COMMAND "${dushmem_DUSHCC}" -fPIC
              "$<$<CONFIG:Debug>:-g>" "$<$<NOT:$<CONFIG:Debug>>:-O2>"
              "$<$<BOOL:${includes}>:-I$<JOIN:${includes},;-I>>"
              "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>"
              -MD -MF "${object}.d" -MT "${object}" -c ${options} "${path}" -o "${object}"
      DEPENDS "${path}" ${depfile}
      COMMAND_EXPAND_LISTS VERBATIM)
    target_sources(${target} PRIVATE "${object}")
    set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  endforeach()
  get_target_property(linked ${target} LINK_LIBRARIES)
  if(NOT "dushmem::static" IN_LIST linked)
    target_link_libraries(${target} PRIVATE dushmem::dushmem)
  endif()
endfunction()

set(dushmem_FOUND TRUE)
