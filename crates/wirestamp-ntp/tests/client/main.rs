//! The client against servers that the tests make: right ones in worlds whose truth is known, and hostile ones.

mod drift;
mod hostile;
mod modes;
mod world;
mod worlds;
