//! The shortest whole use: is MIGraphX there, and which one?

fn main() {
    println!("MIGraphX available: {}", migraphx::is_available());
}
