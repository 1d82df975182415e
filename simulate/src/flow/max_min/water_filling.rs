//! Incremental water filling: levels are computed anew only where a change may have moved them.
//!
//! The sweep visits levels in ascending order; all below the level that it has reached is final.
//! Each class has a *presumed* level: that of the last solution, or ∞ if the class is new or
//! released. A link keeps `held`, the sum of the rates of classes that other links limit: those
//! presumed to get at most `above`. It also keeps the weight of its other classes. So (capacity −
//! held) / weight is a lower bound of the level at which the link is full. It is that level unless
//! the presumed level of some class lies between; then the members are counted anew. Links with a
//! change are stops of the sweep, at this bound or at their present level, whichever is lower:
//!
//! - a link that is full below the present levels of its members takes them over (they are *fixed*
//!   here);
//! - a link that is not full at its present level *releases* its own members: where they will be
//!   stopped is open again;
//! - a link that is full at its present level, but for rounding, stays as it is.
//!
//! With a tolerance, *full* means full to that part of the rates of the link's own members. A
//! change then ends where it is small; small changes are corrected once they have added up.
//!
//! Both kinds of change alter `held` of the other links on the members' routes and make them stops,
//! at higher levels. A solution from scratch fixes levels in the same order; stops that would
//! repeat the last solution are left out; the dependency of levels on lower levels has been called
//! the bottleneck structure (Ros-Giralt et al., *On the bottleneck structure of
//! congestion-controlled networks*, SIGMETRICS 2020).

use super::members::Members;
use super::stops::Stops;
use super::{Class, ClassId, Link, NONE, Sharing};
use crate::flow::link_lists::LinkLists;

/// Rounding error of the sum of a link's rates, as part of its capacity, for each of its members
/// and for [`FEW`] more: about the unit roundoff of `f64`, 2⁻⁵³. Smaller differences count as none.
/// Half and double give the same makespan, to the picosecond, of `halo3d`, `alltoall` and `random`
/// on 128 ranks.
const NOISE: f64 = 1e-16;
/// Members that are added to those of a link in its rounding error: room for the operations of a
/// sweep. Half and double give the same makespan in that run.
const FEW: f64 = 16.0;

/// Stops per link and class of a network after which a sweep is abandoned for a solution from
/// scratch. A solution from scratch takes about one stop a link, so the sweep wastes a few times
/// that at most. Half and double change the time of the flow model by less than the noise, 10 %
/// (`halo3d`, `alltoall` and `random` on 128 ranks).
const PATIENCE: usize = 4;

/// The state of a sweep, kept to save allocations.
#[derive(Clone, Debug)]
pub(super) struct WaterFilling {
    /// Links by their `stop`.
    stops: Stops,
    dirty: Vec<u32>,
    pub(super) changed_links: Vec<u32>,
    pub(super) changed: Vec<ClassId>,
    pub(super) moved: Vec<ClassId>,
    /// Number of the solution, and whether it is complete.
    number: u32,
    complete: bool,
}

impl Default for WaterFilling {
    fn default() -> Self {
        let (stops, dirty) = (Stops::default(), Vec::new());
        let (changed_links, changed, moved) = (Vec::new(), Vec::new(), Vec::new());
        Self { stops, dirty, changed_links, changed, moved, number: 1, complete: false }
    }
}

impl WaterFilling {
    /// Begins a new solution, if the last one is complete.
    #[inline]
    pub(super) fn unseal(&mut self) {
        if self.complete {
            self.begin();
        }
    }

    /// Marks a link whose members or capacity have changed.
    #[inline]
    pub(super) fn mark_dirty(&mut self, at: &mut Link, link: u32) {
        if !at.dirty {
            at.dirty = true;
            self.dirty.push(link);
            self.mark_changed(at, link);
        }
    }

    /// The sum of the rates of a link may have changed.
    #[inline]
    fn mark_changed(&mut self, at: &mut Link, link: u32) {
        if at.changed_in != self.number {
            at.changed_in = self.number;
            self.changed_links.push(link);
        }
    }

