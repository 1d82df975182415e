//! Max-min fair rates, kept up to date while flows come and go.
//!
//! *Max-min fair* means that no flow can be given more without taking from one that has less or as
//! much (Bertsekas and Gallager, *Data Networks*, 2nd edition, 1992, section 6.5.2). Water-filling
//! finds the only such rates: the water rises in all flows alike; a link that is full stops its
//! flows at its *level*; the rest go on. With weights a flow of weight w has w times the level of
//! its *bottleneck*, the first of its links to be full.
//!
//! Flows of one route and weight are one [*class*](ClassId): they have the same rate, so a class
//! costs as much as a flow.
//!
//! A change (flows that begin or end) moves some levels and leaves most alone. [`Sharing::solve`]
//! repeats water filling, but stops only at links whose level may have changed; see
//! `water_filling.rs`. Its time is proportional to the members of links whose level changes and to
//! the routes of classes whose rate changes. Memory: 64 bytes a class, 4 for each link of its route
//! and 4 to 8 for its place on that link, 100 bytes a link.

mod members;
#[cfg(test)]
pub(crate) mod oracle;
mod stops;
#[cfg(test)]
mod tests;
mod water_filling;

use members::Members;
use water_filling::WaterFilling;

use crate::flow::link_lists::{LinkList, LinkLists};

/// Flows of equal route and weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u32);

/// Links that a class crosses, in the order of the way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Route(LinkList);

/// Links with what flows through them; units of capacities and rates are the caller's.
#[derive(Clone, Debug)]
pub struct Sharing {
    links: Vec<Link>,
    classes: Vec<Class>,
    routes: LinkLists,
    members: Members,
    unused_classes: Vec<u32>,
    /// By private link, which limits one class: the cap of each flow.
    caps: Vec<f64>,
    unused_caps: Vec<u32>,
    /// Links below this number are the caller's.
    shared_links: u32,
    water_filling: WaterFilling,
}

/// A link direction. Between solutions every class has a bottleneck, and those that have it here
/// are *free*.
#[derive(Clone, Copy, Debug)]
struct Link {
    capacity: f64,
    /// Level at which the link is full, ∞ if it never is.
    level: f64,
    /// Sum of the rates of classes that other links hold.
    held: f64,
    /// Sum of the weights of classes that no other link holds.
    weight: f64,
    /// Number of all classes, and of the latter.
    members: u32,
    free: u32,
    /// Those of them whose bottleneck is this link.
    own: u32,
    /// Other links hold classes up to this level; classes that are presumed to get more count as
    /// free.
    above: f64,
    /// None of those that other links hold gets less.
    lowest: f64,
    /// Level at which the sweep looks at the link next, ∞ if it need not.
    stop: f64,
    /// Number of the solution that last touched the link.
    changed_in: u32,
    /// Tolerance: relative error of the rates of its own classes.
    tolerance: f32,
    dirty: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Class {
    /// Level of the bottleneck, ∞ while there is none.
    level: f64,
    /// Weight of all flows of the class.
    weight: f64,
    /// Weight of one.
    unit: f64,
    /// Level before the change that is being solved.
    before: f64,
    bottleneck: u32,
    /// Bottleneck before that change.
    was: u32,
    /// Number of flows.
    count: u32,
    /// Links that it is still a member of, once it has no flow.
    stale: u32,
    /// With the private link at its end, if there is one: then it is the class's own.
    route: LinkList,
    /// Private link, or `NONE`.
    cap: u32,
    changed: bool,
}

/// No link.
const NONE: u32 = u32::MAX;

impl Link {
    fn new(capacity: f64) -> Self {
        Self {
            capacity,
            level: f64::INFINITY,
            held: 0.0,
            weight: 0.0,
            members: 0,
            free: 0,
            own: 0,
            above: 0.0,
            lowest: f64::INFINITY,
            stop: f64::INFINITY,
            changed_in: 0,
            tolerance: 0.0,
            dirty: false,
        }
    }

