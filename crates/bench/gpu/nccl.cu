// The collectives of beside.cu by NCCL, whose library is loaded when it runs: the one that BESIDE_NCCL names, or the
// loader's. With BESIDE_WINDOWS=1 in buffers of NCCL's own that all ranks have registered.
#define BESIDE_WITHOUT_PES
#include "collectives.h"
#include <dlfcn.h>

// As NCCL's header has them.
struct Id {
  char bytes[128];
};
typedef struct Communicator *Comm;
enum { FLOAT = 7, SUM = 0, SYMMETRIC = 1 };

static struct {
  int (*get_version)(int *);
  const char *(*get_error)(int);
  int (*get_id)(Id *);
  int (*init)(Comm *, int, Id, int);
  int (*destroy)(Comm);
  int (*all_reduce)(const void *, void *, size_t, int, int, Comm, cudaStream_t);
  int (*all_gather)(const void *, void *, size_t, int, Comm, cudaStream_t);
  int (*broadcast)(const void *, void *, size_t, int, int, Comm, cudaStream_t);
  int (*send)(const void *, size_t, int, int, Comm, cudaStream_t);
  int (*receive)(void *, size_t, int, int, Comm, cudaStream_t);
  int (*group_start)();
  int (*group_end)();
  int (*allocate)(void **, size_t);
  int (*free)(void *);
  int (*open_window)(Comm, void *, size_t, void **, int);
  int (*close_window)(Comm, void *);
} nccl;

[[noreturn]] static void leave(const std::string &why) {
  std::printf("error\tPE %d: %s\n", me, why.c_str());
  std::fflush(stdout);
  shared->failed = 1;
  _exit(8);
}

static void must(int result, const char *call) {
  if (result != 0) leave(std::string(call) + ": " + nccl.get_error(result));
}
#define NCCL(call) must(nccl.call, #call)

static void load(bool windows) {
  const char *named = std::getenv("BESIDE_NCCL");
  void *library = dlopen(named && *named ? named : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) leave(dlerror());
  const auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr) leave(std::string("this NCCL has no ") + name);
  };
  find(nccl.get_version, "ncclGetVersion");
  find(nccl.get_error, "ncclGetErrorString");
  find(nccl.get_id, "ncclGetUniqueId");
  find(nccl.init, "ncclCommInitRank");
  find(nccl.destroy, "ncclCommDestroy");
  find(nccl.all_reduce, "ncclAllReduce");
  find(nccl.all_gather, "ncclAllGather");
  find(nccl.broadcast, "ncclBroadcast");
  find(nccl.send, "ncclSend");
  find(nccl.receive, "ncclRecv");
  find(nccl.group_start, "ncclGroupStart");
  find(nccl.group_end, "ncclGroupEnd");
  if (!windows) return;
  find(nccl.allocate, "ncclMemAlloc");
  find(nccl.free, "ncclMemFree");
  find(nccl.open_window, "ncclCommWindowRegister");
  find(nccl.close_window, "ncclCommWindowDeregister");
}

static void body(int argc, char **argv) {
  const char *const asked = std::getenv("BESIDE_WINDOWS");
  const bool windows = asked && *asked == '1';
  begin_pe();
  load(windows);
  Id id{};
  if (me == 0) {
    NCCL(get_id(&id));
    std::memcpy(shared->blob, &id, sizeof id);
  }
  meet();
  std::memcpy(&id, shared->blob, sizeof id);
  Comm comm;
  const double from = now_us();
  NCCL(init(&comm, n, id, me));
  shared->told[me] = now_us() - from;
  meet();
  row("start: communicator", {*std::max_element(shared->told, shared->told + n)}, 1);
  if (me == 0) {
    int version = 0;
    NCCL(get_version(&version));
    std::printf("version\tNCCL v%d.%d.%d\n", version / 10000, version / 100 % 100, version % 100);
  }
  const size_t room = (size_t)256 << 20;
  float *buffers[2];
  void *opened[2] = {};
  for (int i = 0; i < 2; i++) {
    if (!windows) {
      CUDA(cudaMalloc((void **)&buffers[i], room));
      continue;
    }
    NCCL(allocate((void **)&buffers[i], room));
    NCCL(open_window(comm, buffers[i], room, &opened[i], SYMMETRIC));
  }
  float *const dest = buffers[0], *const source = buffers[1];
  Collectives by;
  by.sum_reduce = [=](size_t count) { NCCL(all_reduce(source, dest, count, FLOAT, SUM, comm, stream)); };
  by.broadcast = [=](size_t count) { NCCL(broadcast(source, dest, count, FLOAT, 0, comm, stream)); };
  by.fcollect = [=](size_t count) { NCCL(all_gather(source, dest, count, FLOAT, comm, stream)); };
  by.alltoall = [=](size_t count) {
    NCCL(group_start());
    for (int pe = 0; pe < n; pe++) {
      NCCL(send(source + (size_t)pe * count, count, FLOAT, pe, comm, stream));
      NCCL(receive(dest + (size_t)pe * count, count, FLOAT, pe, comm, stream));
    }
    NCCL(group_end());
  };
  if (is_wanted(argc, argv, "collectives")) collective_rows(dest, source, room, by);
  if (is_wanted(argc, argv, "graphs")) graph_rows(dest, source, by);
  settle();
  for (int i = 0; i < 2; i++) {
    if (windows) NCCL(close_window(comm, opened[i]));
    if (windows) NCCL(free(buffers[i]));
    else CUDA(cudaFree(buffers[i]));
  }
  NCCL(destroy(comm));
}

int main(int argc, char **argv) { return run_pes(argc, argv, body); }
