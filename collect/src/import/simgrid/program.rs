//! Each rank's lines as its program: non-blocking operations go on while the next lines are read.

use std::collections::{BTreeSet, VecDeque};

use rustc_hash::FxHashMap;

use super::action::{self, Action as Line, Context, Peer, rank_of};
use super::lines::Lines;
use crate::import::ordered::{Action, Begin, Program, Token};
use crate::trace::{Call, Rank};
use crate::{At, Error, Result};

/// The token of the line at hand; receives that go on have others.
const LINE: Token = 0;

/// Number of the only communicator: traces do not say on which one an action is.
const WORLD: u32 = 0;

/// The programs of all ranks.
pub(super) struct Programs {
    lines: Lines,
    ranks: Vec<State>,
    /// Actions that are not known, by name.
    pub(super) unknown: BTreeSet<String>,
    /// Ranks whose program has no end.
    pub(super) cut: Vec<u32>,
}

/// Where a rank is in its program.
struct State {
    context: Context,
    /// The second half of the line at hand.
    rest: Option<Line>,
    /// Receives that go on, by source and tag as their line has them; oldest first.
    requests: FxHashMap<(Option<u32>, Option<i32>), VecDeque<Token>>,
    /// The position at which a request was over; `None` before.
    over: FxHashMap<Token, Option<i64>>,
    next_token: Token,
    waits: Waits,
    /// The position of the line that waits.
    position: i64,
}

/// For what a rank waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    Nothing,
    Request(Token),
    All,
}

impl Programs {
    pub(super) fn new(lines: Lines) -> Self {
        let ranks = lines.ranks();
        let state = || State {
            context: Context::new(ranks),
            rest: None,
            requests: FxHashMap::default(),
            over: FxHashMap::default(),
            next_token: LINE + 1,
            waits: Waits::Nothing,
            position: 0,
        };
        Self {
            lines,
            ranks: (0..ranks).map(|_| state()).collect(),
            unknown: BTreeSet::new(),
            cut: Vec::new(),
        }
    }

    /// The next line of a rank; `None` at the end.
    fn next(&mut self, rank: u32) -> Result<Option<Line>> {
        let state = &mut self.ranks[rank as usize];
        if let Some(rest) = state.rest.take() {
            return Ok(Some(rest));
        }
        let Some(line) = self.lines.next(rank)? else {
            self.cut.push(rank);
            return Ok(None);
        };
        let Some((_, words)) = rank_of(&line)? else { return Ok(Some(Line::Silent)) };
        let action = action::parse(words, rank, &mut state.context);
        action.map(Some).at(|| self.lines.place(rank))
    }

    /// A peer that the run has to have.
    fn known(&self, rank: u32, peer: u32) -> Result<u32> {
        let ranks = self.ranks();
        if peer < ranks {
            return Ok(peer);
        }
        Err(Error::data(format!("names rank {peer}, expected less than {ranks}")).at(self.lines.place(rank)))
    }

    /// What a line does; `None` if the next one may follow at once.
    fn act(&mut self, line: Line, begin: Begin, ready: &mut Vec<Begin>) -> Result<Option<(Token, Action)>> {
        let (position, rank, _) = begin;
        let state = &mut self.ranks[rank as usize];
        Ok(match line {
            Line::Silent => None,
            Line::Finalize => Some((LINE, Action::Ends)),
            Line::Send { dst: None, .. } | Line::Receive { src: Peer::Nobody, .. } => None,
            Line::Send { dst: Some(dst), tag, bytes } => {
                let dst = self.known(rank, dst)?;
                Some((LINE, Action::Send { dst, tag, communicator: None, bytes }))
            }
            Line::Receive { src, tag, is_blocking } => {
                let src = if let Peer::Rank(src) = src { Some(self.known(rank, src)?) } else { None };
                let action = Action::Receive { src, tag, communicator: None };
                if is_blocking {
                    return Ok(Some((LINE, action)));
                }
                ready.push((position, rank, LINE));
                Some((self.ranks[rank as usize].request(src, tag), action))
            }
            Line::Exchange { dst, bytes, src } => {
                // No tag is written: all exchanges have one.
                state.rest = Some(Line::Receive { src, tag: Some(0), is_blocking: true });
                match dst {
                    None => None,
                    Some(dst) => {
                        let dst = self.known(rank, dst)?;
                        Some((LINE, Action::Send { dst, tag: 0, communicator: None, bytes }))
                    }
                }
            }
            Line::Wait { src, dst, tag } => {
                let token = if dst == i64::from(rank) { state.find(src, tag) } else { None };
                token.and_then(|token| state.wait(Waits::Request(token), begin, ready))
            }
            Line::WaitAll => state.wait(Waits::All, begin, ready),
            Line::Collective { operation, root, bytes, pairs } => {
                let root = root.filter(|root| *root < self.ranks()).map(Rank);
                let call = Call { operation, root, bytes, ..Call::default() };
                Some((LINE, Action::Collective { call, communicator: WORLD, pairs }))
            }
            Line::Other(name) => {
                if self.unknown.len() < 8 {
                    self.unknown.insert(name);
                }
                None
            }
        })
    }
}

