//! The client with simulated servers: correct ones in worlds whose truth is known, and hostile
//! ones.

mod drift;
mod hostile;
mod modes;
mod world;
mod worlds;
