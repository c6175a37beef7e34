//! Calls in kernels that only the host makes.
use super::super::host_calls::{edits, own_names};
use super::super::rewrite::{Source, apply};

fn marked(text: &str) -> String {
    let source = Source::new(text.as_bytes());
    let edits = edits(&source, &own_names(&source));
    String::from_utf8(apply(text.as_bytes(), edits)).expect("edits keep the encoding")
}

/// What is said about the calls of a kernel with that body.
fn said(body: &str) -> Vec<String> {
    let text = marked(&format!("__global__ void k(int *a, int pe) {{ {body} }}"));
    let said = text.split("== 0, \"").skip(1).filter_map(|rest| rest.split('"').next());
    said.map(str::to_owned).collect()
}

#[test]
fn an_assertion_stands_beside_the_call() {
    let text =
        "__global__ void k(int *a) {\n  if (a) return\n    ::shmem_int_p(a,\n  shmem_my_pe(), 0);\n}\n";
    let assertion = |what: &str| {
        format!("([](auto host_only) {{ static_assert(sizeof host_only == 0, \"{what}\"); }}(0), ")
    };
    let p =
        assertion("shmem_int_p in a kernel: names of OpenSHMEM are the host's; kernels call nvshmem_int_p");
    let me =
        assertion("shmem_my_pe in a kernel: names of OpenSHMEM are the host's; kernels call nvshmem_my_pe");
    let want = format!(
        "__global__ void k(int *a) {{\n  if (a) return\n    {p}::shmem_int_p(a,\n  {me}shmem_my_pe()), 0));\n}}\n"
    );
    assert_eq!(marked(text), want);
}

#[test]
fn the_name_for_kernels_is_told() {
    for (body, want) in [
        ("shmem_int_put(a, a, 1, pe);", "names of OpenSHMEM are the host's; kernels call nvshmem_int_put"),
        ("else shmem_barrier_all();", "names of OpenSHMEM are the host's; kernels call nvshmem_barrier_all"),
        (
            "\n#ifdef X\n shmem_fence();\n#endif\n",
            "names of OpenSHMEM are the host's; kernels call nvshmem_fence",
        ),
        ("x = 3 * shmem_n_pes();", "names of OpenSHMEM are the host's; kernels call nvshmem_n_pes"),
        (
            "shmem_p(a, 1, pe);",
            "names of OpenSHMEM are the host's; kernels call nvshmem_TYPE_p, for int nvshmem_int_p",
        ),
        ("shmem_ctx_quiet(c);", "names of OpenSHMEM are the host's; make it before or after the launch"),
        ("nvshmem_malloc(8);", "only the host makes this call; make it before or after the launch"),
        ("nvshmem_init();", "only the host makes this call; make it before or after the launch"),
        ("dushmem_finalize();", "only the host makes this call; make it before or after the launch"),
        (
            "nvshmemx_int_put_on_stream(a, a, 1, pe, 0);",
            "streams are the host's; kernels call nvshmem_int_put",
        ),
        ("dushmemx_barrier_all_on_stream(0);", "streams are the host's; kernels call dushmem_barrier_all"),
    ] {
        let name = body.split('(').next().and_then(|head| head.split(' ').next_back()).expect("a name");
        assert_eq!(said(body), [format!("{name} in a kernel: {want}")], "{body}");
    }
    // In all functions for kernels: whatever stands before their bodies.
    for head in [
        "template <class T> __global__ __launch_bounds__(64, 2) void k(T x = T())",
        "static __device__ __forceinline__ int f() const noexcept",
        "struct s { __device__ void f() override",
        "void h() { auto f = [=] __device__ (int i) mutable",
        "__attribute__((noinline)) __device__ void f()",
    ] {
        let found = marked(&format!("{head} {{ shmem_quiet(); }}"));
        assert!(found.contains("{ ([](auto host_only)"), "{found}");
    }
}

#[test]
fn what_may_be_something_else_is_left_alone() {
    for text in [
        "__global__ void k() { /* shmem_quiet(); */ // shmem_quiet();\n puts(\"shmem_quiet()\"); }",
        "void h() { shmem_quiet(); } __global__ void k() { }",
        "__global__ void k(); void h() { shmem_quiet(); }",
        "__host__ __device__ void f() { shmem_quiet(); }",
        "__device__ inline __host__ void f() { shmem_quiet(); }",
        "auto f = [=] __host__ __device__ (int i) { shmem_quiet(); };",
        "__global__ void k(T o, T *p) { o.shmem_quiet(); p->shmem_quiet(); ns::shmem_quiet(); t<1>::shmem_quiet(); }",
        "__global__ void k() { decltype(shmem_my_pe()) me = 1; sizeof(shmem_my_pe()); }",
        "__device__ int me = shmem_my_pe(); __device__ int two[] = {shmem_my_pe()}; __constant__ int c;",
        // The program's own.
        "__device__ void shmem_quiet() { } __global__ void k() { shmem_quiet(); }",
        "__device__ int shmem_my_pe(); __global__ void k() { shmem_my_pe(); }",
        "__device__ int *shmem_ptr(int a) { return 0; } __global__ void k() { shmem_ptr(1); }",
        "extern __device__ int *shmem_ptr(int a); __global__ void k() { shmem_ptr(1); }",
        "#define shmem_quiet() f()\n__global__ void k() { shmem_quiet(); }",
        "__global__ void k() { auto shmem_quiet = [] { }; shmem_quiet(); }",
        "__global__ void k(int (*shmem_quiet)(int)) { shmem_quiet(1); }",
        // No names of the library's, or of kernels.
        "__global__ void k() { shmem_mine(); my_shmem_quiet(); shmem_quietly(); }",
        "__global__ void k() { nvshmem_quiet(); nvshmemx_int_put_block(a, a, 1, 0); dushmem_int_p(a, 1, 0); }",
        "__global__ void k() { int shmem = 1; dushmem::device::quiet(); cudaDeviceSynchronize(); }",
        // Where macros are defined nobody knows who calls them.
        "__global__ void k() {\n#define QUIET shmem_quiet()\n}",
    ] {
        assert_eq!(marked(text), text);
    }
}
