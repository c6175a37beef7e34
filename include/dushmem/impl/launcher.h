// What dushcc writes in the place of `kernel<<<...>>>(arguments)` and `extern __shared__ T name[]`.
//
//   k<<<g, b, s, st>>>(x, 0)      launcher("k", [=](auto f) -> decltype(f(k)) { return f(k); },
//                                          [=](auto... a) { k(a...); }, config(g, b, s, st))(x, literal_zero())
//   extern __shared__ T name[];   auto &name = dynamic_shared_array<T>();
//
// The arguments are copied when the launch is made, as the language says; the kernel runs later. The lambda
// leaves argument deduction, conversions, default arguments and overloads to the call of the kernel itself. The
// other lambda tells the kernel's address where its name alone, or with the types of the arguments, has one.
#ifndef DUSHMEM_IMPL_LAUNCHER_H
#define DUSHMEM_IMPL_LAUNCHER_H

#include <cstddef>
#include <type_traits>
#include <utility>

namespace dushmem {
namespace emu {

// A literal 0 or NULL among the arguments of a launch: a null pointer or a number, as the kernel wants it.
struct literal_zero {};

namespace impl {

// Bit `index` of `mask` says that the zero with this index is a pointer.
template <std::size_t mask, std::size_t index, class T> constexpr auto choose(T value) {
    if constexpr (!std::is_same_v<T, literal_zero>)
        return value;
    else if constexpr (((mask >> index) & 1) != 0)
        return nullptr;
    else
        return 0;
}

template <std::size_t mask, class F, class Indices, class... A> struct accepts;
template <std::size_t mask, class F, std::size_t... i, class... A>
struct accepts<mask, F, std::index_sequence<i...>, A...>
    : std::is_invocable<F, decltype(choose<mask, i>(std::declval<A>()))...> {};

// The first choice, numbers before pointers, with which the kernel can be called. Where there is none the
// numbers are taken, so that the compiler explains what is wrong with the call.
template <std::size_t mask, class F, class... A> constexpr std::size_t find_mask() {
    using indices = std::index_sequence_for<A...>;
    constexpr std::size_t zeros = (std::size_t{0} | ... | std::size_t{std::is_same_v<A, literal_zero>});
    if constexpr (zeros == 0 || accepts<mask, F, indices, A...>::value || sizeof...(A) > 12)
        return mask;
    else if constexpr ((mask >> sizeof...(A)) != 0)
        return 0;
    else
        return find_mask<mask + 1, F, A...>();
}

// What the first lambda of a launch is called with: takes the address of the only kernel of the name, or of
// the one that takes exactly these arguments.
struct located {
    const void *kernel;
};
struct only_kernel {
    template <class... P> located operator()(void (*kernel)(P...)) const {
        return {reinterpret_cast<const void *>(kernel)};
    }
};
template <class... A> struct kernel_taking {
    located operator()(void (*kernel)(A...)) const { return {reinterpret_cast<const void *>(kernel)}; }
};

// For launches that don't tell it.
struct unknown_kernel {};

template <class F, class Find> struct launcher_of {
    const char *name;
    F kernel;
    Find find;
    config where;

    template <class... A> void operator()(A... arguments) && {
        run(std::index_sequence_for<A...>(), arguments...);
    }

  private:
    template <std::size_t... i, class... A> void run(std::index_sequence<i...>, A &...arguments) {
        [[maybe_unused]] constexpr std::size_t mask = find_mask<0, F, A...>();
        if constexpr (std::is_invocable_v<Find, only_kernel>)
            where.locate_kernel(find(only_kernel()).kernel);
        else if constexpr (std::is_invocable_v<Find, kernel_taking<decltype(choose<mask, i>(arguments))...>>)
            where.locate_kernel(find(kernel_taking<decltype(choose<mask, i>(arguments))...>()).kernel);
        ::dushmem::emu::launch(name, where, std::move(kernel), choose<mask, i>(std::move(arguments))...);
    }
};

} // namespace impl

template <class Find, class F>
impl::launcher_of<F, Find> launcher(const char *name, Find find, F kernel, config where) {
    return {name, std::move(kernel), std::move(find), where};
}

template <class F> impl::launcher_of<F, impl::unknown_kernel> launcher(const char *name, F kernel, config where) {
    return {name, std::move(kernel), {}, where};
}

// The same in the order of launch(), for macros.
template <class Find, class F>
impl::launcher_of<F, Find> launcher(const char *name, config where, Find find, F kernel) {
    return {name, std::move(kernel), std::move(find), where};
}

// The running block's dynamic shared memory as the array of unknown length that the declaration names.
template <class T> auto dynamic_shared_array() -> T (&)[] {
    T *first = dynamic_shared<T>();
    return *reinterpret_cast<T(*)[]>(first);
}

// A use of a name that is dynamic shared memory at namespace scope: the array. The name may as well be a local
// variable's that hides it, and then this changes nothing.
template <class T> auto shared_array(dynamic_shared<T> &) -> T (&)[] { return dynamic_shared_array<T>(); }
template <class T> constexpr T &&shared_array(T &&other) { return static_cast<T &&>(other); }

} // namespace emu
} // namespace dushmem

#endif
