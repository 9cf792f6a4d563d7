//! A file as a tree, in which parts are swapped, repeated and set without
//! breaking the lengths around them.

/// A part of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What the format writes before the body: a field's key, a kind of value.
    pub head: u64,
    pub body: Body,
    /// Written as its length in place of the true one.
    pub length: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    Number(u64),
    Bytes(Vec<u8>),
    List(Vec<Node>),
}

impl Node {
    pub fn new(head: u64, body: Body) -> Self {
        Node {
            head,
            body,
            length: None,
        }
    }

    pub fn children(&self) -> &[Node] {
        match &self.body {
            Body::List(children) => children,
            _ => &[],
        }
    }

    /// The ways to all nodes below this one: an index a level.
    pub fn paths(&self) -> Vec<Vec<usize>> {
        let mut paths = Vec::new();
        let mut open = vec![(self, Vec::new())];
        while let Some((node, path)) = open.pop() {
            for (index, child) in node.children().iter().enumerate() {
                let path: Vec<usize> = path.iter().copied().chain([index]).collect();
                paths.push(path.clone());
                open.push((child, path));
            }
        }
        paths
    }

    pub fn at(&self, path: &[usize]) -> &Node {
        path.iter()
            .fold(self, |node, index| &node.children()[*index])
    }

    pub fn at_mut(&mut self, path: &[usize]) -> &mut Node {
        path.iter().fold(self, |node, index| match &mut node.body {
            Body::List(children) => &mut children[*index],
            _ => unreachable!("a path leads through lists"),
        })
    }
}

/// A way to write trees.
pub trait Format {
    /// `None` where the bytes are written otherwise.
    fn decode(&self, bytes: &[u8]) -> Option<Node>;
    fn encode(&self, tree: &Node) -> Vec<u8>;
    /// Whether a length (or count) is written before such a node's body.
    fn has_length(&self, node: &Node) -> bool;
    /// Whether two nodes can have each other's body.
    fn are_alike(&self, one: &Node, other: &Node) -> bool;
}