impl State {
    /// A receive that goes on.
    fn request(&mut self, src: Option<u32>, tag: Option<i32>) -> Token {
        let token = self.next_token;
        self.next_token = self.next_token.checked_add(1).unwrap_or(LINE + 1);
        self.requests.entry((src, tag)).or_default().push_back(token);
        self.over.insert(token, None);
        token
    }

    /// The request that a wait names; it may name what a receive of any source has found.
    fn find(&mut self, src: i64, tag: i64) -> Option<Token> {
        let (src, tag) = (u32::try_from(src).ok(), i32::try_from(tag).ok());
        [(src, tag), (None, tag), (src, None), (None, None)].into_iter().find_map(|key| {
            let queue = self.requests.get_mut(&key)?;
            let token = queue.pop_front();
            if queue.is_empty() {
                self.requests.remove(&key);
            }
            token
        })
    }

    /// The rank waits. `None` if what it waits for is over already and no step later.
    fn wait(&mut self, waits: Waits, begin: Begin, ready: &mut Vec<Begin>) -> Option<(Token, Action)> {
        self.waits = waits;
        self.position = begin.0;
        let from = self.may_go_on()?;
        match from {
            None => Some((LINE, Action::Waits)),
            Some(from) if from <= begin.0 => None,
            Some(from) => {
                ready.push((from, begin.1, LINE));
                Some((LINE, Action::Waits))
            }
        }
    }

    /// From where on the rank may go on, if what it waits for is over; its requests are forgotten.
    /// The outer `None` means that there was nothing to wait for.
    #[allow(clippy::option_option, reason = "nothing to wait for, not over, over")]
    fn may_go_on(&mut self) -> Option<Option<i64>> {
        match self.waits {
            Waits::Nothing => None,
            Waits::Request(token) => {
                let Some(over) = *self.over.get(&token)? else { return Some(None) };
                self.over.remove(&token);
                self.waits = Waits::Nothing;
                Some(Some(self.position.max(over)))
            }
            Waits::All => {
                if self.over.values().any(Option::is_none) {
                    return Some(None);
                }
                let last = self.over.values().flatten().copied().max();
                self.over.clear();
                self.requests.clear();
                self.waits = Waits::Nothing;
                Some(Some(self.position.max(last.unwrap_or(0))))
            }
        }
    }
}

impl Program for Programs {
    fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    fn begin(&mut self, ready: &mut Vec<Begin>) -> Result<()> {
        ready.extend((0..self.ranks()).map(|rank| (0, rank, LINE)));
        Ok(())
    }

    fn perform(&mut self, begin: Begin, ready: &mut Vec<Begin>) -> Result<(Token, Action)> {
        loop {
            let Some(line) = self.next(begin.1)? else { return Ok((LINE, Action::Ends)) };
            if let Some(acts) = self.act(line, begin, ready)? {
                return Ok(acts);
            }
        }
    }

    fn over(&mut self, rank: u32, token: Token, position: i64, ready: &mut Vec<Begin>) -> Result<()> {
        if token == LINE {
            ready.push((position, rank, LINE));
            return Ok(());
        }
        let state = &mut self.ranks[rank as usize];
        if let Some(over) = state.over.get_mut(&token) {
            *over = Some(position);
        }
        if let Some(Some(from)) = state.may_go_on() {
            ready.push((from, rank, LINE));
        }
        Ok(())
    }

    fn members(&self, _communicator: u32) -> Vec<u32> {
        (0..self.ranks()).collect()
    }

    fn place(&self, rank: u32) -> String {
        self.lines.place(rank)
    }
}
