//! Snippets and what becomes of them.
use super::super::rewrite::{Failure, Source};
use super::rewritten;

/// What the launch of `name` with this configuration and these arguments is written as.
fn launch(name: &str, config: &str, arguments: &str) -> String {
    let shown = name.split_whitespace().collect::<String>().replace("template", "template ");
    format!(
        "::dushmem::emu::launcher(\"{shown}\", [=](auto dushmem_f) -> decltype(dushmem_f({shown})) {{ return dushmem_f({shown}); }}, [=](auto... dushmem_a) {{ {name}(dushmem_a...); }}, ::dushmem::emu::config({config})){arguments}"
    )
}

#[track_caller]
fn is_launch(text: &str, name: &str, config: &str, arguments: &str) {
    assert_eq!(rewritten(text), launch(name, config, arguments), "{text}");
}

#[test]
fn names_of_every_form() {
    for name in [
        "k",
        "ns::k",
        "::ns::k",
        "a::b::k",
        "k<int>",
        "k<int, 4>",
        "ns::k<a::b<int>, (1 > 2)>",
        "(fp)",
        "(*fp)",
        "table[i]",
        "table[i][j + 1]",
        "object.kernel",
        "object->kernel",
        "this->table[2].kernel",
        "pick(1, 2)",
        "object.pick<int>(3)",
        "T::template k<int>",
        "S<int>::k",
        "k<&object::member>",
        "k<f(a->b)>",
        "(k<int>)",
    ] {
        is_launch(&format!("{name}<<<1, 2>>>(x)"), name, "1, 2", "(x)");
        assert_eq!(
            rewritten(&format!("if (c) {name}<<<1, 2>>>();")),
            format!("if (c) {};", launch(name, "1, 2", "()"))
        );
        assert_eq!(
            rewritten(&format!("else {name}<<<1, 2>>>();")),
            format!("else {};", launch(name, "1, 2", "()"))
        );
    }
}

#[test]
fn blanks_and_comments_may_stand_between() {
    is_launch("k <<< 1, 2 >>> (x)", "k ", " 1, 2 ", " (x)");
    is_launch("k<<<1, 2>>>\n  /* c */ (x)", "k", "1, 2", "\n  /* c */ (x)");
    is_launch("k<<<\n1, // grid >>>(\n2\n>>>(x)", "k", "\n1, // grid >>>(\n2\n", "(x)");
    is_launch("k << <1, 2 >> > (x)", "k ", "1, 2 ", " (x)");
}

#[test]
fn configurations_of_every_form() {
    for config in [
        "1, 2, 3, 4",
        "dim3(1, 2), dim3{3}",
        "{1, 2}, 64",
        "f(a > b), g[1 >> 2]",
        "1 << n, n >> 3",
        "n >> 1",
        "a < b ? 1 : 2, 3",
        "a > b, 4",
        "f<int>(3), 4",
        "f<g<int>>(3), 4",
        "f<g<h<int>>>(3), 4",
        "f<g<h<int>>>::value, 4",
        "[&] { return 3; }(), 4",
        "p->grid, p->block",
        "sizeof(\">>>(\"), ')'",
        "(n + 255) / 256, 256, 3 * sizeof(float), stream",
    ] {
        is_launch(&format!("k<<<{config}>>>(x, y)"), "k", config, "(x, y)");
    }
    is_launch("k<<<1, f<int>>>>(x)", "k", "1, f<int>", "(x)");
}

#[test]
fn arguments_stay_and_launches_nest() {
    is_launch(
        "k<<<1, 2>>>(a(1), \"x>>>\", R\"(<<<)\", b<c>(d))",
        "k",
        "1, 2",
        "(a(1), \"x>>>\", R\"(<<<)\", b<c>(d))",
    );
    let inner = launch("g", "3, 4", "(y)");
    is_launch(
        "k<<<1, 2>>>([&] { g<<<3, 4>>>(y); return 1; }())",
        "k",
        "1, 2",
        &format!("([&] {{ {inner}; return 1; }}())"),
    );
    is_launch("k<<<1, 2>>>(a,\n#ifdef X\n b,\n#endif\n c)", "k", "1, 2", "(a,\n#ifdef X\n b,\n#endif\n c)");
}

#[test]
fn literal_zeros_are_left_to_the_header() {
    let zero = "::dushmem::emu::literal_zero()";
    assert_eq!(
        rewritten("k<int><<<1, 2>>>(0, NULL, f(0), 1, a[0], nullptr, 0)"),
        format!(
            "::dushmem::emu::launcher(\"k<int>\", [=](auto dushmem_f) -> decltype(dushmem_f(k<int>)) {{ return dushmem_f(k<int>); }}, [=](auto... dushmem_a) -> decltype(static_cast<void>(k<int>(dushmem_a...))) \
             {{ k<int>(dushmem_a...); }}, ::dushmem::emu::config(1, 2))({zero}, {zero}, f(0), 1, a[0], nullptr, {zero})"
        )
    );
}

