//! Signatures as text: taken out of HTML, and brought to one form.

/// The text of a piece of HTML, with single spaces.
pub(crate) fn plain(html: &str) -> String {
    let mut text = String::new();
    let mut in_tag = false;
    for character in html.chars() {
        match character {
            '<' => in_tag = true,
            '>' => in_tag = false,
            _ if in_tag => {}
            _ => text.push(character),
        }
    }
    let text = text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
        .replace("&nbsp;", " ")
        .replace("&#39;", "'")
        .replace("&quot;", "\"");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn is_callable(code: &str) -> bool {
    code.contains("fn ")
}

/// Tells `impl Trait for Type` from `impl Type`.
pub(crate) fn names_a_trait(code: &str) -> bool {
    code.starts_with("impl") && code.contains(" for ")
}

pub(crate) fn is_of_stable_auto_trait(code: &str) -> bool {
    ["Send", "Sync", "Unpin", "UnwindSafe", "RefUnwindSafe"]
        .iter()
        .any(|name| code.contains(&format!(" {name} for ")) || code.contains(&format!(" !{name} for ")))
}

pub(crate) fn normalise(code: &str) -> String {
    code.to_owned()
}

/// What a signature is about: a method's name, an implementation's trait.
pub(crate) fn name(code: &str) -> &str {
    if let Some(start) = code.find("fn ") {
        let rest = &code[start + 3..];
        return &rest[..rest.find(['(', '<']).unwrap_or(rest.len())];
    }
    code.split(" for ").next().and_then(|head| head.rsplit(' ').next()).unwrap_or(code)
}
