//! The life of a job: start, watch, end.
mod report;
use crate::asked::{Asked, Request};
use crate::causes::MemoryWatch;
use crate::circle::{self, Circles};
use crate::error::{OWN_FAILURE, RunError, start_error, system};
use crate::keeper::Keeper;
use crate::output::{End, Output};
use crate::plan::{PePlan, Plan, Program, as_path, is_script};
use crate::{descendants, gpu_bind, gpus, hang};
use dushmem_boot::Call;
use dushmem_boot::job::{JobPage, PeState};
use dushmem_boot::launch::{LaunchLine, MAX_PES, Message, VARIABLE};
use dushmem_os::process::{self, Ended, FileLimit, Spawn, Spawner};
use dushmem_os::signal::{self, Signals, number as sig};
use dushmem_os::socket::{self, PollFd, PollFlags};
use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr};
use std::hash::{BuildHasher, Hasher};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

/// A PE that waits this long while another one has left without finalize will wait for ever.
const STUCK: Duration = Duration::from_secs(2);
/// How often to look for such PEs.
const LOOK: Duration = Duration::from_millis(200);
/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(1500);

/// A PE as dushrun sees it.
#[derive(Debug)]
struct Pe {
    /// The process that was started.
    pid: u32,
    ended: Option<Ended>,
    /// Ended before finalize with exit code 0, or after it: whoever waits for this PE from then on waits in
    /// vain.
    left: bool,
    /// The process that called init, where that is a descendant of the one that was started, and what
    /// tells its end.
    inner: Option<(u32, Option<OwnedFd>)>,
    /// When that process ended before finalize while the started one went on.
    lost: Option<Instant>,
    /// It has ended the job, and exits by itself, with its exit handlers.
    exits: bool,
}

/// The job is being ended.
#[derive(Debug)]
struct Ending {
    code: i32,
    kill_at: Option<Instant>,
}

#[derive(Debug)]
struct Job<'a> {
    plan: &'a Plan,
    page: JobPage,
    pes: Vec<Pe>,
    by_pid: HashMap<u32, usize>,
    running: usize,
    signals: Signals,
    control: Option<OwnedFd>,
    output: Output,
    deadline: Option<Instant>,
    ending: Option<Ending>,
    /// The first PE that finalized and then exited with another code than 0, and the code.
    passed: Option<(usize, i32)>,
    asked: Asked,
    memory: MemoryWatch,
    gpus: gpus::Sharing,
    circles: Circles,
    /// When to look for such next.
    circles_at: Instant,
    /// Lines about the PEs that waited, were stopped or had left when the user asked.
    waited: Vec<String>,
    /// The kernel ends the PEs when this closes.
    _life: OwnedFd,
}

/// Runs the job; gives dushrun's exit code.
pub fn run(plan: &Plan) -> Result<i32, RunError> {
    let caught = [
        sig::SIGCHLD,
        sig::SIGINT,
        sig::SIGTERM,
        sig::SIGHUP,
        sig::SIGQUIT,
        sig::SIGUSR1,
        sig::SIGUSR2,
        sig::SIGTSTP,
        sig::SIGCONT,
    ];
    let total = plan.pes.len();
    if total > MAX_PES {
        return Err(RunError::Arguments(format!("-n: {total} PEs, where a job has at most {MAX_PES}")));
    }
    // A daemon is started before signals are caught, so that it has them as ever.
    let gpus = gpus::arrange(plan.gpu_share, total, &|name| std::env::var_os(name))?;
    // The PEs inherit what is ignored, so dushrun does not take what they would not.
    let caught = caught.map(|number| if signal::is_ignored(number) { sig::SIGCHLD } else { number });
    let signals = Signals::catch(&caught).map_err(system("receive signals"))?;
    process::adopt_orphans();
    // Two pipes for each PE.
    let file_limit = process::raise_file_limit(2 * total as u64 + 32);
    let (memory, mut page) = dushmem_boot::launcher::job_memory(total)?;
    // Not the one that the PEs inherit.
    page.keep(memory.try_clone().map_err(system("keep the memory of the job"))?);
    let (near, far) = socket::control_pair().map_err(system("make a control socket"))?;
    let (life, _life) = socket::pipe().map_err(system("make a pipe"))?;
    for fd in [&memory, &life] {
        socket::inherit(fd).map_err(system("pass a descriptor on"))?;
    }
    let line = LaunchLine {
        sock: far.as_raw_fd(),
        mem: memory.as_raw_fd(),
        life: life.as_raw_fd(),
        pe: 0,
        npes: total,
        by: std::process::id(),
        job: format!("{:016x}", std::hash::RandomState::new().build_hasher().finish()),
    };
    let mut job = Job {
        plan,
        page,
        pes: Vec::with_capacity(total),
        by_pid: HashMap::with_capacity(total),
        running: 0,
        signals,
        control: Some(near),
        output: Output::new(plan.prefix),
        deadline: plan.limit.and_then(|limit| Instant::now().checked_add(limit)),
        ending: None,
        passed: None,
        asked: Asked::default(),
        waited: Vec::new(),
        memory: MemoryWatch::begin(),
        gpus,
        circles: Circles::default(),
        circles_at: Instant::now() + circle::LOOK,
        _life,
    };
    let started = job.start(line, file_limit);
    // PEs hold these from here on.
    drop((far, memory, life));
    if let Err(error) = started {
        job.end(error.code(), Some(&format!("dushrun: {error}")));
    }
    job.watch();
    job.end_daemon();
    Ok(job.code())
}

