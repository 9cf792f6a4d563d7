//! The kinds of what a program must not do. Tests of the project take this file.

/// The kinds of violations; the numbers are those of `hipsim_violations`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Kind {
    /// A stream, event, module or kernel was given what belongs to another device.
    WrongDevice = 1,
    /// Memory was used after it was freed.
    UseAfterFree = 2,
    /// An operation passes the end of an allocation.
    OutOfBounds = 3,
    /// A copy's kind does not say what its pointers are.
    CopyKind = 4,
    /// A free of what is not the start of a live allocation.
    BadFree = 5,
    /// A handle that was destroyed, or never was one.
    BadHandle = 6,
    /// Two accesses, one of them a write, that nothing orders.
    Race = 7,
    /// Memory, a stream, an event or a module that was left behind.
    Leak = 8,
}

impl Kind {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::WrongDevice,
        Self::UseAfterFree,
        Self::OutOfBounds,
        Self::CopyKind,
        Self::BadFree,
        Self::BadHandle,
        Self::Race,
        Self::Leak,
    ];

    /// The word used in logs and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::WrongDevice => "wrong_device",
            Self::UseAfterFree => "use_after_free",
            Self::OutOfBounds => "out_of_bounds",
            Self::CopyKind => "copy_kind",
            Self::BadFree => "bad_free",
            Self::BadHandle => "bad_handle",
            Self::Race => "race",
            Self::Leak => "leak",
        }
    }
}
