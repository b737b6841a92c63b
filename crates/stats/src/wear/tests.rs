use proptest::prelude::*;

use super::histories::{History, Kind};
use super::*;

const DAY_S: u64 = 86_400;

/// The page that reports the coverage.
const PAGE: &str = include_str!("../../../../docs/watch.md");

/// Returns daily readings of a drive that writes 1000 bytes a day and uses a percent every `days`
/// days.
fn steady(days: u64, count: u64) -> Vec<WearReading> {
    let reading = |day: u64| WearReading {
        at_s: day * DAY_S,
        percentage_used: u32::try_from(day / days).unwrap(),
        written_bytes: 1000 * day,
    };
    (0..count).map(reading).collect()
}

/// Returns the coverage of the intervals and the median factor between estimate and ends.
fn score(kind: Kind, reading_h: u64) -> (f64, f64) {
    let (mut covered, mut factors) = (0.0, Vec::new());
    for seed in 0..1000 {
        let History { readings, left_s } = History::new(kind, 1_000_000 + seed, reading_h);
        let Ok(forecast) = wear_forecast(&readings) else { continue };
        covered += f64::from(u8::from((forecast.low_s..=forecast.high_s).contains(&left_s)));
        factors.push(forecast.high_s / forecast.left_s);
    }
    factors.sort_by(f64::total_cmp);
    (covered / number(factors.len() as u64), factors[factors.len() / 2])
}

#[test]
fn documentation_reports_the_coverage_of_each_kind_of_history() {
    let mut missing = String::new();
    let mut check = |kind: Kind, reading_h, rate: &str| {
        let (coverage, factor) = score(kind, reading_h);
        let name = kind.name();
        let row = format!("| {name}{rate} | {:.0} % | {factor:.2} |\n", 100.0 * coverage);
        if !PAGE.contains(&row) {
            missing += &row;
        }
    };
    for kind in Kind::DEVELOPED.into_iter().chain(Kind::OTHERS) {
        // Only the forecast for an ageing drive depends on the interval between readings.
        if kind == Kind::Ageing {
            check(kind, 1, "; a reading an hour");
            check(kind, 24, "; a reading a day");
        } else {
            check(kind, 6, "");
        }
    }
    assert!(missing.is_empty(), "docs/watch.md lacks these rows:\n{missing}");
}

// The interval must hold for loads of other kinds whose means stay, and for rare readings.
#[test]
fn intervals_cover_loads_of_other_kinds_whose_means_stay() {
    for kind in [Kind::Bursts, Kind::Campaigns, Kind::Absent] {
        for reading_h in [3, 12] {
            let (coverage, _) = score(kind, reading_h);
            assert!(coverage > 0.87, "{kind:?}: {coverage}");
        }
    }
}

#[test]
fn constant_wear_is_forecast_to_the_day() {
    let forecast = wear_forecast(&steady(10, 56)).unwrap();
    // The reading of day 55 shows 5 %; day 1000 shows 100 %.
    let left_days = forecast.left_s / 86_400.0;
    assert!((left_days - 945.0).abs() < 10.0, "{left_days}");
    assert!(forecast.low_s <= 945.0 * 86_400.0 && 945.0 * 86_400.0 <= forecast.high_s);
    assert_eq!(forecast.steps, 5);
    assert!((forecast.bytes_per_percent - 10_000.0).abs() < 1.0);
    assert!((forecast.load_bytes_per_s * 86_400.0 - 1000.0).abs() < 1e-6);
}

#[test]
fn too_few_steps_give_the_reason_instead_of_a_number() {
    assert_eq!(wear_forecast(&[]), Err(UnknownWear::NoReading));
    assert_eq!(wear_forecast(&steady(10, 10)), Err(UnknownWear::NoStep { since_s: 0 }));
    let few = UnknownWear::FewSteps { steps: 2, since_s: 0 };
    assert_eq!(wear_forecast(&steady(10, 30)), Err(few));
    assert!(wear_forecast(&steady(10, 31)).is_ok());
    assert_eq!(wear_forecast(&steady(1, 101)), Err(UnknownWear::Reached));
}

#[test]
fn an_idle_drive_has_no_forecast() {
    let mut readings = steady(10, 56);
    let last = readings[55];
    readings.extend((56..90).map(|day| WearReading { at_s: day * DAY_S, ..last }));
    let since_s = (89 - 28) * DAY_S;
    assert_eq!(wear_forecast(&readings), Err(UnknownWear::Idle { since_s }));
}

