//! The nearest valid name for a misspelt one.

/// The candidate that is most similar to `text`, if one is similar enough.
pub(crate) fn nearest<'a>(
    text: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|name| (strsim::jaro_winkler(text, name), name))
        .filter(|(similarity, name)| {
            *similarity > 0.75 || strsim::osa_distance(text, name) <= name.len() / 2
        })
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}
