//! Builds the shared library from the same sources. Cargo has no stable way to depend on a
//! package's cdylib. The library has no dependencies, so one call of the compiler suffices.

use std::env::{var, var_os};
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rustc-check-cfg=cfg(phaseflow_cdylib)");
    let target = var("TARGET").unwrap_or_default();
    let library = PathBuf::from(var_os("OUT_DIR").unwrap_or_default()).join("libphaseflow_preload.so");
    if !target.contains("-linux-gnu") || !target.contains("64") {
        if let Err(error) = std::fs::write(&library, []) {
            println!("cargo::error=cannot write {}: {error}", library.display());
        }
        return;
    }
    let mut rustc = Command::new(var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--crate-name", "phaseflow_preload", "--crate-type", "cdylib", "--edition", "2024"]);
    rustc.args(["--cfg", "phaseflow_cdylib", "--cap-lints", "allow", "--target", &target]);
    rustc.args(["-C", "opt-level=3", "-C", "codegen-units=1", "-C", "lto=fat", "-C", "panic=abort"]);
    rustc.args(["-C", "strip=symbols"]);
    if let Some(linker) = var_os("RUSTC_LINKER") {
        let mut option = std::ffi::OsString::from("linker=");
        option.push(linker);
        rustc.arg("-C").arg(option);
    }
    rustc.arg("-o").arg(&library).arg("src/lib.rs");
    match rustc.status() {
        Ok(status) if status.success() => {}
        Ok(status) => println!("cargo::error=building the library to preload: rustc ended with {status}"),
        Err(error) => println!("cargo::error=building the library to preload: {error}"),
    }
}
