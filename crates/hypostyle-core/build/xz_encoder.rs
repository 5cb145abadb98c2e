//! Compiles liblzma's encoder for machines with fast unaligned access.
//!
//! `liblzma-sys` compiles liblzma without its configure script, and therefore without
//! `TUKLIB_FAST_UNALIGNED_ACCESS`: the match finder compares bytes one by one, and encoding takes
//! up to three times as long. A crate cannot set the C flags of a dependency. So this script
//! compiles the encoder once more, from the sources that `liblzma-sys` ships, with the flag and
//! with a prefix before every symbol; the library that other crates link stays as it is.
//!
//! If anything is missing or unexpected, the script compiles nothing, and the encoder of
//! `liblzma-sys` is used: same bytes, more time. docs/decisions/0008-liblzma-flags.md has the
//! reasons.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The encoder: all that `lzma_raw_encoder` and `lzma_easy_encoder` need, below `src/liblzma`.
const SOURCES: [&str; 30] = [
    "check/check.c",
    "check/crc32_fast.c",
    "check/crc64_fast.c",
    "common/block_encoder.c",
    "common/block_header_encoder.c",
    "common/block_util.c",
    "common/common.c",
    "common/easy_encoder.c",
    "common/easy_preset.c",
    "common/filter_common.c",
    "common/filter_encoder.c",
    "common/filter_flags_encoder.c",
    "common/index.c",
    "common/index_encoder.c",
    "common/stream_encoder.c",
    "common/stream_flags_common.c",
    "common/stream_flags_encoder.c",
    "common/vli_encoder.c",
    "common/vli_size.c",
    "delta/delta_common.c",
    "delta/delta_encoder.c",
    "lz/lz_encoder.c",
    "lz/lz_encoder_mf.c",
    "lzma/fastpos_table.c",
    "lzma/lzma2_encoder.c",
    "lzma/lzma_encoder.c",
    "lzma/lzma_encoder_optimum_fast.c",
    "lzma/lzma_encoder_optimum_normal.c",
    "lzma/lzma_encoder_presets.c",
    "rangecoder/price_table.c",
];

/// Headers that define tables with external linkage.
const TABLES: [&str; 5] = [
    "check/crc32_table_be.h",
    "check/crc32_table_le.h",
    "check/crc64_table_be.h",
    "check/crc64_table_le.h",
    "lz/lz_encoder_hash_table.h",
];

/// Folders with headers, below `src/liblzma`.
const INCLUDES: [&str; 8] =
    ["api", "check", "common", "delta", "lz", "lzma", "rangecoder", "simple"];

/// Filters and checks whose sources are not in [`SOURCES`].
const LEFT_OUT: [&str; 9] = [
    "HAVE_CHECK_SHA256",
    "HAVE_ENCODER_ARM",
    "HAVE_ENCODER_ARM64",
    "HAVE_ENCODER_ARMTHUMB",
    "HAVE_ENCODER_IA64",
    "HAVE_ENCODER_POWERPC",
    "HAVE_ENCODER_RISCV",
    "HAVE_ENCODER_SPARC",
    "HAVE_ENCODER_X86",
];

/// The functions that `src/compress/xz/encoder.rs` calls.
const ENTRIES: [&str; 4] = ["lzma_code", "lzma_easy_encoder", "lzma_end", "lzma_raw_encoder"];

/// Processors for which liblzma's configure script assumes fast unaligned access. On others it
/// asks the compiler; there, the encoder of `liblzma-sys` is used.
const FAST: [&str; 5] = ["aarch64", "powerpc", "powerpc64", "x86", "x86_64"];

/// The name of the static library.
const LIBRARY: &str = "hypostyle_xz";

/// Compiles the encoder and announces it to Cargo, or does nothing.
pub(crate) fn build() {
    let Some(compiled) = compile() else { return };
    println!("cargo::rustc-cfg=fast_xz_encoder");
    println!("cargo::rustc-env=HYPOSTYLE_XZ_PREFIX={}", compiled.prefix);
    println!("cargo::rustc-link-search=native={}", compiled.folder.display());
    println!("cargo::rustc-link-lib=static={LIBRARY}");
}

/// A library with the encoder.
struct Compiled {
    /// The folder of the library.
    folder: PathBuf,
    /// What every symbol of the library begins with.
    prefix: String,
}

