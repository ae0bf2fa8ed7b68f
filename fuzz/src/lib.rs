//! What several fuzz targets share: control buffers, and a second, plain reading of them.

pub mod control;