    #[inline]
    fn rate(&self) -> f64 {
        if self.own > 0 { self.held + self.weight * self.level } else { self.held }
    }
}

impl Sharing {
    /// Links 0, 1, … of these capacities, all positive.
    pub fn new(capacities: impl IntoIterator<Item = f64>) -> Self {
        let links: Vec<Link> = capacities.into_iter().map(Link::new).collect();
        Self {
            routes: LinkLists::default(),
            members: Members::new(links.len()),
            shared_links: links.len() as u32,
            links,
            classes: Vec::new(),
            unused_classes: Vec::new(),
            caps: Vec::new(),
            unused_caps: Vec::new(),
            water_filling: WaterFilling::default(),
        }
    }

    /// Room for `routes` routes, each with a class of its own, with `links` links in all.
    pub fn reserve(&mut self, routes: usize, links: usize) {
        self.classes.reserve(routes);
        self.routes.reserve(links);
        self.members.reserve(links);
    }

    /// Keeps a route, for any number of classes.
    pub fn add_route(&mut self, links: impl ExactSizeIterator<Item = u32>) -> Route {
        Route(self.routes.insert(links))
    }

    /// Forgets a route that no class takes any more.
    pub fn drop_route(&mut self, route: Route) {
        self.routes.remove(route.0);
    }

    /// The links of a route.
    #[inline]
    pub fn links(&self, route: Route) -> &[u32] {
        self.routes.get(route.0)
    }

    /// Sets the tolerance, below 1: links count as full to this part of the rates of the flows that
    /// they limit. Each rate is then within the tolerance of its fair value, given all others. A
    /// link carries at most 1 / (1 − tolerance) of its capacity. Changes below the tolerance are
    /// not passed on: where many flows share a link, one more mostly changes no other rate.
    pub fn set_tolerance(&mut self, tolerance: f32) {
        self.links.iter_mut().for_each(|link| link.tolerance = tolerance);
    }

    /// Makes a class of one flow. `route` has at least one link, none twice; `weight` is positive;
    /// no flow gets more than `cap`, if there is one. Rates change at the next
    /// [`solve`](Self::solve).
    pub fn open(&mut self, route: Route, weight: f64, cap: Option<f64>) -> ClassId {
        let number = self.unused_classes.pop().unwrap_or(self.classes.len() as u32);
        let class = ClassId(number);
        let (route, cap) = match cap {
            Some(cap) => self.with_cap(route, cap),
            None => (route.0, NONE),
        };
        let Self { links, classes, routes, members, unused_classes, water_filling, .. } = self;
        water_filling.unseal();
        for link in routes.get(route) {
            let at = &mut links[*link as usize];
            if !members.push(*link, class) {
                members.make_room(*link, at.members, classes, unused_classes);
                members.push(*link, class);
            }
            at.members += 1;
            at.free += 1;
            at.weight += weight;
            water_filling.mark_dirty(at, *link);
        }
        let state = Class {
            level: f64::INFINITY,
            weight,
            unit: weight,
            before: f64::INFINITY,
            bottleneck: NONE,
            was: NONE,
            count: 1,
            stale: 0,
            route,
            cap,
            changed: false,
        };
        match classes.get_mut(number as usize) {
            Some(place) => *place = state,
            None => classes.push(state),
        }
        class
    }

    /// Adds a flow. Rates change at the next [`solve`](Self::solve).
    pub fn join(&mut self, class: ClassId) {
        let count = self.classes[class.0 as usize].count;
        self.set_count(class, count + 1);
    }

    /// Removes a flow. The last one ends the class, whose number may be reused. Rates change at the
    /// next [`solve`](Self::solve).
    pub fn leave(&mut self, class: ClassId) {
        match self.classes[class.0 as usize].count {
            0 => {}
            1 => self.close(class),
            count => self.set_count(class, count - 1),
        }
    }

    /// Flows of a class.
    pub fn count(&self, class: ClassId) -> u32 {
        self.classes[class.0 as usize].count
    }

    /// Rate of each flow of a class, as of the last [`solve`](Self::solve).
    #[inline]
    pub fn rate(&self, class: ClassId) -> f64 {
        let class = &self.classes[class.0 as usize];
        class.unit * class.level
    }

    /// Sum of the rates on a link, as of the last [`solve`](Self::solve).
    #[inline]
    pub fn link_rate(&self, link: u32) -> f64 {
        self.links[link as usize].rate()
    }

    /// The links of a class, without its cap.
    #[inline]
    pub fn route(&self, class: ClassId) -> &[u32] {
        let class = &self.classes[class.0 as usize];
        let route = self.routes.get(class.route);
        &route[..route.len() - usize::from(class.cap != NONE)]
    }

