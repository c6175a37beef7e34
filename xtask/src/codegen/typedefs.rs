//! Types of the public headers that are not in the table: handles and structures.
use super::table::Family;

const TEAM: &str = "
/* A team of PEs. */
typedef int32_t FAMILY_team_t;
";

const CONTEXT: &str = "
/* A communication context. */
typedef struct dushmem_impl_context *FAMILY_ctx_t;

/* What a program knows about the operations of a session (OpenSHMEM 1.6, section 9.9). */
typedef struct {
    size_t total_ops; /* operations expected */
} FAMILY_ctx_session_config_t;
";

const CONFIG_VERSIONED: &str = "
/* Names a team that is made of any PEs. */
typedef uint64_t FAMILYx_team_uniqueid_t;
#define UPPER_TEAM_UNIQUID_INITIALIZER 0xffffffffffffffffULL

/* Configuration of a team. Start from the INITIALIZER. */
typedef struct {
    int version;      /* (2 << 16) + sizeof */
    int num_contexts; /* contexts that the team will have */
    FAMILYx_team_uniqueid_t uniqueid;
    char padding[48];
} FAMILY_team_config_t;
#define UPPER_TEAM_CONFIG_INITIALIZER \\
    {(2 << 16) + (int)sizeof(FAMILY_team_config_t), 0, UPPER_TEAM_UNIQUID_INITIALIZER, {0}}
";

const CONFIG_PLAIN: &str = "
/* Configuration of a team. */
typedef struct {
    int num_contexts; /* contexts that the team will have */
} shmem_team_config_t;
";

/// The types' own names; what they are, `dushmem/impl/half.h` says.
const HALF_NVSHMEM: &str = "
/* 16-bit floating-point numbers go by the names of CUDA's headers, where those don't define them. */
#if defined(DUSHMEM_IMPL_OWN_HALF)
typedef dushmem_impl_half half;
#endif
#if defined(DUSHMEM_IMPL_OWN_BFLOAT16)
typedef dushmem_impl_bfloat16 __nv_bfloat16;
#endif
";

const HALF: &str = "
/* 16-bit floating-point numbers: those of CUDA's headers, where the program includes them before. */
typedef dushmem_impl_half FAMILY_half_t;
typedef dushmem_impl_bfloat16 FAMILY_bfloat16_t;
";

/// Set-up by attributes: each structure begins with its version.
const ATTRIBUTES: &str = "
/* Another name of the type of teams. */
typedef FAMILY_team_t FAMILYx_team_t;

/* A queue pair of a device. */
typedef int FAMILYx_qp_handle_t;

/* What one PE of a job makes and all others get by other means. */
typedef struct {
    int version; /* (1 << 16) + sizeof */
    char internal[124];
} FAMILYx_uniqueid_t;
#define UPPERX_UNIQUEID_INITIALIZER {(1 << 16) + (int)sizeof(FAMILYx_uniqueid_t), {0}}

/* How to join by a unique id. */
typedef struct {
    int version; /* (1 << 16) + sizeof */
    FAMILYx_uniqueid_t *id;
    int myrank;
    int nranks;
} FAMILYx_uniqueid_args_t;
#define UPPERX_UNIQUEID_ARGS_INITIALIZER {(1 << 16) + (int)sizeof(FAMILYx_uniqueid_args_t), NULL, 0, 0}

/* What set-up needs beside a communicator. */
typedef struct {
    int version; /* (2 << 16) + sizeof */
    FAMILYx_uniqueid_args_t uid_args;
    int cuda_device_id; /* -1: the current device */
    char padding[92];
} FAMILYx_init_args_t;
#define UPPERX_INIT_ARGS_INITIALIZER \\
    {(2 << 16) + (int)sizeof(FAMILYx_init_args_t), UPPERX_UNIQUEID_ARGS_INITIALIZER, -1, {0}}

/* How to join a job: flags of init_attr say which parts count. */
typedef struct {
    int version; /* (2 << 16) + sizeof */
    void *mpi_comm; /* address of an MPI_Comm */
    FAMILYx_init_args_t args;
} FAMILYx_init_attr_t;
#define UPPERX_INIT_ATTR_INITIALIZER \\
    {(2 << 16) + (int)sizeof(FAMILYx_init_attr_t), NULL, UPPERX_INIT_ARGS_INITIALIZER}

/* Modules and libraries of the CUDA driver. */
struct CUmod_st;
struct CUlib_st;
";

const NVSHMEM_INTERNAL: &str = "
/* Version of the part that is linked into programs. */
typedef struct {
    int major;
    int minor;
    int patch;
} nvshmemi_version_t;

/* What that part wants to be called with, once devices are known. */
typedef int (*nvshmemx_device_lib_init_cb)(void *device_state, void *transport_state);
";

fn fill(text: &str, family: Family) -> String {
    let name = family.prefix();
    text.replace("FAMILY", name).replace("UPPER", &name.to_uppercase())
}

/// Types of a family's plain header.
pub fn base(family: Family) -> String {
    let context = if family == Family::Nvshmem { "" } else { CONTEXT };
    let config = if family == Family::Shmem { CONFIG_PLAIN } else { CONFIG_VERSIONED };
    let half = match family {
        Family::Dushmem => HALF,
        Family::Nvshmem => HALF_NVSHMEM,
        Family::Shmem => "",
    };
    fill(&format!("{TEAM}{context}{config}{half}"), family)
}

/// Types of a family's `x` header.
pub fn extension(family: Family) -> String {
    let internal = if family == Family::Nvshmem { NVSHMEM_INTERNAL } else { "" };
    let attributes = if family == Family::Shmem { "" } else { ATTRIBUTES };
    fill(&format!("{attributes}{internal}"), family)
}
