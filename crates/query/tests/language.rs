//! Tests the expressions that the language accepts, the place of each error, and the values of
//! expressions against a second evaluation.

use flashscope_block::column::{COLUMN_COUNT, ERRNO, LATENCY, SUBMITTED};
use flashscope_query::{Expression, FIELDS, Field, Kind, Operand, Relation, Row, Run, parse};
use proptest::prelude::*;

const OFFSET: usize = 2;
const OP: usize = 4;

fn run() -> Run<'static> {
    Run { number: 5, micro_benchmark: "granularity", experiment: "RW \"x\"" }
}

/// Returns a write of 20 ms at 12 KiB that is the eighth IO of its run.
fn row() -> Row<'static> {
    let mut values = [0; COLUMN_COUNT];
    values[SUBMITTED] = 1_000;
    values[LATENCY] = 20_000_000;
    values[OFFSET] = 12 * 1024;
    values[OP] = 1;
    Row { run: run(), position: 7, values }
}

#[track_caller]
fn matches(text: &str) -> bool {
    parse(text).unwrap_or_else(|error| panic!("{}", error.pointing_into(text))).matches(&row())
}

#[test]
fn expressions_select_ios() {
    for yes in [
        "latency > 10ms and op = write",
        "latency = 20 ms",
        "latency >= 0.02 s and latency <= 20000us",
        "10 ms < latency",
        "offset % 4 KiB = 0",
        "offset % 8KiB != 0B",
        "submitted > 0 and errno = 0",
        "late < latency",
        "micro_benchmark = granularity",
        "experiment = \"RW \\\"x\\\"\"",
        "run = 5 AND position = 7",
        "not op = read",
        "op = read or op = write and latency > 1ms",
        "NOT (op = read or latency < 1 ms)",
        "stream = 0",
    ] {
        assert!(matches(yes), "{yes}");
    }
    for no in [
        "latency > 20 ms",
        "op = read",
        "(op = read or op = write) and latency > 1min",
        "not not op = read",
        "micro_benchmark != granularity",
        "late = latency",
    ] {
        assert!(!matches(no), "{no}");
    }
}

// Each error has a place and a remedy.
#[test]
fn errors_point_at_their_place() {
    for (text, place, words) in [
        ("", "", "missing at the end"),
        ("latency", "", "write =, !=, <, <=, > or >= here"),
        ("latency >", "", "missing at the end"),
        ("latncy > 10ms", "latncy", "did you mean `latency`?"),
        ("latency_ns > 10ms", "latency_ns", "did you mean `latency`?"),
        ("xyzzy = 3", "xyzzy", "the fields are submitted, latency, offset"),
        ("latency > 10", "10", "compare latency with a time with its unit, such as 10 ms"),
        ("latency > 4 KiB", "4 KiB", "compare latency with a time"),
        ("length = 3", "3", "compare length with a size"),
        ("latency > 1.5ns", "1.5", "not a whole ns"),
        ("latency > 10 parsecs", "parsecs", "`parsecs` is not a unit"),
        ("latency > 99999999999h", "99999999999", "larger than any value"),
        ("op = delete", "delete", "compare op with read, write, trim or flush"),
        ("op < write", "<", "have no order"),
        ("op % 2 = 0", "%", "has no remainder"),
        ("offset % 0 = 0", "0", "the divisor of a remainder must not be 0"),
        ("offset % 3 = 0", "3", "after % comes a size"),
        ("latency > offset", "offset", "compare latency with a time"),
        ("1 ms < 2 ms", "1 ms", "one side of a comparison must be a field"),
        ("(op = read", "(", "not closed"),
        ("op = read)", ")", "closes nothing"),
        ("op = read op = write", "op", "write `and` or `or` between comparisons"),
        ("op == read", "==", "write `=`"),
        ("op = read && stream = 1", "&", "write `and`"),
        ("op = read || stream = 1", "|", "write `or`"),
        ("!op = read", "!", "write `not`"),
        ("op = read; drop", ";", "has no meaning here"),
        ("experiment = \"RW", "\"RW", "no closing quote"),
        ("latency > fast", "fast", "`fast` is not a field"),
        ("größe > 3 KiB", "größe", "is not a field"),
    ] {
        let error = parse(text).expect_err(text);
        let characters: Vec<char> = text.chars().collect();
        let at: String = characters[error.place.clone()].iter().collect();
        assert_eq!(at, place, "{text}: {error}");
        assert!(error.message.contains(words), "{text}: {error}");
    }
    let error = parse("op = read and latncy > 1 ms").unwrap_err();
    let shown = error.pointing_into("op = read and latncy > 1 ms");
    assert!(shown.ends_with("\n  op = read and latncy > 1 ms\n                ^^^^^^"), "{shown}");
}