#[test]
fn macros_launch_too() {
    is_launch_in(
        "#define GO(...) k<<<g, b>>>(__VA_ARGS__)",
        "#define GO(...) ",
        "k",
        "g, b",
        "(__VA_ARGS__)",
    );
    is_launch_in(
        "#define GO \\\n  k<<<g, \\\n b>>> \\\n (1)\nx",
        "#define GO \\\n  ",
        "k",
        "g, \\\n b",
        " \\\n (1)\nx",
    );
    assert_eq!(
        rewritten("#define GO(kernel, n) kernel<<<n, 1>>>()"),
        "#define GO(kernel, n) ::dushmem::emu::launcher(#kernel, [=](auto dushmem_f) -> decltype(dushmem_f(kernel)) { return dushmem_f(kernel); }, [=](auto... dushmem_a) { kernel(dushmem_a...); }, \
         ::dushmem::emu::config(n, 1))()"
    );
}

#[track_caller]
fn is_launch_in(text: &str, before: &str, name: &str, config: &str, rest: &str) {
    assert_eq!(rewritten(text), format!("{before}{}", launch(name, config, rest)));
}

#[test]
fn labels_keep_their_colon() {
    assert_eq!(rewritten("case 1:k<<<1, 2>>>();"), format!("case 1: {};", launch("k", "1, 2", "()")));
}

#[test]
fn dynamic_shared_memory_in_functions() {
    let cases = [
        ("extern __shared__ int s[];", "int", "s"),
        ("extern __shared__ unsigned long long s[ ];", "unsigned long long", "s"),
        ("extern __shared__ __align__(16) unsigned char s[];", "unsigned char", "s"),
        ("extern __align__(16) __shared__ unsigned char s[];", "unsigned char", "s"),
        ("extern __shared__ alignas(alignof(T)) T s[];", "T", "s"),
        ("__shared__ extern float s[];", "float", "s"),
        ("extern volatile __shared__ int s[];", "volatile int", "s"),
        ("extern float __shared__ s[];", "float", "s"),
        ("extern __shared__ typename X<T, 3>::type s[];", "typename X<T,3>::type", "s"),
        ("extern __shared__ std::array<int, 3> s[];", "std::array<int,3>", "s"),
        ("extern __shared__ float *s[];", "float*", "s"),
        ("extern __shared__ float s[][4];", "float[4]", "s"),
        ("extern __shared__ __attribute__((aligned(8))) double s[];", "double", "s"),
    ];
    for (text, kind, name) in cases {
        let wanted =
            format!("[[maybe_unused]] auto &{name} = ::dushmem::emu::dynamic_shared_array<{kind}>();");
        assert_eq!(rewritten(&format!("void f() {{ {text} }}")), format!("void f() {{ {wanted} }}"));
        assert_eq!(
            rewritten(&format!("namespace n {{ struct S {{ void f() const {{ if (x) {{ {text} }} }} }}; }}")),
            format!("namespace n {{ struct S {{ void f() const {{ if (x) {{ {wanted} }} }} }}; }}")
        );
    }
    assert_eq!(
        rewritten("void f() {\nextern __shared__ // c\n int s[];\n}"),
        "void f() {\n[[maybe_unused]] auto &s = ::dushmem::emu::dynamic_shared_array<int>()\n;\n}"
    );
}

#[test]
fn alignment_of_shared_variables() {
    for (text, wanted) in [
        ("__shared__ alignas(16) float s[8];", "alignas(16) __shared__  float s[8];"),
        ("static __shared__ alignas(T) int x;", "alignas(T) static __shared__  int x;"),
        ("__shared__ volatile alignas(f(1, 2)) int x;", "alignas(f(1,2)) __shared__ volatile  int x;"),
        ("alignas(8) __shared__ int x;", "alignas(8) __shared__ int x;"),
        ("__shared__ alignas(\n16) int x;", "alignas(16) __shared__ \n int x;"),
    ] {
        assert_eq!(rewritten(&format!("void f() {{ {text} }}")), format!("void f() {{ {wanted} }}"));
    }
}

#[test]
fn uses_of_shared_memory_from_outside() {
    let declared = "[[maybe_unused]] static ::dushmem::emu::dynamic_shared<int> s;";
    for (text, wanted) in [
        ("f(s, s); g(1, s + 1);", "f(@, @); g(1, @ + 1);"),
        ("p = (T *)s; q = cast<T *>(s);", "p = (T *)@; q = cast<T *>(@);"),
        ("auto *p = s; return s;", "auto *p = @; return @;"),
        // What works as it stands, and what isn't an expression.
        ("s[0] = &s[1] - a.s + b->s;", "s[0] = &s[1] - a.s + b->s;"),
        (
            "int s = 1, t; T *s; for (int i = 0, s = 1;;) {}",
            "int s = 1, t; T *s; for (int i = 0, s = 1;;) {}",
        ),
        ("int t, s;", "int t, s;"),
    ] {
        let wanted = wanted.replace('@', "::dushmem::emu::shared_array(s)");
        let text = format!("extern __shared__ int s[]; void k(int *s) {{ {text} }} int f(int, int s);");
        let wanted = format!("{declared} void k(int *s) {{ {wanted} }} int f(int, int s);");
        assert_eq!(rewritten(&text), wanted);
    }
}

