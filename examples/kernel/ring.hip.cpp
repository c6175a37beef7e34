// The ring: every PE's kernel writes the PE's number into the next PE's memory.
//
//   dushcc ring.hip.cpp -o ring && dushrun -n 8 ./ring
#include <cstdio>
#include <dushmem.h>
#include <dushmemx.h>
#include <hip/hip_runtime.h>

// `box` has the same address on every PE; the call says on which of them it is written.
__global__ void send_right(int *box) {
    const int me = dushmem_my_pe();
    const int right = (me + 1) % dushmem_n_pes();
    dushmem_int_p(box, me, right);
}

// Ends the program with the call that failed and the reason.
static void check(hipError_t error, const char *call) {
    if (error == hipSuccess) return;
    std::fprintf(stderr, "%s: %s\n", call, hipGetErrorString(error));
    dushmem_global_exit(1);
}
#define CHECK(call) check(call, #call)

int main() {
    dushmem_init();
    const int me = dushmem_my_pe();
    const int n = dushmem_n_pes();

    // PEs of one machine share its devices.
    int devices = 0;
    CHECK(hipGetDeviceCount(&devices));
    CHECK(hipSetDevice(dushmem_team_my_pe(DUSHMEMX_TEAM_NODE) % devices));
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));

    int *box = static_cast<int *>(dushmem_malloc(sizeof(int)));
    if (box == nullptr) dushmem_global_exit(1);
    CHECK(hipMemsetAsync(box, 0xff, sizeof(int), stream));

    // Nobody writes before all boxes are empty, and nobody reads before all writes have arrived.
    dushmemx_barrier_all_on_stream(stream);
    send_right<<<1, 1, 0, stream>>>(box);
    CHECK(hipGetLastError());
    dushmemx_barrier_all_on_stream(stream);

    int received = -1;
    CHECK(hipMemcpyAsync(&received, box, sizeof(int), hipMemcpyDeviceToHost, stream));
    CHECK(hipStreamSynchronize(stream));
    const int expected = (me + n - 1) % n;
    std::printf("PE %d: received %d, expected %d\n", me, received, expected);

    dushmem_free(box);
    CHECK(hipStreamDestroy(stream));
    dushmem_finalize();
    return received == expected ? 0 : 1;
}
