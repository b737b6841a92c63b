//! Arbitration: the choice of the submission queue from which the controller fetches its next
//! command.
//!
//! The mechanisms are those of NVMe: round robin, and weighted round robin with an urgent class. As
//! in NVMe, the host chooses the mechanism, the weights and the burst. This simulator adds one
//! rule: a class or queue without commands passes its turn on.

use serde::{Deserialize, Serialize};

/// The priority class of a submission queue. Only weighted arbitration distinguishes classes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum QueueClass {
    /// Served before all other classes.
    Urgent,
    /// The first weighted class.
    High,
    /// The second weighted class.
    #[default]
    Medium,
    /// The third weighted class.
    Low,
}

impl QueueClass {
    /// All classes, the urgent one first.
    pub const ALL: [QueueClass; 4] =
        [QueueClass::Urgent, QueueClass::High, QueueClass::Medium, QueueClass::Low];

    /// Returns the name used in options and output.
    pub const fn name(self) -> &'static str {
        match self {
            QueueClass::Urgent => "urgent",
            QueueClass::High => "high",
            QueueClass::Medium => "medium",
            QueueClass::Low => "low",
        }
    }
}

/// The way in which the controller chooses the next command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arbitration {
    /// The maximum number of commands that the controller fetches from a queue in its turn; at
    /// least 1.
    pub burst: u32,
    /// The maximum number of commands, at least 1, that the classes high, medium and low may send
    /// in a round. `None` for plain round robin, without classes.
    pub weights: Option<[u32; 3]>,
}

impl Default for Arbitration {
    fn default() -> Self {
        Arbitration { burst: 1, weights: None }
    }
}

/// Queues that take turns.
#[derive(Debug, Clone)]
struct Turns {
    queues: Vec<usize>,
    /// The position of the queue whose turn it is.
    position: usize,
    /// The number of commands that this queue may still send.
    left: u32,
}

impl Turns {
    fn new(queues: Vec<usize>, burst: u32) -> Turns {
        Turns { queues, position: 0, left: burst }
    }

    /// Returns the next queue among those that wait, and counts its command.
    fn next(&mut self, burst: u32, waits: &impl Fn(usize) -> bool) -> Option<usize> {
        let count = self.queues.len();
        if self.left == 0 {
            (self.position, self.left) = ((self.position + 1) % count.max(1), burst);
        }
        let step = (0..count).find(|step| waits(self.queues[(self.position + step) % count]))?;
        if step > 0 {
            (self.position, self.left) = ((self.position + step) % count, burst);
        }
        self.left -= 1;
        Some(self.queues[self.position])
    }

    fn any(&self, waits: &impl Fn(usize) -> bool) -> bool {
        self.queues.iter().any(|queue| waits(*queue))
    }
}

/// Chooses the queue of each command.
#[derive(Debug, Clone)]
pub(super) struct Arbiter {
    burst: u32,
    /// The queues of the urgent class; all queues in plain round robin.
    first: Turns,
    /// The queues of each weighted class, and the weight of the class.
    weighted: Vec<(Turns, u32)>,
    /// The class whose turn it is.
    class: usize,
    /// The number of commands that this class may still send.
    credit: u32,
}

impl Arbiter {
    /// Creates an arbiter for queues of these classes.
    pub(super) fn new(arbitration: Arbitration, classes: &[QueueClass]) -> Arbiter {
        let burst = arbitration.burst.max(1);
        let of = |class: QueueClass| {
            let queues = (0..classes.len()).filter(|queue| classes[*queue] == class).collect();
            Turns::new(queues, burst)
        };
        let Some(weights) = arbitration.weights else {
            let first = Turns::new((0..classes.len()).collect(), burst);
            return Arbiter { burst, first, weighted: Vec::new(), class: 0, credit: 0 };
        };
        let [_, others @ ..] = QueueClass::ALL;
        let weighted: Vec<_> = others
            .into_iter()
            .zip(weights)
            .map(|(class, weight)| (of(class), weight.max(1)))
            .collect();
        let credit = weighted[0].1;
        Arbiter { burst, first: of(QueueClass::Urgent), weighted, class: 0, credit }
    }

    /// Returns the queue of the next command among those that wait.
    pub(super) fn next(&mut self, waits: impl Fn(usize) -> bool) -> Option<usize> {
        if let Some(queue) = self.first.next(self.burst, &waits) {
            return Some(queue);
        }
        if !self.weighted.iter().any(|(queues, _)| queues.any(&waits)) {
            return None;
        }
        // A class without commands, or without credit, passes its turn on.
        while self.credit == 0 || !self.weighted[self.class].0.any(&waits) {
            self.class = (self.class + 1) % self.weighted.len();
            self.credit = self.weighted[self.class].1;
        }
        self.credit -= 1;
        self.weighted[self.class].0.next(self.burst, &waits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the first `count` queues that an arbiter chooses, while the queues in `waiting`
    /// always have commands.
    fn order(
        arbitration: Arbitration,
        classes: &[QueueClass],
        waiting: &[usize],
        count: usize,
    ) -> Vec<usize> {
        let mut arbiter = Arbiter::new(arbitration, classes);
        (0..count).filter_map(|_| arbiter.next(|queue| waiting.contains(&queue))).collect()
    }

    #[test]
    fn queues_take_turns_of_a_burst() {
        let classes = [QueueClass::Medium; 3];
        let burst = |burst| Arbitration { burst, weights: None };
        assert_eq!(order(burst(1), &classes, &[0, 1, 2], 6), [0, 1, 2, 0, 1, 2]);
        assert_eq!(order(burst(2), &classes, &[0, 1, 2], 7), [0, 0, 1, 1, 2, 2, 0]);
        assert_eq!(order(burst(2), &classes, &[0, 2], 5), [0, 0, 2, 2, 0]);
        assert_eq!(order(burst(1), &classes, &[], 5), [0; 0]);
    }

    #[test]
    fn classes_share_a_round_by_weight() {
        use QueueClass::{High, Low, Medium, Urgent};
        let weighted = Arbitration { burst: 1, weights: Some([3, 2, 1]) };
        let classes = [Low, Medium, High, High, Urgent];
        assert_eq!(order(weighted, &classes, &[0, 1, 2], 6), [2, 2, 2, 1, 1, 0]);
        assert_eq!(order(weighted, &classes, &[0, 2, 3], 8), [2, 3, 2, 0, 3, 2, 3, 0]);
        // An urgent queue that always waits starves the others.
        assert_eq!(order(weighted, &classes, &[0, 1, 2, 3, 4], 4), [4; 4]);
        // Plain round robin ignores classes.
        assert_eq!(order(Arbitration::default(), &classes, &[0, 1, 4], 6), [0, 1, 4, 0, 1, 4]);
    }
}
