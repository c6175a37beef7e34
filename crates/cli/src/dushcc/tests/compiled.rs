//! Rewritten sources compile and compute what they should, with gcc and clang.
use super::rewritten;
use dushmem_testkit::folder::Folder;
use dushmem_testkit::tools::installed;
use std::path::Path;
use std::process::Command;

fn compilers() -> Vec<&'static str> {
    let found: Vec<&str> = ["g++", "clang++"].into_iter().filter(|name| installed(name)).collect();
    assert!(!found.is_empty(), "neither g++ nor clang++ is installed");
    found
}

fn compile(compiler: &str, folder: &Path, source: &str) -> std::process::Output {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = folder.join("source.cpp");
    std::fs::write(&file, format!("#line 1 \"user.hip.cpp\"\n{}", rewritten(source))).expect("written");
    let mut command = Command::new(compiler);
    command.args(["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-include"]);
    command
        .arg(here.join("src/dushcc/tests/stand_in.h"))
        .arg("-I")
        .arg(here.join("../../include/dushmem/impl"));
    command.arg("-o").arg(folder.join("program")).arg(&file);
    command.output().expect("a compiler that runs")
}

#[track_caller]
fn prints(name: &str, source: &str, wanted: &str) {
    for compiler in compilers() {
        let folder = Folder::new(&format!("{name}-{compiler}"));
        let out = compile(compiler, folder.path(), source);
        assert!(
            out.status.success(),
            "{compiler}: {}\n{}",
            String::from_utf8_lossy(&out.stderr),
            rewritten(source)
        );
        let out = Command::new(folder.join("program")).output().expect("a program that runs");
        assert_eq!(String::from_utf8_lossy(&out.stdout), wanted, "{compiler}");
        assert!(out.status.success(), "{compiler}: {}", out.status);
    }
}

#[test]
fn launches_of_every_form_run() {
    let source = r#"
namespace ns { __global__ void k(int *a, int v) { *a += v; } }
template <class T, int n = 1> __global__ void t(T *a, T v) { *a += v * n; }
__global__ void over(int *a, int) { *a += 100; }
__global__ void over(int *a, double) { *a += 1000; }
__global__ void def(int *a, int v = 7) { *a += v; }
struct S {
    void (*kernel)(int *, int) = ns::k;
    void go(int *a) { kernel<<<1, 1>>>(a, 1); this->kernel<<<dim3(1, 2), {3}>>>(a, 1); }
};
#define LAUNCH(kernel, ...) kernel<<<g, b, bytes>>>(__VA_ARGS__)
#define NOTHING
__global__ void none() {}
int main() {
    int a = 0, n = 3;
    int bytes = 5; // an int where a size is wanted
    dim3 g(2), b(1);
    void (*table[])(int *, int) = {ns::k, ns::k};
    void (*fp)(int *, int) = ns::k;
    ns::k<<<1, 1>>>(&a, 1);
    ::ns::k<<<n, 1, 16>>>(&a, 1);
    t<<<1, 1>>>(&a, 2);
    t<int, 5><<<1, 1, 0, nullptr>>>(&a, 2);
    over<<<1, 1>>>(&a, 1);
    over<<<1, 1>>>(&a, 1.5);
    def<<<1, 1>>>(&a);
    table[n - 2]<<<1, 1>>>(&a, 10000);
    fp<<<1, 1>>>(&a, 10000);
    (*fp)<<<1, 1>>>(&a, 10000);
    S s;
    s.go(&a);
    s.kernel<<<1, 1>>>(&a, 100000);
    LAUNCH(ns::k, &a, 1);
    LAUNCH(none, );
    none<<<1, 1>>>(NOTHING);
    switch (n) { case 3:none<<<1, 1>>>(); }
    auto again = [&] { ns::k<<<1, 1>>>(&a, 1); return 1; };
    ns::k<<<1, 1>>>(&a, again());
    std::printf("\n%d\n", a);
}
"#;
    // 1 + 3 + 2 + 10 + 100 + 1000 + 7 + 3 * 10000 + 2 + 100000 + 2 + 1 + 1
    prints(
        "forms",
        source,
        "ns::k[1,1,1|1|0] ::ns::k[3,1,1|1|16] t[1,1,1|1|0] t<int,5>[1,1,1|1|0] over[1,1,1|1|0] over[1,1,1|1|0] \
         def[1,1,1|1|0] table[n-2][1,1,1|1|0] fp[1,1,1|1|0] (*fp)[1,1,1|1|0] kernel[1,1,1|1|0] this->kernel[1,2,1|3|0] \
         s.kernel[1,1,1|1|0] ns::k[2,1,1|1|5] none[2,1,1|1|5] none[1,1,1|1|0] none[1,1,1|1|0] ns::k[1,1,1|1|0] \
         ns::k[1,1,1|1|0] \n131129\n",
    );
}

#[test]
fn literal_zeros_are_what_the_kernel_takes() {
    let source = r#"
__global__ void pointers(int *a, const float *b, int n, double *c) { std::printf("%d", !a + 10 * !b + 100 * n + 1000 * !c); }
template <class T> __global__ void fill(T *a, T v) { *a = v; }
__global__ void number(long n, int *p) { std::printf(" %ld %d", n, !p); }
int main() {
    int x = 5;
    pointers<<<1, 1>>>(NULL, 0, 0, nullptr);
    fill<<<1, 1>>>(&x, 0);
    number<<<1, 1>>>(0, 0);
    pointers<<<1, 1>>>(&x, 0, 3, 0);
    std::printf(" %d\n", x);
}
"#;
    prints(
        "zeros",
        source,
        "pointers[1,1,1|1|0] 1011fill[1,1,1|1|0] number[1,1,1|1|0]  0 1pointers[1,1,1|1|0] 1310 0\n",
    );
}

#[test]
fn dynamic_shared_memory_is_an_array() {
    let source = r#"
extern __shared__ int outer[];
template <class T> __device__ T first() { extern __shared__ T all[]; return all[0]; }
__device__ int sum(const int *p, int n) { return n ? *p + sum(p + 1, n - 1) : 0; }
__global__ void k(int *out) {
    extern __shared__ __align__(16) unsigned char raw[];
    int *numbers = reinterpret_cast<int *>(raw);
    int *same = (int *)raw;
    int *offset = (int *)&raw[4];
    for (int i = 0; i < 4; i++) numbers[i] = i + 1;
    *out = sum(same, 4) + *offset + first<int>() + outer[3] + *(outer + 1);
}
int main() {
    int out = 0;
    k<<<1, 1, 16>>>(&out);
    std::printf("%d\n", out);
}
"#;
    prints("shared", source, "k[1,1,1|1|16] 19\n");
}

#[test]
fn messages_name_the_users_line() {
    let source = "__global__ void k(int *a) { *a = 1; }\nint main() {\n  k<<<1,\n    1>>>(\"text\");\n  int x = undeclared;\n}\n";
    for compiler in compilers() {
        let folder = Folder::new(&format!("messages-{compiler}"));
        let out = compile(compiler, folder.path(), source);
        let text = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(!out.status.success());
        assert!(text.contains("user.hip.cpp:5:"), "{compiler}: {text}");
        assert!(text.contains("user.hip.cpp:3:") || text.contains("user.hip.cpp:4:"), "{compiler}: {text}");
    }
}
