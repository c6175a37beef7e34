//! What PEs print, line by line.
//!
//! Each PE writes to pipes of its own. Whole lines go on to dushrun's output, so that lines of different
//! PEs never break each other. dushrun itself never waits for whoever reads its output: it has signals
//! and a time limit to attend to.
use dushmem_os::socket;
use std::io::ErrorKind;
use std::os::fd::{BorrowedFd, OwnedFd};

/// A line longer than this is passed on in pieces.
const LONGEST_LINE: usize = 1 << 20;
/// Reading stops while this much waits to be written.
const QUEUE: usize = 1 << 20;
/// What a pipe that poll calls writable takes without waiting.
const SAFE_WRITE: usize = 4096;

/// dushrun's standard output or error.
#[derive(Debug)]
pub struct Sink {
    fd: BorrowedFd<'static>,
    queue: Vec<u8>,
    written: usize,
    may_block: bool,
    /// Nothing can be written any more: the reader has gone, or what `trouble` says.
    broken: bool,
    /// The reader has gone.
    unread: bool,
    trouble: Option<std::io::Error>,
    /// Who wrote last, if that was less than a line.
    unfinished: Option<usize>,
}

impl Sink {
    fn new(fd: BorrowedFd<'static>) -> Sink {
        let may_block = socket::may_block(fd);
        Sink {
            fd,
            queue: Vec::new(),
            written: 0,
            may_block,
            broken: false,
            unread: false,
            trouble: None,
            unfinished: None,
        }
    }

    /// Appends `bytes` of `writer`, on a new line if another one's line is unfinished.
    fn push(&mut self, writer: usize, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        if self.broken {
            return;
        }
        if self.unfinished.is_some_and(|other| other != writer) {
            self.queue.push(b'\n');
        }
        self.queue.extend_from_slice(bytes);
        self.unfinished = (*last != b'\n').then_some(writer);
    }

    /// Ends a line that is unfinished.
    fn end_line(&mut self) {
        if !self.broken && self.unfinished.take().is_some() {
            self.queue.push(b'\n');
        }
    }

    /// Bytes that wait to be written.
    fn pending(&self) -> &[u8] {
        &self.queue[self.written..]
    }

    /// Writes what can be written now.
    fn flush(&mut self) {
        while self.written < self.queue.len() && (!self.may_block || socket::writable(self.fd)) {
            let end = match self.may_block {
                true => self.queue.len().min(self.written + SAFE_WRITE),
                false => self.queue.len(),
            };
            match socket::write(self.fd, &self.queue[self.written..end]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => {
                    self.broken = true;
                    self.unread = error.kind() == ErrorKind::BrokenPipe;
                    self.trouble = (!self.unread).then_some(error);
                    self.written = self.queue.len();
                }
            }
        }
        if self.written == self.queue.len() {
            self.queue.clear();
            self.written = 0;
        } else if self.written > QUEUE / 2 {
            self.queue.drain(..self.written);
            self.written = 0;
        }
    }
}

/// How a PE has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, or by somebody else.
    Own,
    /// By a signal of dushrun's, so an unfinished line on its standard error is a stump.
    ByDushrun,
}

/// One pipe of one PE.
#[derive(Debug)]
struct Stream {
    fd: OwnedFd,
    pe: usize,
    sink: usize,
    is_error: bool,
    line: Vec<u8>,
    /// The beginning of the current line has been passed on already.
    begun: bool,
    /// The pipe was found empty when it was read last.
    drained: bool,
    /// The pipe has ended. The last line, which is unfinished, waits for the end of the PE.
    closed: bool,
    /// How the PE has ended, if it has.
    end: Option<End>,
    /// Passes on beginnings of lines at once: prompts of a PE that reads a terminal.
    eager: bool,
}

/// Everything that is read from PEs and written by dushrun.
#[derive(Debug)]
pub struct Output {
    sinks: Vec<Sink>,
    streams: Vec<Stream>,
    prefix: bool,
    buffer: Vec<u8>,
}

/// dushrun as the writer of a line.
const DUSHRUN: usize = usize::MAX;

impl Output {
    /// No PE has a pipe yet.
    pub fn new(prefix: bool) -> Output {
        let [_, out, err] = socket::standard();
        let sinks = match socket::same_file(out, err) {
            // One queue keeps their lines whole and in order.
            true => vec![Sink::new(err)],
            false => vec![Sink::new(out), Sink::new(err)],
        };
        Output { sinks, streams: Vec::new(), prefix, buffer: vec![0; 64 << 10] }
    }

    /// Makes the pipes of a PE; gives the ends that it writes to: standard output, standard error.
    pub fn connect(&mut self, pe: usize, reads_stdin: bool) -> std::io::Result<[OwnedFd; 2]> {
        let mut one = |which: usize| -> std::io::Result<OwnedFd> {
            let (read, write) = socket::pipe()?;
            socket::nonblocking(&read)?;
            let sink = which.min(self.sinks.len() - 1);
            let interactive = || socket::is_terminal(socket::standard()[0]);
            let eager = reads_stdin && interactive() && socket::is_terminal(self.sinks[sink].fd);
            self.streams.push(Stream {
                fd: read,
                pe,
                sink,
                is_error: which == 1,
                line: Vec::new(),
                begun: false,
                drained: true,
                closed: false,
                end: None,
                eager,
            });
            Ok(write)
        };
        Ok([one(0)?, one(1)?])
    }

