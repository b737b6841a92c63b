//! The rules for Markdown: openings, glossary, passive voice and the length of sentences.

use super::{Finding, OPENINGS, Rule, glossary_findings};

/// The maximum number of words in a sentence; a code span counts as one word.
pub(super) const MAX_WORDS: usize = 30;

/// Verbs of speech and perception, whose passive hides who speaks or perceives.
const HIDDEN_SPEAKER: [&str; 4] = ["asked", "said", "seen", "told"];

/// Forms of "be" that make a passive.
const BE: [&str; 7] = ["is", "are", "was", "were", "be", "been", "being"];

/// Words that end with a full stop within a sentence. Initials, as in "B. Jónsson", count as such
/// words, too.
const ABBREVIATIONS: [&str; 6] = ["al", "cf", "e.g", "i.e", "no", "vs"];

/// A heading, a paragraph or a list item.
struct Block {
    /// The line of the page on which it begins, from 1.
    line: usize,
    /// Its text, with the line breaks of the page.
    text: String,
}

/// Returns the violations of rules in a Markdown page, except in code, tables, comments and HTML.
pub(super) fn findings(page: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for block in blocks(page) {
        let text = plain(&block.text);
        for (start, sentence) in sentences(&text) {
            let line = block.line + text[..start].matches('\n').count();
            findings.extend(of_sentence(line, sentence));
        }
    }
    findings
}

/// Returns the rules that the sentences of a message break, except for their length.
pub(super) fn message_findings(line: usize, message: &str) -> Vec<Finding> {
    let of_sentences = sentences(message).into_iter().flat_map(|(_, text)| of_sentence(line, text));
    of_sentences.filter(|finding| finding.rule != Rule::Length).collect()
}

/// Returns the rules that one sentence breaks.
fn of_sentence(line: usize, sentence: &str) -> Vec<Finding> {
    let words: Vec<&str> = sentence.split_whitespace().filter(|word| is_word(word)).collect();
    let mut findings = glossary_findings(line, sentence);
    let mut add = |rule, message| findings.push(Finding { line, rule, message });
    let first = words.first().map(|word| letters(word)).unwrap_or_default();
    if OPENINGS.contains(&first) && !sentence.contains('?') {
        add(Rule::Opening, format!("begins with `{first}`: begin with the subject"));
    }
    if let Some(verb) = hidden_speaker(&words) {
        add(Rule::Passive, format!("passive of `{verb}`: say who does it"));
    }
    if words.len() > MAX_WORDS {
        let start = words[..4].join(" ");
        add(Rule::Length, format!("{} words from `{start}` on: split it", words.len()));
    }
    findings
}

/// Returns the passive verb of speech or perception in a sentence, with at most one word between
/// "be" and the verb.
fn hidden_speaker(words: &[&str]) -> Option<&'static str> {
    let words: Vec<String> = words.iter().map(|word| letters(word).to_lowercase()).collect();
    let verb = |word: &String| HIDDEN_SPEAKER.iter().find(|verb| *verb == word).copied();
    let after = |at: usize| words[at + 1..].iter().take(2).find_map(verb);
    let forms_of_be = (0..words.len()).filter(|&at| BE.contains(&words[at].as_str()));
    forms_of_be.into_iter().find_map(after)
}

fn is_word(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

/// Returns a word without the punctuation around it.
fn letters(word: &str) -> &str {
    word.trim_matches(|letter: char| !letter.is_alphanumeric())
}

/// Splits a page into its headings, paragraphs and list items.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut is_open, mut is_code, mut is_comment) = (false, false, false);
    for (line, content) in (1..).zip(page.lines()) {
        let text = content.trim_start();
        is_comment |= text.starts_with("<!--");
        let is_fence = text.starts_with("```");
        let is_indented_code = !is_open && content.starts_with("    ") && list_item(text).is_none();
        let is_left_out = is_fence || is_code || is_comment || is_indented_code;
        is_code ^= is_fence;
        is_comment &= !text.ends_with("-->");
        if is_left_out || text.is_empty() || text.starts_with(['|', '<']) {
            is_open = false;
        } else if let Some(heading) = text.strip_prefix('#') {
            blocks.push(Block { line, text: heading.trim_start_matches('#').trim().into() });
            is_open = false;
        } else if let Some(item) = list_item(text) {
            blocks.push(Block { line, text: item.into() });
            is_open = true;
        } else if let Some(block) = blocks.last_mut().filter(|_| is_open) {
            block.text.push('\n');
            block.text.push_str(text);
        } else {
            blocks.push(Block { line, text: text.into() });
            is_open = true;
        }
    }
    blocks
}

