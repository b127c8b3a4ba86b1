//! Looking for a place in a row in order, where it is likely to be near: a busy thread has millions
//! of records, and whoever asks for one after another need not look through half of them each time.

/// A place in a row that is looked for again and again, mostly further on: the last one is where
/// looking begins.
#[derive(Default)]
pub(crate) struct Near(usize);

impl Near {
    /// How many of a row lie before the first that `is_before` does not hold of.
    #[inline]
    pub(crate) fn first<T>(&mut self, row: &[T], is_before: impl Fn(&T) -> bool) -> usize {
        let at = self.0.min(row.len());
        self.0 = match at.checked_sub(1).and_then(|last| row.get(last)) {
            Some(last) if !is_before(last) => row[..at].partition_point(is_before),
            _ if row.get(at).is_some_and(&is_before) => at + passed(&row[at..], is_before),
            _ => at,
        };
        self.0
    }
}

/// How many of a row lie before the first that `is_before` does not hold of; of the first of all,
/// it does. Looks near the beginning first.
pub(crate) fn passed<T>(row: &[T], is_before: impl Fn(&T) -> bool) -> usize {
    let mut reach = 1;
    while row.get(reach).is_some_and(&is_before) {
        reach *= 2;
    }
    let known = reach / 2;
    known + row[known..row.len().min(reach)].partition_point(is_before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_before_is_passed_whatever_its_length() {
        for length in 1..70 {
            let row: Vec<usize> = (0..length).collect();
            for end in 1..=length {
                assert_eq!(passed(&row, |n| *n < end), end, "of {length}");
            }
        }
    }

    #[test]
    fn a_place_is_found_from_wherever_the_last_one_was() {
        let row: Vec<usize> = (0..40).collect();
        for last in 0..=40 {
            for next in 0..=45 {
                let mut near = Near(0);
                assert_eq!(near.first(&row, |n| *n < last), last);
                assert_eq!(near.first(&row, |n| *n < next), next.min(40), "from {last}");
            }
        }
    }
}
