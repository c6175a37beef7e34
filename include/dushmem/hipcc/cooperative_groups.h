/* CUDA's name of the header, for hipcc. */
#include <hip/hip_cooperative_groups.h>
