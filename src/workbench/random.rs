//! Random numbers for choices that must be the same on every machine: the generator `SplitMix64`. Not for secrets.

/// A generator; the same start gives the same numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::workbench) struct SplitMix(pub(in crate::workbench) u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `count`, which is above 0.
    pub(in crate::workbench) fn below(&mut self, count: usize) -> usize {
        let wide = u128::from(self.next()) * count as u128;
        usize::try_from(wide >> 64).unwrap_or_default()
    }

    /// Puts items into a random order.
    pub(in crate::workbench) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}
