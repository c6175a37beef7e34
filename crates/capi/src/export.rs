//! The macro that the generated lists are written in.

/// Exports functions. One line an operation and type:
/// `form [name ...] (parameters) -> result => implementation;` where the form says how the implementation
/// learns the context: `plain` has none, `default` uses the default one, `ctx` has it as first parameter. A
/// name is `"name"`, or `{ "name" "twin" }`, where a tool may define the name and call the twin.
macro_rules! export {
    ($($form:ident [$($name:tt)+] $params:tt -> $result:ty => $body:path;)*) => {
        $($(
            crate::export::export_one!($form $name $params -> $result => $body);
        )+)*
    };
}

/// Exports one function that is an implementation with its name, and perhaps the default context, filled in.
macro_rules! export_one {
    ($form:ident { $name:literal $twin:literal } $params:tt -> $result:ty => $body:path) => {
        const _: () = {
    crate::export::export_as!($form $name $twin $params -> $result => $body);
            crate::export::public_name!($name = exported);
        };
    };
    ($form:ident $name:literal $params:tt -> $result:ty => $body:path) => {
        const _: () = {
    crate::export::export_as!($form $name $name $params -> $result => $body);
        };
    };
}

/// The function that the symbol `$symbol` is; errors name it `$name`.
macro_rules! export_as {
    (plain $name:literal $symbol:literal ($($arg:ident: $ty:ty),*) -> $result:ty => $body:path) => {
        #[unsafe(export_name = $symbol)]
        unsafe extern "C" fn exported($($arg: $ty),*) -> $result {
            // SAFETY: the caller's promises, which the header states; a literal with its NUL.
            unsafe { $body($($arg,)* crate::name::Name::new(concat!($name, "\0").as_ptr().cast())) }
        }
    };
    (default $name:literal $symbol:literal ($($arg:ident: $ty:ty),*) -> $result:ty => $body:path) => {
        #[unsafe(export_name = $symbol)]
        unsafe extern "C" fn exported($($arg: $ty),*) -> $result {
            // SAFETY: as above.
            unsafe {
                $body($($arg,)* Ctx::DEFAULT, crate::name::Name::new(concat!($name, "\0").as_ptr().cast()))
            }
        }
    };
    (ctx $name:literal $symbol:literal ($($arg:ident: $ty:ty),*) -> $result:ty => $body:path) => {
        #[unsafe(export_name = $symbol)]
        unsafe extern "C" fn exported(ctx: Ctx $(, $arg: $ty)*) -> $result {
            // SAFETY: as above.
            unsafe { $body($($arg,)* ctx, crate::name::Name::new(concat!($name, "\0").as_ptr().cast())) }
        }
    };
}

/// Makes `$name` a jump to `$function`. The section is by what the library knows its own names
/// ([`crate::front`]), and by what `cargo xtask install` knows those that it makes weak in the archive.
macro_rules! public_name {
    ($name:literal = $function:ident) => {
        #[unsafe(naked)]
        #[unsafe(export_name = $name)]
        #[unsafe(link_section = "dushmem_names")]
        unsafe extern "C" fn public() {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!("jmp {}", sym $function);
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!("b {}", sym $function);
        }
    };
}

/// Exports functions of `c/longdouble.c`, which Rust cannot declare: the name is a jump to them, so the
/// arguments stay where C put them.
macro_rules! export_c {
    ($($name:tt = $function:ident;)*) => {$(
        const _: () = {
            unsafe extern "C" {
                fn $function();
            }
            crate::export::export_c_one!($name $function);
        };
    )*};
}

/// One function of these.
macro_rules! export_c_one {
    ({ $name:literal $twin:literal } $function:ident) => {
        crate::export::public_name!($name = $function);
        crate::export::export_c_one!($twin $function);
    };
    ($name:literal $function:ident) => {
        #[unsafe(naked)]
        #[unsafe(export_name = $name)]
        unsafe extern "C" fn exported() {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!("jmp {}", sym $function);
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!("b {}", sym $function);
        }
    };
}

pub(crate) use {export, export_as, export_c, export_c_one, export_one, public_name};
