//! One line of a listing.

use std::fmt;

use crate::dtype::DataType;
use crate::shape::Shape;

/// An instruction of a program.
///
/// ```
/// use migraphx::OnnxOptions;
///
/// # let model = testkit::models::transpose(2, 3);
/// let program = OnnxOptions::new().parse_bytes(&model)?; // y = transpose(x)
/// let listing = program.instructions()?;
/// let transpose = listing.with_operator("transpose").next().unwrap();
/// assert_eq!(transpose.inputs(), ["x"]);
/// assert_eq!(transpose.attribute("permutation"), Some("[1,0]"));
/// assert_eq!(transpose.shape().dims(), [3, 2]);
/// # Ok::<(), migraphx::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    pub(super) name: String,
    pub(super) operator: String,
    pub(super) module: String,
    pub(super) attributes: Vec<Attribute>,
    pub(super) shape: Shape,
    pub(super) parts: Vec<Shape>,
    pub(super) inputs: Vec<String>,
    pub(super) submodules: Vec<String>,
    /// Bytes of constant data.
    pub(super) literal: usize,
    /// Bytes of machine code.
    pub(super) code: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) json: String,
    /// For people; the same as `json` mostly.
    pub(super) shown: String,
}

impl Instruction {
    /// The name of its result, as in the program's text: `@3`, the parameter's
    /// name, `body:@2` in a submodule.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The operator: `convolution`, `gpu::code_object`; `@param`, `@literal` and
    /// `@return` for what computes nothing.
    pub fn operator(&self) -> &str {
        &self.operator
    }

    /// The module that it stands in: `main`, or one that an `if` or `loop` runs.
    pub fn module(&self) -> &str {
        &self.module
    }

    /// The operator's attributes: name and value, the value as JSON. Binary
    /// values (machine code, weights) are given by their size.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.attributes
            .iter()
            .map(|attribute| (attribute.name.as_str(), attribute.json.as_str()))
    }

    /// The value of an attribute, as JSON.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes()
            .find(|(attribute, _)| *attribute == name)
            .map(|(_, value)| value)
    }

    /// All attributes as one JSON object, such as `{"axis":1}`: what the
    /// library takes to make such an operator.
    pub fn attributes_json(&self) -> String {
        let entry = |(name, value)| format!("{}:{value}", serde_json::Value::from(name));
        let entries: Vec<String> = self.attributes().map(entry).collect();
        format!("{{{}}}", entries.join(","))
    }

    /// The shape of its result; `[0]` where it has none.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The shapes of the tensors in its result where that is a tuple; empty otherwise.
    pub fn tuple_shapes(&self) -> &[Shape] {
        &self.parts
    }

    /// The names of the instructions whose results it takes.
    pub fn inputs(&self) -> &[String] {
        &self.inputs
    }

    /// The modules that it runs, such as the branches of an `if`.
    pub fn submodules(&self) -> &[String] {
        &self.submodules
    }

    /// The name of a parameter, where it is one. In the main module that is
    /// [`name`](Instruction::name), too.
    pub fn parameter(&self) -> Option<String> {
        if self.operator != "@param" {
            return None;
        }
        serde_json::from_str(self.attribute("parameter")?).ok()
    }

    /// Bytes of constant data that it holds: weights, and other literals.
    pub fn literal_bytes(&self) -> usize {
        self.literal
    }

    /// Bytes of machine code that it holds.
    pub fn code_bytes(&self) -> usize {
        self.code
    }

    /// Bytes of its result; those of all parts of a tuple.
    pub fn result_bytes(&self) -> usize {
        match self.shape.dtype() {
            DataType::Tuple => self.parts.iter().map(Shape::bytes).sum(),
            _ => self.shape.bytes(),
        }
    }
}

/// As `name = operator[attributes](inputs), [submodules] -> shape`.
impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.name, self.operator)?;
        let attributes: Vec<String> = self
            .attributes
            .iter()
            .map(|attribute| format!("{}={}", attribute.name, attribute.shown))
            .collect();
        if !attributes.is_empty() {
            write!(f, "[{}]", attributes.join(","))?;
        }
        if !self.inputs.is_empty() {
            write!(f, "({})", self.inputs.join(","))?;
        }
        if !self.submodules.is_empty() {
            write!(f, ", [{}]", self.submodules.join(", "))?;
        }
        match self.operator.as_str() {
            "@return" => Ok(()),
            _ if self.parts.is_empty() => write!(f, " -> {}", self.shape),
            _ => {
                let parts: Vec<String> = self.parts.iter().map(Shape::to_string).collect();
                write!(f, " -> ({})", parts.join(", "))
            }
        }
    }
}
