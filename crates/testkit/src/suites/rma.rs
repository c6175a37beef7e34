//! Put and get (OpenSHMEM section 9.6).
use super::pe::{Pe, Random, bytes};
use dushmem_core::rma::Scalar;
use std::fmt::Debug;

/// Sizes from a page up, around powers of two, to 1 MiB.
const LARGE: [usize; 14] =
    [511, 512, 513, 1023, 1025, 1951, 1952, 1953, 4095, 4097, 65_535, 65_537, (1 << 20) - 1, 1 << 20];

/// Every size from 0 to 300, each at an address that is not aligned: the bytes, and nothing beside them.
pub fn every_small_size(pe: &Pe) {
    // Size s begins at 304 * s + s % 9, so that there is always a gap.
    const GAP: u8 = 0xc5;
    let place = |size: usize| 304 * size + size % 9;
    let area = pe.alloc::<u8>(304 * 302);
    area.fill(GAP);
    pe.meet();
    let (right, left) = (pe.right(), pe.left());
    for size in 0..=300 {
        let data = bytes((pe.me * 1000 + size) as u64, size);
        pe.put(pe.ctx(), area.at(place(size)), &data, right).unwrap();
    }
    pe.meet();
    let mut expected = vec![GAP; area.len()];
    for size in 0..=300 {
        let data = bytes((left * 1000 + size) as u64, size);
        expected[place(size)..place(size) + size].copy_from_slice(&data);
    }
    assert!(area.to_vec() == expected, "puts of 0 to 300 bytes");
    for size in 0..=300 {
        let mut back = vec![GAP; size + 2];
        pe.get(pe.ctx(), &mut back[1..=size], area.at(place(size)), right).unwrap();
        assert_eq!(back[1..=size], bytes((pe.me * 1000 + size) as u64, size), "get of {size}");
        assert_eq!((back[0], back[size + 1]), (GAP, GAP), "get of {size}");
    }
    pe.meet();
    pe.release(area);
}

/// Sizes up to 1 MiB, source and destination aligned and not.
pub fn large_sizes(pe: &Pe) {
    let area = pe.alloc::<u8>((1 << 20) + 32);
    for (round, size) in LARGE.into_iter().enumerate() {
        let (to, from) = (round % 3 * 5 + 1, round % 2 * 3);
        area.write(to - 1, 0x11);
        area.write(to + size, 0x22);
        pe.meet();
        let data = bytes((pe.me * 100 + round) as u64, size + from);
        pe.put(pe.ctx(), area.at(to), &data[from..], pe.right()).unwrap();
        pe.meet();
        let sent = bytes((pe.left() * 100 + round) as u64, size + from);
        assert!(area.part(to, size) == sent[from..], "put of {size} bytes");
        assert_eq!((area.read(to - 1), area.read(to + size)), (0x11, 0x22), "beside a put of {size} bytes");
        let mut back = vec![0; size];
        pe.get(pe.ctx(), &mut back, area.at(to), pe.right()).unwrap();
        assert!(back == data[from..], "get of {size} bytes");
        pe.meet();
    }
    pe.release(area);
}

fn scalar<T: Scalar + PartialEq + Debug + bytemuck::Pod>(pe: &Pe) {
    let size = size_of::<T>();
    let value = |of: usize| bytemuck::pod_read_unaligned::<T>(&bytes(of as u64 + 77, size));
    let same = |a: T, b: T| bytemuck::bytes_of(&a) == bytemuck::bytes_of(&b);
    let cell = pe.alloc::<T>(3);
    let zero = cell.read(0);
    pe.p(pe.ctx(), cell.at(1), value(pe.me), pe.right()).unwrap();
    pe.meet();
    assert!(same(cell.read(1), value(pe.left())), "p of {}", std::any::type_name::<T>());
    assert!(same(cell.read(0), zero) && same(cell.read(2), zero), "beside p");
    for other in 0..pe.n {
        let seen = pe.g(pe.ctx(), cell.at(1), other).unwrap();
        assert!(same(seen, value((other + pe.n - 1) % pe.n)), "g of {}", std::any::type_name::<T>());
    }
    pe.release(cell);
}

/// `p` and `g` of every type, any bits.
pub fn single_values(pe: &Pe) {
    scalar::<i8>(pe);
    scalar::<u8>(pe);
    scalar::<i16>(pe);
    scalar::<u16>(pe);
    scalar::<i32>(pe);
    scalar::<u32>(pe);
    scalar::<i64>(pe);
    scalar::<u64>(pe);
    scalar::<isize>(pe);
    scalar::<usize>(pe);
    scalar::<f32>(pe);
    scalar::<f64>(pe);
    scalar::<i128>(pe);
    scalar::<u128>(pe);
}