    fn begin(&mut self) {
        self.complete = false;
        self.number = self.number.wrapping_add(1);
        self.changed_links.clear();
        self.changed.clear();
        self.moved.clear();
    }

    /// Makes stops of the links that are marked.
    fn place_stops(&mut self, links: &mut [Link]) {
        let Self { stops, dirty, .. } = self;
        for link in dirty.drain(..) {
            let at = &mut links[link as usize];
            at.dirty = false;
            let stop = at.next_stop();
            // A stop that only rounding would lower stays: many links are full at one level.
            if stop < at.stop && (at.stop == f64::INFINITY || at.rest_at(at.stop) < 0.0) {
                at.stop = stop;
                stops.push(stop, link);
            }
        }
    }

    /// Makes a later stop of one at `reached` if there are others before the later one.
    fn postpone(&mut self, links: &mut [Link], link: u32, reached: f64, level: f64) -> bool {
        if level <= reached {
            return false;
        }
        self.place_stops(links);
        let later = self.stops.first(links).is_some_and(|(first, _)| first < level);
        if later {
            links[link as usize].stop = level;
            self.stops.push(level, link);
        }
        later
    }

    fn next_stop(&mut self, links: &mut [Link]) -> Option<(f64, u32)> {
        let (stop, link) = self.stops.first(links)?;
        links[link as usize].stop = f64::INFINITY;
        Some((stop, link))
    }
}

impl Link {
    /// A lower bound of the level at which the link is full.
    #[inline]
    fn bound(&self) -> f64 {
        let rest = self.capacity - self.held;
        if self.weight > 0.0 {
            (rest / self.weight).max(0.0)
        } else if rest < -self.noise() - f64::from(self.tolerance) * self.capacity {
            // Adds to the rate of a class that another link limits.
            0.0
        } else {
            f64::INFINITY
        }
    }

    #[inline]
    fn noise(&self) -> f64 {
        NOISE * (f64::from(self.members) + FEW) * self.capacity
    }

    /// Capacity left at a level, up to rounding and tolerance.
    #[inline]
    fn rest_at(&self, level: f64) -> f64 {
        let own = self.weight * level;
        let rest = self.capacity - self.held - own;
        if rest.abs() <= self.noise() + f64::from(self.tolerance) * own { 0.0 } else { rest }
    }

    /// The level at which the sweep has to stop at the link.
    #[inline]
    fn next_stop(&self) -> f64 {
        if self.own == 0 {
            return self.bound();
        }
        let rest = self.rest_at(self.level);
        if rest == 0.0 && self.own == self.free {
            return f64::INFINITY;
        }
        if rest < 0.0 { self.bound() } else { self.level }
    }
}

/// Brings all rates up to date.
pub(super) fn solve(sharing: &mut Sharing) {
    sharing.water_filling.unseal();
    let patience = PATIENCE * (sharing.links.len() + sharing.classes.len());
    if !sweep(sharing, patience) {
        forget(sharing);
        sweep(sharing, usize::MAX);
    }
    let Sharing { water_filling, classes, .. } = sharing;
    let WaterFilling { changed, moved, .. } = water_filling;
    changed.retain(|number| {
        let class = &mut classes[number.0 as usize];
        class.changed = false;
        let has_changed = class.before.to_bits() != class.level.to_bits();
        if !has_changed && class.was != class.bottleneck {
            moved.push(*number);
        }
        has_changed
    });
    water_filling.complete = true;
}

/// Begins from scratch: no class has a level.
fn forget(sharing: &mut Sharing) {
    let Sharing { links, classes, members, unused_classes, water_filling, .. } = sharing;
    water_filling.stops.clear();
    for class in classes.iter_mut().filter(|class| class.count > 0) {
        class.level = f64::INFINITY;
        class.bottleneck = NONE;
    }
    for (number, link) in (0..).zip(links) {
        members.clean(number, link.members, classes, unused_classes);
        let members = members.of(number);
        if members.is_empty() {
            continue;
        }
        link.level = f64::INFINITY;
        (link.above, link.lowest) = (0.0, f64::INFINITY);
        link.held = 0.0;
        link.own = 0;
        link.free = members.len() as u32;
        link.weight = members.iter().map(|member| classes[member.0 as usize].weight).sum();
        link.stop = f64::INFINITY;
        water_filling.mark_dirty(link, number);
    }
}

