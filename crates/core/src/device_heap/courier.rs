//! Descriptors of memory on their way between the processes of a job: a socket for each pair of PEs, made when
//! devices are bound. Names are of the abstract namespace, random, and gone when all have met.
use crate::error::{Error, Result};
use dushmem_os::reason::reason;
use dushmem_os::rendezvous::{self, Peer};
use std::os::fd::{AsFd, OwnedFd};

/// The first half of the way to the others: others connect to it.
#[derive(Debug)]
pub(super) struct Listener {
    fd: OwnedFd,
}

/// A socket for each other PE.
#[derive(Debug)]
pub(super) struct Courier {
    me: usize,
    /// By PE; none to itself.
    sockets: Vec<Option<OwnedFd>>,
}

fn system(what: &str) -> impl Fn(std::io::Error) -> Error {
    move |why| Error::System {
        what: format!("{what} the descriptor of a device's memory"),
        why: reason(&why),
    }
}

impl Listener {
    /// Listens, and gives what the name is made of.
    pub(super) fn new() -> Result<(Listener, [u8; 16])> {
        let mut token = [0; 16];
        rendezvous::random(&mut token).map_err(system("choosing a name to pass"))?;
        let fd = rendezvous::listen(&name(&token)).map_err(system("listening for"))?;
        Ok((Listener { fd }, token))
    }

    /// Meets the others, which all listen, under these tokens, and run as these processes.
    pub(super) fn meet(self, me: usize, others: &[([u8; 16], u32)]) -> Result<Courier> {
        let mut sockets: Vec<Option<OwnedFd>> = others.iter().map(|_| None).collect();
        let user = rendezvous::user();
        let expect = |fd: &OwnedFd, pe: usize| {
            let there = rendezvous::peer(fd).map_err(system("asking who wants"))?;
            let Peer { pid, uid } = there;
            // 0: of another namespace.
            if uid == user && (pid == 0 || pid == others[pe].1) {
                return Ok(());
            }
            let why = format!("process {pid} of user {uid} is at the other end, which is not PE {pe}");
            Err(Error::System { what: "passing the descriptor of a device's memory".into(), why })
        };
        for pe in 0..me {
            let fd = rendezvous::connect(&name(&others[pe].0)).map_err(system("connecting for"))?;
            expect(&fd, pe)?;
            rendezvous::send_with(&fd, &(me as u32).to_ne_bytes(), &[]).map_err(system("announcing"))?;
            sockets[pe] = Some(fd);
        }
        for _ in me + 1..others.len() {
            let fd = rendezvous::accept(&self.fd).map_err(system("accepting"))?;
            let mut number = [0; 4];
            rendezvous::receive_with(&fd, &mut number).map_err(system("receiving"))?;
            let pe = u32::from_ne_bytes(number) as usize;
            if !(me + 1..others.len()).contains(&pe) || sockets[pe].is_some() {
                let why = format!("somebody says that it is PE {pe}");
                return Err(Error::System {
                    what: "passing the descriptor of a device's memory".into(),
                    why,
                });
            }
            expect(&fd, pe)?;
            sockets[pe] = Some(fd);
        }
        Ok(Courier { me, sockets })
    }
}

fn name(token: &[u8; 16]) -> Vec<u8> {
    let digits: String = token.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("dushmem-device-{digits}").into_bytes()
}

impl Courier {
    /// Gives every other PE a duplicate of `fd`, the `number`-th, and gets theirs, by PE. Collective. A PE that has
    /// none says so with `None`, and is `None` in what all get.
    pub(super) fn exchange(&self, number: u32, fd: Option<&OwnedFd>) -> Result<Vec<Option<OwnedFd>>> {
        let n = self.sockets.len();
        let mut got: Vec<Option<OwnedFd>> = (0..n).map(|_| None).collect();
        // One message at most is on its way in each socket, so nobody waits for room.
        for step in 1..n {
            let (to, from) = ((self.me + step) % n, (self.me + n - step) % n);
            let (Some(near), Some(far)) = (&self.sockets[to], &self.sockets[from]) else { continue };
            let with: Vec<_> = fd.iter().map(|fd| fd.as_fd()).collect();
            rendezvous::send_with(near, &number.to_ne_bytes(), &with).map_err(system("sending"))?;
            let mut message = [0; 4];
            let (bytes, mut fds) =
                rendezvous::receive_with(far, &mut message).map_err(system("receiving"))?;
            if bytes != 4 || u32::from_ne_bytes(message) != number {
                let why = if bytes == 0 { "PE has left".to_owned() } else { "out of turn".to_owned() };
                let what = format!("receiving the descriptor of the device memory of PE {from}");
                return Err(Error::System { what, why });
            }
            got[from] = fds.pop();
        }
        Ok(got)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dushmem_os::fault::pid;
    use dushmem_os::{memory, socket};

    #[test]
    fn everybody_gets_everybodys_descriptor() {
        const N: usize = 5;
        let made: Vec<_> = (0..N).map(|_| Listener::new().unwrap()).collect();
        let others: Vec<_> = made.iter().map(|(_, token)| (*token, pid())).collect();
        std::thread::scope(|scope| {
            for (me, (listener, _)) in made.into_iter().enumerate() {
                let others = &others;
                scope.spawn(move || {
                    let courier = listener.meet(me, others).unwrap();
                    for round in 0..3 {
                        // As many bytes as its owner's number says; the last PE has none.
                        let own = memory::memfd("courier").unwrap();
                        memory::grow(&own, (me * 10 + round) as u64).unwrap();
                        let own = (me < N - 1).then_some(own);
                        let got = courier.exchange(round as u32, own.as_ref()).unwrap();
                        for (pe, fd) in got.iter().enumerate() {
                            let expected = (pe != me && pe < N - 1).then_some((pe * 10 + round) as u64);
                            use std::os::fd::AsRawFd;
                            let size = fd.as_ref().map(|fd| match socket::kind(fd.as_raw_fd()) {
                                socket::Kind::Memory(size) => size,
                                other => panic!("{other:?}"),
                            });
                            assert_eq!(size, expected, "PE {me}, from {pe}, round {round}");
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn a_stranger_is_refused() {
        let (listener, token) = Listener::new().unwrap();
        let far = std::thread::spawn(move || {
            let fd = rendezvous::connect(&name(&token)).unwrap();
            rendezvous::send_with(&fd, &1u32.to_ne_bytes(), &[]).unwrap();
            fd
        });
        let others = [(token, pid()), ([0; 16], pid() + 1)];
        let refused = listener.meet(0, &others).unwrap_err().to_string();
        assert!(refused.contains("not PE 1"), "{refused}");
        drop(far.join());
    }
}
