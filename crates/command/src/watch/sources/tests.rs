use super::*;

#[test]
fn a_page_that_was_read_once_is_asked_for_again_after_a_failure() {
    let mut page = PageState::default();
    page.note(false, false);
    assert_eq!(page, PageState::Unknown, "a timeout says nothing");
    page.note(true, false);
    page.note(false, false);
    page.note(false, true);
    assert_eq!(page, PageState::Present);
    let mut none = PageState::default();
    none.note(false, true);
    assert_eq!(none, PageState::Absent);
}