#[test]
fn long_and_deep_texts_are_refused() {
    assert!(parse(&"(".repeat(1999)).unwrap_err().message.contains("64 levels"));
    assert!(parse(&"not ".repeat(499)).unwrap_err().message.contains("64 levels"));
    assert!(parse(&" ".repeat(2001)).unwrap_err().message.contains("2000 characters"));
    let long = vec!["run = 1"; 180].join(" or ");
    assert!(!parse(&long).unwrap().matches(&row()));
}

#[test]
fn a_run_decides_an_expression_that_does_not_depend_on_ios() {
    for (text, decided) in [
        ("run = 5", Some(true)),
        ("run = 6 and latency > 1 ms", Some(false)),
        ("latency > 1 ms and run = 6", Some(false)),
        ("run = 5 and latency > 1 ms", None),
        ("run = 5 or latency > 1 ms", Some(true)),
        ("latency > 1 ms or run = 5", Some(true)),
        ("not (latency > 1 ms)", None),
        ("micro_benchmark = order or experiment = SW", Some(false)),
    ] {
        assert_eq!(parse(text).unwrap().decided_by(&run()), decided, "{text}");
    }
}

fn number_of(field: Field) -> impl Strategy<Value = i64> {
    let most = if field == Field::Column(ERRNO) { 200 } else { i64::MAX };
    prop_oneof![0..=most, 0..5_i64, Just(0), (0..most / (1 << 30) + 1).prop_map(|n| n << 20)]
}

fn operand(field: Field) -> BoxedStrategy<Operand> {
    match field.kind() {
        Kind::Operation => (0..4_u8).prop_map(Operand::Operation).boxed(),
        Kind::Text => prop_oneof![
            "[a-z-]{1,8}",
            "\\PC{0,6}",
            Just("and".to_string()),
            Just("run".to_string()),
            Just("RW".to_string())
        ]
        .prop_map(Operand::Text)
        .boxed(),
        kind => {
            let same = FIELDS.into_iter().filter(move |other| other.kind() == kind);
            prop_oneof![
                number_of(field).prop_map(move |number| Operand::Number(number, kind)),
                prop::sample::select(same.collect::<Vec<_>>()).prop_map(Operand::Field),
            ]
            .boxed()
        }
    }
}

fn comparison() -> impl Strategy<Value = Expression> {
    let field = prop::sample::select(FIELDS.to_vec());
    field.prop_flat_map(|field| {
        let relations = match field.kind() {
            Kind::Operation | Kind::Text => &Relation::ALL[..2],
            _ => &Relation::ALL[..],
        };
        let plain = Just(Operand::Field(field)).boxed();
        let left = match field.kind() {
            Kind::Operation | Kind::Text => plain,
            _ => prop_oneof![
                plain,
                (1..1_i64 << 40).prop_map(move |by| Operand::Remainder(field, by))
            ]
            .boxed(),
        };
        (left, prop::sample::select(relations.to_vec()), operand(field), any::<bool>()).prop_map(
            |(left, relation, right, swapped)| match swapped {
                true => Expression::Compare(right, relation, left),
                false => Expression::Compare(left, relation, right),
            },
        )
    })
}

