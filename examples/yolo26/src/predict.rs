//! `predict`: finds objects in images, tells of them and draws them.

mod sources;
mod told;

use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use image::{ImageFormat, RgbImage};

use crate::cli::PredictArgs;
use crate::contract::Contract;
use crate::dataset;
use crate::detections::{self, Detection, Wanted};
use crate::detector::Session;
use crate::draw;
use crate::files;
use crate::labels::{self, Check};
use crate::matching::Tolerance;
use crate::names::{Names, name_of};
use crate::pixels::Pixels;
use crate::preprocess::{self, Letterbox, Mode};
use crate::weights::Model;
use told::Told;

pub fn run(args: &PredictArgs, out: &mut dyn Write) -> Result<()> {
    let sources = sources::images(&args.source)?;
    let places = Places::of(args, &sources)?;
    let expected = args.expected.as_deref().map(told::read).transpose()?;
    let mut predictor = Predictor::new(args)?;
    let mut check = Check::default();
    let mut all = Vec::with_capacity(sources.len());
    let numbers: Vec<usize> = (0..sources.len()).collect();
    for chunk in numbers.chunks(predictor.contract.batch) {
        let images: Vec<RgbImage> = chunk
            .iter()
            .map(|&i| preprocess::decode_with(&sources[i], args.jpeg))
            .collect::<Result<_>>()?;
        let found = predictor.predict(&images, args)?;
        for ((&i, image), found) in chunk.iter().zip(images).zip(found) {
            let told = Told::of(&sources[i], image.dimensions(), &found, &predictor.names);
            told.print(out)?;
            all.push(told);
            if let Some(folder) = &args.labels {
                let truth = labels::read(folder, &sources[i])?;
                check += Check::of(&found, &truth, image.dimensions());
            }
            if let Some(texts) = &places.texts {
                let text = labels::with_scores(&found, image.dimensions());
                files::write(&texts[i], text.as_bytes())?;
            }
            if let Some(pictures) = &places.pictures {
                write_picture(&pictures[i], image, &found, &predictor.names)?;
            }
        }
    }
    if let Some(path) = &args.json {
        told::write(path, &all)?;
    }
    if let Some(expected) = &expected {
        let may = Tolerance {
            pixels: args.tolerance,
            score: args.score_tolerance,
            conf: args.conf,
        };
        let most = told::compare(&all, expected, may)?;
        writeln!(
            out,
            "{} objects as expected; the corners differ by {:.2} pixels at most, the scores by {:.4}",
            most.objects, most.pixels, most.score
        )?;
    }
    if args.labels.is_some() {
        let Check {
            objects,
            found,
            wrong,
        } = check;
        let verdict = format!("{found} of {objects} objects found, {wrong} false");
        if !check.passed() {
            bail!("{verdict}");
        }
        writeln!(out, "{verdict}")?;
    }
    Ok(())
}

/// Where what is made of each source goes, where it is wanted.
struct Places {
    pictures: Option<Vec<PathBuf>>,
    texts: Option<Vec<PathBuf>>,
}

impl Places {
    /// Fails where something could not be written.
    fn of(args: &PredictArgs, sources: &[PathBuf]) -> Result<Self> {
        let single =
            matches!(&args.source[..], [source] if source.is_file() && dataset::is_image(source));
        for dump in [&args.dump_input, &args.dump_output].into_iter().flatten() {
            if !single {
                bail!("--dump-input and --dump-output take one image as --source");
            }
            files::check_writable(dump)?;
        }
        let pictures = match &args.output {
            Some(picture) if single => {
                if picture
                    .extension()
                    .is_none_or(|e| !e.eq_ignore_ascii_case("png"))
                {
                    bail!(
                        "{}: the picture is written as PNG, end its name in .png",
                        picture.display()
                    );
                }
                files::check_writable(picture)?;
                Some(vec![picture.clone()])
            }
            Some(folder) => Some(in_folder(sources, folder, ".png")?),
            None => None,
        };
        let texts = args.save_txt.as_deref();
        let texts = texts.map(|folder| in_folder(sources, folder, ".txt"));
        let texts = texts.transpose()?;
        // It may go into one of those folders.
        if let Some(json) = &args.json {
            files::check_writable(json)?;
        }
        Ok(Places { pictures, texts })
    }
}

/// A file in `folder` for each image.
fn in_folder(sources: &[PathBuf], folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let places = sources::named_after(sources, folder, ending)?;
    if let Some(place) = places.iter().find(|place| sources.contains(place)) {
        bail!(
            "{} is one of the images; give another folder",
            place.display()
        );
    }
    files::make_folder(folder)?;
    for place in &places {
        files::check_writable(place)?;
    }
    Ok(places)
}

struct Predictor {
    session: Session,
    contract: Contract,
    names: Names,
}

impl Predictor {
    fn new(args: &PredictArgs) -> Result<Self> {
        let model = Model::open(&args.model, args.fp16, args.device)?;
        Ok(Predictor {
            session: Session::new(model.detector, &model.contract)?,
            contract: model.contract,
            names: model.about.names,
        })
    }

    /// What is in each of at most a batch of images.
    fn predict(&mut self, images: &[RgbImage], args: &PredictArgs) -> Result<Vec<Vec<Detection>>> {
        let contract = &self.contract;
        let mut letterboxes = Vec::new();
        let fill = |mut values: Pixels<'_>| {
            values.clear();
            let places = values.again().images(contract.image());
            for (image, place) in images.iter().zip(places) {
                let (width, height) = (image.width() as usize, image.height() as usize);
                let letterbox = Letterbox::new(Mode::Predict, width, height, contract.size);
                preprocess::fill(image, &letterbox, place);
                letterboxes.push(letterbox);
            }
            match &args.dump_input {
                Some(path) => files::write(path, &values.bytes()),
                None => Ok(()),
            }
        };
        let rows = self.session.run(fill, |rows| {
            dump(args.dump_output.as_deref(), rows)?;
            Ok(rows.to_vec())
        })?;
        let wanted = Wanted::predict(args.conf);
        let each = rows.chunks_exact(contract.result()).zip(&letterboxes);
        Ok(each
            .map(|(values, letterbox)| detections::read(values, contract.head, &wanted, letterbox))
            .collect())
    }
}

fn dump(path: Option<&Path>, values: &[f32]) -> Result<()> {
    match path {
        Some(path) => files::write(path, &files::f32_bytes(values)),
        None => Ok(()),
    }
}

fn write_picture(
    path: &Path,
    mut image: RgbImage,
    found: &[Detection],
    names: &Names,
) -> Result<()> {
    // The best last, so that it lies on top.
    for detection in found.iter().rev() {
        let text = format!("{} {:.2}", name_of(detection.class, names), detection.score);
        draw::labelled_box(&mut image, detection.bbox, detection.class, &text);
    }
    let mut png = Vec::new();
    image
        .write_to(&mut Cursor::new(&mut png), ImageFormat::Png)
        .with_context(|| format!("cannot write {}", path.display()))?;
    files::write(path, &png)
}
