//! Which GPUs HIP was told to show.
//!
//! As ROCm/clr reads it (`rocdevice.cpp`): `HIP_VISIBLE_DEVICES`, or where that
//! is empty `CUDA_VISIBLE_DEVICES`; numbers or UUIDs by commas, without spaces;
//! a second mention counts for nothing, and so does all after a bad entry.

/// The list that HIP in this process reads.
pub(crate) fn of_this_process() -> Option<String> {
    ["HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|list| !list.is_empty()))
}

/// What to give a child as its whole list, so that it sees only the GPU that
/// is number `ordinal` under `list`. `None` where the list has no such entry.
pub(crate) fn entry(list: Option<&str>, ordinal: usize) -> Option<String> {
    let Some(list) = list else {
        return Some(ordinal.to_string());
    };
    let mut shown: Vec<&str> = Vec::new();
    for entry in list.split(',') {
        let number = entry.parse::<usize>();
        let plain = number.is_ok_and(|number| number.to_string() == entry);
        if !plain && !entry.starts_with("GPU-") {
            break;
        }
        if !shown.contains(&entry) {
            shown.push(entry);
        }
    }
    shown.get(ordinal).map(|entry| (*entry).to_owned())
}

#[cfg(test)]
mod tests {
    use super::entry;

    #[test]
    fn a_device_of_the_parent_keeps_its_name_for_the_child() {
        let of = |list, ordinal| entry(Some(list), ordinal);
        assert_eq!(entry(None, 3).as_deref(), Some("3"));
        assert_eq!(of("4,5,6", 0).as_deref(), Some("4"));
        assert_eq!(of("4,5,6", 2).as_deref(), Some("6"));
        assert_eq!(
            of("GPU-53fd0d8a1b2c3d4e,1", 0).as_deref(),
            Some("GPU-53fd0d8a1b2c3d4e")
        );
        assert_eq!(of("2,2,0", 1).as_deref(), Some("0"));
        assert_eq!(of("2,-1,0", 1), None);
        assert_eq!(of("2, 1", 1), None);
        assert_eq!(of("2,01", 1), None);
        assert_eq!(of("2", 1), None);
    }
}
