//! Controls which panics a program prints.

use flashscope_result::guarded;

/// Hides the panics that the Parquet reader catches. These panics become errors that name the file
/// and the damage. Other panics are printed as before. A program calls this function once at
/// startup. A library must not call it, because the hook belongs to the process.
pub fn hide_caught() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !guarded::is_catching() {
            print(panic);
        }
    }));
}
