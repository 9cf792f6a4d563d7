//! `predict`: finds objects in images, prints them and draws them.

use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use image::{ImageFormat, RgbImage};
use migraphx::{InputId, Inputs};

use crate::cli::PredictArgs;
use crate::dataset;
use crate::detections::{self, Detection, ROW};
use crate::draw;
use crate::files;
use crate::labels::{self, Check};
use crate::onnx_info::Names;
use crate::preprocess::{self, Letterbox, Mode};
use crate::weights::Model;

pub fn run(args: &PredictArgs, out: &mut dyn Write) -> Result<()> {
    let sources = dataset::images(&args.source)?;
    let pictures = pictures(args, &sources)?;
    let mut predictor = Predictor::new(args)?;
    let mut check = Check::default();
    let todo: Vec<(&PathBuf, &PathBuf)> = sources.iter().zip(&pictures).collect();
    for chunk in todo.chunks(predictor.model.contract.batch) {
        let images: Vec<RgbImage> = chunk
            .iter()
            .map(|(source, _)| preprocess::decode(source))
            .collect::<Result<_>>()?;
        let found = predictor.predict(&images, args)?;
        for (((source, picture), image), found) in chunk.iter().zip(images).zip(found) {
            print(out, source, &found, &predictor.model.names)?;
            if let Some(folder) = &args.labels {
                let truth = labels::read(folder, source, image.dimensions())?;
                check += Check::of(&found, &truth);
            }
            write_picture(picture, image, &found, &predictor.model.names)?;
        }
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

/// Where each source's picture goes.
fn pictures(args: &PredictArgs, sources: &[PathBuf]) -> Result<Vec<PathBuf>> {
    for dump in [&args.dump_input, &args.dump_output].into_iter().flatten() {
        if args.source.is_dir() {
            bail!("--dump-input and --dump-output take one image as --source, not a folder");
        }
        files::check_writable(dump)?;
    }
    if !args.source.is_dir() && sources.len() == 1 {
        if args
            .output
            .extension()
            .is_none_or(|e| !e.eq_ignore_ascii_case("png"))
        {
            bail!(
                "{}: the picture is written as PNG, end its name in .png",
                args.output.display()
            );
        }
        files::check_writable(&args.output)?;
        return Ok(vec![args.output.clone()]);
    }
    files::make_folder(&args.output)?;
    let mut pictures: Vec<PathBuf> = Vec::new();
    for source in sources {
        let name = source.file_stem().unwrap_or_default();
        let picture = args.output.join(name).with_extension("png");
        if pictures.contains(&picture) {
            bail!(
                "two images would both be drawn to {}; rename one",
                picture.display()
            );
        }
        files::check_writable(&picture)?;
        pictures.push(picture);
    }
    Ok(pictures)
}

struct Predictor {
    model: Model,
    inputs: Inputs<'static>,
    images: InputId,
}

impl Predictor {
    fn new(args: &PredictArgs) -> Result<Self> {
        let model = Model::open(&args.model, args.fp16)?;
        let inputs = model.program.inputs()?;
        let images = inputs.id(&model.contract.input)?;
        Ok(Predictor {
            model,
            inputs,
            images,
        })
    }

    /// What is in each of at most a batch of images.
    fn predict(&mut self, images: &[RgbImage], args: &PredictArgs) -> Result<Vec<Vec<Detection>>> {
        let contract = &self.model.contract;
        let size = contract.size;
        let values = self.inputs.slice_mut::<f32>(self.images)?;
        values.fill(0.0);
        let mut letterboxes = Vec::new();
        for (image, planes) in images.iter().zip(values.chunks_exact_mut(3 * size * size)) {
            let (width, height) = (image.width() as usize, image.height() as usize);
            let letterbox = Letterbox::new(Mode::Predict, width, height, size);
            preprocess::fill(image, &letterbox, planes);
            letterboxes.push(letterbox);
        }
        if let Some(path) = &args.dump_input {
            files::write(path, &files::f32_bytes(values))?;
        }
        let outputs = self.model.program.run(&mut self.inputs)?;
        let rows = outputs.slice::<f32>(0)?;
        if let Some(path) = &args.dump_output {
            files::write(path, &files::f32_bytes(rows))?;
        }
        let each = rows.chunks_exact(contract.rows * ROW).zip(&letterboxes);
        Ok(each
            .map(|(rows, letterbox)| detections::read(rows, args.conf, letterbox))
            .collect())
    }
}

fn print(out: &mut dyn Write, source: &Path, found: &[Detection], names: &Names) -> Result<()> {
    let plural = if found.len() == 1 { "" } else { "s" };
    writeln!(out, "{}: {} object{plural}", source.display(), found.len())?;
    for detection in found {
        let [x1, y1, x2, y2] = detection.bbox;
        let name = name_of(detection.class, names);
        writeln!(
            out,
            "  {name} {:.3}  {x1:.1} {y1:.1} {x2:.1} {y2:.1}",
            detection.score
        )?;
    }
    Ok(())
}

fn name_of(class: usize, names: &Names) -> String {
    names
        .get(&class)
        .cloned()
        .unwrap_or_else(|| format!("class {class}"))
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
