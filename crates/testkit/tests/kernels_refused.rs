//! Calls that a device compiler refuses in kernels, and the emulator when they are made: calls of the host's that would
//! wait for the kernel itself, and queue pairs that there are not. Functions make them that kernels call.
use dushmem_testkit::folder::Folder;
use dushmem_testkit::kernels::Program;

const SOURCE: &str = r#"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <dushmem.h>
#include <dushmemx.h>
#include <nvshmem.h>
#include <shmem.h>

extern "C" void call_in_c(const char *what);

static void host_calls(const char *what, int *words) {
  const auto is = [what](const char *name) { return std::strcmp(what, name) == 0; };
  dushmem_team_t team = DUSHMEM_TEAM_WORLD;
  if (is("init")) dushmem_init();
  if (is("finalize")) dushmem_finalize();
  if (is("nvshmem_finalize")) nvshmem_finalize();
  if (is("malloc")) dushmem_malloc(8);
  if (is("calloc")) dushmem_calloc(1, 8);
  if (is("free")) dushmem_free(words);
  if (is("split")) dushmem_team_split_strided(DUSHMEM_TEAM_WORLD, 0, 1, 1, nullptr, 0, &team);
  if (is("destroy")) dushmem_team_destroy(team);
  if (is("barrier")) shmem_barrier_all();
  if (is("reduce")) shmem_int_sum_reduce(SHMEM_TEAM_WORLD, words, words, 1);
  if (is("wait")) shmem_int_wait_until(words, SHMEM_CMP_EQ, 1);
  if (is("wait all")) shmem_int_wait_until_all(words, 2, nullptr, SHMEM_CMP_EQ, 1);
  if (is("signal")) shmem_signal_wait_until(reinterpret_cast<uint64_t *>(words), SHMEM_CMP_EQ, 1);
  call_in_c(what);
}

__global__ void calls(const char *what, int *words, const int *pairs, cudaStream_t stream, cudaEvent_t event) {
  const auto is = [what](const char *name) { return std::strcmp(what, name) == 0; };
  if (is("good")) {
    dushmemx_qp_int_p(words, 7, 0, pairs[1]);
    dushmemx_qp_int_p(words + 1, 8, 0, DUSHMEMX_QP_DEFAULT);
    dushmemx_qp_int_p(words + 2, 9, 0, DUSHMEMX_QP_ANY);
    dushmemx_qp_quiet(0, const_cast<int *>(pairs), 2);
    return;
  }
  host_calls(what, words);
  if (is("device")) cudaDeviceSynchronize();
  if (is("stream")) cudaStreamSynchronize(stream);
  if (is("event")) cudaEventSynchronize(event);
  if (is("reset")) cudaDeviceReset();
  if (is("pair")) dushmemx_qp_int_p(words, 7, 0, pairs[1] + 1);
  if (is("negative")) dushmemx_qp_int_p(words, 7, 0, -1);
}

int main(int, char **argv) {
  dushmem_init();
  int *words = static_cast<int *>(dushmem_calloc(3, sizeof(int)));
  int *pairs = nullptr;
  if (dushmemx_qp_create(2, &pairs) != 0) return 3;
  cudaStream_t stream;
  cudaEvent_t event;
  if (cudaStreamCreate(&stream) != cudaSuccess || cudaEventCreate(&event) != cudaSuccess) return 4;
  calls<<<1, 1, 0, stream>>>(argv[1], words, pairs, stream, event);
  cudaEventRecord(event, stream);
  if (cudaStreamSynchronize(stream) != cudaSuccess) return 5;
  std::printf("%d %d %d\n", words[0], words[1], words[2]);
  std::free(pairs);
  dushmem_free(words);
  dushmem_finalize();
}
"#;

/// A function that no compiler of kernels has seen.
const IN_C: &str = r#"
#include <nvshmem.h>
#include <string.h>
void call_in_c(const char *what) {
  if (strcmp(what, "in C") == 0) nvshmem_barrier_all();
}
"#;

/// Word of the program, and how the line about it begins.
const REFUSED: [(&str, &str); 20] = [
    ("init", "dushmem_init: only the host makes this call"),
    ("finalize", "dushmem_finalize: only the host makes this call"),
    ("nvshmem_finalize", "only the host makes this call"),
    ("malloc", "dushmem_malloc: only the host makes this call"),
    ("calloc", "dushmem_calloc: only the host makes this call"),
    ("free", "dushmem_free: only the host makes this call"),
    ("split", "dushmem_team_split_strided: only the host makes this call"),
    ("destroy", "dushmem_team_destroy: only the host makes this call"),
    ("barrier", "shmem_barrier_all: a kernel makes this call, and names of OpenSHMEM are the host's"),
    ("reduce", "shmem_int_sum_reduce: a kernel makes this call, and names of OpenSHMEM are the host's"),
    ("wait", "shmem_int_wait_until: a kernel makes this call, and names of OpenSHMEM are the host's"),
    ("wait all", "shmem_int_wait_until_all: a kernel makes this call, and names of OpenSHMEM are the host's"),
    ("signal", "shmem_signal_wait_until: a kernel makes this call, and names of OpenSHMEM are the host's"),
    ("in C", "nvshmem_barrier_all: a kernel makes this call by way of a function that is the host's alone"),
    ("device", "cudaDeviceSynchronize (hipDeviceSynchronize): only the host makes this call"),
    ("stream", "cudaStreamSynchronize (hipStreamSynchronize): only the host makes this call"),
    ("event", "cudaEventSynchronize (hipEventSynchronize): only the host makes this call"),
    ("reset", "cudaDeviceReset (hipDeviceReset): only the host makes this call"),
    ("pair", "dushmemx_qp_int_p: qp_index = 4: there is no such queue pair"),
    ("negative", "dushmemx_qp_int_p: qp_index = -1: there is no such queue pair"),
];

#[test]
fn calls_of_the_host_and_unknown_queue_pairs_end_the_job_with_a_line() {
    let folder = Folder::new("refused");
    let source = folder.file("calls.cu");
    std::fs::write(&source, SOURCE).expect("written");
    let in_c = folder.file("in_c.c");
    std::fs::write(&in_c, IN_C).expect("written");
    let program = Program::of(&[&source, &in_c], &[]);
    program.job(1).words("good").run().prints(["7 8 9"]);
    for (word, line) in REFUSED {
        program
            .job(1)
            .args([word])
            .run()
            .failure(1, &["PE 0 (host ", line, "(kernel calls, block (0, 0, 0), thread ("]);
    }
}
