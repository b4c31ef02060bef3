//! Arithmetic compared with exact integers and the platform's doubles; parsing and printing of numbers.

use num_bigint::BigInt;
use proptest::prelude::*;

use super::*;

fn whole(number: &BigInt) -> Value {
    Value::integer(number.clone())
}

/// Integers around the sizes where their representation changes.
fn integers() -> impl Strategy<Value = BigInt> {
    prop_oneof![
        any::<i64>().prop_map(BigInt::from),
        (-3_i64..4).prop_map(BigInt::from),
        (0_u32..200, -2_i64..3, any::<bool>()).prop_map(|(bits, near, negative)| {
            let number = (BigInt::from(1) << bits) + near;
            if negative { -number } else { number }
        }),
    ]
}

fn floats() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        Just(0.0),
        Just(-0.0),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(f64::NAN),
        (-1_000_i32..1_000).prop_map(|halves| f64::from(halves) / 2.0),
    ]
}

/// The same number, in the representation for integers of its size.
fn exactly(got: Computed, expected: &BigInt) -> Result<(), TestCaseError> {
    prop_assert_eq!(got, Ok(whole(expected)));
    Ok(())
}

/// The same bits; all NaN are equal.
fn float_is(got: Computed, expected: f64) -> Result<(), TestCaseError> {
    prop_assert_eq!(got, Ok(Value::Float(expected)));
    Ok(())
}

proptest! {
    #[test]
    fn integers_are_exact(a in integers(), b in integers()) {
        let (x, y) = (whole(&a), whole(&b));
        exactly(add(&x, &y), &(&a + &b))?;
        exactly(sub(&x, &y), &(&a - &b))?;
        exactly(mul(&x, &y), &(&a * &b))?;
        exactly(neg(&x), &-&a)?;
        exactly(inc(&x), &(&a + 1))?;
        exactly(dec(&x), &(&a - 1))?;
        exactly(and(&x, &y), &(&a & &b))?;
        exactly(or(&x, &y), &(&a | &b))?;
        exactly(xor(&x, &y), &(&a ^ &b))?;
        exactly(not(&x), &!&a)?;
        if b == BigInt::ZERO {
            for divide in [div, quot, rem, modulo] {
                prop_assert_eq!(divide(&x, &y), Err(NumberError::DivisionByZero));
            }
        } else {
            exactly(quot(&x, &y), &(&a / &b))?;
            exactly(rem(&x, &y), &(&a % &b))?;
            let modulus = &a - &b * floor_of(&a, &b);
            exactly(modulo(&x, &y), &modulus)?;
        }
    }

    #[test]
    fn a_float_makes_all_floats(a in floats(), b in floats(), int in any::<i32>()) {
        let (x, y, n, m) = (Value::Float(a), Value::Float(b), Value::Int(i64::from(int)), f64::from(int));
        float_is(add(&x, &y), a + b)?;
        float_is(sub(&x, &n), a - m)?;
        float_is(mul(&n, &y), m * b)?;
        float_is(div(&x, &y), a / b)?;
        if int != 0 {
            float_is(div(&x, &n), a / m)?;
        }
    }

    #[test]
    fn bits_are_those_of_twos_complement(a in integers(), at in 0_u64..300) {
        let (x, n) = (whole(&a), Value::Int(i64::try_from(at).unwrap_or(0)));
        let bit = BigInt::from(1) << at;
        exactly(set_bit(&x, &n, Bit::Set), &(&a | &bit))?;
        exactly(set_bit(&x, &n, Bit::Clear), &(&a & !&bit))?;
        exactly(set_bit(&x, &n, Bit::Flip), &(&a ^ &bit))?;
        exactly(shift_left(&x, &n), &(&a << at))?;
        exactly(shift_right(&x, &n), &(&a >> at))?;
        prop_assert_eq!(test_bit(&x, &n), Ok(Value::Bool(&a & &bit != BigInt::ZERO)));
    }

    #[test]
    fn the_shortest_text_reads_back(float in any::<f64>().prop_filter("finite", |float| float.is_finite())) {
        let text = shortest(float);
        prop_assert_eq!(text.parse::<f64>().map(f64::to_bits), Ok(float.to_bits()));
        prop_assert!(text.contains('.'));
        prop_assert_eq!(parse_double(&text), Some(Value::Float(float)));
    }

    #[test]
    fn integers_of_64_bits_read_back(int in any::<i64>()) {
        prop_assert_eq!(parse_long(&int.to_string()), Some(Value::Int(int)));
    }

    #[test]
    fn rounding_moves_a_float_by_at_most_half_a_place(float in -1e6_f64..1e6, places in 0_u32..6) {
        let rounded = decimals(float, places);
        prop_assert!((rounded - float).abs() <= 0.500_000_1 * 10_f64.powi(-i32::try_from(places).unwrap_or(0)));
        prop_assert_eq!(decimals(rounded, places).to_bits(), rounded.to_bits());
    }
}

fn floor_of(a: &BigInt, b: &BigInt) -> BigInt {
    let quotient = a / b;
    let exact = &quotient * b == *a;
    if !exact && (a < &BigInt::ZERO) != (b < &BigInt::ZERO) { quotient - 1 } else { quotient }
}

