//! Compiles C code for the feature `xz`; does nothing without it.
#![expect(clippy::print_stdout, reason = "Cargo reads the standard output of build scripts")]

#[cfg(feature = "xz")]
mod xz_encoder;

fn main() {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rustc-check-cfg=cfg(fast_xz_encoder)");
    #[cfg(feature = "xz")]
    xz_encoder::build();
}
