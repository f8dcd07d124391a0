//! What a plan asks for, as a course: methods of this crate on types of the plan's crate, whose fields they read.

use std::ops::Deref;

/// A sweep, a search, a suite or a phase of one.
pub struct CourseOf<'a, T>(pub &'a T);

impl<T> Deref for CourseOf<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0
    }
}
