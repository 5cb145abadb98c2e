//! Conversions from one format to another and back, for tables that both can store.

use arrow_array::RecordBatch;
use hypostyle::formats::{self, Format};
use hypostyle::{ReadOptions, WriteOptions};
use hypostyle_testkit::batches::{self, Features};
use hypostyle_testkit::content::Content;
use hypostyle_testkit::laws;
use proptest::prelude::*;

type Pair = (&'static dyn Format, &'static dyn Format);

fn pair_and_batch() -> impl Strategy<Value = (Pair, RecordBatch)> {
    let any_format = || prop::sample::select(formats::tables().collect::<Vec<_>>());
    (any_format(), any_format()).prop_flat_map(|(a, b)| {
        (Just((a, b)), batches::batch(Features::of(a).and(Features::of(b))))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    /// Converting A to B to A returns the same values and the same file.
    #[test]
    fn there_and_back_again(((a, b), batch) in pair_and_batch()) {
        let options = WriteOptions::default();
        let read = |format: &dyn Format, file: &[u8]| {
            laws::decode(format, file, &ReadOptions::default()).unwrap().0.remove(0)
        };
        let first = laws::encode(a, &batch, &options);
        let there = laws::encode(b, &read(a, &first), &options);
        let again = laws::encode(a, &read(b, &there), &options);
        prop_assert_eq!(Content::of(&[read(b, &there)]), Content::of(&[batch]));
        prop_assert_eq!(first, again);
    }
}
