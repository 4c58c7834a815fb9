//! The proof that a side has the token of a TCP port. Other users can reach the port, or listen on it
//! while Emacs does not, so the token itself is never sent.

use sha2::{Digest, Sha256};

/// The HMAC-SHA-256 with TOKEN of SIDE, `program` or `emacs`, and NONCE, in hexadecimal digits.
pub fn proof(token: &str, side: &str, nonce: &str) -> String {
    let mac = hmac(token.as_bytes(), format!("{side}:{nonce}").as_bytes());
    mac.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// RFC 2104, for keys of at most 64 bytes.
fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let pad = |byte: u8| {
        let mut block = [byte; 64];
        block.iter_mut().zip(key).for_each(|(pad, key)| *pad ^= key);
        block
    };
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 4231, test case 2.
    #[test]
    fn the_mac_is_that_of_the_standard() {
        let mac = hmac(b"Jefe", b"what do ya want for nothing?");
        assert_eq!(mac[..8], [0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e]);
    }
}
