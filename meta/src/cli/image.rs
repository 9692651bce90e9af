//! `hone image`.

use super::{Console, Context};
use crate::failure::{Failure, FailureKind, OrFail, Outcome};
use clap::Subcommand;
use comfy_table::{CellAlignment, Table};
use hone_sandbox::image::{Image, ImageError, Images, Recipe, Removal};
use hone_sandbox::{Pantry, PantryError};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

/// The arguments of `hone image`.
#[derive(Debug, clap::Args)]
pub struct ImageArguments {
    #[command(subcommand)]
    command: ImageCommand,
}

#[derive(Debug, Subcommand)]
enum ImageCommand {
    /// Makes the build image: from this host's own toolchain, or from a Dockerfile where a registry is in reach
    Build {
        /// Builds from a Dockerfile: Hone's own when no file is named
        #[arg(long, value_name = "FILE", num_args = 0..=1)]
        dockerfile: Option<Option<PathBuf>>,
    },
    /// Lists the images that Hone made or pulled
    List,
    /// Removes images that Hone made or pulled, and no others
    Prune(PruneArguments),
}

#[derive(Debug, clap::Args)]
struct PruneArguments {
    /// Removes all of them, and not only build images that a newer one has replaced
    #[arg(long)]
    all: bool,
    /// Removes pulled images, the least recently used first, until the others take no more than this, such as 50GB
    #[arg(long, value_name = "SIZE", conflicts_with = "all")]
    budget: Option<Size>,
    /// Tells what would be removed, and removes nothing
    #[arg(long)]
    dry_run: bool,
}

/// A number of bytes, as it is typed: `500MB`, `50GB`, `1TB` or plain bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size(u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = text.split_at(digits);
        let factor = match unit.trim().to_ascii_uppercase().as_str() {
            "" | "B" => 1,
            "MB" | "M" => 1_000_000,
            "GB" | "G" => 1_000_000_000,
            "TB" | "T" => 1_000_000_000_000,
            _ => return Err(format!("{unit:?} is no unit; write MB, GB or TB")),
        };
        number
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(factor))
            .map(Size)
            .ok_or_else(|| "write a whole number and a unit, such as 50GB".to_owned())
    }
}

/// Runs the command.
pub async fn run(arguments: ImageArguments, context: Context) -> Outcome {
    match arguments.command {
        ImageCommand::Build { dockerfile } => build(dockerfile, &context).await,
        ImageCommand::List => list(&context).await,
        ImageCommand::Prune(arguments) => prune(arguments, &context).await,
    }
}

async fn build(dockerfile: Option<Option<PathBuf>>, context: &Context) -> Outcome {
    let recipe = match dockerfile {
        None => Recipe::Host,
        Some(None) => Recipe::BuiltInDockerfile,
        Some(Some(path)) if path.is_file() => Recipe::Dockerfile(path),
        Some(Some(path)) => {
            return Err(Failure::usage(format!(
                "read the Dockerfile {}: it is no file",
                path.display()
            )));
        }
    };
    // An engine that is missing should be told of before crates are fetched.
    let images = connect(context).await?;
    let console = context.console;
    let say = |text: &str| console.say(text);
    let seed = tempfile::tempdir().or_fail(FailureKind::Infrastructure)?;
    crate::seed::write(seed.path()).or_fail(FailureKind::Infrastructure)?;
    let pantry = Pantry::prepare(context.home.cache(), seed.path(), &say).map_err(no_pantry)?;
    let image = images.build(&recipe, &pantry, &say).await.map_err(failed)?;
    if console.json {
        return console.json("image", &image);
    }
    console.data(&image.reference)
}

async fn list(context: &Context) -> Outcome {
    let images = connect(context).await?.list().await.map_err(failed)?;
    if context.console.json {
        return context.console.json("images", &images);
    }
    if images.is_empty() {
        context.console.say("Hone has made and pulled no images; `hone image build` makes one.");
        return Ok(());
    }
    context.console.data(&table(&images))
}

