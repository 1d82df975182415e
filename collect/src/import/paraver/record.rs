//! Records of a Paraver trace: a line each, numbers with colons between.

use rustc_hash::FxHashMap;

use super::header::Layout;
use super::names::{CALLS, Names};
use super::order::{Key, Order};
use crate::import::digits::digits;
use crate::trace::{Call, Message, Operation, Rank};
use crate::{Error, Result};

/// Types of Extrae's events that stand beside a collective: bytes sent and received, root,
/// communicator.
const SENT_BYTES: i64 = 50_100_001;
const RECEIVED_BYTES: i64 = 50_100_002;
const ROOT: i64 = 50_100_003;
const COMMUNICATOR: i64 = 50_100_004;

/// Reads lines into an [`Order`].
pub(super) struct Reader<'a> {
    layout: Layout,
    names: &'a Names,
    /// Calls that have begun, by rank and thread.
    open: FxHashMap<(u32, i64), Key>,
    /// Communicators of all tasks of an application.
    worlds: Vec<i64>,
    /// Values of MPI calls without names.
    nameless: u64,
    /// Messages that arrive before they are sent.
    early: u64,
}

/// What is read of the events of one moment.
#[derive(Default)]
struct Moment {
    /// A call begins with this operation; `Some(None)` if one ends.
    call: Option<Option<Operation>>,
    sent: Option<i64>,
    received: Option<i64>,
    root: Option<i64>,
    communicator: Option<i64>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(layout: Layout, names: &'a Names) -> Self {
        Self { layout, names, open: FxHashMap::default(), worlds: Vec::new(), nameless: 0, early: 0 }
    }

    /// Reads a line.
    ///
    /// # Errors
    /// A line that is no record, ranks that the header does not have, an order that cannot be
    /// restored, errors of the sink.
    pub(super) fn line(&mut self, line: &[u8], order: &mut Order<'_>) -> Result<()> {
        match line {
            [b'3', b':', rest @ ..] => self.message(rest, order),
            [b'2', b':', rest @ ..] => self.events(rest, order),
            [b'c', b':', rest @ ..] => self.communicator(rest),
            [] | [b'1', b':', ..] | [b'#' | b'i' | b'I' | b'C', ..] => Ok(()),
            _ => {
                let found = String::from_utf8_lossy(line).chars().take(40).collect::<String>();
                Err(Error::data(format!(
                    "found `{found}`, expected a record that begins with 1:, 2:, 3: or c:"
                )))
            }
        }
    }

    /// `cpu:app:task:thread:lsend:psend:cpu:app:task:thread:lreceive:preceive:size:tag`
    fn message(&mut self, text: &[u8], order: &mut Order<'_>) -> Result<()> {
        let mut fields = Numbers(text);
        let mut all = [0; 14];
        for field in &mut all {
            *field = fields.next("14 numbers of a message")?;
        }
        let [_, src_app, src_task, _, posted, _, _, dst_app, dst_task, _, asked, arrived, bytes, tag] = all;
        let time = |time: i64| time.saturating_mul(self.layout.unit_ns);
        let bytes = u64::try_from(bytes).map_err(|_| Error::data(format!("has a size of {bytes} bytes")))?;
        let message = Message {
            send_post_ns: time(posted),
            src: Rank(self.rank(src_app, src_task)?),
            dst: Rank(self.rank(dst_app, dst_task)?),
            bytes,
            tag: i32::try_from(tag).ok(),
            receive_post_ns: Some(time(asked)),
            receive_complete_ns: Some(time(arrived)),
            ..Message::default()
        };
        self.early += u64::from(arrived < posted);
        order.message(message)
    }

    fn rank(&self, application: i64, task: i64) -> Result<u32> {
        self.layout.rank(application, task).ok_or_else(|| {
            Error::data(format!(
                "is of task {task} of application {application}, which the header does not have"
            ))
        })
    }

