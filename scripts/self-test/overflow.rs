//! A read past the end of the heap: scripts/sanitizers shows with it that
//! AddressSanitizer is on. Never part of a release.

fn main() {
    let bytes = vec![1u8; 16];
    let past_the_end = std::hint::black_box(bytes.len());
    // SAFETY: none: this is the fault to be found.
    println!("{}", unsafe { *bytes.as_ptr().add(past_the_end) });
}