#[test]
fn readings_before_a_reset_do_not_count() {
    let mut readings = vec![WearReading { at_s: 0, percentage_used: 90, written_bytes: 1 << 60 }];
    readings.extend(steady(10, 56));
    assert_eq!(wear_forecast(&readings), wear_forecast(&steady(10, 56)));
}

/// Returns the forecast of steady readings after a change to their list.
fn after(change: impl Fn(&mut Vec<WearReading>)) -> Result<WearForecast, UnknownWear> {
    let mut readings = steady(10, 56);
    change(&mut readings);
    wear_forecast(&readings)
}

#[test]
fn a_counter_that_a_power_loss_takes_back_a_little_is_no_reset() {
    let whole = wear_forecast(&steady(10, 56)).unwrap();
    let rolled_back = after(|readings| readings[41].written_bytes = 40_900).unwrap();
    assert_eq!(rolled_back.steps, whole.steps);
    assert!((rolled_back.left_s / whole.left_s - 1.0).abs() < 0.01, "{rolled_back:?}");
    // Twenty consecutive readings count bytes that were lost later.
    let lost = |readings: &mut Vec<WearReading>| {
        let last = readings[55];
        let reading = |nth| WearReading { at_s: last.at_s + nth, written_bytes: 55_100, ..last };
        readings.extend((1..=20).map(reading));
        readings.push(WearReading { at_s: last.at_s + 21, written_bytes: 55_050, ..last });
    };
    assert_eq!(after(lost).unwrap().steps, whole.steps);
}

#[test]
fn a_single_outlier_of_the_clock_or_a_counter_is_dropped() {
    let whole = wear_forecast(&steady(10, 56)).unwrap();
    let outliers: [fn(&mut WearReading); 5] = [
        |one| one.at_s = 0,
        |one| one.at_s = 1 << 40,
        |one| one.percentage_used = 255,
        |one| one.percentage_used = 0,
        |one| one.written_bytes = u64::MAX,
    ];
    for (nth, outlier) in outliers.into_iter().enumerate() {
        let forecast = after(|readings| outlier(&mut readings[35])).unwrap();
        assert_eq!(forecast.steps, whole.steps, "{nth}");
        assert!((forecast.left_s / whole.left_s - 1.0).abs() < 0.01, "{nth}: {forecast:?}");
    }
}

#[test]
fn a_large_decrease_is_a_reset_once_a_second_reading_confirms_it() {
    let reset = |count: u64| {
        after(|readings| {
            let at_s = readings[55].at_s;
            let fresh = steady(10, count + 1).into_iter().skip(1);
            readings.extend(fresh.map(|one| WearReading { at_s: at_s + one.at_s, ..one }));
        })
    };
    assert_eq!(reset(1), wear_forecast(&steady(10, 56)));
    assert_eq!(reset(2), Err(UnknownWear::NoStep { since_s: 56 * DAY_S }));
}

#[test]
fn a_percent_that_takes_longer_than_the_others_delays_the_forecast() {
    let mut readings = steady(10, 56);
    let before = wear_forecast(&readings).unwrap();
    for day in 56..80 {
        readings.push(WearReading {
            at_s: day * DAY_S,
            percentage_used: 5,
            written_bytes: 1000 * day,
        });
    }
    let after = wear_forecast(&readings).unwrap();
    assert!(after.bytes_per_percent > 1.2 * before.bytes_per_percent);
    assert!(after.high_s / after.left_s > before.high_s / before.left_s);
}

#[test]
fn the_interval_is_finite_up_to_the_last_reading_before_the_rated_life() {
    for days in [1, 3, 10] {
        let readings = steady(days, 100 * days);
        for count in 95 * days..=100 * days {
            let forecast = wear_forecast(&readings[..usize::try_from(count).unwrap()]).unwrap();
            assert!(forecast.low_s > 0.0 && forecast.high_s.is_finite(), "{forecast:?}");
        }
        let mut overdue = readings;
        overdue
            .push(WearReading { written_bytes: 1000 * 105 * days, ..overdue[overdue.len() - 1] });
        let forecast = wear_forecast(&overdue).unwrap();
        assert!(forecast.high_s < 100.0 * forecast.left_s, "{forecast:?}");
    }
}

