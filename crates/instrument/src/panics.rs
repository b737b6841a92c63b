//! What a program prints of its panics.

use flashscope_workload::guarded;

/// Prints nothing of a panic that a reader of Parquet catches: it becomes an error, which names the file and what is
/// damaged in it. All others are printed as before. For programs, which call it once when they start: the hook is one
/// for the whole process, so that no library may set it.
pub fn hide_caught() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !guarded::is_catching() {
            print(panic);
        }
    }));
}
