//! Strided put and get, of elements and of blocks: every byte that they may write has its value, and no other byte changes.
use super::api::{Api, Strides};
use super::input::Input;
use crate::suites::pe::bytes;

/// Bytes of each of the two arrays.
const SIZE: usize = 4096;
/// Element sizes that have calls.
const ELEMENTS: [usize; 5] = [1, 2, 4, 8, 16];

/// One operation.
#[derive(Clone, Copy, Debug)]
struct Op {
    elem: usize,
    /// Elements of a block; 1 for operations without blocks too.
    bsize: usize,
    /// In elements, where source and destination begin.
    dest: usize,
    source: usize,
    how: Strides,
    pe: usize,
}

impl Op {
    fn read(input: &mut Input<'_>, n: usize) -> Op {
        let elem = ELEMENTS[input.below(5)];
        let len = SIZE / elem;
        let bsize = if input.one_in(2) { 1 + input.below(12) } else { 1 };
        let (dest, source) = (input.below(len - bsize), input.below(len - bsize));
        let stride = |input: &mut Input<'_>| match input.below(8) {
            0..=5 => bsize + input.below(9),
            6 => bsize + input.below(len),
            // So long that only one element fits; the product with a number of elements overflows.
            _ => usize::MAX >> (1 + input.below(12)),
        };
        let (dst, sst) = (stride(input), stride(input));
        let fits = |from: usize, stride: usize| (len - bsize - from) / stride + 1;
        let most = fits(dest, dst).min(fits(source, sst));
        let nelems = input.below(most + 1);
        Op { elem, bsize, dest, source, how: Strides { dst, sst, nelems }, pe: input.below(n) }
    }

    /// Copies as the operation does.
    fn shadow(&self, dest: &mut [u8], source: &[u8]) {
        for i in 0..self.how.nelems {
            let to = (self.dest + i * self.how.dst) * self.elem;
            let from = (self.source + i * self.how.sst) * self.elem;
            let block = self.bsize * self.elem;
            dest[to..to + block].copy_from_slice(&source[from..from + block]);
        }
    }
}

/// 16-byte aligned bytes.
fn local(contents: &[u8]) -> Vec<u128> {
    let mut words = vec![0u128; contents.len() / 16];
    // SAFETY: as many bytes as the words have.
    unsafe { words.as_mut_ptr().cast::<u8>().copy_from(contents.as_ptr(), contents.len()) };
    words
}

fn contents(words: &[u128]) -> &[u8] {
    // SAFETY: any bytes are bytes.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

/// Runs the program that `input` stands for: PE 0 makes the calls, to all PEs. Every PE of the job calls this
/// with the same input.
///
/// # Panics
/// Where memory is not as it has to be.
pub fn run<A: Api>(api: &A, input: &[u8]) {
    let (me, n) = (api.me(), api.n());
    let array = api.align(64, SIZE);
    assert!(!array.is_null());
    // SAFETY: an own block, which nobody else knows yet; its contents are told by PE and size.
    unsafe { array.copy_from(bytes(me as u64, SIZE).as_ptr(), SIZE) };
    api.barrier_all();
    if me == 0 {
        let mut shadow: Vec<Vec<u8>> = (0..n).map(|pe| bytes(pe as u64, SIZE)).collect();
        let mut input = Input::new(input);
        let mut mine = local(&bytes(1 << 20, SIZE));
        for step in 0..64 {
            if input.is_empty() {
                break;
            }
            let op = Op::read(&mut input, n);
            let (source_at, dest_at) = (op.source * op.elem, op.dest * op.elem);
            // SAFETY: all elements lie in the arrays, which are aligned for any of them.
            unsafe {
                let blocked = op.bsize > 1 || input.one_in(2);
                if input.one_in(2) {
                    let from = mine.as_ptr().cast::<u8>().add(source_at);
                    if blocked {
                        api.ibput(op.elem, array.add(dest_at), from, op.bsize, op.how, op.pe);
                    } else {
                        api.iput(op.elem, array.add(dest_at), from, op.how, op.pe);
                    }
                    op.shadow(&mut shadow[op.pe], contents(&mine));
                    // Two puts to the same bytes have an order only with this.
                    api.fence();
                } else {
                    api.quiet();
                    let mut expected = contents(&mine).to_vec();
                    op.shadow(&mut expected, &shadow[op.pe]);
                    let to = mine.as_mut_ptr().cast::<u8>().add(dest_at);
                    if blocked {
                        api.ibget(op.elem, to, array.add(source_at), op.bsize, op.how, op.pe);
                    } else {
                        api.iget(op.elem, to, array.add(source_at), op.how, op.pe);
                    }
                    assert!(contents(&mine) == expected, "step {step}: {op:?}");
                }
            }
            if input.one_in(4) {
                mine = local(&bytes((step + 2) << 20, SIZE));
            }
        }
        api.quiet();
        for (pe, expected) in shadow.iter().enumerate() {
            let mut is = vec![0; SIZE];
            // SAFETY: both are that long.
            unsafe { api.get(is.as_mut_ptr(), array, SIZE, pe) };
            let wrong = is.iter().zip(expected).position(|(is, expected)| is != expected);
            assert_eq!(wrong, None, "byte of PE {pe}");
        }
    }
    api.barrier_all();
    // SAFETY: in use on all PEs.
    unsafe { api.free(array) };
}
