//! Formats counts.

/// Formats a count with thousands separators, as in `1,310,720`.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_thousands() {
        let texts = [0, 12, 999, 1000, 65_536, 1_310_720].map(grouped);
        assert_eq!(texts, ["0", "12", "999", "1,000", "65,536", "1,310,720"]);
    }
}
