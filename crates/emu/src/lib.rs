//! emu