    /// The cap of each flow of a class; ∞ if there is none.
    pub fn cap(&self, class: ClassId) -> f64 {
        let cap = self.classes[class.0 as usize].cap;
        if cap == NONE { f64::INFINITY } else { self.caps[(cap - self.shared_links) as usize] }
    }

    /// The link that limits a class: one of its route, or `None` if its cap does.
    pub fn bottleneck(&self, class: ClassId) -> Option<u32> {
        let link = self.classes[class.0 as usize].bottleneck;
        (link < self.shared_links).then_some(link)
    }

    /// Works out the rates after all changes since the last time.
    pub fn solve(&mut self) {
        water_filling::solve(self);
    }

    /// Classes whose rate the last [`solve`](Self::solve) changed, in an order that only the calls
    /// so far decide.
    pub fn changed(&self) -> &[ClassId] {
        &self.water_filling.changed
    }

    /// Classes that the last [`solve`](Self::solve) left at their rate, but that another link
    /// limits now.
    pub fn moved(&self) -> &[ClassId] {
        &self.water_filling.moved
    }

    /// Links whose sum of rates the last [`solve`](Self::solve) may have changed.
    pub fn changed_links(&self) -> impl Iterator<Item = u32> + '_ {
        self.water_filling.changed_links.iter().copied().filter(|link| *link < self.shared_links)
    }

    /// A route that ends with a private link, and that link.
    #[cold]
    fn with_cap(&mut self, route: Route, cap: f64) -> (LinkList, u32) {
        let number = self.unused_caps.pop().unwrap_or_else(|| {
            self.members.add_link();
            self.links.push(Link::new(cap));
            self.caps.push(cap);
            (self.links.len() - 1) as u32
        });
        self.links[number as usize].capacity = cap;
        self.caps[(number - self.shared_links) as usize] = cap;
        let links: Vec<u32> = self.links(route).iter().copied().chain([number]).collect();
        (self.routes.insert(links.into_iter()), number)
    }

    fn set_count(&mut self, class: ClassId, count: u32) {
        let state = &mut self.classes[class.0 as usize];
        // A sum by steps would keep the rounding of weights that are gone.
        let weight = state.unit * f64::from(count);
        let more = weight - state.weight;
        (state.count, state.weight) = (count, weight);
        if state.cap != NONE {
            let cap = self.caps[(state.cap - self.shared_links) as usize];
            self.links[state.cap as usize].capacity = cap * f64::from(count);
        }
        self.water_filling.unseal();
        for link in self.routes.get(state.route) {
            let at = &mut self.links[*link as usize];
            if state.bottleneck == *link || state.level > at.above {
                at.weight += more;
            } else {
                at.held += more * state.level;
            }
            self.water_filling.mark_dirty(at, *link);
        }
    }

    fn close(&mut self, class: ClassId) {
        let Self { links, classes, routes, water_filling, .. } = self;
        let state = &mut classes[class.0 as usize];
        let route = routes.get(state.route);
        (state.count, state.stale) = (0, route.len() as u32);
        water_filling.unseal();
        for link in route {
            let at = &mut links[*link as usize];
            if state.bottleneck == *link {
                at.lose_own();
                at.lose_free(state.weight);
            } else if state.level > at.above {
                at.lose_free(state.weight);
            } else {
                at.held -= state.weight * state.level;
            }
            at.members -= 1;
            if at.members == 0 {
                // Not even what rounding left.
                at.held = 0.0;
            }
            water_filling.mark_dirty(at, *link);
        }
        if state.cap != NONE {
            let (cap, route) = (state.cap, state.route);
            self.unused_caps.push(cap);
            self.routes.remove(route);
        }
    }
}

impl Link {
    /// One class less is free.
    #[inline]
    fn lose_free(&mut self, weight: f64) {
        self.free -= 1;
        self.weight -= weight;
        if self.free == 0 {
            self.weight = 0.0;
            self.lowest = f64::INFINITY;
        }
    }

    /// One class less has its bottleneck here.
    #[inline]
    fn lose_own(&mut self) {
        self.own -= 1;
        if self.own == 0 {
            self.level = f64::INFINITY;
        }
    }
}