impl Job<'_> {
    fn start(&mut self, mut line: LaunchLine, file_limit: Option<FileLimit>) -> Result<(), RunError> {
        let null = socket::dev_null().map_err(system("open /dev/null"))?;
        let mut spawner = Spawner::new();
        if let Some(text) = &self.gpus.warning {
            self.output.say(&format!("dushrun: {text}"));
        }
        let shared: Vec<CString> =
            self.gpus.variables.iter().map(|(name, value)| assigned(name, value)).collect();
        for (pe, plan) in self.plan.pes.iter().enumerate() {
            line.pe = pe;
            let mut own = vec![
                c_string(format!("{VARIABLE}={line}")),
                c_string(format!("DUSHMEM_PE={pe}")),
                c_string(format!("DUSHMEM_NPES={}", line.npes)),
            ];
            own.extend(plan.gpu.as_ref().map(|gpu| c_string(gpu_bind::assigned(gpu))));
            let other = |variable: &CStr| {
                let bound = plan.gpu.is_some() && gpu_bind::is_variable(variable);
                !bound && !self.gpus.sets(variable.to_bytes())
            };
            let inherited = plan.env.iter().filter(|variable| other(variable));
            let env: Vec<&CStr> = inherited.chain(&shared).chain(&own).map(CString::as_c_str).collect();
            let pid = self.start_one(pe, plan, &env, &null, file_limit, &mut spawner)?;
            self.by_pid.insert(pid, pe);
            self.pes.push(Pe { pid, ended: None, left: false, inner: None, lost: None, exits: false });
            self.running += 1;
            if pe % 16 == 15 {
                // PEs that have started already may print a lot, or fail.
                self.output.pump();
            }
        }
        Ok(())
    }

    /// Ends the daemon that was started for the job.
    fn end_daemon(&mut self) {
        if let Some(folder) = self.gpus.keeper.take().and_then(Keeper::end) {
            let text = format!("dushrun: the daemon of {} has not ended yet", folder.display());
            dushmem_os::say::say(&text);
        }
    }

    fn start_one(
        &mut self,
        pe: usize,
        plan: &PePlan,
        env: &[&CStr],
        null: &OwnedFd,
        file_limit: Option<FileLimit>,
        spawner: &mut Spawner,
    ) -> Result<u32, RunError> {
        let [stdin, stdout, stderr] = socket::standard();
        let pipes = match plan.direct {
            true => None,
            false => Some(self.output.connect(pe, plan.stdin).map_err(|why| start_error(pe, plan, why))?),
        };
        let [out, err] = match &pipes {
            Some([out, err]) => [out.as_fd(), err.as_fd()],
            None => [stdout, stderr],
        };
        let input = if plan.stdin { stdin } else { null.as_fd() };
        let stdio = [input, out, err];
        let Program { path, args } = &*plan.program;
        let mask = self.signals.mask_before();
        let spawn = Spawn { program: path, args, env, stdio, cpus: plan.cpus, mask, file_limit };
        match spawner.start(&spawn) {
            // A script without a first line that names its interpreter, as shells start it.
            Err(why) if why.raw_os_error() == Some(process::NO_INTERPRETER) && is_script(as_path(path)) => {
                let mut words = vec![c_string("sh".into()), path.clone()];
                words.extend(args.iter().skip(1).cloned());
                spawner.start(&Spawn { program: c"/bin/sh", args: &words, ..spawn })
            }
            other => other,
        }
        .map_err(|why| start_error(pe, plan, why))
    }

    /// Attends to the job until every PE has ended and everything is written.
    fn watch(&mut self) {
        while self.running > 0 {
            self.wait();
            let mut reaped = Vec::new();
            while let Some((number, from_kernel)) = self.signals.next() {
                self.on_signal(number, from_kernel, &mut reaped);
            }
            self.output.pump();
            // After the reaping: what a PE said before it ended is heard before its end is judged.
            self.listen();
            for (pid, ended) in reaped {
                self.judge(pid, ended);
            }
            self.check_times();
            self.notice_lost_output();
        }
        if self.ending.is_some() {
            let keeper = self.gpus.keeper.as_ref().map(Keeper::pid);
            descendants::end_all(keeper);
        }
        if self.ending.is_none() && self.passed.is_none() {
            self.notice_lost_calls();
        }
        if self.write_out()
            && self.ending.is_none()
            && let Some((pe, code)) = self.passed
        {
            let pid = self.shown_pid(pe);
            self.output.say(&format!("dushrun: PE {pe} (pid {pid}) exited with code {code} after finalize"));
            self.write_out();
        }
    }

    /// Writes what is left to be written. False where the user or the reader does not wait for it.
    fn write_out(&mut self) -> bool {
        let patience = self.ending.as_ref().map(|_| Instant::now() + STUCK);
        let failed = self.code() != 0;
        while !self.output.finish(failed) {
            if patience.is_some_and(|limit| Instant::now() >= limit) {
                return false;
            }
            self.wait();
            while let Some((number, _)) = self.signals.next() {
                if matches!(number, sig::SIGINT | sig::SIGTERM | sig::SIGHUP | sig::SIGQUIT) {
                    self.asked.take(number);
                    return false;
                }
            }
        }
        self.notice_lost_output();
        true
    }

    /// Output that can't be written, to a full disk say, is a failure of the job.
    fn notice_lost_output(&mut self) {
        if let Some(why) = self.output.trouble() {
            let line = format!("dushrun: cannot write the output: {why}");
            self.output.say(&line);
            self.end(OWN_FAILURE, None);
        }
    }

    fn wait(&self) {
        let mut fds = Vec::with_capacity(2 * self.pes.len() + 4);
        fds.push(PollFd::new(self.signals.fd(), PollFlags::IN));
        fds.extend(self.control.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
        let inner = self.pes.iter().filter(|pe| pe.lost.is_none() && pe.ended.is_none());
        let inner = inner.filter_map(|pe| pe.inner.as_ref()?.1.as_ref());
        fds.extend(inner.map(|fd| PollFd::new(fd, PollFlags::IN)));
        self.output.waits(|fd, write| {
            fds.push(PollFd::from_borrowed_fd(fd, if write { PollFlags::OUT } else { PollFlags::IN }));
        });
        let now = Instant::now();
        let until = |at: Instant| at.saturating_duration_since(now);
        let kill = self.ending.as_ref().and_then(|ending| ending.kill_at).map(until);
        let limit = self.deadline.filter(|_| self.ending.is_none()).map(until);
        let look = self.pes.iter().any(|pe| pe.left || pe.lost.is_some()) || self.running == 0;
        let stubborn = self.asked.tell_at().map(until);
        let circles = self.ending.is_none().then(|| until(self.circles_at));
        let timeout = [kill, limit, stubborn, circles, look.then_some(LOOK)].into_iter().flatten().min();
        socket::poll(&mut fds, timeout);
    }

    /// Ends the job with `code`; the line says why.
    fn end(&mut self, code: i32, line: Option<&str>) {
        if self.ending.is_some() {
            return;
        }
        if let Some(line) = line {
            self.output.pump();
            self.output.say(line);
        }
        self.ending = Some(Ending { code, kill_at: Some(Instant::now() + GRACE) });
        self.send(sig::SIGTERM);
        // A stopped process would not notice.
        self.send(sig::SIGCONT);
    }

    /// Sends a signal to every PE that runs; a request to end not to one that is about to.
    fn send(&self, number: i32) {
        let spared = |pe: &Pe| pe.ended.is_some() || pe.exits && number == sig::SIGTERM;
        for pe in self.pes.iter().filter(|pe| !spared(pe)) {
            signal::send(pe.pid, number);
            if let (Some((inner, _)), None) = (&pe.inner, pe.lost) {
                signal::send(*inner, number);
            }
        }
    }

    fn on_signal(&mut self, number: i32, from_kernel: bool, reaped: &mut Vec<(u32, Ended)>) {
        match number {
            sig::SIGCHLD => reaped.extend(std::iter::from_fn(process::reap)),
            // The keyboard belongs to the debugger.
            sig::SIGINT | sig::SIGQUIT | sig::SIGTSTP if from_kernel && self.plan.debugged_here => {}
            sig::SIGTSTP => {
                // A terminal has told the PEs already.
                if !from_kernel {
                    self.send(sig::SIGSTOP);
                }
                let before = Instant::now();
                signal::stop_self();
                self.deadline = self.deadline.map(|deadline| deadline + before.elapsed());
            }
            sig::SIGINT | sig::SIGTERM | sig::SIGHUP | sig::SIGQUIT => {
                match self.asked.take(number) {
                    Request::Same => {}
                    // The second time means it.
                    Request::Again => {
                        let line = format!("dushrun: {} again: the job is killed", signal::name(number));
                        self.note_waits();
                        self.end_asked(128 + number, &line);
                        self.send(sig::SIGKILL);
                    }
                    Request::First => {
                        // Before the signal ends them, if a terminal has not sent it to them already.
                        self.note_waits();
                        if !from_kernel {
                            self.send(number);
                        }
                        // One that is stopped gets it only then.
                        self.let_go_on();
                    }
                }
            }
            _ => self.send(number),
        }
    }

    /// Takes the messages of PEs.
    fn listen(&mut self) {
        let mut buffer = [0; socket::MESSAGE];
        while let Some((len, pid)) = self.control.as_ref().and_then(|fd| socket::receive(fd, &mut buffer)) {
            match Message::decode(&buffer[..len]) {
                Some(Message::Joined { pe })
                    if pid != 0 && self.pes.get(pe).is_some_and(|pe| pe.pid != pid) =>
                {
                    let watch = process::watch(pid);
                    // It may have ended already.
                    let gone =
                        watch.as_ref().is_err_and(|why| why.raw_os_error() == Some(process::NO_PROCESS));
                    self.pes[pe].lost = gone.then(Instant::now);
                    self.pes[pe].inner = Some((pid, watch.ok()));
                }
                Some(Message::Abort { pe, code, text }) => {
                    self.pes.get_mut(pe).into_iter().for_each(|pe| pe.exits = true);
                    self.end(code & 0xff, (!text.is_empty()).then_some(&*text));
                }
                _ => {}
            }
        }
        if self.control.as_ref().is_some_and(socket::hung_up) {
            // Nobody is left who could say anything.
            self.control = None;
        }
        for pe in &mut self.pes {
            if let (Some((_, Some(fd))), None) = (&pe.inner, pe.lost)
                && socket::readable(fd)
            {
                pe.lost = Some(Instant::now());
            }
        }
    }

    /// Decides what the end of a process means.
    fn judge(&mut self, pid: u32, ended: Ended) {
        // Other processes are orphans of PEs.
        let Some(pe) = self.by_pid.remove(&pid) else { return };
        self.running -= 1;
        self.pes[pe].ended = Some(ended);
        let ours = match ended {
            Ended::Signal { number: sig::SIGTERM | sig::SIGKILL, .. } if self.ending.is_some() => true,
            Ended::Signal { number, .. } => self.asked.number() == Some(number),
            Ended::Exit(_) => false,
        };
        self.output.ended(pe, if ours { End::ByDushrun } else { End::Own });
        if self.ending.is_some() {
            return;
        }
        let state = self.page.card(pe).state();
        match ended {
            Ended::Exit(0) => self.pes[pe].left = true,
            Ended::Exit(code) if state == PeState::Finalized => {
                self.pes[pe].left = true;
                self.passed.get_or_insert((pe, code));
            }
            Ended::Exit(code) => {
                let when = if state == PeState::Started {
                    "before it had joined the job"
                } else {
                    "before finalize"
                };
                let line =
                    format!("dushrun: PE {pe} (pid {}) exited with code {code} {when}", self.shown_pid(pe));
                self.end_asked(code, &line);
            }
            Ended::Signal { number, .. } if self.asked.number() == Some(number) => {
                let line = format!("dushrun: the job was ended by {}", signal::name(number));
                self.end_asked(128 + number, &line);
            }
            // Whoever read the output has seen enough.
            Ended::Signal { number: sig::SIGPIPE, .. }
                if self.output.broken() || self.plan.pes[pe].direct =>
            {
                self.end(128 + sig::SIGPIPE, None);
            }
            Ended::Signal { number, core } => {
                let hint = self.memory.hint(number, core);
                let name = signal::name(number);
                let line = format!("dushrun: PE {pe} (pid {}) was ended by {name}{hint}", self.shown_pid(pe));
                self.end(128 + number, Some(&line));
            }
        }
    }

    fn check_times(&mut self) {
        let now = Instant::now();
        if let Some(ending) = &mut self.ending {
            if ending.kill_at.is_some_and(|at| now >= at) {
                ending.kill_at = None;
                self.send(sig::SIGKILL);
                descendants::kill_orphans(&self.by_pid, self.gpus.keeper.as_ref().map(Keeper::pid));
            }
            return;
        }
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            self.time_out();
            return;
        }
        if let Some(line) = self.asked.tell(now, self.running, self.pes.len()) {
            self.output.say(&line);
        }
        self.look_for_left_behind(now);
        if self.ending.is_none() && now >= self.circles_at {
            self.circles_at = now + circle::LOOK;
            self.look_for_circles();
        }
    }

    /// Ends the job where a PE is gone without finalize and another one waits as if for it.
    fn look_for_left_behind(&mut self, now: Instant) {
        let lost = |pe: &usize| {
            let Pe { lost, ended, .. } = &self.pes[*pe];
            let over = lost.is_some_and(|at| now.duration_since(at) >= Duration::from_secs(1));
            over && ended.is_none() && self.page.card(*pe).state() == PeState::Joined
        };
        if let Some(pe) = (0..self.pes.len()).find(lost) {
            let (pid, outer) = (self.shown_pid(pe), self.pes[pe].pid);
            let line = format!(
                "dushrun: PE {pe} (pid {pid}) ended before finalize; pid {outer}, which started it, runs on"
            );
            self.end(1, Some(&line));
            return;
        }
        // One that has finalized is missed only by those that initialise again.
        let finalized = |pe: usize| self.page.card(pe).state() == PeState::Finalized;
        let gone = |pe: &usize| self.pes[*pe].left;
        let Some(gone) = (0..self.pes.len()).filter(gone).min_by_key(|pe| finalized(*pe)) else {
            return;
        };
        let stuck = |pe: &usize| {
            self.pes[*pe].ended.is_none()
                && hang::longest_live_wait(&self.page, *pe).is_some_and(|(record, time)| {
                    time >= STUCK && (!finalized(gone) || record.call == Call::Init as u32)
                })
        };
        if let Some(waiter) = (0..self.pes.len()).find(stuck) {
            let (gone, code) = self.how_it_left(gone);
            let whereabouts = hang::whereabouts(&self.page, waiter);
            let line = format!("{gone} while PE {waiter} {whereabouts}");
            self.end(if code == 0 { 1 } else { code }, Some(&line));
        }
    }

    fn code(&self) -> i32 {
        match (&self.ending, self.passed) {
            (Some(ending), _) => ending.code,
            (None, Some((_, code))) => code,
            (None, None) => 0,
        }
    }
}

fn assigned(name: &str, value: &OsStr) -> CString {
    // From the environment or from a path, so without zeros.
    CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()).unwrap_or_default()
}

fn c_string(text: String) -> CString {
    // Numbers and fixed words.
    CString::new(text).unwrap_or_default()
}
