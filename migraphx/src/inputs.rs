//! The input set: buffers for all parameters, made once and filled many times.

use std::marker::PhantomData;
use std::sync::Arc;

use migraphx_sys::const_migraphx_shape_t;

use crate::argument::{Argument, check_bools};
use crate::binding::Binding;
use crate::buffer::Buffer;
use crate::dtype::{DataType, Element};
use crate::error::{Error, Result};
use crate::ffi::handle::{ArgumentHandle, ParametersHandle, ShapeHandle};
use crate::shape::Shape;
use crate::signature::{Parameter, Signature};

/// A parameter, found by its name once.
///
/// It belongs to the set that gave it and to sets of equal programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct InputId(u32);

#[cfg(feature = "hip")]
impl InputId {
    pub(crate) fn new(index: usize) -> Self {
        InputId(index as u32)
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The inputs of a program: one buffer for each parameter, and the library's
/// own map of them.
///
/// Made once by [`CompiledProgram::inputs`](crate::CompiledProgram::inputs) and
/// filled again before each run: that costs no call into C and no allocation.
/// The set moves between threads, so that one thread can decode into a set
/// while another runs a second one.
///
/// Buffers start as zeros, page aligned, and keep their values from run to run,
/// unless the program writes into a parameter (a few operators do).
///
/// # When binding helps
/// [`bind`](Inputs::bind) reads data where it already lies, such as a memory
/// map of preprocessed images. It saves a copy, so it helps for large inputs
/// that exist before the set. It does not help where data is produced for each
/// run: write it into [`slice_mut`](Inputs::slice_mut) instead.
///
/// ```
/// # use migraphx::{CompileOptions, OnnxOptions, Target};
/// # let model = testkit::models::add(&[4]);
/// let program = OnnxOptions::new().parse_bytes(&model)?; // z = x + y, float [4]
/// let mut program = program.compile(&Target::reference()?, &CompileOptions::new())?;
/// let mut inputs = program.inputs()?;
/// let (x, y) = (inputs.id("x")?, inputs.id("y")?);
/// inputs.slice_mut::<f32>(x)?.fill(1.0);
/// for step in 0..3 {
///     inputs.slice_mut::<f32>(y)?.fill(step as f32);
///     let outputs = program.run(&mut inputs)?;
///     assert_eq!(outputs.slice::<f32>(0)?, [1.0 + step as f32; 4]);
/// }
/// # Ok::<(), migraphx::Error>(())
/// ```
#[doc(alias = "migraphx_program_parameters")]
#[derive(Debug)]
pub struct Inputs<'b> {
    signature: Arc<Signature>,
    map: ParametersHandle,
    slots: Box<[Slot]>,
    /// Where each input lies: address and bytes; zeros before it has memory.
    /// Apart, so that outputs can borrow it.
    ranges: Box<[(usize, usize)]>,
    /// What the program that made the set allows of bound slices.
    bindings: Arc<[Binding]>,
    bound: PhantomData<&'b [u8]>,
}

/// One parameter.
#[derive(Debug)]
struct Slot {
    /// The set's own memory; `None` while a slice of the user's is bound, or a
    /// dynamic parameter has no size yet.
    own: Option<Buffer>,
    /// The size of a dynamic parameter, once settled.
    settled: Option<(Shape, ShapeHandle)>,
    bound: bool,
}

// SAFETY: the map and the buffers belong to this value alone; what is bound is
// a shared slice of elements, which are Sync.
unsafe impl Send for Inputs<'_> {}

impl<'b> Inputs<'b> {
    /// A set for programs of `signature`.
    pub(crate) fn new(signature: Arc<Signature>, bindings: Arc<[Binding]>) -> Result<Self> {
        let map = ParametersHandle::make(|out| {
            // SAFETY: the out pointer is valid.
            unsafe { call!(migraphx_program_parameters_create(out)) }
        })?;
        let count = signature.parameters().len();
        let slots = (0..count)
            .map(|_| Slot {
                own: None,
                settled: None,
                bound: false,
            })
            .collect();
        let mut inputs = Inputs {
            signature,
            map,
            slots,
            ranges: vec![(0, 0); count].into(),
            bindings,
            bound: PhantomData,
        };
        for index in 0..count {
            if !inputs.parameters()[index].shape().is_dynamic() {
                inputs.unbind(InputId(index as u32))?;
            }
        }
        Ok(inputs)
    }

