// Memory of the runtime: pinned, registered, managed, pitched, of three dimensions; attributes; peers; both families.
#include "check.h"
#include <cstdlib>
#include <cstring>
#include <vector>

__global__ void fill(float *rows, size_t pitch, int width, int height) {
  for (int y = int(threadIdx.x); y < height; y += int(blockDim.x)) {
    float *row = reinterpret_cast<float *>(reinterpret_cast<char *>(rows) + pitch * size_t(y));
    for (int x = 0; x < width; x++) row[x] = float(y * width + x);
  }
}

void pitched() {
  float *rows;
  size_t pitch = 0;
  const int width = 70, height = 9;
  ok(cudaMallocPitch(&rows, &pitch, width * sizeof(float), height));
  truth(pitch >= width * sizeof(float) && pitch % 256 == 0);
  (::dushmem::emu::launch("fill", ::dushmem::emu::config{1, 4}, [=](auto... a) { fill(a...); }, rows, pitch, width, height));
  float host[height][width + 3] = {};
  ok(cudaMemcpy2D(host, sizeof host[0], rows, pitch, width * sizeof(float), height, cudaMemcpyDeviceToHost));
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width + 3; x++) same(host[y][x], x < width ? y * width + x : 0);
  ok(cudaMemset2D(rows, pitch, 0, 8, 2));
  ok(cudaMemcpy2D(host, sizeof host[0], rows, pitch, 16, 3, cudaMemcpyDefault));
  same(host[1][1], 0);
  same(host[1][2], width + 2);
  same(host[2][1], 2 * width + 1);
  ok(cudaFree(rows));
  fails(cudaErrorInvalidValue, cudaMallocPitch(&rows, nullptr, 8, 8));
  fails(cudaErrorMemoryAllocation, cudaMallocPitch(&rows, &pitch, size_t(1) << 40, size_t(1) << 40));

  // A box out of a volume.
  cudaPitchedPtr volume;
  ok(cudaMalloc3D(&volume, make_cudaExtent(10, 5, 4)));
  ok(cudaMemset3D(volume, 7, make_cudaExtent(10, 5, 4)));
  char box[2][3][4];
  std::memset(box, 1, sizeof box);
  cudaMemcpy3DParms p = {};
  p.srcPtr = make_cudaPitchedPtr(box, 4, 4, 3);
  p.dstPtr = volume;
  p.dstPos = make_cudaPos(5, 1, 2);
  p.extent = make_cudaExtent(4, 3, 2);
  p.kind = cudaMemcpyHostToDevice;
  ok(cudaMemcpy3D(&p));
  char all[4][5][10];
  cudaMemcpy3DParms back = {};
  back.srcPtr = volume;
  back.dstPtr = make_cudaPitchedPtr(all, 10, 10, 5);
  back.extent = make_cudaExtent(10, 5, 4);
  back.kind = cudaMemcpyDeviceToHost;
  ok(cudaMemcpy3D(&back));
  int inside = 0;
  for (int z = 0; z < 4; z++)
    for (int y = 0; y < 5; y++)
      for (int x = 0; x < 10; x++) {
        const bool in = z >= 2 && y >= 1 && y < 4 && x >= 5 && x < 9;
        inside += in;
        same(all[z][y][x], in ? 1 : 7);
      }
  same(inside, 24);
  ok(cudaFree(volume.ptr));
}

