//! Rows of a range of code, arranged in pages: a look at the page and a few steps within find the
//! row of an address.

use super::shared::{CODE_PAGE_SHIFT, RowKind, RowPage, UnwindRow};

/// Bytes of code of a page.
const PAGE: u64 = 1 << CODE_PAGE_SHIFT;
/// Code of one file at most (2 GiB): what relocations of x86-64 reach.
const MOST_PAGES: u64 = (2 << 30) / PAGE;

/// How the caller is found from an address on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowAt {
    /// The address.
    pub at: u64,
    /// In which way.
    pub kind: RowKind,
    /// See [`UnwindRow::fp`].
    pub fp: i8,
    /// See [`UnwindRow::cfa`].
    pub cfa: i32,
}

impl RowAt {
    /// Nothing is known from here on.
    pub fn none(at: u64) -> Self {
        Self { at, kind: RowKind::None, fp: 0, cfa: 0 }
    }

    fn rule(&self) -> (RowKind, i8, i32) {
        (self.kind, self.fp, self.cfa)
    }

    fn in_page(&self, offset: u64) -> UnwindRow {
        UnwindRow { at: offset as u16, kind: self.kind as u8, fp: self.fp, cfa: self.cfa }
    }
}

/// Rows in pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paged {
    /// Address at which the first page begins.
    pub origin: u64,
    /// The pages; `first` counts from the first of `rows`.
    pub pages: Vec<RowPage>,
    /// The rows of all pages. Each page begins with the row that holds at its beginning.
    pub rows: Vec<UnwindRow>,
}

impl Paged {
    /// Arranges rows of the code in `[begin, end)`. Of several rows at one address the last holds.
    pub fn new(mut rows: Vec<RowAt>, begin: u64, end: u64) -> Self {
        rows.sort_by_key(|row| row.at);
        let origin = begin & !(PAGE - 1);
        let count = end.saturating_sub(origin).div_ceil(PAGE).min(MOST_PAGES);
        let mut paged = Self { origin, pages: Vec::with_capacity(count as usize), rows: Vec::new() };
        let mut holds = RowAt::none(0);
        let mut rest = rows.iter().peekable();
        while rest.peek().is_some_and(|row| row.at < origin) {
            holds = *rest.next().expect("peeked");
        }
        for page in 0..count {
            let start = origin + page * PAGE;
            let first = paged.rows.len();
            paged.rows.push(holds.in_page(0));
            while let Some(row) = rest.next_if(|row| row.at < start + PAGE) {
                let last_rule = holds.rule();
                holds = *row;
                let in_page = row.in_page(row.at - start);
                match paged.rows.last_mut() {
                    Some(last) if u64::from(last.at) == row.at - start => *last = in_page,
                    _ if row.rule() == last_rule => {}
                    _ => paged.rows.push(in_page),
                }
            }
            paged.pages.push(RowPage { first: first as u32, rows: (paged.rows.len() - first) as u32 });
        }
        paged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(at: u64, cfa: i32) -> RowAt {
        RowAt { at, kind: RowKind::Sp, fp: 0, cfa }
    }

    /// As `find_row` of bpf/native.h looks it up.
    fn find(paged: &Paged, at: u64) -> i32 {
        let page = paged.pages[((at - paged.origin) / PAGE) as usize];
        let rows = &paged.rows[page.first as usize..(page.first + page.rows) as usize];
        rows.iter().rev().find(|row| u64::from(row.at) <= (at - paged.origin) % PAGE).unwrap().cfa
    }

    #[test]
    fn every_address_finds_the_last_row_before_it() {
        let rows: Vec<RowAt> = (0..1000u64).map(|i| row(5000 + i * i % 90_001, i as i32)).collect();
        let paged = Paged::new(rows.clone(), 5000, 100_000);
        let mut sorted = rows;
        sorted.sort_by_key(|row| row.at);
        for at in (5000..100_000).step_by(7) {
            let expected = sorted.iter().rfind(|row| row.at <= at).map_or(0, |row| row.cfa);
            assert_eq!(find(&paged, at), expected, "{at}");
        }
    }

    #[test]
    fn rows_that_say_the_same_are_kept_once() {
        let paged = Paged::new(vec![row(0, 8), row(10, 8), row(20, 16), row(2000, 16)], 0, 3000);
        assert_eq!(paged.pages.len(), 3);
        assert_eq!(paged.rows.len(), 4);
    }
}
