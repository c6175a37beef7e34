/* Teams of every making, their configurations, sessions of contexts, strided blocks, buffers of the program. */
#include "check.h"
#include <stdint.h>

static int me, n, next;
#define TEAM_T F(team_t)

static int world_pe(TEAM_T team, int pe) { return F(team_translate_pe)(team, pe, K(TEAM_WORLD)); }

static void grid(void) {
  for (int xrange = 1; xrange <= n + 1; xrange++) {
    TEAM_T row = K(TEAM_INVALID), column = K(TEAM_INVALID);
    CHECK(F(team_split_2d)(K(TEAM_WORLD), xrange, NULL, 0, &row, NULL, 0, &column) == 0);
    int width = xrange < n ? xrange : n, x = me % width, y = me / width;
    CHECK(F(team_my_pe)(row) == x && F(team_my_pe)(column) == y);
    CHECK(world_pe(row, 0) == y * width && world_pe(column, 0) == x);
    int in_row = n - y * width < width ? n - y * width : width;
    CHECK(F(team_n_pes)(row) == in_row && F(team_n_pes)(column) == (n - x + width - 1) / width);
    F(team_sync)(row);
    F(team_sync)(column);
    F(team_destroy)(column);
    F(team_destroy)(row);
  }
  TEAM_T row = 0, column = 0;
  CHECK(F(team_split_2d)(K(TEAM_INVALID), 1, NULL, 0, &row, NULL, 0, &column) != 0);
  CHECK(row == K(TEAM_INVALID) && column == K(TEAM_INVALID));
  row = column = 0;
  CHECK(F(team_split_2d)(K(TEAM_WORLD), 0, NULL, 0, &row, NULL, 0, &column) != 0);
  CHECK(row == K(TEAM_INVALID) && column == K(TEAM_INVALID));
}

static void configurations(void) {
  TEAM_T team = K(TEAM_INVALID);
#ifdef FAMILY_SHMEM
  shmem_team_config_t config = {7}, read = {-1};
  long mask = SHMEM_TEAM_NUM_CONTEXTS;
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, &config, mask, &team) == 0);
  CHECK(shmem_team_my_pe(team) == n - 1 - me);
  CHECK(shmem_team_get_config(team, 0, NULL) == 0);
  CHECK(shmem_team_get_config(team, mask, &read) == 0 && read.num_contexts == 7);
  CHECK(shmem_team_get_config(SHMEM_TEAM_INVALID, mask, &read) != 0);
  CHECK(shmem_team_get_config(SHMEM_TEAM_WORLD, mask, &read) == 0 && read.num_contexts == 0);
  /* More contexts than configured are no error. */
  shmem_ctx_t ctx[8];
  for (int i = 0; i < 8; i++) CHECK(shmem_team_create_ctx(team, 0, &ctx[i]) == 0);
  TEAM_T of = SHMEM_TEAM_INVALID;
  CHECK(shmem_ctx_get_team(ctx[0], &of) == 0 && of == team);
  CHECK(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &of) == 0 && of == SHMEM_TEAM_WORLD);
  CHECK(shmem_ctx_get_team(SHMEM_CTX_INVALID, &of) != 0 && of == SHMEM_TEAM_INVALID);
  for (int i = 0; i < 8; i++) shmem_ctx_destroy(ctx[i]);
  shmem_team_destroy(team);
  config.num_contexts = -1;
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, &config, mask, &team) != 0);
  CHECK(team == SHMEM_TEAM_INVALID);
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, mask, &team) != 0);
#else
  F(team_config_t) config = K(TEAM_CONFIG_INITIALIZER), read = K(TEAM_CONFIG_INITIALIZER);
  long mask = K(TEAM_CONFIG_MASK_NUM_CONTEXTS);
  CHECK(sizeof config == 64 && config.version == (2 << 16) + 64);
  config.num_contexts = 7;
  CHECK(F(team_split_strided)(K(TEAM_WORLD), 0, 1, n, &config, mask, &team) == 0);
  F(team_get_config)(team, &read);
  CHECK(read.num_contexts == 7 && read.version == config.version);
  F(team_destroy)(team);
  /* The structure of version 1, where the id was padding. */
  config.version = read.version = (1 << 16) + 64;
  read.uniqueid = 5;
  CHECK(F(team_split_strided)(K(TEAM_WORLD), 0, 1, n, &config, mask, &team) == 0);
  F(team_get_config)(team, &read);
  CHECK(read.num_contexts == 7 && read.uniqueid == 5);
  F(team_destroy)(team);
  CHECK(FX(team_init)(&team, &config, K(TEAM_CONFIG_MASK_UNIQUEID), n, me) != 0);
  /* No version that anybody knows: an error on all members, and no team. */
  config.version = 0;
  CHECK(F(team_split_strided)(K(TEAM_WORLD), 0, 1, n, &config, mask, &team) != 0 && team == K(TEAM_INVALID));
  CHECK(F(team_split_strided)(K(TEAM_WORLD), 0, 1, n, &config, 0, &team) == 0);
  F(team_destroy)(team);
