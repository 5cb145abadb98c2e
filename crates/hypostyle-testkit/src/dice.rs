//! Numbers that look random, and are the same for the same seed everywhere.

/// A source of numbers (splitmix64).
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Dice that give the same numbers for the same seed.
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x9E37_79B9_7F4A_7C15)
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.any() % end as u64).expect("below a usize")
    }

    /// A number in 0..1.
    pub fn share(&mut self) -> f64 {
        (self.any() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Whether something of this probability happens.
    pub fn chance(&mut self, share: f64) -> bool {
        self.share() < share
    }

    /// One of some things.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let at = self.below(from.len());
        from.get(at).expect("below the length")
    }

    /// A waiting time of mean `mean`.
    pub fn wait(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.share()).ln()
    }

    /// A number around 0 with deviation 1, roughly normal.
    pub fn bell(&mut self) -> f64 {
        (0..12).map(|_| self.share()).sum::<f64>() - 6.0
    }

    /// A count of mean `mean`, as rare events have it.
    pub fn count(&mut self, mean: f64) -> u32 {
        if mean > 60.0 {
            return whole((mean + self.bell() * mean.sqrt()).max(0.0));
        }
        let (mut count, mut left) = (0, mean);
        loop {
            left -= self.wait(1.0);
            if left < 0.0 {
                return count;
            }
            count += 1;
        }
    }

    /// A number from 0 on that is small more often than not, as ranks of words are.
    pub fn rank(&mut self, end: usize) -> usize {
        let spread = (end as f64 + 1.0).powf(self.share()) - 1.0;
        (whole(spread) as usize).min(end - 1)
    }
}

/// The whole part of a number that is not negative.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
pub fn whole(value: f64) -> u32 {
    value as u32
}
