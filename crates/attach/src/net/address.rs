use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

/// An address at which clients reach a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A host name or IP address and a port, `HOST:PORT`; port 0 selects a free port.
    Tcp(String),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

/// The error for a text that is not an [`Address`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "an address is `HOST:PORT` such as localhost:10809 or [::1]:10809, `unix:PATH`, or the path \
     of a socket"
)]
pub struct ParseAddressError;

impl FromStr for Address {
    type Err = ParseAddressError;

    fn from_str(text: &str) -> Result<Address, ParseAddressError> {
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() { Err(ParseAddressError) } else { Ok(unix(path)) };
        }
        match text.rsplit_once(':') {
            _ if text.contains('/') => Ok(unix(text)),
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                Ok(Address::Tcp(text.into()))
            }
            // A port without a host is more likely a mistake than the name of a socket.
            None if !text.is_empty() && text.parse::<u16>().is_err() => Ok(unix(text)),
            _ => Err(ParseAddressError),
        }
    }
}

fn unix(path: &str) -> Address {
    Address::Unix(path.into())
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => f.write_str(address),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Address {
    /// Returns the URI for clients, such as `nbd://localhost:10809` or `nbd+unix:///?socket=/x`.
    pub fn uri(&self) -> String {
        /// The characters that a query must quote.
        const QUOTED: &AsciiSet =
            &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');
        match self {
            Address::Tcp(address) => format!("nbd://{address}"),
            Address::Unix(path) => {
                let path = path.as_os_str().as_encoded_bytes();
                format!("nbd+unix:///?socket={}", percent_encode(path, QUOTED))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Hosts with ports and socket paths are parsed and displayed; anything else is rejected.
    #[test]
    fn addresses_parse_and_display() {
        let uri = |text: &str| text.parse().map(|address: Address| address.uri());
        assert_eq!(uri("localhost:10809").unwrap(), "nbd://localhost:10809");
        assert_eq!(uri("[::1]:0").unwrap(), "nbd://[::1]:0");
        assert_eq!(uri("unix:/run/a b.sock").unwrap(), "nbd+unix:///?socket=/run/a%20b.sock");
        assert_eq!(uri("/run/a:1").unwrap(), "nbd+unix:///?socket=/run/a%3A1");
        assert_eq!("x.sock".parse::<Address>().unwrap().to_string(), "unix:x.sock");
        assert_eq!("host:1".parse::<Address>().unwrap().to_string(), "host:1");
        for wrong in ["", "unix:", ":10809", "10809", "localhost:", "localhost:70000"] {
            assert_eq!(wrong.parse::<Address>(), Err(ParseAddressError), "{wrong}");
        }
    }
}