#endif
}

#ifndef FAMILY_SHMEM
/* Teams that only their members make; here the halves, each backwards. */
static void met(void) {
  FX(team_uniqueid_t) *ids = (FX(team_uniqueid_t) *)F(malloc)(2 * sizeof *ids);
  int half = me % 2, size = (n + 1 - half) / 2;
  if (me == 0) {
    FX(team_uniqueid_t) two[2];
    CHECK(FX(team_get_uniqueid)(&two[0]) == 0 && FX(team_get_uniqueid)(&two[1]) == 0 && two[0] != two[1]);
    for (int pe = 0; pe < n; pe++) F(putmem)(ids, two, sizeof two, pe);
  }
  F(barrier_all)();
  F(team_config_t) config = K(TEAM_CONFIG_INITIALIZER);
  config.uniqueid = ids[half];
  config.num_contexts = 3;
  long mask = K(TEAM_CONFIG_MASK_UNIQUEID) | K(TEAM_CONFIG_MASK_NUM_CONTEXTS);
  TEAM_T team = K(TEAM_INVALID);
  CHECK(FX(team_init)(&team, &config, mask, size, size - 1 - me / 2) == 0);
  CHECK(F(team_my_pe)(team) == size - 1 - me / 2 && F(team_n_pes)(team) == size);
  CHECK(world_pe(team, 0) == half + 2 * (size - 1));
  F(team_config_t) read;
  memset(&read, 0, sizeof read);
  F(team_get_config)(team, &read);
  CHECK(read.num_contexts == 3 && read.uniqueid == ids[half] && read.version == config.version);
  F(team_sync)(team);
  F(team_destroy)(team);
  CHECK(FX(team_init)(&team, &config, 0, size, 0) != 0 && team == K(TEAM_INVALID));
  CHECK(FX(team_init)(&team, NULL, mask, size, 0) != 0);
  F(barrier_all)();
  F(free)(ids);
}

static void buffers(void) {
  static char buffer[10000];
  char *page = (char *)malloc(4096), *symmetric = (char *)F(malloc)(100);
  CHECK(FX(buffer_register)(buffer, sizeof buffer) == 0);
  CHECK(FX(buffer_register)(page, 4096) == 0);
  CHECK(FX(buffer_register)(buffer + 5, 10) != 0 && FX(buffer_register)(buffer + 9999, 2) != 0);
  CHECK(FX(buffer_register)(NULL, 10) != 0 && FX(buffer_register)(symmetric, 0) != 0);
  CHECK(FX(buffer_register)((void *)16, 10) != 0 && FX(buffer_register)(page, SIZE_MAX) != 0);
  for (int i = 0; i < 100; i++) buffer[i] = (char)(me + i);
  F(putmem)(symmetric, buffer, 100, next);
  F(barrier_all)();
  F(getmem)(page, symmetric, 100, me);
  CHECK(page[99] == (char)((me + n - 1) % n + 99));
  CHECK(FX(buffer_unregister)(buffer + 1) != 0 && FX(buffer_unregister)(buffer) == 0);
  CHECK(FX(buffer_unregister)(buffer) != 0);
  FX(buffer_unregister_all)();
  CHECK(FX(buffer_unregister)(page) != 0);
  CHECK(FX(buffer_register_symmetric)(symmetric, 100, 0) == symmetric);
  CHECK(FX(buffer_unregister_symmetric)(symmetric, 100) == 0);
  CHECK(FX(buffer_register_symmetric)(page, 4096, 0) == NULL);
  CHECK(FX(buffer_unregister_symmetric)(page, 4096) != 0);
  CHECK(FX(mc_ptr)(K(TEAM_WORLD), symmetric) == NULL && FX(mc_ptr)(K(TEAM_INVALID), symmetric) == NULL);
  FX(qp_handle_t) *qps = NULL;
  CHECK(FX(qp_create)(3, &qps) == 0 && qps && qps[0] != qps[1] && qps[1] != qps[2]);
  free(qps);
  CHECK(FX(qp_create)(0, &qps) != 0 && FX(qp_create)(1, NULL) != 0);
  CHECK(FX(cumodule_init)(NULL) == KX(ERROR_NOT_SUPPORTED) && FX(cumodule_finalize)(NULL) != 0);
  CHECK(FX(culibrary_init)(NULL) == KX(ERROR_NOT_SUPPORTED) && FX(culibrary_finalize)(NULL) != 0);
  free(page);
  F(barrier_all)();
  F(free)(symmetric);
}

