/* HIP's name of the header; its types and functions are called as in CUDA. */
#include "../cuda_fp16.h"
