//! What MIGraphX prints.
//!
//! The C API gives a status and writes the reason to C++ `std::cerr`; programs
//! are printed to `std::cout`. No C++ of ours is needed to read them: we take
//! the exported vtable of libstdc++'s `basic_streambuf`, replace three of its
//! functions, and put buffers with that table under the two streams of the
//! libstdc++ that MIGraphX itself uses (found through its handle). While a call
//! of ours is in flight on a thread, its text goes to a buffer of that thread;
//! everything else passes through to the former buffer.
//!
//! Layout: Itanium C++ ABI; a `basic_streambuf<char>` is its vtable pointer,
//! six pointers and a `std::locale` (one pointer). The result is proved by a
//! call known to print; where that fails, the streams are put back and errors
//! carry no text.

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use migraphx_sys::Library;

static INSTALLED: AtomicBool = AtomicBool::new(false);

#[derive(Default)]
struct Collected {
    /// Collect `std::cout` too; otherwise it is the user's (traces, for example).
    output: bool,
    errors: Vec<u8>,
    printed: Vec<u8>,
}

thread_local! {
    static COLLECTED: RefCell<Collected> = const {
        RefCell::new(Collected { output: false, errors: Vec::new(), printed: Vec::new() })
    };
    /// Captures that have not ended, and the bytes of `errors`. Apart and without
    /// destructors, since every call reads them.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static LENGTH: Cell<usize> = const { Cell::new(0) };
}

/// Collects what this thread prints to `std::cerr` until it ends.
pub(crate) struct Capture {
    start: usize,
}

impl Capture {
    #[inline]
    pub(crate) fn begin() -> Self {
        DEPTH.set(DEPTH.get() + 1);
        Capture {
            start: LENGTH.get(),
        }
    }

    /// What was printed since the beginning, if anything.
    #[inline]
    pub(crate) fn end(self) -> Option<String> {
        DEPTH.set(DEPTH.get() - 1);
        match LENGTH.get() > self.start {
            true => take(self.start),
            false => None,
        }
    }
}

/// The text from `start` on, which is taken away.
#[cold]
fn take(start: usize) -> Option<String> {
    LENGTH.set(start);
    let taken = COLLECTED.try_with(|collected| collected.borrow_mut().errors.split_off(start));
    Some(String::from_utf8_lossy(&taken.ok()?).into_owned())
}

/// Runs `f` and gives what it printed to `std::cout`; `None` where capture is not to be had.
pub(crate) fn output_of<E>(f: impl FnOnce() -> Result<(), E>) -> Result<Option<String>, E> {
    if !INSTALLED.load(Ordering::Acquire) {
        return Ok(None);
    }
    // The format state of `std::cout` belongs to all threads.
    static PRINTING: Mutex<()> = Mutex::new(());
    let _alone = PRINTING.lock().unwrap_or_else(PoisonError::into_inner);
    let former = COLLECTED.with_borrow_mut(|collected| {
        collected.printed.clear();
        std::mem::replace(&mut collected.output, true)
    });
    let result = f();
    let printed = COLLECTED.with_borrow_mut(|collected| {
        collected.output = former;
        std::mem::take(&mut collected.printed)
    });
    result?;
    Ok(Some(String::from_utf8_lossy(&printed).into_owned()))
}

/// Puts our buffers under the streams, once.
pub(crate) fn install(library: &'static Library) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the symbols are those of one libstdc++ with the layout in the module text.
        let streams = unsafe { Streams::replace(library) };
        let Some(streams) = streams else { return };
        INSTALLED.store(true, Ordering::Release);
        if !proves_itself(library) {
            INSTALLED.store(false, Ordering::Release);
            // SAFETY: puts the former buffers back, which are still there.
            unsafe { streams.put_back() };
            log::warn!(target: "migraphx", "error texts of MIGraphX cannot be read from this C++ library");
        }
    });
}

/// An unknown type number is refused with a text on `std::cerr`.
fn proves_itself(library: &Library) -> bool {
    let Ok(create) = library.functions.migraphx_shape_create_scalar.get() else {
        return false;
    };
    let capture = Capture::begin();
    let mut shape = std::ptr::null_mut();
    // SAFETY: the out pointer is valid; a number past the end gives status 1 and no shape.
    unsafe { create(&mut shape, migraphx_sys::migraphx_shape_datatype_t(9999)) };
    capture
        .end()
        .is_some_and(|text| text.contains("nknown type"))
}

const SYNC: usize = 6;
const XSPUTN: usize = 12;
const OVERFLOW: usize = 13;
/// Offset to top and type information stand before the first function.
const BEFORE: usize = 2;
const FUNCTIONS: usize = 14;

type Xsputn = unsafe extern "C" fn(*mut Buffer, *const u8, isize) -> isize;
type Sync = unsafe extern "C" fn(*mut Buffer) -> c_int;
type Rdbuf = unsafe extern "C" fn(*mut c_void, *mut Buffer) -> *mut Buffer;
type NewLocale = unsafe extern "C" fn(*mut usize);

/// A `std::streambuf`, with our own fields after it.
#[repr(C)]
struct Buffer {
    vtable: *const usize,
    area: [*mut u8; 6],
    locale: usize,
    former: *mut Buffer,
    /// Whether this is `std::cout`'s.
    output: bool,
}

