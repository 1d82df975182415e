//! Routers that the runs of a sweep use one after the other.
//!
//! A router whose routes depend on the pair of hosts alone has nothing of a run in it, but it may
//! have tables that were read from a file or made for the network. A run that ends leaves it for
//! the next one with the same network, choice and seed.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use phaseflow_collect::Result;
use phaseflow_collect::choice::Choice;
use rustc_hash::FxHashMap;

use super::{RouteRequest, Router, Routes};

/// Number of the network, choice, seed.
type Key = (usize, String, u64);
type Idle = FxHashMap<Key, Vec<Box<dyn Router + Send>>>;

/// Routers that no run uses.
#[derive(Clone, Default)]
pub struct RouterPool(Arc<Mutex<Idle>>);

impl fmt::Debug for RouterPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RouterPool")
    }
}

impl RouterPool {
    /// As [`router`](super::router), for the network of that number: an idle one, if there is one.
    ///
    /// # Errors
    /// As [`router`](super::router).
    pub fn router(&self, topology: usize, choice: &Choice, seed: u64) -> Result<Box<dyn Router>> {
        let key = (topology, choice.spelling(), seed);
        let idle = self.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&key).and_then(Vec::pop);
        let router = idle.map_or_else(|| super::router(choice, seed), Ok)?;
        if !router.repeats() {
            return Ok(router);
        }
        Ok(Box::new(Lent { router: Some(router), pool: self.clone(), key }))
    }
}

/// A router that returns to its pool.
struct Lent {
    router: Option<Box<dyn Router + Send>>,
    pool: RouterPool,
    key: Key,
}

impl Router for Lent {
    fn route(&mut self, request: &RouteRequest<'_>, routes: &mut Routes) -> Result<()> {
        match &mut self.router {
            Some(router) => router.route(request, routes),
            None => Ok(()),
        }
    }

    fn repeats(&self) -> bool {
        true
    }

    fn forgets_source(&self) -> bool {
        self.router.as_ref().is_some_and(|router| router.forgets_source())
    }

    fn divides(&self) -> bool {
        self.router.as_ref().is_some_and(|router| router.divides())
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(router) = self.router.take() {
            let mut idle = self.pool.0.lock().unwrap_or_else(PoisonError::into_inner);
            idle.entry(self.key.clone()).or_default().push(router);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::oracle::{demand, routes_of};
    use super::*;
    use crate::topology::measured::made;

    #[test]
    fn a_router_is_used_again_for_the_same_point_only() {
        let pool = RouterPool::default();
        let idle = || pool.0.lock().unwrap().values().map(Vec::len).sum::<usize>();
        let net = made("fat-tree[k=4]");
        let demands = [demand(0, 9, 1), demand(3, 12, 1)];
        let fresh =
            routes_of(super::super::router(&Choice::plain("minimal"), 1).unwrap().as_mut(), &net, &demands);
        for _ in 0..3 {
            let mut router = pool.router(0, &Choice::plain("minimal"), 1).unwrap();
            assert_eq!(routes_of(router.as_mut(), &net, &demands), fresh);
            drop(router);
            assert_eq!(idle(), 1);
        }
        drop(pool.router(1, &Choice::plain("minimal"), 1).unwrap());
        drop(pool.router(0, &Choice::plain("ecmp"), 1).unwrap());
        drop(pool.router(0, &Choice::plain("ecmp"), 2).unwrap());
        assert_eq!(idle(), 4);
        // What looks at loads starts anew.
        drop(pool.router(0, &Choice::plain("greedy"), 1).unwrap());
        assert_eq!(idle(), 4);
    }
}