    /// Prints a line of dushrun's own.
    pub fn say(&mut self, line: &str) {
        let last = self.sinks.len() - 1;
        self.sinks[last].push(DUSHRUN, format!("{line}\n").as_bytes());
        self.flush();
    }

    /// Calls `add` with each descriptor to wait for, and whether for writing.
    pub fn waits<'a>(&'a self, mut add: impl FnMut(BorrowedFd<'a>, bool)) {
        for sink in self.sinks.iter().filter(|sink| !sink.pending().is_empty()) {
            add(sink.fd, true);
        }
        let open = self.streams.iter().filter(|stream| !stream.closed);
        for stream in open.filter(|stream| self.sinks[stream.sink].pending().len() < QUEUE) {
            add(std::os::fd::AsFd::as_fd(&stream.fd), false);
        }
    }

    /// Reads what the PEs have written and writes what can be written.
    pub fn pump(&mut self) {
        let Output { sinks, streams, prefix, buffer } = self;
        streams.retain_mut(|stream| {
            let sink = &mut sinks[stream.sink];
            if stream.closed {
                return !sink.unread;
            }
            stream.drained = false;
            while !sink.unread && sink.pending().len() < QUEUE {
                match socket::read(&stream.fd, buffer) {
                    Ok(0) if stream.is_error && stream.end.is_none() && !stream.line.is_empty() => {
                        (stream.drained, stream.closed) = (true, true);
                        break;
                    }
                    Ok(0) => {
                        stream.finish(sink, *prefix);
                        return false;
                    }
                    Ok(count) => {
                        stream.take(&buffer[..count], sink, *prefix);
                        sink.flush();
                        // A short read emptied the pipe.
                        if count < buffer.len() {
                            stream.drained = true;
                            break;
                        }
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        stream.drained = true;
                        break;
                    }
                    Err(_) => return false,
                }
            }
            // Where nobody reads dushrun's output any more, the PE is to notice as well. Where it can't be written,
            // dushrun says so and ends the job: PEs that complained too would hide the cause.
            !sink.unread
        });
        self.flush();
    }

    fn flush(&mut self) {
        self.sinks.iter_mut().for_each(Sink::flush);
    }

    /// PE `pe` has ended.
    pub fn ended(&mut self, pe: usize, end: End) {
        let Output { sinks, streams, prefix, .. } = self;
        streams.retain_mut(|stream| {
            if stream.pe == pe {
                stream.end = Some(end);
                if stream.closed {
                    stream.finish(&mut sinks[stream.sink], *prefix);
                    return false;
                }
            }
            true
        });
    }

    /// After the last PE: reads what is left in the pipes, and passes on unfinished lines; a newline behind
    /// the last one where the job has `failed`, since the next thing on a terminal is the prompt. True when
    /// everything is written.
    pub fn finish(&mut self, failed: bool) -> bool {
        self.pump();
        let Output { sinks, streams, prefix, .. } = self;
        streams.retain_mut(|stream| {
            // The pipe may be open in some descendant still, but there is nothing in it.
            if stream.drained {
                stream.finish(&mut sinks[stream.sink], *prefix);
            }
            !stream.drained
        });
        if failed && self.streams.is_empty() {
            self.sinks.iter_mut().for_each(Sink::end_line);
        }
        self.flush();
        self.streams.is_empty() && self.sinks.iter().all(|sink| sink.pending().is_empty())
    }

    /// Why output was lost, the first time this is asked: something else than that its reader has gone.
    pub fn trouble(&mut self) -> Option<std::io::Error> {
        self.sinks.iter_mut().find_map(|sink| sink.trouble.take())
    }

    /// True where dushrun's output can't be written any more.
    pub fn broken(&self) -> bool {
        self.sinks.iter().any(|sink| sink.broken)
    }
}

impl Stream {
    /// Takes bytes that the PE has written, and passes whole lines on.
    fn take(&mut self, bytes: &[u8], sink: &mut Sink, prefix: bool) {
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if prefix {
            for line in bytes[..whole].split_inclusive(|byte| *byte == b'\n') {
                self.line.extend_from_slice(line);
                self.pass(sink, prefix);
            }
        } else if whole > 0 {
            self.line.extend_from_slice(&bytes[..whole]);
            self.pass(sink, prefix);
        }
        self.line.extend_from_slice(&bytes[whole..]);
        if self.line.len() > LONGEST_LINE || self.eager {
            self.pass(sink, prefix);
        }
    }

    /// Passes on what has been gathered.
    fn pass(&mut self, sink: &mut Sink, prefix: bool) {
        if self.line.is_empty() {
            return;
        }
        if prefix && !self.begun {
            let mut head = format!("[{}] ", self.pe).into_bytes();
            head.append(&mut self.line);
            self.line = head;
        }
        self.begun = self.line.last() != Some(&b'\n');
        sink.push(self.pe, &self.line);
        self.line.clear();
    }

    /// Passes on an unfinished last line, if it is worth it.
    fn finish(&mut self, sink: &mut Sink, prefix: bool) {
        if self.is_error && self.end == Some(End::ByDushrun) {
            self.line.clear();
        }
        self.pass(sink, prefix);
    }
}