/// False if it took more than `patience` stops.
fn sweep(sharing: &mut Sharing, patience: usize) -> bool {
    let Sharing { links, classes, routes, members, unused_classes, water_filling, .. } = sharing;
    water_filling.place_stops(links);
    for _ in 0..patience {
        let Some((reached, link)) = water_filling.next_stop(links) else { return true };
        let at = links[link as usize];
        members.clean(link, at.members, classes, unused_classes);
        let mut state = State { links, classes, routes, members, water_filling };
        if at.own == 0 {
            if at.bound() < f64::INFINITY {
                state.fill(link, reached);
            }
        } else {
            let rest = at.rest_at(at.level);
            if rest > 0.0 {
                state.release(link);
                state.fill_at_once(link);
            } else if rest < 0.0 || at.own < at.free {
                state.fill(link, reached);
            }
        }
        // Many links are full at one level; their changes affect others only above it. With a
        // tolerance their order matters.
        if at.tolerance > 0.0 || water_filling.stops.first(links).is_none_or(|(stop, _)| stop > reached) {
            water_filling.place_stops(links);
        }
    }
    false
}

/// A sweep under way.
struct State<'a> {
    links: &'a mut [Link],
    classes: &'a mut [Class],
    routes: &'a LinkLists,
    /// Those of the link that the sweep has stopped at are not stale.
    members: &'a Members,
    water_filling: &'a mut WaterFilling,
}

impl State<'_> {
    /// Releases the members of a link that is not full at its present level.
    fn release(&mut self, link: u32) {
        for member in self.members.of(link) {
            let class = &mut self.classes[member.0 as usize];
            if class.bottleneck != link {
                continue;
            }
            class.note(*member, self.water_filling);
            let (level, weight) = (class.level, class.weight);
            let rate = weight * level;
            class.level = f64::INFINITY;
            class.bottleneck = NONE;
            for other in self.routes.get(class.route) {
                if *other == link {
                    continue;
                }
                let at = &mut self.links[*other as usize];
                if level <= at.above {
                    at.held -= rate;
                    at.weight += weight;
                    at.free += 1;
                    self.water_filling.mark_dirty(at, *other);
                }
            }
        }
        let at = &mut self.links[link as usize];
        at.own = 0;
        at.level = f64::INFINITY;
        self.water_filling.mark_dirty(at, link);
    }

    /// Fills a link that has just released its members, if no other link limits them earlier. This
    /// usual case needs no stops at the other links.
    fn fill_at_once(&mut self, link: u32) {
        let at = &self.links[link as usize];
        let level = at.bound();
        let WaterFilling { stops, dirty, .. } = &mut *self.water_filling;
        let is_next = level < f64::INFINITY
            && level <= at.lowest
            && stops.first(self.links).is_none_or(|(first, _)| first >= level)
            && dirty.iter().all(|other| *other == link || self.links[*other as usize].rest_at(level) >= 0.0);
        if is_next {
            self.fill(link, level);
        }
    }

    /// Fixes the members of a link that is full at `reached`, or moves its stop if they leave
    /// capacity.
    fn fill(&mut self, link: u32, reached: f64) {
        let at = &self.links[link as usize];
        let mut level = if at.rest_at(reached) > 0.0 { at.bound() } else { reached };
        if self.water_filling.postpone(self.links, link, reached, level) {
            return;
        }
        let at = &self.links[link as usize];
        if at.rest_at(at.above) < 0.0 || level > at.lowest {
            let reached = level;
            let mut filling = Filling::at(reached);
            while !filling.raise(link, self) {}
            let at = &mut self.links[link as usize];
            filling.keep(at);
            if at.free == 0 {
                // Other links limit all members: the link is not full.
                return;
            }
            if at.own > 0 && at.rest_at(at.level) > 0.0 {
                self.release(link);
                return;
            }
            level = filling.level;
            if self.water_filling.postpone(self.links, link, reached, level) {
                return;
            }
        }
        let at = &mut self.links[link as usize];
        if at.own > 0 && level > at.level {
            // Rounding may show this of a link that is full as before.
            level = at.level;
        }
        let above = at.above;
        at.own = at.free;
        at.level = level;
        (at.above, at.lowest) = (above.max(level), f64::INFINITY);
        for member in self.members.of(link) {
            let class = &mut self.classes[member.0 as usize];
            if class.level > above || class.bottleneck == link {
                fix(class, *member, (link, level), self.links, self.routes, self.water_filling);
            }
        }
    }
}

