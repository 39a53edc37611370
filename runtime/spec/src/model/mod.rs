//! The parts of models: explicit scheduling points, and resources.

mod point;
mod registry;
mod resource;

pub use point::scheduling_point;
pub use resource::Resource;
