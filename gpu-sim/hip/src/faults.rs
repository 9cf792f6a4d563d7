//! Fault injection: `GPU_SIM_FAIL=call:n:error[,…]` makes the n-th call of a
//! HIP function (the first is 1) return that error number without doing
//! anything. So the error paths of a program can be walked one by one.

use crate::abi::HipError;

#[derive(Debug)]
struct Fault {
    call: String,
    nth: u64,
    seen: u64,
    error: HipError,
}

/// The faults still to come.
#[derive(Debug, Default)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Reads `call:n:error[,…]`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let one = |item: &str| {
            let fields: Vec<&str> = item.trim().split(':').collect();
            if let [call, nth, error] = fields[..]
                && let (Ok(nth), Ok(error)) = (nth.parse(), error.parse())
                && nth > 0
            {
                return Ok(Fault {
                    call: call.into(),
                    nth,
                    seen: 0,
                    error: HipError(error),
                });
            }
            Err(format!(
                "fault `{item}`: want call:n:error, for example hipMalloc:3:2"
            ))
        };
        text.split(',')
            .filter(|item| !item.trim().is_empty())
            .map(one)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Counts a call; the error it has to return, if its turn has come.
    pub fn take(&mut self, call: &str) -> Option<HipError> {
        let mut hit = None;
        for fault in self.0.iter_mut().filter(|fault| fault.call == call) {
            fault.seen += 1;
            if fault.seen == fault.nth {
                hit = Some(fault.error);
            }
        }
        hit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_nth_call_fails() {
        let mut faults = Faults::parse("hipMalloc:2:2,hipFree:1:1").unwrap();
        assert_eq!(faults.take("hipMalloc"), None);
        assert_eq!(faults.take("hipMalloc"), Some(HipError::OUT_OF_MEMORY));
        assert_eq!(faults.take("hipMalloc"), None);
        assert_eq!(faults.take("hipFree"), Some(HipError::INVALID_VALUE));
        assert!(Faults::parse("hipMalloc:0:2").is_err());
        assert!(Faults::parse("hipMalloc").is_err());
    }
}