async fn prune(arguments: PruneArguments, context: &Context) -> Outcome {
    let images = connect(context).await?;
    let listed = images.list().await.map_err(failed)?;
    let mut chosen = if arguments.all { listed } else { replaced(listed) };
    if let Some(Size(bytes)) = arguments.budget {
        chosen.extend(images.to_evict(bytes, &[]).await.map_err(failed)?);
    }
    let mut removals = Vec::new();
    for image in chosen {
        removals.push(if arguments.dry_run {
            Removal { image, kept: None }
        } else {
            images.remove(image).await.map_err(failed)?
        });
    }
    report(&removals, arguments.dry_run, context.console)
}

fn report(removals: &[Removal], is_dry: bool, console: Console) -> Outcome {
    #[derive(Serialize)]
    struct Report<'a> {
        dry_run: bool,
        images: &'a [Removal],
    }
    if console.json {
        return console.json("removed", &Report { dry_run: is_dry, images: removals });
    }
    if removals.is_empty() {
        console.say("There is nothing to remove.");
        return Ok(());
    }
    let verb = if is_dry { "would remove" } else { "removed" };
    let lines = removals.iter().map(|removal| match &removal.kept {
        None => format!("{verb} {}\n", removal.image.reference),
        Some(why) => format!("kept {}: {why}\n", removal.image.reference),
    });
    console.data(&lines.collect::<String>())
}

/// Chooses the build images that a newer one of their kind has replaced.
fn replaced(images: Vec<Image>) -> Vec<Image> {
    let mut newest: BTreeMap<String, Image> = BTreeMap::new();
    let mut replaced = Vec::new();
    for image in images {
        if image.kind == "pulled" {
            continue;
        }
        match newest.get_mut(&image.kind) {
            Some(other) if other.time < image.time => {
                replaced.push(std::mem::replace(other, image));
            }
            Some(_) => replaced.push(image),
            None => {
                newest.insert(image.kind.clone(), image);
            }
        }
    }
    replaced
}

fn table(images: &[Image]) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(["image", "kind", "MB", "made or last used"]);
    for image in images {
        table.add_row([
            image.reference.clone(),
            image.kind.clone(),
            (image.bytes / 1_000_000).to_string(),
            image.time.strftime("%Y-%m-%d %H:%M").to_string(),
        ]);
    }
    if let Some(column) = table.column_mut(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
        .lines()
        .map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(&line).trim_end()))
        .collect()
}

async fn connect(context: &Context) -> Outcome<Images> {
    Images::connect(&context.home.sandboxes()).await.map_err(failed)
}

fn failed(error: ImageError) -> Failure {
    let hint = error.hint();
    let failure = Failure::infrastructure(error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn no_pantry(error: PantryError) -> Failure {
    let hint = error.hint();
    let failure = Failure::infrastructure(error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(reference: &str, kind: &str, second: i64) -> Image {
        Image {
            reference: reference.to_owned(),
            id: String::new(),
            kind: kind.to_owned(),
            digest: None,
            bytes: 1_599_102_078,
            time: jiff::Timestamp::from_second(second).unwrap(),
        }
    }

    #[test]
    fn the_newest_build_image_of_each_kind_stays_and_so_does_what_was_pulled() {
        let images = vec![
            image("hone-build:a", "host", 2),
            image("hone-build:b", "host", 3),
            image("hone-build:c", "host", 1),
            image("hone-build:d", "dockerfile", 1),
            image("swe/django:1", "pulled", 0),
        ];
        let gone: Vec<String> = replaced(images).into_iter().map(|it| it.reference).collect();
        assert_eq!(gone, ["hone-build:a", "hone-build:c"]);
    }

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!("50GB".parse(), Ok(Size(50_000_000_000)));
        assert_eq!("500 mb".parse(), Ok(Size(500_000_000)));
        assert_eq!("17".parse(), Ok(Size(17)));
        for bad in ["GB", "1.5GB", "5 apples", "-1", "99999999999TB"] {
            assert!(bad.parse::<Size>().is_err(), "{bad}");
        }
    }

    #[test]
    fn images_are_listed_in_columns() {
        insta::assert_snapshot!(table(&[
            image("hone-build:734e9ac5b645", "host", 0),
            image("swe/django:1", "pulled", 86400)
        ]), @r"
        image                    kind      MB  made or last used
        hone-build:734e9ac5b645  host    1599  1970-01-01 00:00
        swe/django:1             pulled  1599  1970-01-02 00:00
        ");
    }
}
