//! A child process with line-based input and output. Two threads hold its pipes, so neither a full
//! pipe nor a silent child blocks the run, which only waits on channels with a time limit.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

use phaseflow_collect::{Error, Result};
use serde::Serialize;

/// Longest answer, bytes: routes of a million pairs with 256 bytes each.
const MAX_ANSWER: u64 = 256 << 20;
/// Time for the program to end after its standard input is closed, before it is killed.
const GRACE: Duration = Duration::from_secs(1);

/// The outcome of a question.
pub(super) enum Answer {
    Line(Vec<u8>),
    /// It wrote a line before the question.
    Unasked(Vec<u8>),
    TooLong(u64),
    Late,
    /// It closed its output; with its exit status.
    Gone(String),
}

enum Heard {
    Line(Vec<u8>),
    TooLong,
}

/// A started program.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    questions: Option<Sender<Vec<u8>>>,
    answers: Receiver<Heard>,
}

impl Process {
    /// Starts the program of the first word with the other words as arguments; no shell is
    /// involved.
    pub(super) fn start(words: &[String]) -> Result<Self> {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let start = |problem: String| Error::data(format!("cannot be started: {problem}"));
        let mut child = command.spawn().map_err(|error| start(error.to_string()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(start("it has no standard input or output".into()));
        };
        let (questions, to_write) = channel();
        // One line at a time: endless output fills the pipe, not our memory.
        let (heard, answers) = sync_channel(0);
        thread::spawn(move || write(input, &to_write));
        thread::spawn(move || read(output, &heard));
        Ok(Self { child, questions: Some(questions), answers })
    }

    /// Writes a question and waits for the answer.
    pub(super) fn exchange<Q: Serialize>(&mut self, question: &Q, timeout: Duration) -> Result<Answer> {
        match self.answers.try_recv() {
            Ok(Heard::Line(line)) => return Ok(Answer::Unasked(line)),
            Ok(Heard::TooLong) => return Ok(Answer::TooLong(MAX_ANSWER)),
            Err(_) => {}
        }
        let mut line = serde_json::to_vec(question).map_err(|error| Error::data(error.to_string()))?;
        line.push(b'\n');
        if let Some(questions) = &self.questions {
            // The writer ends with the program; the next lines find its exit status.
            let _ = questions.send(line);
        }
        Ok(match self.answers.recv_timeout(timeout) {
            Ok(Heard::Line(line)) => Answer::Line(line),
            Ok(Heard::TooLong) => Answer::TooLong(MAX_ANSWER),
            Err(RecvTimeoutError::Timeout) => Answer::Late,
            Err(RecvTimeoutError::Disconnected) => Answer::Gone(self.end()),
        })
    }

    /// Exit status of a program that has closed its output.
    fn end(&mut self) -> String {
        for _ in 0..100 {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.to_string(),
                Ok(None) => thread::sleep(Duration::from_millis(2)),
                Err(error) => return error.to_string(),
            }
        }
        "it closed its standard output".into()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.questions = None;
        // Its output closes at its end. A bounded number of last lines is read before.
        for _ in 0..3 {
            if self.answers.recv_timeout(GRACE).is_err() {
                break;
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn write(mut input: ChildStdin, questions: &Receiver<Vec<u8>>) {
    for question in questions {
        if input.write_all(&question).is_err() {
            return;
        }
    }
}

fn read(output: ChildStdout, heard: &SyncSender<Heard>) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        let message = match output.by_ref().take(MAX_ANSWER).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(count) if count as u64 == MAX_ANSWER => Heard::TooLong,
            Ok(_) => Heard::Line(line),
        };
        let last = matches!(message, Heard::TooLong);
        if heard.send(message).is_err() || last {
            return;
        }
    }
}