#[test]
fn steps_without_bytes_give_the_reason_instead_of_a_number() {
    let reading = |day: u64| WearReading {
        at_s: day * DAY_S,
        percentage_used: u32::try_from(day.saturating_sub(1)).unwrap(),
        written_bytes: 1000 * day.min(1),
    };
    let readings: Vec<WearReading> = (0..6).map(reading).collect();
    assert_eq!(wear_forecast(&readings), Err(UnknownWear::Scattered { since_s: 0 }));
}

#[test]
fn several_steps_between_two_readings_count_as_one() {
    // With one reading every 25 days, the percentage rises by two or three between readings.
    let rare: Vec<WearReading> = steady(10, 201).into_iter().step_by(25).collect();
    let forecast = wear_forecast(&rare).unwrap();
    assert_eq!(forecast.steps, 8);
    let truth = 800.0 * 86_400.0;
    assert!((forecast.low_s..=forecast.high_s).contains(&truth), "{forecast:?}");
}

fn arbitrary_readings() -> impl Strategy<Value = Vec<WearReading>> {
    let step = (0..1u64 << 40, 0..4u32, 0..u64::MAX / 100);
    let equal = (1..1u64 << 40, 0..4u64, 50..101u64).prop_map(|(bytes, percent, count)| {
        let reading = |nth| WearReading {
            at_s: nth * DAY_S,
            percentage_used: u32::try_from(nth * percent / 4).unwrap(),
            written_bytes: nth * bytes,
        };
        (0..count * 4).map(reading).collect()
    });
    let ordered = prop::collection::vec(step, 0..60).prop_map(|steps| {
        let mut now = WearReading { at_s: 0, percentage_used: 0, written_bytes: 0 };
        let mut reading = |(time, percent, bytes): (u64, u32, u64)| {
            now.at_s += time;
            now.percentage_used += percent;
            now.written_bytes = now.written_bytes.saturating_add(bytes);
            now
        };
        steps.into_iter().map(&mut reading).collect()
    });
    let any = (any::<u64>(), 0..256u32, any::<u64>());
    let any = any.prop_map(|(at_s, percentage_used, written_bytes)| WearReading {
        at_s,
        percentage_used,
        written_bytes,
    });
    prop_oneof![ordered, equal, prop::collection::vec(any, 0..60)]
}

proptest! {
    #[test]
    fn a_forecast_lies_within_its_interval(readings in arbitrary_readings()) {
        if let Ok(forecast) = wear_forecast(&readings) {
            prop_assert!(forecast.left_s.is_finite() && forecast.left_s >= 0.0);
            prop_assert!(forecast.low_s.is_finite() && forecast.high_s.is_finite());
            prop_assert!(forecast.low_s <= forecast.left_s && forecast.left_s <= forecast.high_s);
            prop_assert!(forecast.steps >= MIN_STEPS);
        }
    }

    #[test]
    fn a_forecast_does_not_depend_on_the_unit_of_bytes(seed in 0..200u64) {
        let readings = History::new(Kind::Noise, seed, 24).readings;
        let scale = |reading: &WearReading| WearReading {
            written_bytes: reading.written_bytes * 8,
            ..*reading
        };
        let scaled: Vec<WearReading> = readings.iter().map(scale).collect();
        match (wear_forecast(&readings), wear_forecast(&scaled)) {
            (Ok(a), Ok(b)) => {
                prop_assert!((a.left_s / b.left_s - 1.0).abs() < 1e-6);
                prop_assert!((a.high_s / b.high_s - 1.0).abs() < 1e-6);
            }
            (a, b) => prop_assert_eq!(a.is_ok(), b.is_ok()),
        }
    }

    #[test]
    fn twice_the_speed_of_all_is_half_the_time(seed in 0..200u64) {
        // The shorter history lies within one window of the load.
        let readings = steady(2 + seed % 4, 26);
        let slow: Vec<WearReading> = readings.iter().map(|reading| WearReading {
            at_s: 2 * reading.at_s, ..*reading
        }).filter(|reading| reading.at_s <= 28 * DAY_S).collect();
        let fast = wear_forecast(&readings[..slow.len()]);
        let (Ok(fast), Ok(slow)) = (fast, wear_forecast(&slow)) else { return Ok(()) };
        prop_assert!((slow.left_s / fast.left_s - 2.0).abs() < 1e-9);
    }
}