static void waits_on_stream(void) {
  int *flags = (int *)F(calloc)(4, sizeof(int)), status[4] = {0, 0, 1, 0}, values[4] = {1, 2, 99, 4};
  for (int i = 0; i < 4; i++) FT(int, p)(flags + i, i + 1, next);
  FX(int_wait_until_all_on_stream)(flags, 4, status, K(CMP_GE), 1, NULL);
  FX(int_wait_until_all_vector_on_stream)(flags, 4, status, K(CMP_EQ), values, NULL);
  FX(int_wait_until_all_on_stream)(flags, 0, NULL, K(CMP_EQ), 5, NULL);
  FX(barrier_all_on_stream)(NULL);
  CHECK(FX(int_g_on_stream)(flags + 3, me, NULL) == 4);
  F(barrier_all)();
  F(free)(flags);
}
#endif

#ifndef FAMILY_SHMEM
/* Other names of init, which count as it does. */
static void attributes(void) {
  FX(init_attr_t) attr = KX(INIT_ATTR_INITIALIZER);
  CHECK(sizeof attr == 144 && sizeof attr.args == 128 && attr.version == (2 << 16) + 144);
  CHECK(FX(init_attr)(0, NULL) == 0);
  CHECK(FX(init_attr)(KX(INIT_WITH_SHMEM), &attr) == 0);
  CHECK(FX(hostlib_init_attr)(KX(INIT_WITH_SHMEM), NULL) == 0);
  FX(hostlib_finalize)();
  F(finalize)();
  F(finalize)();
  CHECK(FX(init_status)() == K(STATUS_IS_INITIALIZED));
  CHECK(FX(init_attr)(KX(INIT_THREAD_PES), &attr) == KX(ERROR_NOT_SUPPORTED));
  CHECK(FX(init_attr)(KX(INIT_WITH_SHMEM) | KX(INIT_WITH_UNIQUEID), &attr) == KX(ERROR_INVALID_VALUE));
  CHECK(FX(init_attr)(KX(INIT_WITH_UNIQUEID), NULL) == KX(ERROR_INVALID_VALUE));
  CHECK(FX(init_attr)(KX(INIT_WITH_UNIQUEID), &attr) != 0);
  FX(uniqueid_t) id = KX(UNIQUEID_INITIALIZER);
  CHECK(FX(set_attr_uniqueid_args)(me, n, &id, NULL) != 0 && FX(set_attr_uniqueid_args)(me, n, NULL, &attr) != 0);
  CHECK(FX(set_attr_uniqueid_args)(me, n, &id, &attr) == 0 && attr.args.uid_args.nranks == n);
  CHECK(FX(init_attr)(KX(INIT_WITH_UNIQUEID), &attr) != 0);
  attr.version = 5;
  CHECK(FX(init_attr)(KX(INIT_WITH_UNIQUEID), &attr) != 0);
  CHECK(FX(get_uniqueid)(NULL) != 0 && FX(set_attr_mpi_comm_args)(NULL, NULL) != 0);
#ifdef FAMILY_NVSHMEM
  int provided = -1;
  nvshmemi_version_t version = {3, 2, 0};
  CHECK(nvshmemid_hostlib_init_attr(NVSHMEM_THREAD_MULTIPLE, &provided, 0, NULL, version, NULL) == 0);
  CHECK(provided == NVSHMEM_THREAD_MULTIPLE && nvshmemid_init_status() == NVSHMEM_STATUS_IS_INITIALIZED);
  nvshmemid_hostlib_finalize(NULL, NULL);
#endif
}
#endif

