/* Jobs that hang, one a run: hangs CASE. PEs that are to compute sleep in turns. */
#include "check.h"
#include <unistd.h>

static long global = 7;
static const char *wanted;
static int is(const char *name) { return strcmp(wanted, name) == 0; }

static void compute(void) {
  for (;;) sleep(1);
}

int main(int argc, char **argv) {
  wanted = argc > 1 ? argv[1] : "";
  F(init)();
  int me = F(my_pe)();
  long *heap = (long *)F(calloc)(64, sizeof(long));
  int *words = (int *)F(malloc)(3 * sizeof(int));
  uint64_t *signal = (uint64_t *)F(calloc)(1, sizeof(uint64_t));
  for (int i = 0; i < 3; i++) words[i] = i - 1;
  if (is("strided")) {
    F(team_t) team;
    F(team_split_strided)(K(TEAM_WORLD), 1, 2, 2, NULL, 0, &team);
    if (me == 1) F(team_sync)(team);
  }
  if (is("column")) {
    F(team_t) row, column;
    F(team_split_2d)(K(TEAM_WORLD), 2, NULL, 0, &row, NULL, 0, &column);
    if (me == 1) F(team_sync)(column);
  }
  if (is("shared") && me == 1) F(team_sync)(K(TEAM_SHARED));
  if (me == 1) {
    int values[] = {-2, 0, 1};
    heap[2] = 3;
    if (is("word")) FT(long, wait_until)(heap + 2, K(CMP_EQ), 5);
    if (is("object")) FT(int, wait_until)(words, K(CMP_GT), -1);
    if (is("global")) FT(long, wait_until)(&global, K(CMP_NE), 7);
    if (is("all")) FT(int, wait_until_all)(words, 3, NULL, K(CMP_LE), 0);
    if (is("any")) FT(long, wait_until_any)(heap + 3, 20, NULL, K(CMP_LT), -4);
    if (is("vector")) FT(int, wait_until_all_vector)(words, 3, NULL, K(CMP_EQ), values);
    if (is("signal")) F(signal_wait_until)(signal, K(CMP_GE), (uint64_t)-1);
  }
  compute();
}
