//! The members of archives (`ar`): static libraries and rlibs.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

const MAGIC: &[u8] = b"!<arch>\n";
const THIN: &[u8] = b"!<thin>\n";
const HEADER: usize = 60;

/// A file in an archive.
pub(super) struct Member {
    pub(super) name: String,
    place: Place,
}

/// The place of a member's bytes.
enum Place {
    Inside {
        archive: PathBuf,
        at: u64,
        size: usize,
    },
    /// A thin archive has paths in place of bytes.
    File(PathBuf),
}

impl Member {
    pub(super) fn read(&self) -> io::Result<Vec<u8>> {
        match &self.place {
            Place::File(path) => std::fs::read(path),
            Place::Inside { archive, at, size } => {
                let mut file = File::open(archive)?;
                file.seek(SeekFrom::Start(*at))?;
                let mut bytes = vec![0; *size];
                file.read_exact(&mut bytes)?;
                Ok(bytes)
            }
        }
    }
}

/// The members of the archive at `path`; `None` if the file is not an archive. The bytes of the
/// members are not read.
pub(super) fn members(path: &Path) -> io::Result<Option<Vec<Member>>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut magic = [0; 8];
    if length < 8 {
        return Ok(None);
    }
    file.read_exact(&mut magic)?;
    let is_thin = magic == THIN;
    if magic != MAGIC && !is_thin {
        return Ok(None);
    }
    let mut members = Vec::new();
    let mut long_names = Vec::new();
    let mut at = 8;
    while at + HEADER as u64 <= length {
        file.seek(SeekFrom::Start(at))?;
        let mut header = [0; HEADER];
        file.read_exact(&mut header)?;
        let field = |from, to| {
            String::from_utf8_lossy(&header[from..to])
                .trim_end()
                .to_owned()
        };
        let bad = |_| io::Error::new(io::ErrorKind::InvalidData, "a header without a size");
        let size: usize = field(48, 58).parse().map_err(bad)?;
        let data = at + HEADER as u64;
        let short = field(0, 16);
        let is_index = matches!(&*short, "/" | "/SYM64/");
        let is_inside = !is_thin || is_index || short == "//";
        if short == "//" {
            long_names = vec![0; size];
            file.read_exact(&mut long_names)?;
        } else if !is_index {
            let name = match short.strip_prefix('/').map(str::parse) {
                Some(Ok(offset)) => long_name(&long_names, offset),
                _ => short.trim_end_matches('/').to_owned(),
            };
            let place = if is_inside {
                Place::Inside {
                    archive: path.to_owned(),
                    at: data,
                    size,
                }
            } else {
                Place::File(path.with_file_name("").join(&name))
            };
            members.push(Member { name, place });
        }
        at = data;
        if is_inside {
            at += size as u64 + size as u64 % 2;
        }
    }
    Ok(Some(members))
}

fn long_name(names: &[u8], offset: usize) -> String {
    let name = names.get(offset..).unwrap_or_default();
    let end = name.windows(2).position(|it| it == b"/\n");
    String::from_utf8_lossy(&name[..end.unwrap_or(name.len())]).into_owned()
}
