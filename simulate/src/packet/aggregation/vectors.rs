//! Vectors of packets when results are verified: a packet has the index of its vector in a word.
//!
//! A vector is kept until its last reader releases it. Vectors of lost packets have no reader; they
//! stay until the group closes, one per loss.

/// No vector.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Vectors of one width, by place.
#[derive(Clone, Debug)]
pub(super) struct Vectors {
    width: usize,
    numbers: Vec<i32>,
    /// By place: who has yet to read it.
    readers: Vec<u32>,
    free: Vec<u32>,
}

impl Vectors {
    /// None yet; each will have `width` numbers.
    pub(super) fn new(width: usize) -> Self {
        Self { width, numbers: Vec::new(), readers: Vec::new(), free: Vec::new() }
    }

    /// A vector of zeros with `readers` readers.
    pub(super) fn insert(&mut self, readers: u32) -> u32 {
        let place = self.free.pop().unwrap_or(self.readers.len() as u32);
        let at = place as usize;
        if at == self.readers.len() {
            self.readers.push(0);
            self.numbers.resize(self.numbers.len() + self.width, 0);
        }
        self.readers[at] = readers;
        self.at_mut(place).fill(0);
        place
    }

    /// A copy with `readers` readers.
    pub(super) fn insert_copy(&mut self, numbers: &[i32], readers: u32) -> u32 {
        let place = self.insert(readers);
        self.at_mut(place).copy_from_slice(numbers);
        place
    }

    pub(super) fn at(&self, place: u32) -> &[i32] {
        let start = place as usize * self.width;
        &self.numbers[start..start + self.width]
    }

    pub(super) fn at_mut(&mut self, place: u32) -> &mut [i32] {
        let start = place as usize * self.width;
        &mut self.numbers[start..start + self.width]
    }

    /// It has one reader more.
    pub(super) fn share(&mut self, place: u32) {
        self.readers[place as usize] += 1;
    }

    /// One of its readers is done.
    pub(super) fn release(&mut self, place: u32) {
        let readers = &mut self.readers[place as usize];
        *readers -= 1;
        if *readers == 0 {
            self.free.push(place);
        }
    }
}
