//! The words by which the messages of two failures are compared.

/// The first line of `message` without its numbers, which may differ between two executions of one
/// schedule: ports, descriptors, addresses. Later lines may show the values of an assertion.
pub fn message_words(message: &[u8]) -> impl Iterator<Item = u8> {
    let line = message.split(|&byte| byte == b'\n').next();
    let mut before = b' ';
    let mut is_hexadecimal = false;
    line.unwrap_or_default()
        .iter()
        .copied()
        .filter(move |byte| {
            let is_digit = byte.is_ascii_digit() || (is_hexadecimal && byte.is_ascii_hexdigit());
            is_hexadecimal = (before == b'0' && *byte == b'x') || (is_hexadecimal && is_digit);
            before = *byte;
            !is_digit
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(message: &str) -> String {
        String::from_utf8(message_words(message.as_bytes()).collect()).expect("ASCII")
    }

    #[test]
    fn numbers_are_left_out() {
        assert_eq!(words("port 8080 is in use"), "port  is in use");
        assert_eq!(words("at 0x7fff625a0c0e: bad"), "at x: bad");
        assert_eq!(words("0xfee, feed 0b and x86"), "x, feed b and x");
    }

    #[test]
    fn only_the_first_line_counts() {
        assert_eq!(words("left is right\n left: 1"), "left is right");
        assert_eq!(words(""), "");
    }
}