/// Returns the text of a list item without its bullet or number.
fn list_item(text: &str) -> Option<&str> {
    let number = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let is_numbered = number.len() < text.len();
    ["- ", "* "]
        .iter()
        .find_map(|bullet| text.strip_prefix(bullet))
        .or_else(|| number.strip_prefix(". ").filter(|_| is_numbered))
}

/// Returns the text without markup: a code span becomes the word `code`, a link its text, a picture
/// nothing.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for (index, part) in text.split('`').enumerate() {
        if index % 2 == 1 {
            plain.push_str("code");
            plain.extend(part.matches('\n'));
        } else {
            plain.push_str(&part.replace("**", "").replace('*', ""));
        }
    }
    while let Some((start, middle, end)) = link(&plain) {
        let is_picture = plain[..start].ends_with('!');
        let text = if is_picture { String::new() } else { plain[start + 1..middle].to_owned() };
        let breaks: String = plain[middle..end].matches('\n').collect();
        plain.replace_range(start - usize::from(is_picture)..end, &(text + &breaks));
    }
    plain
}

/// Returns three positions of the first link `[text](address)`: its start, the end of its text, and
/// its end.
fn link(text: &str) -> Option<(usize, usize, usize)> {
    let middle = text.find("](")?;
    let start = text[..middle].rfind('[')?;
    let end = middle + text[middle..].find(')')? + 1;
    Some((start, middle, end))
}

/// Splits a text into sentences, each with the byte at which it begins.
fn sentences(text: &str) -> Vec<(usize, &str)> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (index, letter) in text.char_indices().filter(|(_, letter)| ".?!".contains(*letter)) {
        let after = text[index + 1..].trim_start_matches(['"', ')', '”']);
        let word = text[..index].rsplit([' ', '\n', '(']).next().unwrap_or_default();
        let is_initial = word.len() == 1 && word.chars().all(char::is_uppercase);
        let is_abbreviation = is_initial || ABBREVIATIONS.contains(&word.to_lowercase().as_str());
        let is_end = after.is_empty() || after.starts_with([' ', '\n']);
        if is_end && !(letter == '.' && is_abbreviation) {
            sentences.push((start, &text[start..=index]));
            start = index + 1;
        }
    }
    sentences.push((start, &text[start..]));
    sentences
        .into_iter()
        .map(|(start, text)| {
            let trimmed = text.trim_start();
            (start + text.len() - trimmed.len(), trimmed)
        })
        .filter(|(_, text)| is_word(text))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(page: &str) -> Vec<(usize, Rule)> {
        findings(page).into_iter().map(|finding| (finding.line, finding.rule)).collect()
    }

    #[test]
    fn a_headless_sentence_is_reported_with_its_line() {
        let page = "# Title\n\nOne sentence\nhere. What the\ndrive does, none knows.\n\n- Whether it is so.\n";
        assert_eq!(found(page), [(4, Rule::Opening), (7, Rule::Opening)]);
    }

    #[test]
    fn questions_code_tables_and_comments_pass() {
        let page = "## What is flash?\n\n    What is code\n\n```\nWhat is code\n```\n\n| What |\n|---|\n\n<!-- What\nis said -->\n";
        assert!(found(page).is_empty());
    }

    #[test]
    fn the_passive_of_speech_and_perception_is_reported() {
        assert_eq!(found("The drive is not seen by it."), [(1, Rule::Passive)]);
        assert_eq!(found("Nothing has been said."), [(1, Rule::Passive)]);
        assert!(found("It sees a drive that is busy.").is_empty());
    }

    #[test]
    fn a_sentence_of_more_words_than_the_limit_is_reported() {
        let sentence = |words| format!("{}.", vec!["word"; words].join(" "));
        assert!(found(&sentence(MAX_WORDS)).is_empty());
        assert_eq!(found(&sentence(MAX_WORDS + 1)), [(1, Rule::Length)]);
        let code = format!("`{}` {}", "a ".repeat(40), sentence(MAX_WORDS - 1));
        assert!(found(&code).is_empty());
    }

    #[test]
    fn names_and_abbreviations_do_not_end_a_sentence() {
        let text = "L. Bouganim et al. wrote it (CIDR 2009). It is 2.5 pages long.";
        assert_eq!(sentences(text).len(), 2);
    }

    #[test]
    fn links_count_as_their_text() {
        assert_eq!(
            plain("See [the\nguide](docs/a.md), `x y` and ![a](b.png)."),
            "See the\nguide, code and ."
        );
    }
}