fn strided<T: Scalar + PartialEq + Debug + From<u8>>(pe: &Pe) {
    const LEN: usize = 60;
    let area = pe.alloc::<T>(LEN);
    let source: Vec<T> = (0..LEN).map(|i| T::from((1 + i + pe.me * 61) as u8)).collect();
    let theirs: Vec<T> = (0..LEN).map(|i| T::from((1 + i + pe.left() * 61) as u8)).collect();
    for (dst, sst, nelems) in
        [(1, 1, 60), (2, 1, 30), (1, 3, 20), (7, 5, 8), (59, 59, 2), (3, 2, 0), (9, 9, 1)]
    {
        area.fill(T::from(0));
        pe.meet();
        pe.iput(area.at(0), &source, (dst, sst), nelems, pe.right()).unwrap();
        pe.meet();
        let mut expected = vec![T::from(0); LEN];
        (0..nelems).for_each(|i| expected[i * dst as usize] = theirs[i * sst as usize]);
        assert_eq!(area.to_vec(), expected, "iput of {nelems}, strides {dst} and {sst}");
        pe.meet();
        area.store(0, &source);
        pe.meet();
        let mut back = vec![T::from(0); LEN];
        pe.iget(&mut back, area.at(0), (dst, sst), nelems, pe.left()).unwrap();
        assert_eq!(back, expected, "iget of {nelems}, strides {dst} and {sst}");
        pe.meet();
    }
    pe.release(area);
}

/// Strides, elements of all widths; what lies between the elements stays.
pub fn strides(pe: &Pe) {
    strided::<u8>(pe);
    strided::<u16>(pe);
    strided::<u32>(pe);
    strided::<f64>(pe);
    strided::<u128>(pe);
}

/// Strides below 1 and spans beyond the address space are refused.
pub fn bad_strides(pe: &Pe) {
    let area = pe.alloc::<u32>(8);
    let source = [7u32; 8];
    let mut dest = [0u32; 8];
    for (dst, sst, named) in [(0, 1, "dst = 0"), (1, 0, "sst = 0"), (-1, 1, "dst = -1"), (1, -3, "sst = -3")]
    {
        for error in [
            pe.iput(area.at(0), &source, (dst, sst), 2, pe.me).unwrap_err(),
            pe.iget(&mut dest, area.at(0), (dst, sst), 2, pe.me).unwrap_err(),
        ] {
            let text = error.to_string();
            assert_eq!(text, format!("{named}: strides count elements and are at least 1"));
        }
        // Without elements nothing is strided.
        pe.iput(area.at(0), &source, (dst, sst), 0, pe.me).unwrap();
        pe.iget(&mut dest, area.at(0), (dst, sst), 0, pe.me).unwrap();
    }
    let error = pe.iput(area.at(0), &source, (isize::MAX, 1), 2, pe.me).unwrap_err();
    let far = format!(
        "dst = {}, nelems = 2: the last element would end {} bytes after the first begins, more than an address space \
         holds",
        isize::MAX,
        4 * isize::MAX as u128 + 4
    );
    assert_eq!(error.to_string(), far);
    // Out of the heap, at both sides: the local one may be anywhere, but not begin in the heap and end elsewhere.
    let (object, stride, to) = (area.at(0), 1 << 38, pe.me as i32);
    let call = |put: bool, dest: *mut u32, source: *const u32, (dst, sst): (isize, isize), n: usize| {
        let (dest, source) = (dest.cast(), source.cast());
        // SAFETY: refused.
        let done = unsafe {
            if put {
                pe.world.iput(pe.ctx(), dest, source, dst, sst, 4, n, to)
            } else {
                pe.world.iget(pe.ctx(), dest, source, dst, sst, 4, n, to)
            }
        };
        done.unwrap_err().to_string()
    };
    let stack = dest.as_mut_ptr();
    for (text, arg, at) in [
        (call(true, object, source.as_ptr(), (stride, 1), 3), "dst", "dest"),
        (call(false, stack, object, (1, stride), 3), "sst", "source"),
        (call(true, object, object, (1, stride), 3), "sst", "source"),
        (call(false, object, object, (stride, 1), 3), "dst", "dest"),
    ] {
        let end = (2_u64 << 40) + 4;
        let begin = format!(
            "{arg} = {stride}, nelems = 3: the last element ends {end} bytes after the start of {at}, "
        );
        assert!(text.starts_with(&begin) && text.contains(" bytes past the end of the "), "{text}");
        assert!(text.contains(&format!("; {at} = {object:p}: starts in an object of 32 bytes; ")), "{text}");
    }
    let text = call(true, object, source.as_ptr(), (1, 1), usize::MAX);
    assert_eq!(text, "nelems = -1: more than the address space; was the number negative?");
    let text = call(true, stack, source.as_ptr(), (2, 1), 3);
    assert!(text.contains(" (dst = 2, nelems = 3: 20 bytes): not in symmetric memory"), "{text}");
    assert_eq!(area.to_vec(), [0; 8]);
    assert_eq!(dest, [0; 8]);
    pe.release(area);
}

