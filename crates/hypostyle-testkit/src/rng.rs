//! Pseudo-random numbers that are the same on every platform for the same seed.

/// A pseudo-random number generator (splitmix64).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Creates a generator whose numbers depend on the seed alone.
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x9E37_79B9_7F4A_7C15)
    }

    /// Returns any 64-bit number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`, which must not be 0.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next_u64() % end as u64).expect("below a usize")
    }

    /// Returns a number in `0.0..1.0`, uniformly distributed.
    pub fn fraction(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns `true` with the given probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.fraction() < probability
    }

    /// Returns one of the items, which must not be empty.
    pub fn choose<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        let at = self.below(items.len());
        items.get(at).expect("below the length")
    }

    /// Returns an exponentially distributed number with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.fraction()).ln()
    }

    /// Returns a number with mean 0 and standard deviation 1, roughly normally distributed.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.fraction()).sum::<f64>() - 6.0
    }

    /// Returns a Poisson-distributed count with this mean; large means use the normal
    /// approximation.
    pub fn poisson(&mut self, mean: f64) -> u32 {
        if mean > 60.0 {
            return truncate((mean + self.normal() * mean.sqrt()).max(0.0));
        }
        let (mut count, mut left) = (0, mean);
        loop {
            left -= self.exponential(1.0);
            if left < 0.0 {
                return count;
            }
            count += 1;
        }
    }

    /// Returns a number below `end` whose logarithm is uniformly distributed: small numbers are
    /// common, as with the ranks of words in a text.
    pub fn log_uniform(&mut self, end: usize) -> usize {
        let spread = (end as f64 + 1.0).powf(self.fraction()) - 1.0;
        (truncate(spread) as usize).min(end - 1)
    }
}

/// Returns the integer part of a number that is not negative.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
pub fn truncate(value: f64) -> u32 {
    value as u32
}