#[test]
fn dynamic_shared_memory_elsewhere() {
    let wanted = "[[maybe_unused]] static ::dushmem::emu::dynamic_shared<int> s;";
    for (before, after) in
        [("", ""), ("namespace a::b { ", " }"), ("extern \"C\" { ", " }"), ("void f() {} ", "")]
    {
        assert_eq!(
            rewritten(&format!("{before}extern __shared__ int s[];{after}")),
            format!("{before}{wanted}{after}")
        );
    }
    assert_eq!(
        rewritten("#define SHARED(T, n) extern __shared__ T n[]"),
        "#define SHARED(T, n) [[maybe_unused]] auto &n = ::dushmem::emu::dynamic_shared_array<T>()"
    );
}

#[test]
fn what_only_looks_like_it_stays() {
    for text in [
        "// k<<<1, 2>>>(x)",
        "/* k<<<1, 2>>>(x)\n extern __shared__ int s[]; */",
        "const char *s = \"k<<<1, 2>>>(x)\";",
        "auto s = R\"x(k<<<1, 2>>>(x) )\" k<<<1,1>>>() )x\";",
        "template <class T> std::ostream &operator<<<T>(std::ostream &, T);",
        "friend X &operator<< <T>(X &, T);",
        "#error k<<<1, 2>>>(x)\n",
        "#if 0\n don't k<<<1 \n#endif\n",
        "#if 0\n k<<<1 \n#else\nint a;\n#endif\n",
        "<<<<<<< HEAD\n=======\n>>>>>>> branch\n",
        "A<B<C<int>>>(x);",
        "std::vector<std::vector<A<int>>> v;",
        "x = a << b >> c; y = a < b > c;",
        "__shared__ int s[32];",
        "extern int s[];",
        "extern int a; __shared__ int s[3];",
        "int n = 1'000'000; // isn't k<<<\n",
        "#define __shared__ static\n",
        "#include <a/<<<b>\n",
    ] {
        assert_eq!(rewritten(text), text);
    }
}

#[test]
fn line_structure_is_kept() {
    let text =
        "int a;\nk\n  // one\n<<<\n1,\n2 // two\n>>>\n(\n0,\n1);\nextern\n__shared__\nint\ns[];\nint b;\n";
    let lines = |text: &str| text.matches('\n').count();
    let found = rewritten(text);
    assert_eq!(lines(&found), lines(text), "{found}");
    let line_of = |text: &str, word: &str| lines(&text[..text.find(word).expect("there")]);
    assert_eq!(line_of(&found, "int b"), line_of(text, "int b"));
}

#[test]
fn failures_name_their_line() {
    let failure = |text: &str| Source::new(text.as_bytes()).edits().map(|edits| edits.len()).unwrap_err();
    let open = "`<<<` opens a launch, but no `>>>(` closes it";
    for (text, line) in
        [("\n\nk<<<1, 2;\n", 3), ("k<<<1, 2>>", 1), ("f() {\n k<<<(1, 2>>>(x);\n}", 2), ("k<<<1, 2>>> x", 1)]
    {
        assert_eq!(failure(text), Failure { line, message: open }, "{text}");
    }
    assert_eq!(failure("\nk<<<>>>(x);").line, 2);
    assert_eq!(failure("\na << < k<<<1,\n2>>>(x)").line, 3);
    assert_eq!(failure("void f() {\nextern __shared__ int a[], b[]; }").line, 2);
    assert_eq!(failure("#define X k<<<1, 2\n>>>(x)").line, 1);
}

#[test]
fn kernels_launched_by_address_are_noted_down() {
    use super::super::{register, rewrite::apply};
    let noted = |text: &str| {
        let source = Source::new(text.as_bytes());
        String::from_utf8(apply(text.as_bytes(), register::edits(&source))).expect("edits keep the encoding")
    };
    let note = |name: &str| {
        format!(" static const ::dushmem::emu::registration dushmem_registered_{name}{{{name}, \"{name}\"}};")
    };
    let one = "namespace n { extern \"C\" { static __global__ __launch_bounds__(f(1), 2) void one(int a) noexcept { if (a) { } }";
    assert_eq!(noted(&format!("{one} }} }}")), format!("{one}{} }} }}", note("one")));
    for text in [
        "__global__ void only_declared(int a);",
        "template <class T> __global__ void of_any(T a) {}",
        "__global__ void twice(int a) {} __global__ void twice(float a) {}",
        "struct S { __global__ void within(int a) {} };",
        "// __global__ void text() {}\n",
        "#define K(name) __global__ void name() {}\n",
    ] {
        assert_eq!(noted(text), text);
    }
    let calls = |text: &str| register::launches_by_address(&Source::new(text.as_bytes()));
    assert!(calls("cudaLaunchKernel((void *)k, 1, 1, 0)") && calls("dushmemx_collective_launch(f)"));
    assert!(calls("dushmemx_collective_launch_query_gridsize(f)"));
    assert!(!calls("k<<<1, 2>>>(); // hipLaunchKernel"));
}
