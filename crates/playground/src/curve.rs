/// The maximum number of windows of a curve.
const MAX_WINDOWS: usize = 400;

/// Write amplification over time, in windows of equally many pages written by the host. At the
/// maximum number of windows, each pair of windows becomes one.
pub(crate) struct Curve {
    /// The host pages of a window.
    window: u64,
    /// The flash pages programmed in each complete window.
    programmed: Vec<u64>,
    /// The counts of the window in progress: host pages and programs.
    current: (u64, u64),
}

impl Curve {
    pub(crate) fn new(window: u64) -> Curve {
        Curve { window, programmed: Vec::new(), current: (0, 0) }
    }

    /// Counts a page written by the host. Completes the window first if it is full.
    pub(crate) fn host_page(&mut self) {
        if self.current.0 == self.window {
            self.programmed.push(self.current.1);
            self.current = (0, 0);
            if self.programmed.len() == MAX_WINDOWS {
                self.programmed = self.programmed.chunks(2).map(|pair| pair.iter().sum()).collect();
                self.window *= 2;
            }
        }
        self.current.0 += 1;
    }

    /// Counts a program.
    pub(crate) fn program(&mut self) {
        self.current.1 += 1;
    }

    /// Returns the end of each complete window in host pages, and its write amplification.
    #[allow(clippy::cast_precision_loss)] // counts are far below 2^53
    pub(crate) fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        let window = self.window as f64;
        let programmed = self.programmed.iter().enumerate();
        programmed
            .map(move |(nth, programs)| ((nth + 1) as f64 * window, *programs as f64 / window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_windows_keep_all_programs() {
        let mut curve = Curve::new(2);
        for page in 0..2001_u32 {
            curve.host_page();
            // The second thousand host pages cost three programs each.
            (0..if page < 1000 { 1 } else { 3 }).for_each(|_| curve.program());
        }
        let points: Vec<_> = curve.points().collect();
        assert!(points.len() < MAX_WINDOWS);
        assert_eq!(points.first().map(|point| point.1), Some(1.0));
        assert_eq!(points.last(), Some(&(2000.0, 3.0)));
        let window = points[0].0;
        let total: f64 = points.iter().map(|point| point.1 * window).sum();
        assert!((total - 4000.0).abs() < 1e-9, "{total}");
    }
}
