//! Profiles of another size: the capacity of a drive, and the same drive with another capacity.

use flashscope_block::Bytes;

use super::{Flash, Profile, ProfileError};

impl Profile {
    /// Returns the number of bytes that the host can address.
    ///
    /// # Errors
    /// Returns the first invalid field.
    pub fn capacity(&self) -> Result<Bytes, ProfileError> {
        let layout = self.layout()?;
        let one = layout.capacity();
        if self.raid.drives == 1 {
            return Ok(one);
        }
        // An array uses only the complete stripe units of each drive.
        let stripes = one.round_down(self.raid.stripe_unit);
        Ok(Bytes(stripes.0 * u64::from(self.raid.drives)))
    }

    /// Returns the drive with the minimum number of blocks in a plane for a capacity of at least
    /// `size`. All other fields, and therefore speed and parallelism, stay the same.
    ///
    /// # Errors
    /// Returns the first field that is invalid, in this profile or at that size.
    pub fn sized(&self, size: Bytes) -> Result<Profile, ProfileError> {
        self.layout()?;
        let with = |blocks_per_plane| {
            let flash = Flash { blocks_per_plane, ..self.flash.clone() };
            Profile { flash, ..self.clone() }
        };
        // A drive with too few blocks is refused for lack of spare blocks, and therefore counts as
        // too small.
        let fits = |blocks| with(blocks).capacity().is_ok_and(|capacity| capacity >= size);
        let (mut least, mut enough) = (1, 1u32);
        while !fits(enough) {
            (least, enough) = (enough + 1, enough.saturating_mul(2));
            // Fails once no flash can have this many pages.
            with(enough).geometry()?;
        }
        while least < enough {
            let half = least.midpoint(enough);
            if fits(half) { enough = half } else { least = half + 1 }
        }
        Ok(with(enough))
    }
}

#[cfg(test)]
mod tests {
    use crate::setup::KINDS;
    use crate::{Drive, setup};
    use flashscope_block::Device;

    use super::*;

    // Every profile reaches a requested size, with no more blocks than necessary.
    #[test]
    fn every_profile_at_other_sizes() {
        for kind in KINDS {
            let whole = setup::parse(kind.name).unwrap();
            let capacity = whole.capacity().unwrap();
            assert_eq!(Drive::new("", &whole).unwrap().info().capacity, capacity, "{}", kind.name);
            for size in [Bytes(capacity.0 / 16), Bytes(capacity.0 / 3), capacity] {
                let sized = whole.sized(size).unwrap();
                let blocks = sized.flash.blocks_per_plane;
                assert!(sized.capacity().unwrap() >= size, "{} of {size}", kind.name);
                let flash = Flash { blocks_per_plane: blocks - 1, ..sized.flash.clone() };
                let less = Profile { flash, ..sized }.capacity();
                assert!(!less.is_ok_and(|less| less >= size), "{} of {size}", kind.name);
            }
        }
    }

    // An array has the capacity of its profile and reaches a requested size. A size that the drive
    // cannot have is refused.
    #[test]
    fn arrays_and_limits() {
        let array = setup::parse("demo?raid.drives=3").unwrap();
        let capacity = array.capacity().unwrap();
        assert_eq!(Drive::new("", &array).unwrap().info().capacity, capacity);
        assert!(array.sized(Bytes::mib(500)).unwrap().capacity().unwrap() >= Bytes::mib(500));
        let error = array.sized(Bytes(u64::MAX)).unwrap_err().to_string();
        assert!(error.contains("fewer than 2^32 pages"), "{error}");
    }
}
