//! The generator of Python's `random`, so that a case with the same seed is the same workload in a
//! simulator that is written in Python.

const SIZE: usize = 624;
const SHIFT: usize = 397;

/// The Mersenne Twister MT19937 (Matsumoto and Nishimura, ACM TOMACS 8, 1998).
pub(super) struct Twister {
    state: [u32; SIZE],
    next: usize,
}

impl Twister {
    /// Creates a generator with the seed of `random.Random(seed)`.
    #[allow(clippy::cast_possible_truncation, reason = "splits the seed into words")]
    pub(super) fn new(seed: u64) -> Twister {
        let mut state = [0u32; SIZE];
        state[0] = 19_650_218;
        for index in 1..SIZE {
            let before = state[index - 1];
            let mixed = 1_812_433_253u32.wrapping_mul(before ^ (before >> 30));
            state[index] = mixed.wrapping_add(index as u32);
        }
        let words = [seed as u32, (seed >> 32) as u32];
        let key = if words[1] == 0 { &words[..1] } else { &words[..] };
        let mut index = 1;
        let step = |state: &mut [u32; SIZE], index: &mut usize, factor: u32, add: u32| {
            let before = state[*index - 1];
            let mixed = (before ^ (before >> 30)).wrapping_mul(factor);
            state[*index] = (state[*index] ^ mixed).wrapping_add(add);
            *index += 1;
            if *index == SIZE {
                state[0] = state[SIZE - 1];
                *index = 1;
            }
        };
        for round in 0..SIZE {
            let nth = round % key.len();
            step(&mut state, &mut index, 1_664_525, key[nth].wrapping_add(nth as u32));
        }
        for _ in 1..SIZE {
            let subtracted = 0u32.wrapping_sub(index as u32);
            step(&mut state, &mut index, 1_566_083_941, subtracted);
        }
        state[0] = 1 << 31;
        Twister { state, next: SIZE }
    }

    fn word(&mut self) -> u32 {
        if self.next == SIZE {
            self.refill();
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    fn refill(&mut self) {
        for index in 0..SIZE {
            let after = self.state[(index + 1) % SIZE];
            let mixed = (self.state[index] & (1 << 31)) | (after & !(1 << 31));
            let twisted = (mixed >> 1) ^ if mixed & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[index] = self.state[(index + SHIFT) % SIZE] ^ twisted;
        }
        self.next = 0;
    }

    /// Returns a number from 0 to below 1, as `random()`.
    pub(super) fn unit(&mut self) -> f64 {
        let (high, low) = (self.word() >> 5, self.word() >> 6);
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }

    /// Returns an integer below `count`, as `int(random() * count)`.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below count")]
    pub(super) fn below(&mut self, count: u32) -> u32 {
        (self.unit() * f64::from(count)) as u32
    }

    /// Returns an exponentially distributed number, as `expovariate(rate)`.
    pub(super) fn exponential(&mut self, rate: f64) -> f64 {
        -(1.0 - self.unit()).ln() / rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // `random.Random(seed).random()` of Python.
    #[test]
    fn draws_are_those_of_python() {
        for (seed, first) in [(1, 0.134_364_244_112_401_22), (1 << 33, 0.011451121320907864)] {
            assert!((Twister::new(seed).unit() - first).abs() < 1e-16);
        }
        let mut generator = Twister::new(1);
        let last = (0..2000).map(|_| generator.unit()).last();
        assert_eq!(last, Some(0.4499663746974547));
    }
}