    /// `app:communicator:size:task:…`
    fn communicator(&mut self, text: &[u8]) -> Result<()> {
        let mut fields = Numbers(text);
        let what = "a communicator as app:number:size:tasks";
        let (application, number, size) = (fields.next(what)?, fields.next(what)?, fields.next(what)?);
        if self.layout.tasks(application).is_some_and(|tasks| i64::from(tasks) == size) {
            self.worlds.push(number);
        }
        Ok(())
    }

    /// `cpu:app:task:thread:time:type:value:…`
    fn events(&mut self, text: &[u8], order: &mut Order<'_>) -> Result<()> {
        let mut fields = Numbers(text);
        let what = "the object and time of an event";
        let (_cpu, application, task) = (fields.next(what)?, fields.next(what)?, fields.next(what)?);
        let (thread, time) = (fields.next(what)?, fields.next(what)?);
        let time_ns = time.saturating_mul(self.layout.unit_ns);
        let mut moment = Moment::default();
        while !fields.0.is_empty() {
            let (kind, value) = (fields.next("the type of an event")?, fields.next("the value of an event")?);
            match kind {
                _ if CALLS.contains(&kind) && value == 0 => moment.call = Some(None),
                _ if CALLS.contains(&kind) => {
                    self.nameless += u64::from(!self.names.knows(value));
                    moment.call = self.names.operation(value).map(Some);
                }
                SENT_BYTES => moment.sent = Some(value),
                RECEIVED_BYTES => moment.received = Some(value),
                ROOT => moment.root = Some(value),
                COMMUNICATOR => moment.communicator = Some(value),
                _ => {}
            }
        }
        if moment.call.is_none() && moment.sent.is_none() {
            return Ok(());
        }
        let rank = self.rank(application, task)?;
        self.moment(rank, thread, time_ns, &moment, order)
    }

    fn moment(
        &mut self,
        rank: u32,
        thread: i64,
        time_ns: i64,
        moment: &Moment,
        order: &mut Order<'_>,
    ) -> Result<()> {
        match moment.call {
            Some(None) => {
                if let Some(key) = self.open.remove(&(rank, thread)) {
                    order.end(&key, time_ns);
                }
            }
            Some(Some(operation)) => {
                let call = Call { enter_ns: time_ns, rank: Rank(rank), operation, ..Call::default() };
                let key = order.begin(call)?;
                self.open.insert((rank, thread), key);
            }
            None => {}
        }
        // Sizes stand in the line of the beginning, or in one of its own after it.
        if let Some(key) = self.open.get(&(rank, thread))
            && let Some(call) = order.call(key)
            && (Operation::Barrier..=Operation::NeighborAlltoallw).contains(&call.operation)
        {
            let bytes = match call.operation {
                Operation::Scatter | Operation::Scatterv | Operation::ReduceScatter => moment.received,
                _ => moment.sent,
            };
            call.bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok()).or(call.bytes);
            if moment.communicator.is_some_and(|number| self.worlds.contains(&number)) {
                call.communicator = Some(0);
            }
        }
        Ok(())
    }

    /// What the user should know.
    pub(super) fn remarks(&self) -> Vec<String> {
        let counts = [
            (
                self.nameless,
                "MPI calls have no name, and are left out: the .pcf file beside the trace has them",
            ),
            (self.early, "messages arrive before they are sent: the clocks of their hosts are apart"),
        ];
        let said = counts.iter().filter(|(count, _)| *count > 0);
        said.map(|(count, what)| format!("{count} {what}")).collect()
    }
}

/// Numbers with colons between.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    #[inline]
    fn next(&mut self, what: &str) -> Result<i64> {
        let (negative, text) = self.0.strip_prefix(b"-").map_or((false, self.0), |rest| (true, rest));
        let number = digits(text).and_then(|(value, length)| {
            let value = i64::try_from(value).ok()?;
            let rest = match &text[length..] {
                [] => &[][..],
                [b':', rest @ ..] => rest,
                _ => return None,
            };
            Some((if negative { -value } else { value }, rest))
        });
        let Some((value, rest)) = number else {
            let found = String::from_utf8_lossy(self.0).chars().take(40).collect::<String>();
            return Err(Error::data(format!("found `{found}`, expected {what}")));
        };
        self.0 = rest;
        Ok(value)
    }
}
