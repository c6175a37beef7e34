/* Two bytes, which the device headers convert themselves. */
#ifndef CUDA_STANDIN_HIP_FP16_H
#define CUDA_STANDIN_HIP_FP16_H
struct __half {
  unsigned short bits;
};
#endif
