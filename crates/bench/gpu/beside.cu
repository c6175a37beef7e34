// dushmem beside NVSHMEM: one source by NVSHMEM's names, built for each library, PEs as children of this process that
// meet by a unique id. Arguments: number of PEs, then groups of rows: start host teams stream transfers collectives graphs device put.
// Prints a line a row: name, median, least and most of the samples in microseconds, operations a sample.
#include "collectives.h"

static const size_t ROOM = (size_t)256 << 20;
static float *dest, *source;
static uint64_t *signals;

void device_rows(float *dest, float *source, uint64_t *signals);
void put_rows(char *dest, char *source);

static void host_rows() {
  measure("host barrier_all", 2000, [](long k) {
    for (long i = 0; i < k; i++) nvshmem_barrier_all();
  });
  const int right = (me + 1) % n, left = (me + n - 1) % n;
  const size_t count = (1 << 20) / sizeof(float);
  fill(source, count);
  clear(dest, count * sizeof(float));
  meet();
  measure("host putmem 1 MiB by all + barrier_all", 1000, [=](long k) {
    for (long i = 0; i < k; i++) {
      nvshmem_putmem(dest, source, count * sizeof(float), right);
      nvshmem_barrier_all();
    }
  });
  compare("host putmem 1 MiB by all + barrier_all", dest, count, [=](size_t i) { return value(left, i); });
  meet();
  measure("host malloc + free 1 MiB", 500, [](long k) {
    for (long i = 0; i < k; i++) nvshmem_free(nvshmem_malloc(1 << 20));
  });
  int *word = (int *)dest;
  measure("host int_p", 2000, [=](long k) {
    if (me == 0)
      for (long i = 0; i < k; i++) nvshmem_int_p(word + i % 64, (int)i, right);
    if (me == 0) nvshmem_quiet();
  });
  measure("host int_p + quiet", 1000, [=](long k) {
    if (me == 0)
      for (long i = 0; i < k; i++) {
        nvshmem_int_p(word, 1000 + (int)i, right);
        nvshmem_quiet();
      }
  });
  measure("host int_g", 1000, [=](long k) {
    long sum = 0;
    if (me == 0)
      for (long i = 0; i < k; i++) sum += nvshmem_int_g(word, right);
    if (sum == 1) std::printf("\n");
  });
  for (size_t bytes : {(size_t)8, (size_t)1 << 20, (size_t)256 << 20})
    measure("host putmem " + size_name(bytes), 1000, [=](long k) {
      if (me == 0)
        for (long i = 0; i < k; i++) nvshmem_putmem(dest, source, bytes, right);
    });
}

static void team_rows() {
  measure("host team_split_strided + destroy", 20, [](long k) {
    for (long i = 0; i < k; i++) {
      nvshmem_team_t team;
      nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, n, nullptr, 0, &team);
      nvshmem_team_destroy(team);
    }
  });
}

static void stream_rows() {
  const auto barrier = [] { nvshmemx_barrier_all_on_stream(stream); };
  measure("on stream barrier_all", 500, [=](long k) {
    for (long i = 0; i < k; i++) barrier();
    CUDA(cudaStreamSynchronize(stream));
  });
  measure("on stream barrier_all + synchronize", 500, [=](long k) {
    for (long i = 0; i < k; i++) {
      barrier();
      CUDA(cudaStreamSynchronize(stream));
    }
  });
  graph("on stream barrier_all in a graph of 50", 50, barrier);
}

static void transfer_rows() {
  const int right = (me + 1) % n;
  const auto alone = [](const std::string &name, const std::function<void()> &operation) {
    measure(name, 500, [=](long k) {
      if (me == 0)
        for (long i = 0; i < k; i++) operation();
      CUDA(cudaStreamSynchronize(stream));
    });
  };
  alone("on stream putmem 8 B", [=] { nvshmemx_putmem_on_stream(dest, source, 8, right, stream); });
  alone("on stream int_p", [=] { nvshmemx_int_p_on_stream((int *)dest, 7, right, stream); });
  alone("on stream signal_op", [=] { nvshmemx_signal_op_on_stream(signals, 7, NVSHMEM_SIGNAL_SET, right, stream); });
  // What the driver does without a library, with the same sizes and places.
  void *const there = nvshmem_ptr(dest, right);
  alone("raw cudaMemcpyAsync 4 B of the host", [=] {
    const int seven = 7;
    CUDA(cudaMemcpyAsync(there ? there : dest, &seven, sizeof seven, cudaMemcpyHostToDevice, stream));
  });
  alone("raw cudaMemcpyAsync 256 MiB",
        [=] { CUDA(cudaMemcpyAsync(there ? there : dest, source, ROOM, cudaMemcpyDeviceToDevice, stream)); });
  alone("on stream putmem 256 MiB", [=] { nvshmemx_putmem_on_stream(dest, source, ROOM, right, stream); });
}

