/* CUDA's name of the header, for hipcc. */
#include <cuda_runtime.h>
