/* CUDA's name of the header, for hipcc. */
#include <hip/hip_fp16.h>
