//! liblzma's encoder behind a safe interface.
//!
//! The functions are those of the copy that the build script compiles, or, where it compiles none, those
//! of `liblzma-sys`. Both write the same bytes (docs/decisions/0008-liblzma-flags.md).
#![expect(unsafe_code, reason = "a C library; `liblzma` wraps only the copy in `liblzma-sys`")]

use std::ffi::c_uint;
use std::ptr;

use liblzma_sys::{
    LZMA_CHECK_CRC64, LZMA_FILTER_DELTA, LZMA_FILTER_LZMA2, LZMA_FINISH, LZMA_MF_BT4, LZMA_MF_HC4,
    LZMA_MODE_FAST, LZMA_MODE_NORMAL, LZMA_OK, LZMA_RUN, LZMA_STREAM_END, LZMA_VLI_UNKNOWN,
    lzma_action, lzma_check, lzma_filter, lzma_options_lzma, lzma_ret, lzma_stream,
};

use crate::error::{Error, Result};

unsafe extern "C" {
    #[cfg_attr(fast_xz_encoder, link_name = concat!(env!("HYPOSTYLE_XZ_PREFIX"), "lzma_raw_encoder"))]
    fn lzma_raw_encoder(stream: *mut lzma_stream, filters: *const lzma_filter) -> lzma_ret;

    #[cfg_attr(fast_xz_encoder, link_name = concat!(env!("HYPOSTYLE_XZ_PREFIX"), "lzma_easy_encoder"))]
    fn lzma_easy_encoder(stream: *mut lzma_stream, preset: u32, check: lzma_check) -> lzma_ret;

    #[cfg_attr(fast_xz_encoder, link_name = concat!(env!("HYPOSTYLE_XZ_PREFIX"), "lzma_code"))]
    fn lzma_code(stream: *mut lzma_stream, action: lzma_action) -> lzma_ret;

    #[cfg_attr(fast_xz_encoder, link_name = concat!(env!("HYPOSTYLE_XZ_PREFIX"), "lzma_end"))]
    fn lzma_end(stream: *mut lzma_stream);
}

/// `lzma_options_delta`, which not every build of `liblzma-sys` declares. All zeros but for the
/// distance: differences of bytes, nothing reserved set.
#[repr(C)]
#[derive(Debug)]
struct DeltaOptions {
    kind: c_uint,
    distance: u32,
    reserved_ints: [u32; 4],
    reserved_pointers: [*mut (); 2],
}

/// The settings of the LZMA2 encoder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    /// Bytes of the dictionary.
    pub(super) dictionary: u32,
    /// Bits of the preceding byte that literals depend on.
    pub(super) lc: u32,
    /// Bits of the position that literals depend on.
    pub(super) lp: u32,
    /// Bits of the position that everything else depends on.
    pub(super) pb: u32,
    /// Whether to take hash chains and the fast mode, not a binary tree and the normal mode.
    pub(super) is_fast: bool,
    /// The length of a match from which on the search stops.
    pub(super) nice_len: u32,
    /// Steps of the search for a match; 0 lets liblzma choose.
    pub(super) depth: u32,
    /// The distance of the delta filter before LZMA2; 0 for no filter.
    pub(super) delta: u32,
}

/// An encoder of one stream.
pub(super) struct Encoder {
    stream: lzma_stream,
}

/// What one call of [`Encoder::encode`] did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// Bytes of the input that were consumed.
    pub(super) consumed: usize,
    /// Bytes of the output that were written.
    pub(super) written: usize,
    /// Whether the stream is complete.
    pub(super) is_finished: bool,
}

impl Encoder {
    /// Returns an encoder of LZMA2 data without a container.
    pub(super) fn raw(options: &Options) -> Result<Self> {
        // SAFETY: the type has integers and pointers only, and zeros are valid for them.
        let mut lzma: lzma_options_lzma = unsafe { std::mem::zeroed() };
        lzma.dict_size = options.dictionary;
        lzma.lc = options.lc;
        lzma.lp = options.lp;
        lzma.pb = options.pb;
        lzma.mode = if options.is_fast { LZMA_MODE_FAST } else { LZMA_MODE_NORMAL };
        lzma.mf = if options.is_fast { LZMA_MF_HC4 } else { LZMA_MF_BT4 };
        lzma.nice_len = options.nice_len;
        lzma.depth = options.depth;
        let mut delta = DeltaOptions {
            kind: 0,
            distance: options.delta,
            reserved_ints: [0; 4],
            reserved_pointers: [ptr::null_mut(); 2],
        };
        let lzma2 = lzma_filter { id: LZMA_FILTER_LZMA2, options: (&raw mut lzma).cast() };
        let delta = lzma_filter { id: LZMA_FILTER_DELTA, options: (&raw mut delta).cast() };
        let end = || lzma_filter { id: LZMA_VLI_UNKNOWN, options: ptr::null_mut() };
        let filters =
            if options.delta == 0 { [lzma2, end(), end()] } else { [delta, lzma2, end()] };
        Self::initialized(|stream| {
            // SAFETY: the stream is in its initial state. The filters end as they must, and both
            // they and the options outlive the call, in which liblzma copies and checks them.
            unsafe { lzma_raw_encoder(stream, filters.as_ptr()) }
        })
    }

    /// Returns an encoder that makes what `xz` makes with this preset, CRC-64 included.
    pub(super) fn preset(preset: u32) -> Result<Self> {
        Self::initialized(|stream| {
            // SAFETY: the stream is in its initial state.
            unsafe { lzma_easy_encoder(stream, preset, LZMA_CHECK_CRC64) }
        })
    }