fn blocked<T: Scalar + PartialEq + Debug + From<u8>>(pe: &Pe) {
    const LEN: usize = 60;
    let area = pe.alloc::<T>(LEN);
    let source: Vec<T> = (0..LEN).map(|i| T::from((1 + i + pe.me * 61) as u8)).collect();
    let theirs: Vec<T> = (0..LEN).map(|i| T::from((1 + i + pe.left() * 61) as u8)).collect();
    for at in [
        [1, 1, 1, 60],
        [3, 2, 1, 20],
        [3, 3, 3, 20],
        [4, 3, 3, 15],
        [5, 11, 5, 5],
        [60, 60, 60, 1],
        [30, 40, 20, 2],
        [9, 9, 4, 0],
        [9, 9, 0, 7],
    ] {
        let [dst, sst, bsize, nblocks] = at.map(|number| number as usize);
        area.fill(T::from(0));
        pe.meet();
        pe.ibput(area.at(0), &source, at, pe.right()).unwrap();
        pe.meet();
        let mut expected = vec![T::from(0); LEN];
        for (block, i) in (0..nblocks).flat_map(|block| (0..bsize).map(move |i| (block, i))) {
            expected[block * dst + i] = theirs[block * sst + i];
        }
        assert_eq!(area.to_vec(), expected, "ibput {at:?}");
        pe.meet();
        area.store(0, &source);
        pe.meet();
        let mut back = vec![T::from(0); LEN];
        pe.ibget(&mut back, area.at(0), at, pe.left()).unwrap();
        assert_eq!(back, expected, "ibget {at:?}");
        pe.meet();
    }
    pe.release(area);
}

/// Strided blocks of elements of all widths; what lies between the blocks stays.
pub fn blocks(pe: &Pe) {
    blocked::<u8>(pe);
    blocked::<u16>(pe);
    blocked::<u32>(pe);
    blocked::<f64>(pe);
    blocked::<u128>(pe);
}

/// Blocks that overlap, and spans beyond the address space, are refused.
pub fn bad_blocks(pe: &Pe) {
    let area = pe.alloc::<u32>(8);
    let source = [7u32; 8];
    let mut dest = [0u32; 8];
    let far = |said: String, end: u128| {
        format!(
            "{said}: the last element would end {end} bytes after the first begins, more than an address space holds"
        )
    };
    let overlap = "strides count elements from one block to the next and are at least bsize";
    for (at, text) in [
        ([1, 2, 2, 2], format!("dst = 1: {overlap}")),
        ([2, 1, 2, 2], format!("sst = 1: {overlap}")),
        ([0, 1, 1, 1], format!("dst = 0: {overlap}")),
        ([2, -2, 1, 2], format!("sst = -2: {overlap}")),
        (
            [isize::MAX, 3, 1, 2],
            far(format!("dst = {}, bsize = 1, nblocks = 2", isize::MAX), 4 * isize::MAX as u128 + 4),
        ),
        ([3, 3, isize::MAX, 1], format!("bsize = {}: more than the address space", isize::MAX)),
        (
            [3, 3, 3, isize::MAX],
            far(format!("dst = 3, bsize = 3, nblocks = {}", isize::MAX), 12 * isize::MAX as u128),
        ),
    ] {
        assert_eq!(pe.ibput(area.at(0), &source, at, pe.me).unwrap_err().to_string(), text);
        assert_eq!(pe.ibget(&mut dest, area.at(0), at, pe.me).unwrap_err().to_string(), text);
    }
    // The gap behind the last block need not be in the heap, the last block must.
    pe.ibput(area.at(0), &source, [6, 4, 2, 2], pe.me).unwrap();
    let error = pe.ibput(area.at(0), &source, [1 << 40, 4, 2, 2], pe.me).unwrap_err().to_string();
    let end = ((1usize << 40) + 2) * 4;
    let begin = format!(
        "dst = {}, bsize = 2, nblocks = 2: the last element ends {end} bytes after the start of dest, ",
        1usize << 40
    );
    assert!(error.starts_with(&begin), "{error}");
    // Without elements nothing is strided, and NULL is fine.
    for at in [[0, 0, 0, 5], [-1, -1, 3, 0]] {
        pe.ibput(std::ptr::null_mut::<u32>(), &source, at, pe.me).unwrap();
        pe.ibget(&mut dest, std::ptr::null(), at, pe.me).unwrap();
    }
    pe.quiet(pe.ctx()).unwrap();
    assert_eq!(area.to_vec(), [7, 7, 0, 0, 0, 0, 7, 7]);
    assert_eq!(dest, [0; 8]);
    pe.release(area);
}