    /// The parameters, by name.
    pub fn parameters(&self) -> &[Parameter] {
        self.signature.parameters()
    }

    /// Finds a parameter by its name.
    ///
    /// # Errors
    /// [`Error::UnknownParameter`], with the names that there are.
    pub fn id(&self, name: &str) -> Result<InputId> {
        let position = self.signature.position(name)?;
        Ok(InputId(position as u32))
    }

    /// The shape of a parameter; for a dynamic one its size of now, once it has one.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an id of another program.
    pub fn shape(&self, id: InputId) -> Result<&Shape> {
        let index = self.index(id)?;
        Ok(match &self.slots[index].settled {
            Some((shape, _)) => shape,
            None => self.parameters()[index].shape(),
        })
    }

    /// The elements of a parameter, to be filled in place, in row-major order.
    ///
    /// # Errors
    /// [`Error::DataTypeMismatch`] where `T` is another type than the
    /// parameter's; [`Error::InvalidArgument`] where the parameter is bound to a
    /// slice, is dynamic and has no size yet, or the id is of another program.
    pub fn slice_mut<T: Element>(&mut self, id: InputId) -> Result<&mut [T]> {
        let index = self.index(id)?;
        self.parameters()[index].check_type(T::DTYPE)?;
        let bytes = self.own_bytes(index)?;
        // SAFETY: the buffer is page aligned and holds a whole number of elements;
        // every bit pattern is an element.
        Ok(unsafe {
            std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len() / size_of::<T>())
        })
    }

