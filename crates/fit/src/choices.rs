//! The structures that a drive may have: the alternatives to each choice.

use flashscope_block::Bytes;
use flashscope_sim::Profile;
use flashscope_sim::ftl::{self, Family, LogSharing};
use flashscope_sim::setup::{Eviction, Frontiers, Merge, Scope, Slc};

/// A structural choice: the name of its field, and the alternatives to a drive that differ only by
/// this choice.
pub(crate) struct Choice {
    /// The dotted name of the field.
    pub field: &'static str,
    others: fn(&Profile) -> Vec<Profile>,
}

/// Returns a copy of `profile` after `change`.
fn but(profile: &Profile, change: impl FnOnce(&mut Profile)) -> Profile {
    let mut profile = profile.clone();
    change(&mut profile);
    profile
}

/// Returns copies of `profile` with each other value of a field.
fn each<T: Copy + PartialEq>(
    profile: &Profile,
    values: &[T],
    field: fn(&mut Profile) -> &mut T,
) -> Vec<Profile> {
    let now = *field(&mut profile.clone());
    let others = values.iter().filter(|value| **value != now);
    others.map(|value| but(profile, |profile| *field(profile) = *value)).collect()
}

fn named(
    profile: &Profile,
    names: &[&str],
    field: fn(&mut Profile) -> &mut String,
) -> Vec<Profile> {
    let now = field(&mut profile.clone()).clone();
    let others = names.iter().filter(|name| **name != now);
    others.map(|name| but(profile, |profile| *field(profile) = (*name).into())).collect()
}

fn page_mapped(profile: &Profile) -> bool {
    matches!(ftl::family(&profile.ftl), Some(Family::PageMapped { .. }))
}

/// Returns true if groups of logical blocks share log blocks.
fn has_groups(profile: &Profile) -> bool {
    ftl::family(&profile.ftl).and_then(Family::sharing) == Some(LogSharing::Group)
}

fn is_dynamic(profile: &Profile) -> bool {
    profile.packages_per_pool > 1
}

/// Returns a copy of `profile` with another number of packages. If all packages shared one pool,
/// they still do.
fn packages(profile: &Profile, packages: u32) -> Profile {
    but(profile, |profile| {
        if is_dynamic(profile) {
            profile.packages_per_pool = packages;
        }
        profile.flash.packages = packages;
    })
}

/// Returns a copy of `profile` with another page size, and with a stripe that is a multiple of this
/// size.
fn page_size(profile: &Profile, size: Bytes) -> Profile {
    but(profile, |profile| {
        profile.flash.page_size = size;
        if profile.stripe != Bytes(0) && !profile.stripe.is_multiple_of(size) {
            profile.stripe = size;
        }
    })
}

/// Returns a copy of `profile` with another FTL, and with the options that this FTL requires.
fn with_ftl(profile: &Profile, kind: &ftl::Kind) -> Profile {
    but(profile, |profile| {
        if let Family::LogBlock(uses) = kind.family {
            (profile.packages_per_pool, profile.active_blocks) = (1, Scope::Pool);
            profile.slc = Slc::default();
            let log = &mut profile.log;
            log.blocks = log.blocks.max(uses.min_blocks).max(2);
            if !uses.any_order {
                log.unordered = 0;
            }
            if uses.sharing == LogSharing::ByLocality {
                log.sequential = log.sequential.clamp(1, log.blocks - 2);
                log.hot = log.hot.clamp(1, log.blocks - log.sequential - 1);
            }
        }
        profile.ftl = kind.name.into();
    })
}

/// Returns the over-provisioning of `profile` times `factor`, within bounds.
fn share(profile: &Profile, factor: f64) -> f64 {
    (profile.over_provisioning * factor).clamp(0.01, 0.9)
}

/// The factors by which over-provisioning is varied, coarsely and finely.
const SHARES: [f64; 8] = [0.7, 0.85, 0.95, 0.985, 1.015, 1.05, 1.18, 1.4];

