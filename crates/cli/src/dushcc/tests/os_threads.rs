//! Shared variables where GPU threads are OS threads.
use super::super::rewrite::{Failure, Source};
use super::{rewritten, rewritten_for_os_threads};

fn variable(members: &str, name: &str) -> String {
    format!(
        "[[maybe_unused]] auto &{name} = ::dushmem::emu::block_shared([] {{ struct dushmem_shared {{ {members}; }}; \
         return static_cast<dushmem_shared *>(nullptr); }}()).{name}"
    )
}

#[test]
fn in_functions() {
    for (text, members, names) in [
        ("__shared__ int a;", "int a", &["a"][..]),
        ("static __shared__ float tile[16][N + 1];", "float tile[16][N+1]", &["tile"]),
        ("__shared__ volatile int flag;", "volatile int flag", &["flag"]),
        ("volatile __shared__ int flag;", "volatile int flag", &["flag"]),
        ("int __shared__ a;", "int a", &["a"]),
        ("__shared__ __align__(16) char s[64];", "__align__(16)char s[64]", &["s"]),
        ("__align__(16) __shared__ char s[64];", "__align__(16)char s[64]", &["s"]),
        ("__shared__ alignas(8) T s[n];", "alignas(8)T s[n]", &["s"]),
        ("__shared__ typename Sum<T, 32>::Storage s;", "typename Sum<T,32>::Storage s", &["s"]),
        ("__shared__ std::array<int, (2 > 1)> s;", "std::array<int,(2>1)>s", &["s"]),
        ("__shared__ unsigned long long a, b[2];", "unsigned long long a,b[2]", &["a", "b"]),
        ("__shared__ float *p, q;", "float*p,q", &["p", "q"]),
        ("__shared__ struct { int x, y; } both;", "struct{int x,y;}both", &["both"]),
    ] {
        let wanted: Vec<String> = names.iter().map(|name| variable(members, name)).collect();
        assert_eq!(
            rewritten_for_os_threads(&format!("void f() {{ {text} }}")),
            format!("void f() {{ {}; }}", wanted.join("; ")),
            "{text}"
        );
        // In the other mode the macro __shared__ is a storage class, behind which C++ wants no attribute.
        let plain = if text.contains("alignas") { "alignas(8) __shared__  T s[n];" } else { text };
        assert_eq!(rewritten(text), plain);
    }
}

#[test]
fn lines_stay_where_they_are() {
    let text = "void f() {\n  __shared__ // c\n  int\n  a;\n}";
    let wanted = format!("void f() {{\n  {}\n\n;\n}}", variable("int a", "a"));
    assert_eq!(rewritten_for_os_threads(text), wanted);
}

#[test]
fn outside_of_functions_and_in_macros() {
    let object = "struct dushmem_shared_a { int a[4]; }; [[maybe_unused]] static \
                  ::dushmem::emu::block_shared_member<&dushmem_shared_a::a> a;";
    assert_eq!(rewritten_for_os_threads("__shared__ int a[4];"), object);
    assert_eq!(
        rewritten_for_os_threads("namespace n { __shared__ int a[4]; }"),
        format!("namespace n {{ {object} }}")
    );
    let body = variable("T name[n]", "name");
    assert_eq!(
        rewritten_for_os_threads("#define S(T, name, n) __shared__ T name[n]\nvoid f() {}"),
        format!("#define S(T, name, n) {body}\nvoid f() {{}}")
    );
    assert_eq!(rewritten_for_os_threads("#define __shared__ x\n"), "#define __shared__ x\n");
    // Dynamic shared memory is what it is elsewhere.
    let text = "void f() { extern __shared__ int s[]; }";
    assert_eq!(rewritten_for_os_threads(text), rewritten(text));
}

#[test]
fn a_declaration_without_a_name() {
    let source = Source::new(b"void f() {\n__shared__ ;\n}").os_threads(true);
    let message = "no name is found in this `__shared__` declaration; declare one plain variable or array";
    assert_eq!(source.edits().map(drop), Err(Failure { line: 2, message }));
}
