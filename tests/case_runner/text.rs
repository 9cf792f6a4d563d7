//! Does an error's text say what it must?

/// The library's text, as `index.tsv` holds it, is in `message`. Paths differ
/// (`<case dir>`), one byte may have been unprintable (`�`) and the column may
/// be cut off at its end.
pub fn holds(message: &str, text: &str) -> bool {
    let text = text.replace("<case dir>", "\u{fffd}");
    let mut rest = message;
    for part in text
        .split('\u{fffd}')
        .map(str::trim)
        .filter(|p| !p.is_empty())
    {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// What a refusal of ours must name in place of the library's text: the
/// parameter, and for a wrong shape both shapes. `Err` says what is missing.
///
/// The library names one of several wrong inputs, by chance of a hash table:
/// ours may name another that is `given` with the same dims.
pub fn names_the_parameter(
    message: &str,
    text: &str,
    given: &[(String, Vec<usize>)],
) -> Result<(), String> {
    if let Some(name) = text.strip_prefix("Parameter not found: ") {
        return match mentions(message, name) {
            true => Ok(()),
            false => Err(format!("`{name}` is not named")),
        };
    }
    let Some((came, wanted)) = text
        .strip_prefix("Incorrect shape ")
        .and_then(|t| t.split_once(" for parameter: "))
    else {
        return Ok(());
    };
    let (name, wanted) = wanted
        .split_once(" should be: ")
        .ok_or_else(|| format!("cannot read `{text}`"))?;
    let dims = number_lists(came).first().cloned().unwrap_or_default();
    let alike = |input: &&(String, Vec<usize>)| joined(&input.1) == dims;
    let names = given.iter().filter(alike).map(|input| input.0.as_str());
    let Some(named) = [name]
        .into_iter()
        .chain(names)
        .find(|name| mentions(message, name))
    else {
        return Err(format!("`{name}` is not named"));
    };
    // The parameter's name may hold digits: look for the shapes elsewhere.
    let message = message.replacen(named, "", 1);
    for shape in [came, wanted] {
        let lists = number_lists(shape);
        let [dims, strides] = lists.as_slice() else {
            return Err(format!("cannot read `{shape}`"));
        };
        let rank0 = dims == "1" && strides == "0";
        let found = if rank0 {
            message.contains("scalar") || message.contains("[]")
        } else {
            number_lists(&message).contains(dims)
        };
        if !found {
            return Err(format!("the shape of `{shape}` is not named"));
        }
    }
    Ok(())
}

/// `name` stands in `message` and is no part of a longer word.
fn mentions(message: &str, name: &str) -> bool {
    message.match_indices(name).any(|(at, _)| {
        let (before, after) = (&message[..at], &message[at + name.len()..]);
        !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
    })
}

fn joined(dims: &[usize]) -> String {
    dims.iter()
        .map(usize::to_string)
        .collect::<Vec<_>>()
        .join(",")
}

/// The lists of numbers between brackets or braces, as `2,3`.
fn number_lists(text: &str) -> Vec<String> {
    text.split(['{', '[', '('])
        .filter_map(|part| part.split_once(['}', ']', ')']))
        .map(|(list, _)| list.replace(' ', ""))
        .filter(|list| list.chars().all(|c| c.is_ascii_digit() || c == ','))
        .collect()
}

/// A refusal of ours in place of any other text: it must name something the
/// library's own text names, such as a file, an operator or a format.
pub fn shares_a_name(message: &str, text: &str) -> Result<(), String> {
    let words = text.split(|c: char| c.is_whitespace() || ":\"'!/,".contains(c));
    let mut names = words
        .filter(|w| w.len() > 2)
        .map(|w| w.trim_end_matches('.'));
    // Ordinary words of the text would be found in any message.
    let dull = [
        "Failure", "Error", "file", "opening", "reading", "the", "not",
    ];
    if names.any(|name| !dull.contains(&name) && message.contains(name)) {
        return Ok(());
    }
    Err(format!("nothing of `{text}`"))
}
