//! More collectives of a [`Pe`], with arrays for pointers.
use super::pe::{Pe, Sym};
use dushmem_core::coll::reduce::Reducer;
use dushmem_core::coll::scan::Scan;
use dushmem_core::error::Result;
use dushmem_core::rma::Scalar;
use dushmem_core::team::Team;

impl Pe {
    /// collect of `len` elements of this member.
    pub fn collect<T: Scalar>(&self, team: &Team, dest: Sym<T>, source: Sym<T>, len: usize) -> Result<()> {
        assert!(len <= source.len());
        let (dest, source) = (dest.at(0).cast(), source.at(0).cast());
        // SAFETY: the source is that long; the suites make destinations long enough, or expect a refusal.
        unsafe { self.world.collect(team, dest, usize::MAX, source, len * size_of::<T>()).map(drop) }
    }

    /// alltoalls of `len` elements a pair, with strides.
    pub fn alltoalls<T: Scalar>(
        &self,
        team: &Team,
        (dest, dst): (Sym<T>, isize),
        (source, sst): (Sym<T>, isize),
        len: usize,
    ) -> Result<()> {
        let count = len * team.n_pes() as usize;
        for (array, stride) in [(dest, dst), (source, sst)] {
            assert!(count == 0 || stride < 1 || (count - 1) * (stride as usize) < array.len());
        }
        let (dest, source) = (dest.at(0).cast(), source.at(0).cast());
        // SAFETY: both arrays are that long, or the stride is refused.
        unsafe { self.world.alltoalls(team, dest, source, dst, sst, len, size_of::<T>()) }
    }

    /// A scan of `n` elements.
    pub fn scan(
        &self,
        team: &Team,
        dest: Sym<u8>,
        source: Sym<u8>,
        n: usize,
        reducer: &Reducer,
        kind: Scan,
    ) -> Result<()> {
        assert!(n * reducer.elem <= dest.len() && n * reducer.elem <= source.len());
        // SAFETY: both arrays are that long.
        unsafe { self.world.scan(team, dest.at(0), source.at(0), n, reducer, kind) }
    }

    /// reducescatter of `n` elements a member.
    pub fn reduce_scatter(
        &self,
        team: &Team,
        dest: Sym<u8>,
        source: Sym<u8>,
        n: usize,
        reducer: &Reducer,
    ) -> Result<()> {
        let bytes = n * reducer.elem;
        assert!(bytes <= dest.len() && bytes * team.n_pes() as usize <= source.len());
        // SAFETY: both arrays are that long.
        unsafe { self.world.reduce_scatter(team, dest.at(0), source.at(0), n, reducer) }
    }
}
