//! Controls which panics a program prints.

use flashscope_result::guarded;

/// Hides the panics that the Parquet reader catches. These become errors, which name the file and the damage. All others
/// are printed as before. A program calls this once at startup. A library must not, since the hook belongs to the whole
/// process.
pub fn hide_caught() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !guarded::is_catching() {
            print(panic);
        }
    }));
}