/// Many non-blocking puts and gets to everybody, complete after quiet.
pub fn non_blocking(pe: &Pe) {
    const LEN: usize = 40;
    let inbox = pe.alloc::<u64>(LEN * pe.n);
    let outbox = pe.alloc::<u64>(LEN * pe.n);
    for round in 0..5u64 {
        let word = |from: usize, to: usize, i: usize| round << 48 | (from << 32 | to << 16 | i) as u64;
        let data: Vec<Vec<u64>> =
            (0..pe.n).map(|to| (0..LEN).map(|i| word(pe.me, to, i)).collect()).collect();
        for (to, data) in data.iter().enumerate() {
            for (i, one) in data.chunks(LEN / 4).enumerate() {
                pe.put_nbi(pe.ctx(), inbox.at(pe.me * LEN + i * LEN / 4), one, to).unwrap();
            }
            outbox.store(to * LEN, data);
        }
        pe.meet();
        for from in 0..pe.n {
            let expected: Vec<u64> = (0..LEN).map(|i| word(from, pe.me, i)).collect();
            assert_eq!(inbox.part(from * LEN, LEN), expected, "put_nbi from {from}");
        }
        let mut back = vec![0u64; LEN * pe.n];
        for (from, part) in back.chunks_mut(LEN).enumerate() {
            pe.get_nbi(pe.ctx(), part, outbox.at(pe.me * LEN), from).unwrap();
        }
        pe.quiet(pe.ctx()).unwrap();
        for from in 0..pe.n {
            let expected: Vec<u64> = (0..LEN).map(|i| word(from, pe.me, i)).collect();
            assert_eq!(back[from * LEN..][..LEN], expected, "get_nbi from {from}");
        }
        pe.meet();
    }
    pe.release(inbox);
    pe.release(outbox);
}

/// A blocking put has read its source when it returns.
pub fn source_is_free_at_return(pe: &Pe) {
    let inbox = pe.alloc::<u64>(64);
    let mut source = [0u64; 16];
    for round in 0..4u64 {
        source.fill(round + 1 + 10 * pe.me as u64);
        pe.put(pe.ctx(), inbox.at(16 * round as usize), &source, pe.right()).unwrap();
        source.fill(u64::MAX);
    }
    pe.meet();
    for round in 0..4u64 {
        let expected = [round + 1 + 10 * pe.left() as u64; 16];
        assert_eq!(inbox.part(16 * round as usize, 16), expected);
    }
    pe.release(inbox);
}

/// Puts of the PE to itself, overlapping ones too; gets from itself.
pub fn to_itself(pe: &Pe) {
    let area = pe.alloc::<u8>(256);
    let mut expected = bytes(pe.me as u64, 256);
    area.store(0, &expected);
    pe.put(pe.ctx(), area.at(10), &expected[100..200], pe.me).unwrap();
    pe.quiet(pe.ctx()).unwrap();
    expected.copy_within(100..200, 10);
    assert_eq!(area.to_vec(), expected);
    let mut back = vec![0; 256];
    pe.get(pe.ctx(), &mut back, area.at(0), pe.me).unwrap();
    assert_eq!(back, expected);
    pe.release(area);
}

/// All PEs put pieces of random sizes to random places of areas of their own on random PEs.
pub fn random_pieces(pe: &Pe) {
    const AREA: usize = 5000;
    let inbox = pe.alloc::<u8>(AREA * pe.n);
    for round in 0..3 {
        // What PE `from` puts to `to`: every PE can work it out.
        let pieces = |from: usize, to: usize| {
            let mut random = Random((round << 40 | from << 20 | to) as u64);
            let mut cut = 0;
            std::iter::from_fn(move || {
                let at = cut + random.below(20);
                let len = random.below(400);
                cut = at + len;
                (cut <= AREA).then(|| (at, bytes(random.next(), len)))
            })
        };
        for to in 0..pe.n {
            for (at, data) in pieces(pe.me, to) {
                pe.put(pe.ctx(), inbox.at(pe.me * AREA + at), &data, to).unwrap();
            }
        }
        pe.meet();
        for from in 0..pe.n {
            for (at, data) in pieces(from, pe.me) {
                assert!(inbox.part(from * AREA + at, data.len()) == data, "{} bytes at {at}", data.len());
            }
        }
        pe.meet();
    }
    pe.release(inbox);
}