/// What was replaced, to put it back.
struct Streams {
    rdbuf: Rdbuf,
    replaced: Vec<(*mut c_void, *mut Buffer)>,
}

impl Streams {
    /// # Safety
    /// `library`'s libstdc++ has the layout in the module text.
    unsafe fn replace(library: &Library) -> Option<Self> {
        let base = library.symbol("_ZTVSt15basic_streambufIcSt11char_traitsIcEE")?;
        let rdbuf = library
            .symbol("_ZNSt9basic_iosIcSt11char_traitsIcEE5rdbufEPSt15basic_streambufIcS1_E")?;
        let new_locale = library.symbol("_ZNSt6localeC1Ev")?;
        let streams = [
            (library.symbol("_ZSt4cout")?, true),
            (library.symbol("_ZSt4cerr")?, false),
        ];
        // SAFETY: the mangled names fix the types of the two functions.
        let (rdbuf, new_locale) = unsafe {
            (
                std::mem::transmute::<*const c_void, Rdbuf>(rdbuf),
                std::mem::transmute::<*const c_void, NewLocale>(new_locale),
            )
        };
        // SAFETY: a vtable of basic_streambuf has this many entries.
        let mut table = unsafe {
            std::slice::from_raw_parts(base.cast::<usize>(), BEFORE + FUNCTIONS).to_vec()
        };
        table[BEFORE + SYNC] = sync as *const () as usize;
        table[BEFORE + XSPUTN] = xsputn as *const () as usize;
        table[BEFORE + OVERFLOW] = overflow as *const () as usize;
        // Never freed: libstdc++ flushes the streams after everything else.
        let table: &'static [usize] = Vec::leak(table);
        let mut replaced = Vec::new();
        for (stream, output) in streams {
            let buffer = Box::into_raw(Box::new(Buffer {
                vtable: table[BEFORE..].as_ptr(),
                area: [std::ptr::null_mut(); 6],
                locale: 0,
                former: std::ptr::null_mut(),
                output,
            }));
            // The basic_ios subobject of a std::ostream is at the offset that stands
            // three words before its vtable (virtual base).
            // SAFETY: `stream` is a std::ostream; the buffer is whole before it is put
            // under it, but for `former`, set at once and checked for null where used.
            unsafe {
                new_locale(&raw mut (*buffer).locale);
                let vtable = *stream.cast::<*const isize>();
                let ios = stream.cast::<u8>().offset(*vtable.offset(-3));
                let ios = ios.cast_mut().cast::<c_void>();
                (*buffer).former = rdbuf(ios, buffer);
                replaced.push((ios, (*buffer).former));
            }
        }
        Some(Streams { rdbuf, replaced })
    }

    /// # Safety
    /// The streams still have our buffers.
    unsafe fn put_back(self) {
        for (ios, former) in self.replaced {
            // SAFETY: `ios` and `former` are those of `replace`.
            unsafe { (self.rdbuf)(ios, former) };
        }
    }
}

/// Appends to this thread's text if a call of ours is in flight here.
fn collect(output: bool, text: &[u8]) -> bool {
    COLLECTED
        .try_with(|collected| {
            let Ok(mut collected) = collected.try_borrow_mut() else {
                return false;
            };
            if output && collected.output {
                collected.printed.extend_from_slice(text);
                return true;
            }
            let ours = !output && DEPTH.get() > 0;
            if ours {
                collected.errors.extend_from_slice(text);
                LENGTH.set(collected.errors.len());
            }
            ours
        })
        .unwrap_or(false)
}

/// `streambuf::xsputn`: takes `length` bytes. Never reports a failure, which
/// would set the stream's bad bit for good.
unsafe extern "C" fn xsputn(buffer: *mut Buffer, text: *const u8, length: isize) -> isize {
    let Ok(count) = usize::try_from(length) else {
        return length;
    };
    // SAFETY: libstdc++ gives `length` bytes; the buffer is the one of `replace`, and the
    // former one's function of this index has this type.
    unsafe {
        if count > 0 && !collect((*buffer).output, std::slice::from_raw_parts(text, count)) {
            let former = (*buffer).former;
            if !former.is_null() {
                let function = *(*former).vtable.add(XSPUTN);
                std::mem::transmute::<usize, Xsputn>(function)(former, text, length);
            }
        }
    }
    length
}

/// `streambuf::overflow`: takes one character; -1 is none.
unsafe extern "C" fn overflow(buffer: *mut Buffer, character: c_int) -> c_int {
    if character == -1 {
        return 0;
    }
    // A character is the low byte by definition of `overflow`.
    let byte = character as u8;
    // SAFETY: one byte at a valid address.
    unsafe { xsputn(buffer, &byte, 1) };
    character
}

/// `streambuf::sync`: passes on, so that text of others appears at once.
unsafe extern "C" fn sync(buffer: *mut Buffer) -> c_int {
    // SAFETY: as in `xsputn`.
    unsafe {
        let former = (*buffer).former;
        if former.is_null() {
            return 0;
        }
        let function = *(*former).vtable.add(SYNC);
        std::mem::transmute::<usize, Sync>(function)(former)
    }
}