/// All choices, those with the largest effect first.
pub(crate) const CHOICES: &[Choice] = &[
    Choice {
        field: "ftl",
        others: |p| {
            let others = ftl::KINDS.iter().filter(|kind| kind.name != p.ftl);
            others.map(|kind| with_ftl(p, kind)).collect()
        },
    },
    Choice {
        field: "flash.packages",
        others: |p| {
            let now = p.flash.packages;
            let counts = [now / 2, now * 2, now + 1, now.saturating_sub(1)];
            let counts = counts.iter().filter(|count| (1..=64).contains(*count) && **count != now);
            counts.map(|count| packages(p, *count)).collect()
        },
    },
    Choice {
        field: "flash.page_size",
        others: |p| {
            let sizes = [Bytes(p.flash.page_size.0 / 2), Bytes(p.flash.page_size.0 * 2)];
            let sizes = sizes.iter().filter(|size| (512..=65536).contains(&size.0));
            sizes.map(|size| page_size(p, *size)).collect()
        },
    },
    Choice {
        field: "flash.pages_per_block",
        others: |p| {
            let now = p.flash.pages_per_block;
            each(p, &[now / 2, now * 2], |p| &mut p.flash.pages_per_block)
        },
    },
    Choice {
        field: "stripe",
        others: |p| {
            let page = p.flash.page_size.0;
            let stripes = [1, 2, 4, 8].map(|pages| Bytes(page * pages));
            if p.flash.packages > 1 { each(p, &stripes, |p| &mut p.stripe) } else { vec![] }
        },
    },
    Choice {
        field: "packages_per_pool",
        others: |p| {
            if p.flash.packages == 1 || !page_mapped(p) {
                return vec![];
            }
            vec![but(p, |p| {
                let pool = if is_dynamic(p) { 1 } else { p.flash.packages };
                p.packages_per_pool = pool;
                p.active_blocks = if pool == 1 { Scope::Pool } else { Scope::Package };
                p.stripe = p.flash.page_size;
            })]
        },
    },
    Choice {
        field: "over_provisioning",
        others: |p| SHARES.map(|factor| but(p, |p| p.over_provisioning = share(p, factor))).into(),
    },
    Choice {
        field: "cleaning.policy",
        others: |p| {
            // A policy with more spare space can behave like another policy with less. Both are
            // therefore varied together.
            let names = ["greedy", "fifo", "d-choices", "cost-benefit", "random"];
            let policies = |factor: f64| {
                let roomy = but(p, |p| p.over_provisioning = share(p, factor));
                named(&roomy, &names, |p| &mut p.cleaning.policy)
            };
            if page_mapped(p) { [1.0, 0.8, 1.25, 1.5].map(policies).concat() } else { vec![] }
        },
    },
    Choice {
        field: "cleaning.frontiers",
        others: |p| {
            let both = [Frontiers::One, Frontiers::HostAndCleaning];
            if page_mapped(p) { each(p, &both, |p| &mut p.cleaning.frontiers) } else { vec![] }
        },
    },
    Choice {
        field: "cleaning.free_threshold",
        others: |p| {
            let shares = [0.01, 0.02, 0.03, 0.04, 0.05];
            let others = each(p, &shares, |p| &mut p.cleaning.free_threshold);
            if page_mapped(p) { others } else { vec![] }
        },
    },
    Choice {
        field: "background_cleaning",
        others: |p| {
            let others = each(p, &[false, true], |p| &mut p.background_cleaning);
            if page_mapped(p) { others } else { vec![] }
        },
    },
    Choice {
        field: "cache.kind",
        others: |p| {
            let mut like = p.clone();
            if p.cache.kind == "none" {
                like.cache.size = Bytes::mib(1);
            }
            named(&like, &["none", "lru", "fifo", "bplru"], |p| &mut p.cache.kind)
        },
    },
    Choice {
        field: "cache.size",
        others: |p| {
            let sizes = [Bytes(p.cache.size.0 / 2), Bytes(p.cache.size.0 * 2)];
            if buffered(p) { each(p, &sizes, |p| &mut p.cache.size) } else { vec![] }
        },
    },
    Choice {
        field: "cache.write_back",
        others: |p| {
            let others = each(p, &[0.0, 0.5, 1.0], |p| &mut p.cache.write_back);
            if buffered(p) { others } else { vec![] }
        },
    },
    Choice {
        field: "cache.batch",
        others: |p| {
            if buffered(p) { each(p, &[1, 2, 4, 8], |p| &mut p.cache.batch) } else { vec![] }
        },
    },
    Choice {
        field: "cache.read_ahead",
        others: |p| each(p, &[0, 4, 8, 16, 32], |p| &mut p.cache.read_ahead),
    },
    Choice {
        field: "interface.largest_request",
        others: |p| {
            let sizes = [0, 64, 120, 128, 240, 256, 512].map(Bytes::kib);
            each(p, &sizes, |p| &mut p.interface.largest_request)
        },
    },
    Choice {
        field: "map_cache.size",
        others: |p| {
            let sizes = [Bytes(p.map_cache.size.0 / 2), Bytes(p.map_cache.size.0 * 2)];
            let is_cached = ftl::family(&p.ftl) == Some(Family::PageMapped { map_on_flash: true });
            if is_cached { each(p, &sizes, |p| &mut p.map_cache.size) } else { vec![] }
        },
    },
    Choice {
        field: "slc.share",
        others: |p| {
            let now = p.slc.share;
            let shares = if now == 0.0 {
                vec![0.05, 0.1]
            } else {
                vec![0.0, now * 0.8, now * 0.95, now * 1.05, now * 1.2]
            };
            if page_mapped(p) { each(p, &shares, |p| &mut p.slc.share) } else { vec![] }
        },
    },
    Choice {
        field: "log.blocks",
        others: |p| {
            let now = p.log.blocks;
            let counts = [now.saturating_sub(1).max(1), now + 1, now / 2 + 1, now * 2];
            if page_mapped(p) { vec![] } else { each(p, &counts, |p| &mut p.log.blocks) }
        },
    },
    Choice {
        field: "log.merge",
        others: |p| {
            let others = each(p, &[Merge::Eager, Merge::Lazy], |p| &mut p.log.merge);
            if page_mapped(p) { vec![] } else { others }
        },
    },
    Choice {
        field: "log.switch",
        others: |p| {
            let others = each(p, &[false, true], |p| &mut p.log.switch);
            if page_mapped(p) { vec![] } else { others }
        },
    },
    Choice {
        field: "log.eviction",
        others: |p| {
            let kinds = [Eviction::Fifo, Eviction::Lru, Eviction::Random];
            if page_mapped(p) { vec![] } else { each(p, &kinds, |p| &mut p.log.eviction) }
        },
    },
    Choice {
        field: "log.group",
        others: |p| {
            let others = each(p, &[2, 4, 8, 16], |p| &mut p.log.group);
            if has_groups(p) { others } else { vec![] }
        },
    },
    Choice {
        field: "log.per_group",
        others: |p| {
            let others = each(p, &[1, 2, 3, 4, 8], |p| &mut p.log.per_group);
            if has_groups(p) { others } else { vec![] }
        },
    },
];

fn buffered(profile: &Profile) -> bool {
    profile.cache.kind != "none"
}

/// Returns drives of `capacity` bytes that differ from `profile` by one choice, leaving out drives
/// that cannot be built.
pub(crate) fn alternatives(profile: &Profile, capacity: Bytes) -> Vec<(&'static str, Profile)> {
    let of = |choice: &'static Choice| {
        let others = (choice.others)(profile).into_iter();
        others.filter_map(move |other| Some((choice.field, other.sized(capacity).ok()?)))
    };
    CHOICES.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use flashscope_block::Device;
    use flashscope_sim::Drive;

    use super::*;

    #[test]
    fn every_registered_ftl_is_proposed() {
        let start = flashscope_sim::setup::parse("flashsim-2009").unwrap();
        let capacity = Drive::new("sim:flashsim-2009", &start).unwrap().info().capacity;
        let proposed: Vec<String> = alternatives(&start, capacity)
            .into_iter()
            .filter(|(field, _)| *field == "ftl")
            .map(|(_, profile)| profile.ftl)
            .chain([start.ftl.clone()])
            .collect();
        for kind in ftl::KINDS {
            assert!(proposed.iter().any(|name| name == kind.name), "{} is missing", kind.name);
        }
    }
}
