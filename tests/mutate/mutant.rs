//! Files made from good ones by small changes, the same each time.

use super::seeds::Seed;
use super::tree::{Body, Format, Node};
use std::fmt;
use testkit::rng::Rng;

/// How a file is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// 1 to 4 bytes are others.
    Bytes,
    /// It is cut off.
    Truncate,
    /// Two fields, values or entries have each other's place.
    Swap,
    /// A field, value or entry is there more than once.
    Repeat,
    /// A number, length or count is 0, 1, or about as large as can be.
    Boundary,
}

impl Kind {
    pub const ALL: [Kind; 5] = [
        Kind::Bytes,
        Kind::Truncate,
        Kind::Swap,
        Kind::Repeat,
        Kind::Boundary,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Bytes => "bytes",
            Kind::Truncate => "truncate",
            Kind::Swap => "swap",
            Kind::Repeat => "repeat",
            Kind::Boundary => "boundary",
        }
    }
}

/// Which mutant: all that it depends on beside the seed files and the run's seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    pub kind: Kind,
    pub index: u64,
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.name(), self.index)
    }
}

impl std::str::FromStr for Id {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let kind = |name: &str| Kind::ALL.into_iter().find(|kind| kind.name() == name);
        text.split_once(':')
            .and_then(|(name, index)| Some((kind(name)?, index.parse().ok()?)))
            .map(|(kind, index)| Id { kind, index })
            .ok_or_else(|| format!("`{text}` is no mutant; one is `swap:17`, say"))
    }
}

/// The mutant `id` of one of `seeds`, and which that is.
pub fn mutant<'s>(
    seeds: &'s [Seed],
    format: &dyn Format,
    id: Id,
    seed: u64,
) -> (&'s Seed, Vec<u8>) {
    let from = &seeds[(id.index % seeds.len() as u64) as usize];
    let mut rng = Rng::new(seed).child(id.kind as u64).child(id.index);
    let bytes = match id.kind {
        Kind::Bytes => bytes(&from.bytes, &mut rng),
        Kind::Truncate => from.bytes[..rng.below(from.bytes.len())].to_vec(),
        kind => match format.decode(&from.bytes) {
            Some(mut tree) => {
                match kind {
                    Kind::Swap => swap(&mut tree, format, &mut rng),
                    Kind::Repeat => repeat(&mut tree, format, &mut rng),
                    _ => boundary(&mut tree, format, &mut rng),
                }
                format.encode(&tree)
            }
            None => bytes(&from.bytes, &mut rng),
        },
    };
    (from, bytes)
}

fn bytes(file: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut file = file.to_vec();
    for _ in 0..1 + rng.below(4) {
        let at = rng.below(file.len());
        file[at] ^= 1 + rng.below(255) as u8;
    }
    file
}

/// Two whole siblings, or the contents of any two nodes alike of which neither
/// is in the other.
fn swap(tree: &mut Node, format: &dyn Format, rng: &mut Rng) {
    let paths = tree.paths();
    let siblings = rng.below(2) == 0;
    for _ in 0..20 {
        let Some(a) = any(&paths, rng) else { return };
        let fits = |b: &&Vec<usize>| {
            let apart = !a.starts_with(b) && !b.starts_with(a);
            let alike = match siblings {
                true => a[..a.len() - 1] == b[..b.len() - 1],
                false => format.are_alike(tree.at(a), tree.at(b)),
            };
            apart && alike && tree.at(a) != tree.at(b)
        };
        let others: Vec<_> = paths.iter().filter(fits).collect();
        let Some(b) = any(&others, rng) else { continue };
        let (one, other) = (tree.at(a).clone(), tree.at(b).clone());
        if siblings {
            *tree.at_mut(a) = other;
            *tree.at_mut(b) = one;
        } else {
            tree.at_mut(a).body = other.body;
            tree.at_mut(b).body = one.body;
        }
        return;
    }
}

fn any<'p, T>(of: &'p [T], rng: &mut Rng) -> Option<&'p T> {
    (!of.is_empty()).then(|| &of[rng.below(of.len())])
}

fn repeat(tree: &mut Node, format: &dyn Format, rng: &mut Rng) {
    let mut paths = tree.paths();
    paths.retain(|path| format.has_length(tree.at(&path[..path.len() - 1])));
    let Some(path) = any(&paths, rng) else { return };
    let node = tree.at(path).clone();
    let times = [1, 1, 2, 3, 100][rng.below(5)];
    let (last, parent) = path.split_last().expect("the root is not among them");
    if let Body::List(children) = &mut tree.at_mut(parent).body {
        // After itself, or at the end.
        let at = match rng.below(2) {
            0 => last + 1,
            _ => children.len(),
        };
        children.splice(at..at, std::iter::repeat_n(node, times));
    }
}

const BOUNDARIES: [u64; 20] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 32,
    1 << 40,
    1 << 62,
    i64::MAX as u64,
    1 << 63,
    (1 << 63) + 1,
    (-2i64) as u64,
    u64::MAX - 0x7fff_ffff, // i32::MIN
    u64::MAX - 1,
    u64::MAX,
];

fn boundary(tree: &mut Node, format: &dyn Format, rng: &mut Rng) {
    let paths = tree.paths();
    let lengths = rng.below(4) == 0;
    let numbers: Vec<_> = paths
        .iter()
        .filter(|path| match &tree.at(path).body {
            Body::Number(_) => !lengths,
            _ => lengths && format.has_length(tree.at(path)),
        })
        .collect();
    let Some(path) = any(&numbers, rng) else {
        return;
    };
    let value = BOUNDARIES[rng.below(BOUNDARIES.len())];
    let node = tree.at_mut(path);
    match &mut node.body {
        Body::Number(number) => *number = value,
        _ => node.length = Some(value),
    }
}