void pinned() {
  int *host, *device, *managed;
  ok(cudaHostAlloc(&host, 4096, cudaHostAllocMapped));
  ok(cudaHostGetDevicePointer(&device, host, 0));
  truth(device == host);
  unsigned flags = 0;
  ok(cudaHostGetFlags(&flags, host));
  truth(flags & cudaHostAllocMapped);
  cudaPointerAttributes a;
  ok(cudaPointerGetAttributes(&a, host + 5));
  truth(a.type == cudaMemoryTypeHost && a.hostPointer == host + 5);
  ok(cudaMallocManaged(&managed, 4096));
  ok(cudaPointerGetAttributes(&a, managed));
  truth(a.type == cudaMemoryTypeManaged && a.devicePointer == managed);
  ok(cudaMemPrefetchAsync(managed, 4096, 0, nullptr));
  ok(cudaMemAdvise(managed, 4096, cudaMemAdviseSetReadMostly, 0));
  fails(cudaErrorInvalidValue, cudaMemAdvise(host, 4096, cudaMemAdviseSetReadMostly, 0));
  fails(cudaErrorInvalidDevice, cudaMemPrefetchAsync(managed, 4096, 1000, nullptr));
  ok(cudaSetDevice(2));
  ok(cudaMallocAsync(&device, 64, nullptr));
  ok(cudaPointerGetAttributes(&a, device));
  truth(a.type == cudaMemoryTypeDevice && a.device == 2 && a.hostPointer == nullptr);
  ok(cudaFreeAsync(device, nullptr));
  fails(cudaErrorInvalidResourceHandle, cudaMallocAsync(&device, 64, (cudaStream_t)0x7770));
  ok(cudaSetDevice(0));
  ok(cudaFreeHost(host));
  ok(cudaFree(managed));

  // The program's own memory.
  std::vector<int> own(1000);
  ok(cudaPointerGetAttributes(&a, own.data()));
  truth(a.type == cudaMemoryTypeUnregistered && a.devicePointer == nullptr);
  fails(cudaErrorInvalidValue, cudaHostGetDevicePointer(&device, own.data(), 0));
  ok(cudaHostRegister(own.data(), 4000, cudaHostRegisterDefault));
  ok(cudaHostGetDevicePointer(&device, own.data(), 0));
  ok(cudaPointerGetAttributes(&a, &own[999]));
  truth(a.type == cudaMemoryTypeHost);
  fails(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(&own[500], 100, 0));
  fails(cudaErrorInvalidValue, cudaFreeHost(own.data()));
  fails(cudaErrorInvalidValue, cudaHostRegister(nullptr, 100, 0));
  ok(cudaHostUnregister(own.data()));
  fails(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(own.data()));
  size_t free_bytes = 0, total = 0;
  ok(cudaMemGetInfo(&free_bytes, &total));
  truth(free_bytes > 0 && free_bytes <= total);
}

void devices() {
  int can = -1;
  ok(cudaDeviceCanAccessPeer(&can, 0, 1));
  same(can, 1);
  ok(cudaDeviceCanAccessPeer(&can, 1, 1));
  same(can, 0);
  fails(cudaErrorInvalidDevice, cudaDeviceCanAccessPeer(&can, 0, 99));
  fails(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(1));
  ok(cudaDeviceEnablePeerAccess(1, 0));
  fails(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(1, 0));
  ok(cudaDeviceDisablePeerAccess(1));
  fails(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(0, 0));
  fails(cudaErrorInvalidValue, cudaDeviceEnablePeerAccess(1, 1));
  cudaGetLastError();

  cudaDeviceProp p;
  ok(cudaGetDeviceProperties(&p, 1));
  truth(std::strlen(p.name) > 0 && p.multiProcessorCount > 0 && p.sharedMemPerBlock == 48 << 10 && p.warpSize == warpSize);
  const struct {
    cudaDeviceAttr attribute;
    long long value;
  } attributes[] = {
      {cudaDevAttrMaxThreadsPerBlock, p.maxThreadsPerBlock}, {cudaDevAttrMaxBlockDimZ, p.maxThreadsDim[2]},
      {cudaDevAttrMaxGridDimY, p.maxGridSize[1]}, {cudaDevAttrTotalConstantMemory, 65536},
      {cudaDevAttrWarpSize, p.warpSize}, {cudaDevAttrMultiProcessorCount, p.multiProcessorCount},
      {cudaDevAttrComputeCapabilityMajor, p.major}, {cudaDevAttrL2CacheSize, p.l2CacheSize},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, (long long)p.sharedMemPerBlockOptin},
      {cudaDevAttrMaxBlocksPerMultiprocessor, p.maxBlocksPerMultiProcessor}, {cudaDevAttrPciDeviceId, 1},
      {cudaDevAttrHostRegisterSupported, 1}, {cudaDevAttrCooperativeLaunch, 1}, {cudaDevAttrEccEnabled, 0}};
  for (const auto &one : attributes) {
    int value = -1;
    ok(cudaDeviceGetAttribute(&value, one.attribute, 1));
    same(value, one.value);
  }
  int value;
  fails(cudaErrorInvalidValue, cudaDeviceGetAttribute(&value, (cudaDeviceAttr)9999, 0));
  char bus[16];
  ok(cudaDeviceGetPCIBusId(bus, sizeof bus, 3));
  truth(std::strcmp(bus, "0000:00:03.0") == 0);
  size_t limit = 0;
  ok(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
  truth(limit >= 64 << 10);
  ok(cudaDeviceSetLimit(cudaLimitStackSize, limit / 2));
  fails(cudaErrorInvalidValue, cudaDeviceSetLimit(cudaLimitStackSize, 2 * limit));
  ok(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20));
  ok(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
  same(limit, 64 << 20);
  fails(cudaErrorInvalidValue, cudaDeviceGetLimit(&limit, (cudaLimit)77));
  cudaFuncAttributes f;
  ok(cudaFuncGetAttributes(&f, fill));
  truth(f.maxThreadsPerBlock == 1024 && f.maxDynamicSharedSizeBytes == 48 << 10);
  ok(cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10));
  ok(cudaFuncGetAttributes(&f, fill));
  same(f.maxDynamicSharedSizeBytes, 100 << 10);
  int grid = 0, block = 0;
  ok(cudaOccupancyMaxPotentialBlockSize(&grid, &block, fill));
  truth(grid > 0 && block > 0 && block % warpSize == 0);
}