static Collectives collectives() {
  Collectives by;
  by.sum_reduce = [](size_t count) { nvshmemx_float_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, dest, source, count, stream); };
  by.broadcast = [](size_t count) { nvshmemx_float_broadcast_on_stream(NVSHMEM_TEAM_WORLD, dest, source, count, 0, stream); };
  by.fcollect = [](size_t count) { nvshmemx_float_fcollect_on_stream(NVSHMEM_TEAM_WORLD, dest, source, count, stream); };
  by.alltoall = [](size_t count) { nvshmemx_float_alltoall_on_stream(NVSHMEM_TEAM_WORLD, dest, source, count, stream); };
  return by;
}

/* What the driver takes for the parts of a start, asked by all PEs at the same time: the slowest counts. */
static void start_rows() {
  int least = 0, greatest = 0;
  CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  const auto once = [](const char *name, const std::function<void()> &call) {
    meet();
    const double from = now_us();
    call();
    shared->told[me] = now_us() - from;
    meet();
    row(std::string("raw start: ") + name, {*std::max_element(shared->told, shared->told + n)}, 1);
  };
  cudaStream_t first, second;
  void *pinned;
  once("stream", [&] { CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking)); });
  once("stream of the highest priority",
       [&] { CUDA(cudaStreamCreateWithPriority(&second, cudaStreamNonBlocking, greatest)); });
  once("cudaHostAlloc 4 KiB", [&] { CUDA(cudaHostAlloc(&pinned, 4096, cudaHostAllocMapped)); });
  CUDA(cudaFreeHost(pinned));
  CUDA(cudaStreamDestroy(second));
  CUDA(cudaStreamDestroy(first));
}

static void body(int argc, char **argv) {
  const auto wanted = [&](const char *group) { return is_wanted(argc, argv, group); };
  begin_pe();
  double from = now_us();
  nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
  nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
  if (me == 0) {
    nvshmemx_get_uniqueid(&id);
    std::memcpy(shared->blob, &id, sizeof id);
  }
  meet();
  std::memcpy(&id, shared->blob, sizeof id);
  nvshmemx_set_attr_uniqueid_args(me, n, &id, &attr);
  if (nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) != 0 || nvshmem_my_pe() != me || nvshmem_n_pes() != n) {
    std::printf("error\tPE %d: init\n", me);
    std::fflush(stdout);
    shared->failed = 1;
    _exit(6);
  }
  if (me == 0) {
    char name[NVSHMEM_MAX_NAME_LEN] = "";
    nvshmem_info_get_name(name);
    std::printf("version\t%s\n", name);
  }
  // With the first object, since a library may do its work then.
  signals = (uint64_t *)nvshmem_calloc(PLACES * PLACE_BYTES / sizeof(uint64_t), sizeof(uint64_t));
  shared->told[me] = now_us() - from;
  meet();
  const double started = *std::max_element(shared->told, shared->told + n);
  row("start: init and a first object", {started}, 1);
  const size_t room = ROOM + 4096;
  dest = (float *)nvshmem_malloc(room);
  source = (float *)nvshmem_malloc(room);
  if (signals == nullptr || dest == nullptr || source == nullptr) {
    std::printf("error\tPE %d: no room\n", me);
    std::fflush(stdout);
    shared->failed = 1;
    _exit(7);
  }
  clear(dest, room);
  clear(source, room);
  settle();
  if (wanted("start")) start_rows();
  if (wanted("host")) host_rows();
  if (wanted("teams")) team_rows();
  if (wanted("stream")) stream_rows();
  if (wanted("transfers")) transfer_rows();
  if (wanted("collectives")) collective_rows(dest, source, ROOM, collectives());
  if (wanted("graphs")) graph_rows(dest, source, collectives());
  if (wanted("device")) device_rows(dest, source, signals);
  if (wanted("put")) put_rows((char *)dest, (char *)source);
  settle();
  from = now_us();
  nvshmem_free(source);
  nvshmem_free(dest);
  nvshmem_free(signals);
  nvshmem_finalize();
  shared->told[me] = now_us() - from;
  meet();
  row("end: free and finalize", {*std::max_element(shared->told, shared->told + n)}, 1);
}

int main(int argc, char **argv) { return run_pes(argc, argv, body); }