/// Compiles the encoder; `None` if that of `liblzma-sys` must do.
fn compile() -> Option<Compiled> {
    let target = env::var("CARGO_CFG_TARGET_ARCH").ok()?;
    if !FAST.contains(&target.as_str()) {
        return None;
    }
    // Not set if liblzma-sys links the library of the system, which distributions configure.
    let api = PathBuf::from(env::var_os("DEP_LZMA_INCLUDE")?);
    let liblzma = api.parent()?;
    let shared = liblzma.parent()?.join("common");
    let config = liblzma.ancestors().nth(3)?.join("config.h");
    let sources: Vec<PathBuf> = SOURCES.iter().map(|name| liblzma.join(name)).collect();
    if !config.is_file() || !sources.iter().all(|source| source.is_file()) {
        return None;
    }

    // Two versions of this crate may meet in one program.
    let prefix = symbol(&[&env::var("CARGO_PKG_NAME").ok()?, &env::var("CARGO_PKG_VERSION").ok()?]);
    let tables = TABLES.iter().map(|name| liblzma.join(name));
    let names = external_names(sources.iter().cloned().chain(tables))?;
    let folder = PathBuf::from(env::var_os("OUT_DIR")?);
    let headers = folder.join("include");
    fs::create_dir_all(&headers).ok()?;
    fs::write(headers.join("config.h"), config_header(&config, &names, &prefix)).ok()?;

    let mut build = cc::Build::new();
    // What liblzma-sys sets, and the flag. Optimised in debug builds too, without assertions:
    // they check every match, and tests compress a great deal.
    build
        .cargo_metadata(false)
        .cargo_warnings(false)
        .warnings(false)
        .opt_level(3)
        .define("HAVE_CONFIG_H", "1")
        .define("NDEBUG", None)
        .define("TUKLIB_FAST_UNALIGNED_ACCESS", "1")
        .include(&headers)
        .include(shared)
        .includes(INCLUDES.iter().map(|name| liblzma.join(name)))
        .files(&sources);
    if env::var("CARGO_CFG_TARGET_ENDIAN").is_ok_and(|endian| endian == "big") {
        build.define("WORDS_BIGENDIAN", None);
    }
    if env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env != "msvc") {
        build.flag("-std=c99");
    }
    for name in ["CC", "CFLAGS", "AR"] {
        println!("cargo::rerun-if-env-changed={name}");
        for scope in ["HOST", "TARGET"] {
            println!("cargo::rerun-if-env-changed={scope}_{name}");
        }
    }
    build.try_compile(LIBRARY).ok()?;
    let library = fs::read(folder.join(format!("lib{LIBRARY}.a"))).ok()?;
    is_private(&library, &prefix).then_some(Compiled { folder, prefix })
}

/// Joins words into the beginning of a C identifier.
fn symbol(words: &[&str]) -> String {
    let mut symbol = String::new();
    for word in words {
        symbol.extend(word.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }));
        symbol.push('_');
    }
    symbol
}

/// Finds the functions and tables that C sources define, as liblzma writes them: the name of a
/// function begins a line, and a table begins with `const`. Static functions are among them,
/// which does no harm; macros for attributes, which begin lines too, are not.
fn external_names(sources: impl Iterator<Item = PathBuf>) -> Option<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for source in sources {
        let text = fs::read_to_string(source).ok()?;
        for line in text.lines() {
            let (from, opening) =
                if line.starts_with("const ") { (line.find("lzma_"), '[') } else { (Some(0), '(') };
            let word = from.and_then(|from| line.get(from..)).unwrap_or_default();
            let len = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let (name, rest) = word.split_at(len.unwrap_or(word.len()));
            let is_macro = name.starts_with("lzma_attr");
            if name.starts_with("lzma_") && rest.starts_with(opening) && !is_macro {
                names.insert(name.to_owned());
            }
        }
    }
    Some(names)
}

/// Writes the `config.h` that the sources include before anything else: that of `liblzma-sys`,
/// less what is left out, and the new names.
fn config_header(config: &Path, names: &BTreeSet<String>, prefix: &str) -> String {
    let mut header = format!("#include \"{}\"\n", config.display());
    header.extend(LEFT_OUT.iter().map(|name| format!("#undef {name}\n")));
    header.extend(names.iter().map(|name| format!("#define {name} {prefix}{name}\n")));
    header
}

/// Whether the symbols of a static library all have the prefix, and the entries are among them.
///
/// The first member of a library lists its symbols, each with a zero byte at its end.
fn is_private(library: &[u8], prefix: &str) -> bool {
    let Some((header, rest)) = library.get(8..).and_then(|rest| rest.split_at_checked(60)) else {
        return false;
    };
    let size = header.get(48..58).and_then(|size| str::from_utf8(size).ok());
    let Some(index) = size.and_then(|size| rest.get(..size.trim().parse().ok()?)) else {
        return false;
    };
    // GNU's list begins with a count and as many offsets, whose bytes can look like text.
    let names_start = match (header.starts_with(b"/ "), index.first_chunk()) {
        (true, Some(count)) => (u32::from_be_bytes(*count) as usize).saturating_add(1) * 4,
        _ => 0,
    };
    let Some(index) = index.get(names_start..) else { return false };
    let words: Vec<&str> =
        index.split(|&byte| byte == 0).filter_map(|word| str::from_utf8(word).ok()).collect();
    // Some systems put an underscore before every symbol.
    let names = || words.iter().filter(|word| word.contains("lzma_"));
    names().all(|name| name.trim_start_matches('_').starts_with(prefix))
        && ENTRIES.iter().all(|entry| names().any(|name| name.ends_with(&format!("_{entry}"))))
}
