//! Reproducible values that workers add when results are verified.

use crate::packet::chance::mix;

/// Identifies a vector: one worker's part of one reduction of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vector {
    /// Of the run.
    pub seed: u64,
    /// Number of the group.
    pub group: u32,
    /// Number of the reduction within the group, from 0.
    pub reduction: u32,
    /// Number of the worker within the group.
    pub worker: u32,
}

impl Vector {
    fn hash(&self, element: u64) -> u64 {
        let place = u64::from(self.group) << 32 | u64::from(self.reduction);
        mix(mix(mix(self.seed ^ place) ^ u64::from(self.worker)) ^ element)
    }

    /// An element as an integer, any; sums wrap.
    pub fn integer(&self, element: u64) -> i32 {
        self.hash(element) as i32
    }

    /// An element as a number between −1 and 1.
    pub fn float(&self, element: u64) -> f32 {
        (self.hash(element) >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    }

    /// The sum of the integers of `workers` workers.
    pub fn sum(&self, workers: u32, element: u64) -> i32 {
        (0..workers).fold(0, |sum: i32, worker| sum.wrapping_add(Self { worker, ..*self }.integer(element)))
    }
}
