//! Order, bounds and ends of the loader, on small images of one colour each.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{channel, sync_channel};
use std::time::Duration;

use image::{Rgb, RgbImage};
use tempfile::TempDir;

use super::*;
use crate::detector::Set;
use crate::pixels::Values;

pub const SIZE: usize = 8;

/// The colour of an image.
pub fn colour(index: usize) -> [u8; 3] {
    [index as u8, 200, 255 - index as u8]
}

pub fn write(path: &Path, colour: [u8; 3], side: u32) {
    let image = RgbImage::from_pixel(side, side, Rgb(colour));
    image.save(path).unwrap();
}

/// Images in a folder of their own, some of them slow to decode.
pub fn images(count: usize) -> (TempDir, Arc<[PathBuf]>) {
    let dir = tempfile::tempdir().unwrap();
    let path = |index: usize| dir.path().join(format!("{index:03}.png"));
    let images: Vec<PathBuf> = (0..count).map(path).collect();
    for (index, path) in images.iter().enumerate() {
        let side = if index % 7 == 0 { 256 } else { 8 };
        write(path, colour(index), side);
    }
    (dir, images.into())
}

pub fn form(element: Element) -> Form {
    Form {
        element,
        size: SIZE,
        letterbox: Mode::Predict,
        jpeg: JpegDecoder::default(),
    }
}

pub fn loader(threads: usize, images: &Arc<[PathBuf]>, cache: Option<Arc<Cache>>) -> Loader {
    Loader::new(threads, images.clone(), form(Element::U8), cache).unwrap()
}

fn batches(images: usize, batch: usize) -> impl Iterator<Item = Range<usize>> + Send {
    let start = (0..images).step_by(batch);
    start.map(move |start| start..(start + batch).min(images))
}

fn bytes(values: Pixels<'_>) -> &[u8] {
    match values {
        Pixels::U8(bytes) => bytes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn batches_come_in_order_and_in_the_same_memory() {
    let (_dir, images) = images(32);
    for threads in [1, 4] {
        let loader = loader(threads, &images, None);
        let mut next = 0;
        let mut memory = HashSet::new();
        let two_times = batches(32, 5).chain(batches(32, 5));
        let show = |images: Range<usize>, values: Pixels<'_>| {
            let bytes = bytes(values);
            memory.insert(bytes.as_ptr());
            assert_eq!(images.start, next);
            next = images.end % 32;
            let mut found = bytes.chunks(3 * SIZE * SIZE);
            for index in images {
                let image = found.next().unwrap();
                assert!(
                    image.chunks(3).all(|pixel| pixel == colour(index)),
                    "{index}"
                );
            }
            assert!(found.flatten().all(|byte| *byte == 0), "the rest is black");
            Ok(())
        };
        let decoded = loader.each(3, 5, two_times, show).unwrap();
        assert_eq!(next, 0);
        assert!(memory.len() <= 3);
        assert!(decoded.began.is_some() && !decoded.busy.is_zero());
    }
}

#[test]
fn it_goes_no_further_than_the_sets() {
    let (_dir, images) = images(32);
    let loader = loader(4, &images, None);
    let (taken, takes) = channel();
    let told = batches(32, 2).inspect(move |batch| taken.send(batch.start).unwrap());
    let mut shown = 0;
    let show = |_: Range<usize>, _: Pixels<'_>| {
        shown += 1;
        if shown == 1 {
            // The three sets are this one, and two that wait.
            let first: Vec<_> = (0..3)
                .map(|_| takes.recv_timeout(Duration::from_secs(60)).unwrap())
                .collect();
            assert_eq!(first, [0, 2, 4]);
            assert!(takes.recv_timeout(Duration::from_millis(50)).is_err());
        }
        Ok(())
    };
    loader.each(3, 2, told, show).unwrap();
    assert_eq!(shown, 16);
}

#[test]
fn a_bad_image_is_named_and_ends_it() {
    let (_dir, images) = images(32);
    fs::write(&images[9], "no picture").unwrap();
    let loader = loader(2, &images, None);
    let mut shown = Vec::new();
    let all = batches(32, 2).chain(batches(32, 2)).chain(batches(32, 2));
    let ended = loader.each(3, 2, all, |images, _| {
        shown.push(images.start);
        Ok(())
    });
    let error = format!("{:#}", ended.err().unwrap());
    assert!(error.contains("009.png"), "{error}");
    assert!(shown.len() <= 4 && shown.iter().zip([0, 2, 4, 6]).all(|(a, b)| *a == b));
}

#[test]
fn who_stops_taking_ends_it() {
    let (_dir, images) = images(32);
    let loader = loader(2, &images, None);
    let forever = std::iter::repeat_with(|| batches(32, 2)).flatten();
    let ended = loader.each(3, 2, forever, |images, _| match images.start {
        6 => anyhow::bail!("enough"),
        _ => Ok(()),
    });
    assert_eq!(ended.err().unwrap().to_string(), "enough");
}

/// Hands out two batches, and the end only when a failure was told.
struct Waits {
    given: Mutex<usize>,
    told: Mutex<Option<String>>,
    changed: std::sync::Condvar,
}

impl Work for Waits {
    type Batch = usize;

    fn next(&self) -> Option<usize> {
        let mut given = lock(&self.given);
        *given += 1;
        if *given <= 2 {
            return Some(*given - 1);
        }
        let waiting = |told: &mut Option<String>| told.is_none();
        let wait = self.changed.wait_while(lock(&self.told), waiting);
        drop(wait.unwrap());
        None
    }

    fn images(batch: &usize) -> Range<usize> {
        *batch..*batch + 1
    }

    fn failed(&self, failure: Failed) {
        *lock(&self.told) = Some(match failure {
            Failed::Set(error) | Failed::Image(error) => format!("{error:#}"),
            Failed::Panic => "panic".into(),
        });
        self.changed.notify_all();
    }
}

/// A set whose memory fails it in some way.
struct Bad(Values, fn());

impl Set for Bad {
    fn images(&mut self) -> Result<Pixels<'_>> {
        self.1();
        Ok(self.0.pixels())
    }
}

#[test]
fn a_failure_is_told_while_others_wait_for_batches() {
    let (_dir, images) = images(2);
    fs::remove_file(&images[1]).unwrap();
    for (what, expected) in [((|| ()) as fn(), "001.png"), (|| panic!("wanted"), "panic")] {
        let loader = loader(2, &images, None);
        let work = Waits {
            given: Mutex::new(0),
            told: Mutex::new(None),
            changed: std::sync::Condvar::new(),
        };
        let bad = || Bad(Values::zeros(Element::U8, 3 * SIZE * SIZE), what);
        let (_give_back, free) = sets(vec![bad(), bad(), bad()]);
        let (hand_over, _filled) = sync_channel(3);
        let run = std::panic::AssertUnwindSafe(|| loader.run(&work, free, hand_over));
        let panicked = std::panic::catch_unwind(run).is_err();
        assert_eq!(panicked, expected == "panic");
        let told = lock(&work.told).take().unwrap();
        assert!(told.contains(expected), "{told}");
    }
}
