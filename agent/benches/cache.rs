//! Prints how much of the prompts of a 30-step trial a provider's prefix cache would serve.

// It is the harness of a benchmark, and shares the tests' scripted gateway.
#![allow(clippy::unwrap_used, clippy::print_stdout, dead_code)]

#[path = "../tests/it/replay.rs"]
mod replay;
#[path = "../tests/it/server.rs"]
mod server;
#[path = "../tests/it/trial.rs"]
mod trial;

fn main() {
    let asked = replay::play();
    // DeepSeek serves blocks of 64 tokens, OpenAI blocks of 128 from 1,024 on.
    let fine = replay::served(&asked, 64, 64);
    let coarse = replay::served(&asked, 128, 1_024);
    println!("step  prompt  cached (blocks of 64)  cached (blocks of 128 from 1024 on)");
    for (number, (fine, coarse)) in (1..).zip(fine.iter().zip(&coarse)) {
        println!("{number:4} {:7} {:22} {:36}", fine.prompt, fine.cached, coarse.cached);
    }
    let prompt: usize = fine.iter().map(|step| step.prompt).sum();
    println!(
        "{} steps, {prompt} prompt tokens, share from cache: {:.2} % and {:.2} %",
        asked.len(),
        100.0 * replay::share(&fine),
        100.0 * replay::share(&coarse)
    );
}
