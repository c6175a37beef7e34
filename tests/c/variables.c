/* Initialises, says what came of it, does a little of everything that diagnostic lines tell of. */
#include "check.h"

int main(int argc, char **argv) {
  int level = -1, code = 0;
  if (argc > 1 && strcmp(argv[1], "init") == 0)
    F(init)();
  else
    code = F(init_thread)(K(THREAD_SINGLE), &level);
  if (code) {
    printf("init_thread gives %d\n", code > 0);
    return 0;
  }
  F(team_t) team = K(TEAM_INVALID);
  CHECK(F(team_split_strided)(K(TEAM_WORLD), 0, 1, 1, NULL, 0, &team) == 0);
  void *block = F(malloc)(100);
  F(free)(block);
  F(team_destroy)(team);
  F(finalize)();
  return failures;
}
