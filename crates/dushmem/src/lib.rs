//! dushmem