/// Stops a class at a link.
#[inline]
fn fix(
    class: &mut Class,
    number: ClassId,
    (link, level): (u32, f64),
    links: &mut [Link],
    routes: &LinkLists,
    water_filling: &mut WaterFilling,
) {
    if class.bottleneck == link && class.level.to_bits() == level.to_bits() {
        return;
    }
    class.note(number, water_filling);
    let (before, was, weight) = (class.level, class.bottleneck, class.weight);
    (class.level, class.bottleneck) = (level, link);
    let rate = weight * level;
    let less = weight * (before - level);
    for other in routes.get(class.route) {
        if *other == link {
            continue;
        }
        let at = &mut links[*other as usize];
        let was_own = was == *other;
        if was_own || before > at.above {
            if was_own {
                at.lose_own();
            }
            if level > at.above && level < at.lowest {
                at.above = level;
            }
            if level <= at.above {
                at.held += rate;
                at.lose_free(weight);
            }
            if !at.dirty && at.stop < f64::INFINITY && level <= at.stop && at.own == 0 && at.tolerance <= 0.0
            {
                // The link is full at a higher level: the sweep stops there.
                water_filling.mark_changed(at, *other);
                continue;
            }
        } else {
            at.held -= less;
        }
        water_filling.mark_dirty(at, *other);
    }
}

impl Class {
    /// Remembers the level of before.
    #[inline]
    fn note(&mut self, number: ClassId, water_filling: &mut WaterFilling) {
        if !self.changed {
            self.changed = true;
            (self.before, self.was) = (self.level, self.bottleneck);
            water_filling.changed.push(number);
        }
    }
}

/// The load of a link at a level; members that are presumed to get more count with this level.
struct Filling {
    level: f64,
    held: f64,
    weight: f64,
    free: u32,
    above: f64,
    lowest: f64,
}

impl Filling {
    fn at(level: f64) -> Self {
        Self { level, held: 0.0, weight: 0.0, free: 0, above: level, lowest: f64::INFINITY }
    }

    /// Raises the level to where the link is full; false if it passes the presumed level of a
    /// member, which then needs less.
    fn raise(&mut self, link: u32, state: &State<'_>) -> bool {
        let (mut held, mut weight, mut free) = (0.0, 0.0, 0);
        let mut lowest = f64::INFINITY;
        for member in state.members.of(link) {
            let class = &state.classes[member.0 as usize];
            let is_own = class.bottleneck == link;
            if is_own || class.level > self.level {
                weight += class.weight;
                free += 1;
                if !is_own {
                    lowest = lowest.min(class.level);
                }
            } else {
                held += class.weight * class.level;
            }
        }
        if free == 0 {
            weight = 0.0;
        }
        // Links that are full at one level must get the same level, in spite of rounding.
        let mut at = state.links[link as usize];
        (at.held, at.weight) = (held, weight);
        let level = if at.rest_at(self.level) > 0.0 { at.bound() } else { self.level };
        *self = Self { level, held, weight, free, above: self.level, lowest };
        self.level <= lowest
    }

    /// What the link has from now on.
    fn keep(&self, at: &mut Link) {
        at.held = self.held;
        at.weight = self.weight;
        at.free = self.free;
        at.above = self.above;
        at.lowest = self.lowest;
    }
}
