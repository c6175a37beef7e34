// NCCL's collectives on the CPU, for floats, at the call: ranks exchange through a file that the id names.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <new>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace {
constexpr size_t HEAD = 4096, AREA = (size_t)256 << 20, MOST = 16;
struct Head {
  std::atomic<int> arrived, round;
};
struct Id {
  char path[128];
};
struct Comm {
  Head *head;
  char *areas;
  int n, rank;
  char *area(int of) const { return areas + AREA * (size_t)of; }
  void meet() const {
    const int round = head->round;
    if (head->arrived.fetch_add(1) == n - 1) {
      head->arrived = 0;
      head->round++;
      return;
    }
    while (head->round == round) sched_yield();
  }
};
struct Part {
  void *at;
  size_t bytes;
  int peer;
};
std::vector<Part> sends, receives;
const Comm *grouped;
constexpr int FLOAT = 7, INVALID = 4;

void exchange() {
  for (const Part &part : sends) std::memcpy(grouped->area(grouped->rank) + part.bytes * (size_t)part.peer, part.at, part.bytes);
  grouped->meet();
  for (const Part &part : receives)
    std::memcpy(part.at, grouped->area(part.peer) + part.bytes * (size_t)grouped->rank, part.bytes);
  grouped->meet();
}
} // namespace

extern "C" {
int ncclGetVersion(int *version) { return *version = 22809, 0; }
const char *ncclGetErrorString(int) { return "invalid argument"; }
int ncclGetUniqueId(Id *id) {
  const char *folder = std::getenv("TMPDIR");
  std::snprintf(id->path, sizeof id->path, "%s/nccl-%d", folder ? folder : "/tmp", (int)getpid());
  const int file = open(id->path, O_RDWR | O_CREAT | O_EXCL, 0600);
  const bool made = file >= 0 && ftruncate(file, (off_t)(HEAD + AREA * MOST)) == 0;
  close(file);
  return made ? 0 : INVALID;
}
int ncclCommInitRank(Comm **made, int n, Id id, int rank) {
  const int file = open(id.path, O_RDWR);
  void *memory = mmap(nullptr, HEAD + AREA * (size_t)n, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return INVALID;
  *made = new Comm{(Head *)memory, (char *)memory + HEAD, n, rank};
  (*made)->meet();
  if (rank == 0) unlink(id.path);
  return 0;
}
int ncclCommDestroy(Comm *comm) { return delete comm, 0; }
int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, Comm *comm, void *) {
  if (type != FLOAT || op != 0) return INVALID;
  std::memcpy(comm->area(comm->rank), from, count * sizeof(float));
  comm->meet();
  float *sums = (float *)to;
  for (size_t i = 0; i < count; i++) sums[i] = 0;
  for (int rank = 0; rank < comm->n; rank++)
    for (size_t i = 0; i < count; i++) sums[i] += ((const float *)comm->area(rank))[i];
  comm->meet();
  return 0;
}
int ncclAllGather(const void *from, void *to, size_t count, int type, Comm *comm, void *) {
  if (type != FLOAT) return INVALID;
  const size_t bytes = count * sizeof(float);
  std::memcpy(comm->area(comm->rank), from, bytes);
  comm->meet();
  for (int rank = 0; rank < comm->n; rank++) std::memcpy((char *)to + bytes * (size_t)rank, comm->area(rank), bytes);
  comm->meet();
  return 0;
}
int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, Comm *comm, void *) {
  if (type != FLOAT) return INVALID;
  if (comm->rank == root) std::memcpy(comm->area(root), from, count * sizeof(float));
  comm->meet();
  std::memcpy(to, comm->area(root), count * sizeof(float));
  comm->meet();
  return 0;
}
int ncclGroupStart() { return 0; }
int ncclSend(const void *from, size_t count, int type, int peer, Comm *comm, void *) {
  grouped = comm;
  sends.push_back({const_cast<void *>(from), count * sizeof(float), peer});
  return type == FLOAT ? 0 : INVALID;
}
int ncclRecv(void *to, size_t count, int type, int peer, Comm *comm, void *) {
  grouped = comm;
  receives.push_back({to, count * sizeof(float), peer});
  return type == FLOAT ? 0 : INVALID;
}
int ncclGroupEnd() {
  exchange();
  sends.clear();
  receives.clear();
  return 0;
}
int ncclMemAlloc(void **at, size_t bytes) { return cudaMalloc(at, bytes) == cudaSuccess ? 0 : INVALID; }
int ncclMemFree(void *at) { return cudaFree(at) == cudaSuccess ? 0 : INVALID; }
int ncclCommWindowRegister(Comm *, void *at, size_t, void **window, int flags) { return *window = at, flags == 1 ? 0 : INVALID; }
int ncclCommWindowDeregister(Comm *, void *) { return 0; }
}