#[test]
fn halves_are_rounded_away_from_zero() {
    let cases =
        [(0.125, 2, 0.13), (-0.125, 2, -0.13), (2.5, 0, 3.0), (0.375, 2, 0.38), (1.005, 2, 1.0), (3.3, 10, 3.3)];
    for (float, places, expected) in cases {
        assert!((decimals(float, places) - expected).abs() < f64::EPSILON, "{float} {places}");
    }
    assert!(decimals(f64::NAN, 2).is_nan());
    assert_eq!(fixed(0.000_488_281_25, 10), "0.0004882813");
}

#[test]
fn the_shortest_digits_are_rounded_as_text() {
    let cases = [
        (1_234_567.1, 10, "1234567.1000000000"),
        (1.005, 2, "1.01"),
        (2.675, 2, "2.68"),
        (-10.235, 2, "-10.24"),
        (2.5, 0, "3"),
        (0.49, 0, "0"),
        (-9.5, 0, "-10"),
        (0.4, 0, "0"),
        (9.995, 2, "10.00"),
        (99.95, 1, "100.0"),
        (-0.001, 2, "-0.00"),
        (1.0, 3, "1.000"),
        (7.0, 0, "7"),
        (1e20, 1, "100000000000000000000.0"),
        (1e-12, 10, "0.0000000000"),
        (0.1, 20, "0.10000000000000000000"),
    ];
    for (float, places, expected) in cases {
        assert_eq!(shortest_fixed(float, places), expected, "{float} {places}");
    }
}

#[test]
fn integers_beyond_the_limit_are_refused() {
    let largest = Value::integer((BigInt::from(1) << INTEGER_BITS.max) - 1);
    assert_eq!(inc(&largest), Err(NumberError::TooLarge));
    assert_eq!(add(&largest, &largest), Err(NumberError::TooLarge));
    assert_eq!(mul(&largest, &largest), Err(NumberError::TooLarge));
    assert_eq!(mul(&largest, &Value::Int(0)), Ok(Value::Int(0)));
    assert_eq!(shift_left(&Value::Int(1), &Value::Int(i64::MAX)), Err(NumberError::TooLarge));
    assert_eq!(shift_left(&Value::Int(0), &Value::Int(i64::MAX)), Ok(Value::Int(0)));
    assert_eq!(shift_right(&Value::Int(-5), &Value::Int(i64::MAX)), Ok(Value::Int(-1)));
    assert_eq!(set_bit(&Value::Int(0), &Value::Int(i64::MAX), Bit::Set), Err(NumberError::TooLarge));
    assert_eq!(set_bit(&Value::Int(-1), &Value::Int(i64::MAX), Bit::Set), Ok(Value::Int(-1)));
}

#[test]
fn integers_beyond_the_floats_still_divide() {
    let power = |bits: u32| Value::integer(BigInt::from(1) << bits);
    assert_eq!(div(&power(2_000), &power(1_998)), Ok(Value::Float(4.0)));
    assert_eq!(div(&power(1_998), &power(2_000)), Ok(Value::Float(0.25)));
    assert_eq!(div(&power(2_000), &Value::Int(3)), Ok(Value::Float(f64::INFINITY)));
    assert_eq!(div(&Value::Int(3), &power(2_000)), Ok(Value::Float(0.0)));
}

#[test]
fn special_floats_leave_nothing() {
    let special = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    for float in special {
        for divide in [quot, rem, modulo] {
            assert_eq!(divide(&Value::Float(float), &Value::Int(2)), Ok(Value::Float(f64::NAN)));
            assert_eq!(divide(&Value::Int(2), &Value::Float(float)), Ok(Value::Float(f64::NAN)));
        }
    }
}

#[test]
fn floats_are_written_as_short_as_they_read_back() {
    let cases = [
        (0.1 + 0.2, "0.30000000000000004"),
        (1e20, "1.0e20"),
        (1.5e300, "1.5e300"),
        (1e-5, "1.0e-5"),
        (0.001, "0.001"),
        (0.000_12, "1.2e-4"),
        (100_000.0, "100000.0"),
        (1.5e10, "15000000000.0"),
        (1e16, "1.0e16"),
        (-0.0, "-0.0"),
        (f64::NEG_INFINITY, "-Infinity"),
        (f64::NAN, "NaN"),
    ];
    for (float, expected) in cases {
        assert_eq!(shortest(float), expected);
    }
}

#[test]
fn only_whole_texts_are_numbers() {
    for text in ["", " 1", "1 ", "+", "-", "1.5", "0x1", "1_0", "٣", "9223372036854775808", "--1"] {
        assert_eq!(parse_long(text), None, "{text}");
    }
    for text in ["", ".5", "5.", "1e", "1e+", "e5", "1d", "0x1p3", "inf", "nan", "infinity", "1.5.2", "+-1", "-NaN"] {
        assert_eq!(parse_double(text), None, "{text}");
    }
    assert_eq!(parse_long("+7"), Some(Value::Int(7)));
    assert_eq!(parse_double("-Infinity"), Some(Value::Float(f64::NEG_INFINITY)));
    assert_eq!(parse_double("1E3"), Some(Value::Float(1_000.0)));
}