    /// The elements of a parameter as an array, to be filled in place.
    ///
    /// # Errors
    /// As [`slice_mut`](Inputs::slice_mut).
    #[cfg(feature = "ndarray")]
    pub fn view_mut<T: Element>(&mut self, id: InputId) -> Result<ndarray::ArrayViewMutD<'_, T>> {
        let dims = self.shape(id)?.dims().to_vec();
        let slice = self.slice_mut::<T>(id)?;
        ndarray::ArrayViewMutD::from_shape(dims, slice)
            .map_err(|error| Error::InvalidShape(error.to_string()))
    }

    /// The bytes of a parameter of any data type but bool, to be filled in place.
    ///
    /// # Errors
    /// As [`slice_mut`](Inputs::slice_mut); [`Error::DataTypeMismatch`] for
    /// bools, which are given by [`set`](Inputs::set).
    pub fn bytes_mut(&mut self, id: InputId) -> Result<&mut [u8]> {
        let index = self.index(id)?;
        if self.parameters()[index].shape().dtype() == DataType::Bool {
            self.parameters()[index].check_type(DataType::Uint8)?;
        }
        self.own_bytes(index)
    }

    /// Copies a tensor into a parameter. A dynamic parameter takes the tensor's size.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] where the parameter takes another type or other
    /// dimensions.
    pub fn set(&mut self, id: InputId, value: &Argument<'_>) -> Result<()> {
        let index = self.index(id)?;
        self.parameters()[index].check_shape(value.shape())?;
        if value.shape().dtype() == DataType::Bool {
            check_bools(value.as_bytes())?;
        }
        if self.parameters()[index].shape().is_dynamic() {
            self.resize(id, value.shape().dims())?;
        }
        if self.slots[index].bound {
            self.unbind(id)?;
        }
        self.own_bytes(index)?.copy_from_slice(value.as_bytes());
        Ok(())
    }

    /// Has every later run read a parameter from `data`, where it lies.
    ///
    /// Nothing is copied, and `data` outlives the set; for a GPU it is copied
    /// once, here. See [when binding helps](Inputs#when-binding-helps).
    ///
    /// # Errors
    /// [`Error::DataTypeMismatch`] and [`Error::LengthMismatch`] where `data` is
    /// not what the parameter takes; [`Error::InvalidArgument`] where an
    /// operator of the program writes into the parameter (use the set's own
    /// buffer), or a dynamic parameter has no size yet.
    pub fn bind<T: Element>(&mut self, id: InputId, data: &'b [T]) -> Result<()> {
        let index = self.index(id)?;
        self.parameters()[index].check_type(T::DTYPE)?;
        let name = self.parameters()[index].name();
        if self.bindings[index] == Binding::Refused {
            return Err(writes(name));
        }
        let shape = self.shape(id)?;
        if shape.is_dynamic() {
            return Err(self.no_size(index));
        }
        if shape.elements() != data.len() {
            return Err(Error::LengthMismatch {
                what: format!("parameter `{name}`"),
                expected: shape.elements(),
                shape: Box::new(shape.clone()),
                found: data.len(),
            });
        }
        if self.bindings[index] == Binding::Copied {
            return self.set(id, &Argument::from_slice(data, shape.dims())?);
        }
        if self.ranges[index].0 == data.as_ptr().addr() && self.slots[index].bound {
            return Ok(());
        }
        let pointer = data.as_ptr().cast_mut().cast();
        // SAFETY: `data` outlives the set ('b), has the parameter's bytes, and no
        // operator writes into it.
        unsafe { self.add(index, pointer, size_of_val(data)) }?;
        self.slots[index].own = None;
        self.slots[index].bound = true;
        Ok(())
    }

    /// Gives a bound parameter a buffer of the set's own again, filled with zeros.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] where a dynamic parameter has no size yet.
    pub fn unbind(&mut self, id: InputId) -> Result<()> {
        let index = self.index(id)?;
        let shape = self.shape(id)?;
        if shape.is_dynamic() {
            return Err(self.no_size(index));
        }
        let buffer = Buffer::zeroed(shape.bytes())
            .map_err(|error| error.for_parameter(self.parameters()[index].name()))?;
        // SAFETY: the buffer has the parameter's bytes and is kept in the slot.
        unsafe { self.add(index, buffer.pointer(), buffer.bytes().len()) }?;
        self.slots[index].own = Some(buffer);
        self.slots[index].bound = false;
        Ok(())
    }

    /// Settles the size of a dynamic parameter, and gives it a buffer of zeros.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] where the rank or a size is outside the
    /// parameter's ranges. (The library itself checks nothing here.)
    pub fn resize(&mut self, id: InputId, dims: &[usize]) -> Result<()> {
        let index = self.index(id)?;
        let parameter = self.parameters()[index].shape();
        let shape = Shape::new(parameter.dtype(), dims)?;
        self.parameters()[index].check_shape(&shape)?;
        if !self.parameters()[index].shape().is_dynamic() || *self.shape(id)? == shape {
            return Ok(());
        }
        let handle = shape.to_handle()?;
        let former = self.slots[index].settled.replace((shape, handle));
        if let Err(error) = self.unbind(id) {
            self.slots[index].settled = former;
            return Err(error);
        }
        Ok(())
    }

    fn index(&self, id: InputId) -> Result<usize> {
        let index = id.0 as usize;
        if index < self.slots.len() {
            Ok(index)
        } else {
            Err(Error::InvalidArgument(
                "this input id belongs to another program".into(),
            ))
        }
    }

    fn own_bytes(&mut self, index: usize) -> Result<&mut [u8]> {
        if self.slots[index].own.is_none() {
            let name = self.parameters()[index].name();
            return Err(if self.slots[index].bound {
                Error::InvalidArgument(format!(
                    "parameter `{name}` is bound to a slice; change the slice, or `unbind` first"
                ))
            } else {
                self.no_size(index)
            });
        }
        let buffer = self.slots[index].own.as_mut().expect("checked above");
        Ok(buffer.bytes_mut())
    }

    fn no_size(&self, index: usize) -> Error {
        let parameter = &self.parameters()[index];
        Error::InvalidArgument(format!(
            "parameter `{}` is dynamic ({}) and has no size yet; call `resize` or `set` first",
            parameter.name(),
            parameter.shape()
        ))
    }

    /// Puts memory into the library's map.
    ///
    /// # Safety
    /// `pointer` has `bytes` bytes, which are those of the parameter's shape,
    /// and stays valid until the parameter is added again or the set is gone.
    unsafe fn add(&mut self, index: usize, pointer: *mut u8, bytes: usize) -> Result<()> {
        // The program's own handle: a shape made from the same numbers may differ.
        let shape: const_migraphx_shape_t = match &self.slots[index].settled {
            Some((_, handle)) => handle.raw(),
            None => self.signature.raw_shape(index),
        };
        let argument = ArgumentHandle::make(|out| {
            // SAFETY: shape and memory are valid by the caller's word; C keeps the pointer.
            unsafe { call!(migraphx_argument_create(out, shape, pointer.cast())) }
        })?;
        let name = self.signature.c_name(index);
        // SAFETY: map, name and argument are live; the map copies the argument and
        // replaces one of the same name.
        unsafe {
            call!(migraphx_program_parameters_add(
                self.map.raw(),
                name.as_ptr(),
                argument.raw()
            ))
        }?;
        self.ranges[index] = (pointer.expose_provenance(), bytes);
        Ok(())
    }

    /// The map for one run of a program of `signature`, and where its memory
    /// lies. `bindings` is asked of another program than the one that made the set.
    #[inline]
    pub(crate) fn for_run(
        &mut self,
        signature: &Arc<Signature>,
        bindings: impl FnOnce() -> Result<Arc<[Binding]>>,
    ) -> Result<(&ParametersHandle, &[(usize, usize)])> {
        if !Arc::ptr_eq(&self.signature, signature) {
            self.check_other(signature, bindings)?;
        }
        // Nothing lies at address 0: this one has no memory yet.
        if let Some(index) = self.ranges.iter().position(|range| range.0 == 0) {
            return Err(self.no_size(index));
        }
        Ok((&self.map, &self.ranges))
    }

    /// The bytes of one of the ranges that [`for_run`](Inputs::for_run) gives.
    ///
    /// # Safety
    /// The set is borrowed for `'r`, and nothing writes into it meanwhile.
    pub(crate) unsafe fn memory<'r>((address, bytes): (usize, usize)) -> &'r [u8] {
        // SAFETY: memory that was added to the set and stays valid while it is there.
        unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(address), bytes) }
    }

    /// Whether the set serves a program that did not make it.
    fn check_other(
        &self,
        signature: &Signature,
        bindings: impl FnOnce() -> Result<Arc<[Binding]>>,
    ) -> Result<()> {
        if !self.signature.same_inputs(signature) {
            return Err(Error::ForeignInputs(format!(
                "the program takes {}; the set holds {}",
                signature.describe(),
                self.signature.describe()
            )));
        }
        if self.slots.iter().all(|slot| !slot.bound) {
            return Ok(());
        }
        let bindings = bindings()?;
        let shared = self.slots.iter().zip(bindings.iter());
        let clash = shared
            .enumerate()
            .find(|(_, (slot, binding))| slot.bound && **binding != Binding::Shared);
        match clash {
            None => Ok(()),
            Some((index, _)) => Err(writes(self.parameters()[index].name())),
        }
    }
}

fn writes(name: &str) -> Error {
    Error::InvalidArgument(format!(
        "parameter `{name}` cannot be bound to a shared slice, since the program may write into \
         it or needs it in memory of its own; fill the set's own buffer with `slice_mut` or `set`"
    ))
}
