//! The macro that the generated lists are written in.

/// Exports functions. One line an operation and type:
/// `form ["name" ...] (parameters) -> result => implementation;` where the form says how the implementation
/// learns the context: `plain` has none, `default` uses the default one, `ctx` has it as first parameter.
macro_rules! export {
    ($($form:ident [$($name:literal)+] $params:tt -> $result:ty => $body:path;)*) => {
        $($(
            crate::export::export_one!($form $name $params -> $result => $body);
        )+)*
    };
}

/// Exports one function that is an implementation with its name, and perhaps the default context, filled in.
macro_rules! export_one {
    (plain $name:literal ($($arg:ident: $ty:ty),*) -> $result:ty => $body:path) => {
        const _: () = {
            #[unsafe(export_name = $name)]
            unsafe extern "C" fn exported($($arg: $ty),*) -> $result {
                // SAFETY: the caller's promises, which the header states; a literal with its NUL.
                unsafe { $body($($arg,)* crate::name::Name::new(concat!($name, "\0").as_ptr().cast())) }
            }
        };
    };
    (default $name:literal ($($arg:ident: $ty:ty),*) -> $result:ty => $body:path) => {
        const _: () = {
            #[unsafe(export_name = $name)]
            unsafe extern "C" fn exported($($arg: $ty),*) -> $result {
                // SAFETY: as above.
                unsafe {
                    $body($($arg,)* Ctx::DEFAULT, crate::name::Name::new(concat!($name, "\0").as_ptr().cast()))
                }
            }
        };
    };
    (ctx $name:literal ($($arg:ident: $ty:ty),*) -> $result:ty => $body:path) => {
        const _: () = {
            #[unsafe(export_name = $name)]
            unsafe extern "C" fn exported(ctx: Ctx $(, $arg: $ty)*) -> $result {
                // SAFETY: as above.
                unsafe { $body($($arg,)* ctx, crate::name::Name::new(concat!($name, "\0").as_ptr().cast())) }
            }
        };
    };
}

/// Exports functions of `c/longdouble.c`, which Rust cannot declare: the name is a jump to them, so the
/// arguments stay where C put them.
macro_rules! export_c {
    ($($name:literal = $function:ident;)*) => {$(
        const _: () = {
            unsafe extern "C" {
                fn $function();
            }

            #[unsafe(naked)]
            #[unsafe(export_name = $name)]
            unsafe extern "C" fn exported() {
                #[cfg(target_arch = "x86_64")]
                core::arch::naked_asm!("jmp {}", sym $function);
                #[cfg(target_arch = "aarch64")]
                core::arch::naked_asm!("b {}", sym $function);
            }
        };
    )*};
}

pub(crate) use {export, export_c, export_one};
