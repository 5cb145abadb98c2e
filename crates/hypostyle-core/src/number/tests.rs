//! Printing and both ways of reading, against each other.

use proptest::prelude::*;

use super::*;

fn printed(value: f64) -> String {
    let mut out = Vec::new();
    put_float(value, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn exact_takes_only_what_comes_back_the_same() {
    for good in ["0", "-1", "9223372036854775807", "-9223372036854775808", "10"] {
        assert!(exact_int(good.as_bytes()).is_some(), "{good}");
    }
    let no_int = [
        "",
        "-",
        "-0",
        "00501",
        "+5",
        "1_000",
        "9223372036854775808",
        " 5",
        "5 ",
        "1.0",
        "1e3",
        "99999999999999999999",
        "0x1",
        "٣",
    ];
    for bad in no_int {
        assert_eq!(exact_int(bad.as_bytes()), None, "{bad}");
    }
    for good in [
        "1.5",
        "-0.0",
        "0.0",
        "68000.25",
        "1e16",
        "1e-6",
        "0.00001",
        "5e-324",
        "1.7976931348623157e308",
        "0.30000000000000004",
        "NaN",
        "Infinity",
        "-Infinity",
    ] {
        let value = exact_float(good.as_bytes()).unwrap_or_else(|| panic!("{good}"));
        assert_eq!(printed(value), good);
    }
    for bad in [
        "1.50",
        "1",
        "1.",
        ".5",
        "1e3",
        "+1.5",
        "01.5",
        "-01.5",
        "1.5 ",
        "nan",
        "inf",
        "0.000001",
        "1e+16",
        "1E16",
        "00.5",
        "0.10000000000000001",
        "1.0e16",
        "10D",
        "5f",
        "0x1p3",
        "",
        "-",
        ".",
        "-.",
        "1..5",
        "1.5.",
        "infinity",
        "1000000000000000000000.0",
    ] {
        assert_eq!(exact_float(bad.as_bytes()).map(printed), None, "{bad}");
    }
}

#[test]
fn liberal_takes_what_people_call_numbers() {
    assert_eq!(liberal(b"+5"), Some(Liberal::Int(5)));
    assert_eq!(liberal(b" 00501 "), Some(Liberal::Int(501)));
    assert_eq!(liberal(b"1.50"), Some(Liberal::Float(1.5)));
    assert_eq!(liberal(b"1e3"), Some(Liberal::Float(1000.0)));
    assert_eq!(liberal(b"-inf"), Some(Liberal::Float(f64::NEG_INFINITY)));
    assert_eq!(liberal(b"+Infinity"), Some(Liberal::Float(f64::INFINITY)));
    assert_eq!(liberal(b"1e-400"), Some(Liberal::Float(0.0)));
    let no_number = [
        "",
        "-",
        "10D",
        "5f",
        "0x1p3",
        "1_000",
        "99999999999999999999",
        "two",
        "1e400",
        "-1.5e309",
        "+ 5",
        "--5",
        "1 2",
        "e5",
        "infinit",
        "in",
    ];
    for bad in no_number {
        assert_eq!(liberal(bad.as_bytes()), None, "{bad}");
    }
    assert_eq!(Liberal::Int((1 << 53) + 1).to_float(), None);
}

proptest! {
    #[test]
    fn every_float_is_read_back_exactly(bits: u64) {
        let value = f64::from_bits(bits);
        let text = printed(value);
        let back = exact_float(text.as_bytes()).expect("its own print");
        prop_assert!(back.to_bits() == bits || (back.is_nan() && value.is_nan()));
    }

    #[test]
    fn every_integer_is_read_back_exactly(value: i64) {
        let mut out = Vec::new();
        put_int(value, &mut out);
        prop_assert_eq!(&out, &value.to_string().into_bytes());
        prop_assert_eq!(exact_int(&out), Some(value));
    }

    /// The shortcut agrees with printing on all text that looks like a number.
    #[test]
    fn exact_means_exact(text in "-?[0-9]{0,20}\\.?[0-9]{0,20}(e-?[0-9]{1,3})?") {
        if let Some(value) = exact_float(text.as_bytes()) {
            prop_assert_eq!(printed(value), text);
        } else if let Ok(value) = text.parse::<f64>() {
            prop_assert_ne!(printed(value), text.clone());
        }
    }
}
