# find_package(NVSHMEM) gives the targets of NVSHMEM's package: nvshmem::nvshmem, nvshmem::nvshmem_host,
# nvshmem::nvshmem_device. The device part is in the headers, so all of them are the one library.
include("${CMAKE_CURRENT_LIST_DIR}/../dushmem/dushmem-config.cmake")
foreach(name nvshmem nvshmem_host nvshmem_device)
  if(NOT TARGET nvshmem::${name})
    add_library(nvshmem::${name} INTERFACE IMPORTED)
    set_target_properties(nvshmem::${name} PROPERTIES INTERFACE_LINK_LIBRARIES dushmem::dushmem)
  endif()
endforeach()
set(NVSHMEM_INCLUDE_DIR "${dushmem_PREFIX}/include")
set(NVSHMEM_LIBRARY_DIR "${dushmem_PREFIX}/lib")
set(NVSHMEM_FOUND TRUE)