    fn initialized(initialize: impl FnOnce(*mut lzma_stream) -> lzma_ret) -> Result<Self> {
        // SAFETY: zeros are the initial state of a stream, by `LZMA_STREAM_INIT` of liblzma.
        let stream: lzma_stream = unsafe { std::mem::zeroed() };
        let mut encoder = Self { stream };
        let status = initialize(&raw mut encoder.stream);
        if status == LZMA_OK { Ok(encoder) } else { Err(refused()) }
    }

    /// Encodes some of the input into some of the output.
    ///
    /// With `is_last`, no input follows: the same must be passed, less what is consumed, until the
    /// stream is finished.
    pub(super) fn encode(
        &mut self,
        input: &[u8],
        output: &mut [u8],
        is_last: bool,
    ) -> Result<Progress> {
        self.stream.next_in = input.as_ptr();
        self.stream.avail_in = input.len();
        self.stream.next_out = output.as_mut_ptr();
        self.stream.avail_out = output.len();
        let action = if is_last { LZMA_FINISH } else { LZMA_RUN };
        // SAFETY: the stream is initialized, and its buffers are the two slices. liblzma itself
        // refuses calls in a wrong order.
        let status = unsafe { lzma_code(&raw mut self.stream, action) };
        if status != LZMA_OK && status != LZMA_STREAM_END {
            return Err(refused());
        }
        Ok(Progress {
            consumed: input.len() - self.stream.avail_in,
            written: output.len() - self.stream.avail_out,
            is_finished: status == LZMA_STREAM_END,
        })
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        // SAFETY: the stream is initialized, or in its initial state, which is allowed too.
        unsafe { lzma_end(&raw mut self.stream) };
    }
}

pub(super) fn refused() -> Error {
    Error::invalid_argument("xz cannot compress: out of memory, or a setting that it lacks")
}

#[cfg(test)]
mod tests {
    use liblzma::stream::{Action, Check, Filters, LzmaOptions, MatchFinder, Mode, Stream};

    use super::*;

    /// Compresses with an encoder of ours, with little room for the output.
    fn encoded(mut encoder: Encoder, raw: &[u8]) -> Vec<u8> {
        let (mut rest, mut out, mut room) = (raw, Vec::new(), [0; 100]);
        loop {
            let progress = encoder.encode(rest, &mut room, true).unwrap();
            rest = &rest[progress.consumed..];
            out.extend_from_slice(&room[..progress.written]);
            if progress.is_finished {
                return out;
            }
        }
    }

    /// Compresses with an encoder of the crate `liblzma`.
    fn expected(mut stream: Stream, raw: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(2 * raw.len() + 1000);
        stream.process_vec(raw, &mut out, Action::Finish).unwrap();
        out
    }

    fn text() -> Vec<u8> {
        let mut state = 1_u32;
        let mut text = Vec::new();
        while text.len() < 300_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let word = ["error", "at", "warning", "of request ", "0x"][(state >> 24) as usize % 5];
            text.extend_from_slice(format!("{word} {}\n", state >> 20).as_bytes());
        }
        text
    }

    #[test]
    fn the_output_is_that_of_liblzma() {
        let text = text();
        for raw in [&text[..], &text[..1], &[0; 70_000]] {
            for (is_fast, nice_len, depth, delta) in
                [(true, 64, 24, 0), (false, 32, 0, 0), (false, 273, 0, 4), (false, 273, 512, 1)]
            {
                let mut lzma = LzmaOptions::new();
                lzma.dict_size(1 << 17)
                    .literal_context_bits(3)
                    .position_bits(2)
                    .mode(if is_fast { Mode::Fast } else { Mode::Normal })
                    .match_finder(if is_fast {
                        MatchFinder::HashChain4
                    } else {
                        MatchFinder::BinaryTree4
                    })
                    .nice_len(nice_len)
                    .depth(depth);
                let mut filters = Filters::new();
                if delta > 0 {
                    filters.delta_properties(&[u8::try_from(delta).unwrap() - 1]).unwrap();
                }
                let theirs = Stream::new_raw_encoder(filters.lzma2(&lzma)).unwrap();
                let options = Options {
                    dictionary: 1 << 17,
                    lc: 3,
                    lp: 0,
                    pb: 2,
                    is_fast,
                    nice_len,
                    depth,
                    delta,
                };
                let ours = Encoder::raw(&options).unwrap();
                assert!(encoded(ours, raw) == expected(theirs, raw), "{options:?}");
            }
            for preset in [0, 6, 9 | 1 << 31] {
                let theirs = Stream::new_easy_encoder(preset, Check::Crc64).unwrap();
                let ours = Encoder::preset(preset).unwrap();
                assert!(encoded(ours, raw) == expected(theirs, raw), "{preset}");
            }
        }
    }

    #[test]
    fn wrong_options_are_refused() {
        let options = Options {
            dictionary: 1 << 16,
            lc: 4,
            lp: 4,
            pb: 2,
            is_fast: false,
            nice_len: 32,
            depth: 0,
            delta: 0,
        };
        assert!(Encoder::raw(&options).is_err());
        assert!(Encoder::raw(&Options { lp: 0, delta: 257, ..options }).is_err());
        assert!(Encoder::preset(77).is_err());
    }

    /// Without the copy, encoding takes up to three times as long, and nothing else would tell.
    #[test]
    #[cfg(any(target_arch = "aarch64", target_arch = "x86", target_arch = "x86_64"))]
    fn the_fast_encoder_is_compiled() {
        let prefix = option_env!("HYPOSTYLE_XZ_PREFIX");
        assert!(
            prefix.is_some(),
            "the build script did not find the sources it knows in liblzma-sys"
        );
    }
}