fn expression() -> impl Strategy<Value = Expression> {
    comparison().prop_recursive(5, 24, 2, |inner| {
        let pair = || (inner.clone(), inner.clone());
        prop_oneof![
            inner.clone().prop_map(|one| Expression::Not(Box::new(one))),
            pair().prop_map(|(a, b)| Expression::And(Box::new(a), Box::new(b))),
            pair().prop_map(|(a, b)| Expression::Or(Box::new(a), Box::new(b))),
        ]
    })
}

fn some_row() -> impl Strategy<Value = Row<'static>> {
    let small = || prop_oneof![0..5_i64, 0..i64::MAX];
    (prop::collection::vec(small(), COLUMN_COUNT), 0..4_i64, any::<u32>(), 0..9_u64).prop_map(
        |(values, op, number, position)| {
            let mut all = [0; COLUMN_COUNT];
            all.copy_from_slice(&values);
            all[OP] = op;
            let names = [("granularity", "RW"), ("and", ""), ("order", "run")];
            let (micro_benchmark, experiment) = names[(number % 3) as usize];
            Row { run: Run { number, micro_benchmark, experiment }, position, values: all }
        },
    )
}

/// A second evaluation of expressions, for comparison: values are numbers in `Ok` or names in
/// `Err`.
fn plainly(expression: &Expression, row: &Row<'_>) -> bool {
    let value = |operand: &Operand| -> Result<i128, String> {
        let field = |field: &Field| match field {
            Field::Column(index) => Ok(i128::from(row.values[*index])),
            Field::Position => Ok(row.position.into()),
            Field::Run => Ok(row.run.number.into()),
            Field::MicroBenchmark => Err(row.run.micro_benchmark.to_string()),
            Field::Experiment => Err(row.run.experiment.to_string()),
        };
        match operand {
            Operand::Field(one) => field(one),
            Operand::Remainder(one, by) => {
                field(one).map(|n| n - n / i128::from(*by) * i128::from(*by))
            }
            Operand::Number(number, _) => Ok((*number).into()),
            Operand::Operation(code) => Ok((*code).into()),
            Operand::Text(text) => Err(text.clone()),
        }
    };
    match expression {
        Expression::Not(one) => !plainly(one, row),
        Expression::And(a, b) => [a, b].iter().all(|one| plainly(one, row)),
        Expression::Or(a, b) => [a, b].iter().any(|one| plainly(one, row)),
        Expression::Compare(a, relation, b) => {
            let order = value(a).cmp(&value(b));
            match relation {
                Relation::Equal => order.is_eq(),
                Relation::NotEqual => order.is_ne(),
                Relation::Less => order.is_lt(),
                Relation::AtMost => order.is_le(),
                Relation::Greater => order.is_gt(),
                Relation::AtLeast => order.is_ge(),
            }
        }
    }
}

proptest! {
    #[test]
    fn printed_expressions_parse_to_the_same(expression in expression()) {
        let text = expression.to_string();
        prop_assume!(text.chars().count() <= flashscope_query::MAX_CHARACTERS);
        let parsed = parse(&text).map_err(|error| TestCaseError::fail(error.pointing_into(&text)))?;
        prop_assert_eq!(&parsed, &expression, "{}", text);
    }

    #[test]
    fn evaluation_equals_a_plain_one(expression in expression(), row in some_row()) {
        prop_assert_eq!(expression.matches(&row), plainly(&expression, &row), "{}", expression);
        if let Some(decided) = expression.decided_by(&row.run) {
            prop_assert_eq!(decided, plainly(&expression, &row), "{}", expression);
        }
    }

    // No text makes the parser panic, and the place of an error is in the text.
    #[test]
    fn any_text_is_parsed_or_refused(text in "(latency|op|=|<|%|\\(|\\)|not|and|\"|\\\\|[0-9.]{1,4}|ms|KiB| |\\PC){0,24}") {
        match parse(&text) {
            Ok(expression) => prop_assert_eq!(parse(&expression.to_string()), Ok(expression)),
            Err(error) => {
                prop_assert!(error.place.end <= text.chars().count());
                prop_assert!(!error.pointing_into(&text).is_empty());
            }
        }
    }
}
