//! How a function gets its exported name. Exports nothing itself.
//!
//! On Windows every export is prefixed: std itself imports `ws2_32`, and one link knows a name
//! once. Elsewhere only names that the C library has are.

/// Exports functions under their specified names.
macro_rules! export {
    ($($(#[$meta:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block)*) => {$(
        $(#[$meta])*
        #[allow(non_snake_case, reason = "the specified name")]
        #[cfg_attr(not(windows), unsafe(no_mangle))]
        #[cfg_attr(windows, unsafe(export_name = concat!("wirestamp_win32_", stringify!($name))))]
        pub unsafe extern "system" fn $name($($argument: $type),*) $(-> $result)? $body
    )*};
}

/// Exports functions whose names are the C library's as well: with the prefix everywhere.
macro_rules! export_prefixed {
    ($($(#[$meta:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block)*) => {$(
        $(#[$meta])*
        #[allow(non_snake_case, reason = "the specified name")]
        #[unsafe(export_name = concat!("wirestamp_win32_", stringify!($name)))]
        pub unsafe extern "system" fn $name($($argument: $type),*) $(-> $result)? $body
    )*};
}
