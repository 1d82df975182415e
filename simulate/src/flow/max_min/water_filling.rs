//! Incremental water filling: levels are computed anew only where a change may have moved them.
//!
//! The sweep goes through levels in ascending order and keeps one promise: below the level it has
//! reached everything is final. Each class has a level it is *presumed* to get, that of the last
//! solution, or none (∞) if it is new or was released. A link knows the sum of what other links
//! hold (`held`: classes presumed to get no more than `above`) and the weight of the others, so
//! (capacity − held) / weight is a lower bound of the level at which it is full, and that level
//! itself unless somebody's presumed level lies between; then its members are counted anew. Links
//! that something happened to are stops of the sweep, at this bound or at their present level,
//! whichever is lower:
//!
//! - a link that is full below the present levels of its members takes them over (they are *fixed*
//!   here);
//! - a link that is not full at its present level *releases* its own members: where they will be
//!   stopped is open again;
//! - a link that is full at its present level, but for rounding, stays as it is.
//!
//! With a tolerance *full* means nearly full: to that part of what the link's own members have.
//! Then a change ends where it becomes small, and small ones are made good when they have added up.
//!
//! Both kinds of change alter what the other links on the members' routes hold, and make them
//! stops, at higher levels. This is the order in which a solution from scratch fixes levels, with
//! stops that would repeat the past left out; the dependency of levels on lower levels has been
//! called the bottleneck structure (Ros-Giralt et al., *On the bottleneck structure of
//! congestion-controlled networks*, SIGMETRICS 2020).

use super::members::Members;
use super::stops::Stops;
use super::{Class, ClassId, Link, NONE, Sharing};
use crate::flow::link_lists::LinkLists;

/// What rounding does to the sum of the rates of a link: this part of its capacity for each of its
/// members, and for a few more. What differs by no more than that is the same.
const NOISE: f64 = 1e-16;
const FEW: f64 = 16.0;

/// Stops per link and class of a network after which a sweep is not repairing but building; then
/// all is built anew.
const PATIENCE: usize = 4;

/// What a sweep knows, kept to spare allocations.
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
    /// Something will happen to links: what was known of the last solution is over.
    #[inline]
    pub(super) fn unseal(&mut self) {
        if self.complete {
            self.begin();
        }
    }

    /// Something happened to a link.
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

    /// Makes stops of the links that something happened to.
    fn place_stops(&mut self, links: &mut [Link]) {
        let Self { stops, dirty, .. } = self;
        for link in dirty.drain(..) {
            let at = &mut links[link as usize];
            at.dirty = false;
            let stop = at.next_stop();
            // A stop that only rounding would lower stays: links full at one level are many.
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
            // A class that others hold has got more flows.
            0.0
        } else {
            f64::INFINITY
        }
    }

    #[inline]
    fn noise(&self) -> f64 {
        NOISE * (f64::from(self.members) + FEW) * self.capacity
    }

    /// What is left at a level, but for rounding and what is tolerated.
    #[inline]
    fn rest_at(&self, level: f64) -> f64 {
        let own = self.weight * level;
        let rest = self.capacity - self.held - own;
        if rest.abs() <= self.noise() + f64::from(self.tolerance) * own { 0.0 } else { rest }
    }

    /// Where the sweep has to look at the link.
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
        // Links that are full at one level are many, and what they leave to others, or take, these
        // feel above. With a tolerance it matters who is first.
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
    /// The link is not full at its present level: nobody is stopped by it any more.
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

    /// Fills a link that has just released its own, if nobody else stops them earlier: the usual
    /// case, which then needs no stops at the other links.
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

    /// The link is full at `reached` or, if its members are seen to leave room, later.
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
                // All are held elsewhere: there is room for them.
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
            // Rounding may say so of a link that is full as before.
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
                // It is full later than it was, and will be looked at.
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

/// How full a link is at a level, members that are presumed to get more counted with this level.
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

    /// Raises the level to where the link is full; false if this passes somebody who is held
    /// elsewhere, which leaves more.
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
        // Links that are full at one level shall not seem to follow each other.
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