#ifdef FAMILY_DUSHMEM
static void listed(void) {
  int *pes = (int *)malloc(n * sizeof(int)), count = 0;
  for (int pe = n - 1; pe >= 0; pe -= 2) pes[count++] = pe;
  TEAM_T team = K(TEAM_INVALID);
  CHECK(dushmemx_team_split_list(K(TEAM_WORLD), pes, count, NULL, 0, &team) == 0);
  int member = (n - 1 - me) % 2 == 0;
  CHECK((team != K(TEAM_INVALID)) == member);
  if (member) CHECK(F(team_my_pe)(team) == (n - 1 - me) / 2 && world_pe(team, count - 1) == pes[count - 1]);
  F(team_destroy)(team);
  CHECK(dushmemx_team_split_list(K(TEAM_WORLD), pes, 0, NULL, 0, &team) != 0 && team == K(TEAM_INVALID));
  CHECK(dushmemx_team_split_list(K(TEAM_WORLD), NULL, 1, NULL, 0, &team) != 0);
  pes[0] = n;
  CHECK(dushmemx_team_split_list(K(TEAM_WORLD), pes, 1, NULL, 0, &team) != 0);
  CHECK(dushmemx_team_split_list(K(TEAM_INVALID), pes, 1, NULL, 0, &team) != 0);
  free(pes);
}
#endif

#if HAVE_CTX
/* Hints: whatever they say, the operations are the same. */
static void sessions(void) {
  F(ctx_t) ctx = K(CTX_INVALID);
  F(ctx_session_config_t) config = {100};
  int *x = (int *)F(calloc)(64, sizeof(int));
  F(ctx_session_start)(K(CTX_INVALID), K(CTX_SESSION_BATCH), NULL, 0);
  F(ctx_session_stop)(K(CTX_INVALID));
  CHECK(F(ctx_create)(0, &ctx) == 0);
  F(ctx_session_stop)(ctx);
  F(ctx_session_start)(ctx, K(CTX_SESSION_BATCH), NULL, 0);
  for (int i = 0; i < 32; i++) FCT(int, p)(ctx, x + i, i + me, next);
  F(ctx_session_start)(ctx, 0, &config, K(CTX_SESSION_TOTAL_OPS));
  for (int i = 32; i < 64; i++) FCT(int, p)(ctx, x + i, i + me, next);
  F(ctx_session_start)(K(CTX_DEFAULT), 0x7ff0, &config, 0);
  F(ctx_quiet)(ctx);
  F(barrier_all)();
  for (int i = 0; i < 64; i++) CHECK(x[i] == i + (me + n - 1) % n);
  F(ctx_session_stop)(ctx);
  F(ctx_session_stop)(K(CTX_DEFAULT));
  F(ctx_destroy)(ctx);
  F(barrier_all)();
  F(free)(x);
}

static void blocks(void) {
  long *x = (long *)F(calloc)(40, sizeof(long)), source[40], back[40] = {0};
  for (int i = 0; i < 40; i++) source[i] = 100 * me + i;
  FT(long, ibput)(x, source, 5, 4, 3, 8, next);
  F(barrier_all)();
  int left = (me + n - 1) % n;
  for (int b = 0; b < 8; b++)
    for (int i = 0; i < 5; i++) CHECK(x[5 * b + i] == (i < 3 ? 100 * left + 4 * b + i : 0));
  F(ibget64)(back, x, 3, 5, 3, 8, me);
  for (int i = 0; i < 24; i++) CHECK(back[i] == 100 * left + 4 * (i / 3) + i % 3);
  FCT(long, ibput)(K(CTX_DEFAULT), NULL, source, 1, 1, 0, 8, next);
  F(barrier_all)();
  F(free)(x);
}
#endif

int main(void) {
  F(init)();
  me = F(my_pe)(), n = F(n_pes)(), next = (me + 1) % n;
  grid();
  configurations();
#ifndef FAMILY_SHMEM
  met();
  attributes();
  buffers();
  waits_on_stream();
#endif
#ifdef FAMILY_DUSHMEM
  listed();
#endif
#if HAVE_CTX
  sessions();
  blocks();
#endif
  F(barrier_all)();
  F(finalize)();
  return failures != 0;
}
