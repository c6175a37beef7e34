/* Numbers of elements, sizes and offsets beyond 31 and 32 bits, in a sparse heap of 6 GiB: the memory of two blocks of
 * 2.2 GiB on each of two PEs is used at most. */
#include "check.h"

static const size_t GIB = (size_t)1 << 30;

/* A value that tells where it lies. */
static unsigned char at(size_t i, int pe) { return (unsigned char)(i % 251 + i / GIB * 7 + (size_t)pe); }

static const size_t marks[] = {0,          1,          4095,       0x7FFFFFFF, 0x80000000,
                               0x80000001, 0x83000000, 0x8A000000, 0x8BFFFFFF};
enum { MARKS = sizeof marks / sizeof marks[0] };

int main(void) {
  F(init)();
  int me = F(my_pe)(), n = F(n_pes)(), next = (me + 1) % n, prev = (me + n - 1) % n;
  const size_t large = 0x8C000000; /* 2.19 GiB */
  /* Offsets: single objects near the heap's end, and strides that reach there. */
  unsigned char *all = (unsigned char *)F(malloc)(6 * GIB - (1 << 20));
  CHECK(all != NULL);
  long *far = (long *)(all + 5 * GIB);
  *far = -1;
  F(barrier_all)();
  FT(long, p)(far, 77 + me, next);
  F(barrier_all)();
  CHECK(*far == 77 + prev && FT(long, g)(far, next) == 77 + me);
  F(barrier_all)();
  FT(long, atomic_add)(far, 1, next);
  F(barrier_all)();
  CHECK(*far == 78 + prev);
  F(barrier_all)();
  int three[3] = {me, me + 1, me + 2};
  int back[3] = {0, 0, 0};
  const ptrdiff_t stride = (ptrdiff_t)(2 * GIB / sizeof(int)) + 5;
  FT(int, iput)((int *)all, three, stride, 1, 3, next);
  F(barrier_all)();
  for (int i = 0; i < 3; i++) CHECK(((int *)all)[i * stride] == prev + i);
  FT(int, iget)(back, (int *)all, 1, stride, 3, next);
  CHECK(!memcmp(three, back, sizeof three));
  F(barrier_all)();
  F(free)(all);

  unsigned char *one = (unsigned char *)F(malloc)(large), *two = (unsigned char *)F(malloc)(large);
  CHECK(one != NULL && two != NULL && two - one >= (ptrdiff_t)large);
  for (int i = 0; i < MARKS; i++) one[marks[i]] = at(marks[i], me);
  F(barrier_all)();
  /* More elements than an int counts. */
  FT(uchar, put)(two, one, large, next);
  F(barrier_all)();
  for (int i = 0; i < MARKS; i++) CHECK_IN("put", two[marks[i]] == at(marks[i], prev));
  F(barrier_all)();
  FT(uchar, get)(two, one, large, me);
  for (int i = 0; i < MARKS; i++) CHECK_IN("get", two[marks[i]] == at(marks[i], me));
  F(barrier_all)();
  CHECK(FT(uchar, broadcast)(K(TEAM_WORLD), two, one, large, n - 1) == 0);
  for (int i = 0; i < MARKS; i++) CHECK_IN("broadcast", two[marks[i]] == at(marks[i], n - 1));
  F(barrier_all)();
  CHECK(FT(uchar, max_reduce)(K(TEAM_WORLD), two, one, large) == 0);
  for (int i = 0; i < MARKS; i++) CHECK_IN("reduce", two[marks[i]] == at(marks[i], n - 1));
  F(barrier_all)();
  /* Together they are that long. */
  size_t part = large / (size_t)n;
  CHECK(FT(uchar, fcollect)(K(TEAM_WORLD), two, one, part) == 0);
  for (int pe = 0; pe < n; pe++)
    for (int i = 0; i < MARKS; i++)
      if (marks[i] < part) CHECK_IN("fcollect", two[(size_t)pe * part + marks[i]] == at(marks[i], pe));
  F(barrier_all)();
  one[(size_t)me * part + 3] = 200;
  F(barrier_all)();
  CHECK(FT(uchar, alltoall)(K(TEAM_WORLD), two, one, part) == 0);
  CHECK_IN("alltoall", two[(size_t)me * part + 3] == 200);
  F(barrier_all)();
  F(free)(two);
  F(free)(one);
  return verdict();
}