__device__ int variable = 5;
__constant__ float table[3];

void symbols() {
  cudaStream_t stream;
  ok(cudaStreamCreate(&stream));
  const float values[] = {1, 2, 3};
  ok(cudaMemcpyToSymbolAsync(table, values, sizeof values, 0, cudaMemcpyHostToDevice, stream));
  float got[2];
  ok(cudaMemcpyFromSymbolAsync(got, table, sizeof got, sizeof(float), cudaMemcpyDeviceToHost, stream));
  ok(cudaStreamSynchronize(stream));
  same(got[1], 3);
  int nine = 9, back = 0;
  ok(hipMemcpyToSymbol(HIP_SYMBOL(variable), &nine, sizeof nine));
  ok(hipMemcpyFromSymbol(&back, HIP_SYMBOL(variable), sizeof back));
  same(back, 9);
  int *address;
  ok(hipGetSymbolAddress((void **)&address, HIP_SYMBOL(variable)));
  truth(address == &variable);
  fails(cudaErrorInvalidValue, cudaMemcpyToSymbol(table, values, sizeof values, 4));
  fails(cudaErrorInvalidValue, cudaMemcpyToSymbol(table, values, 4, ~size_t{0}));
  ok(cudaStreamDestroy(stream));
}

void hip_names() {
  int *device, *host, word = 3;
  ok(hipMalloc(&device, 64));
  ok(hipHostMalloc(&host, 64, hipHostMallocDefault));
  ok(hipMemcpyHtoD(device, &word, sizeof word));
  ok(hipMemcpyDtoH(host, device, sizeof word));
  same(*host, 3);
  ok(hipMemcpyWithStream(&word, device, sizeof word, hipMemcpyDeviceToHost, nullptr));
  void *coarse;
  ok(hipExtMallocWithFlags(&coarse, 64, hipDeviceMallocFinegrained));
  ok(hipFree(coarse));
  ok(hipFree(device));
  ok(hipHostFree(host));
  hipDeviceProp_t p;
  ok(hipGetDeviceProperties(&p, 0));
  truth(std::strcmp(p.gcnArchName, "cpu") == 0);
  hipPitchedPtr volume;
  ok(hipMalloc3D(&volume, make_hipExtent(4, 4, 4)));
  ok(hipFree(volume.ptr));
  int registered[16];
  ok(hipHostRegister(registered, sizeof registered, hipHostRegisterDefault));
  ok(hipHostUnregister(registered));
}

int main() {
  pitched();
  pinned();
  devices();
  symbols();
  hip_names();
  return done();
}
