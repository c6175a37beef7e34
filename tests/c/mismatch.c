/* Members of a team that make different calls: mismatch CASE. Each PE goes on where it is told so by a status. */
#include "check.h"

static const char *wanted;
static int is(const char *name) { return strcmp(wanted, name) == 0; }

int main(int argc, char **argv) {
  wanted = argc > 1 ? argv[1] : "";
  F(init)();
  const int me = F(my_pe)(), n = F(n_pes)(), last = n - 1;
  long *heap = F(malloc)(1024);
  F(team_t) team = K(TEAM_INVALID);
  /* A root that makes a broadcast more than the others, of a size on which all have agreed before. */
  if (is("lost")) {
    F(team_split_strided)(K(TEAM_WORLD), 0, 1, n, NULL, 0, &team);
    FT(long, broadcast)(team, heap, heap + 8, 1, last);
    if (me == last) FT(long, broadcast)(team, heap, heap + 8, 1, last);
  }
  /* Some are told by the call, and all by the next: then all of another one, by one line. */
  if (is("twice")) {
    FT(long, broadcast)(K(TEAM_WORLD), heap, heap + 8, 1, 0);
    FT(long, broadcast)(K(TEAM_WORLD), heap, heap + 8, me == last ? 2 : 1, 0);
    F(team_sync)(K(TEAM_WORLD));
    FT(long, fcollect)(K(TEAM_WORLD), heap, heap + 8, me == last ? 2 : 1);
  }
  /* The same, by so many of them that the others have as many more to come. */
  if (is("lost_by_two")) {
    F(team_split_strided)(K(TEAM_WORLD), 0, 1, n, NULL, 0, &team);
    FT(long, broadcast)(team, heap, heap + 8, 1, last);
    for (int i = 0; i < me; i++) FT(long, broadcast)(team, heap, heap + 8, 1, last);
  }
  /* Two teams, each with a mistake in each round. */
  if (is("teams")) {
    F(team_t) rows;
    F(team_split_2d)(K(TEAM_WORLD), 2, NULL, 0, &rows, NULL, 0, &team);
    for (int i = 1; i <= 20; i++) FT(long, fcollect)(rows, heap, heap + 64, i + me % 2);
  }
  /* Slots for teams run out, of one team and then of its members in another order. */
  if (is("slots")) {
    for (int round = 0; round < 2; round++) {
      F(team_t) parent, made[64];
      int k = 0;
      F(team_split_strided)(K(TEAM_WORLD), round * last, 1 - 2 * round, n, NULL, 0, &parent);
      while (F(team_split_strided)(parent, 0, 1, n, NULL, 0, &made[k]) == 0) k++;
      while (k > 0) F(team_destroy)(made[--k]);
      F(team_destroy)(parent);
    }
  }
  /* Members of a part of the job are told, and then all PEs. */
  if (is("part")) {
    F(team_split_strided)(K(TEAM_WORLD), 0, 1, n - 1, NULL, 0, &team);
    if (me != last) FT(long, fcollect)(team, heap, heap + 8, 1 + me);
    F(team_sync)(K(TEAM_WORLD));
    FT(long, alltoall)(K(TEAM_WORLD), heap, heap + 8, me == last ? 2 : 1);
  }
  /* One is wrong again and again, and makes its next call while others still look at what it has said of the last one. */
  if (is("again")) {
    for (int i = 0; i < 50; i++) FT(long, broadcast)(K(TEAM_WORLD), heap, heap + 8, 1, me == last ? 77 : 0);
  }
  F(finalize)();
  puts("came through");
  return 0;
}
