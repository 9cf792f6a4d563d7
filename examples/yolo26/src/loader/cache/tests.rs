//! When a cache is used again and when not, and what it holds.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::thread;

use tempfile::TempDir;

use super::super::tests::{SIZE, colour, form, images, loader, write};
use super::*;
use crate::pixels::Values;
use crate::preprocess::{Options, Preparer};

fn place(dir: &TempDir, element: Element) -> Place {
    Place {
        path: dir.path().join("images.cache"),
        element,
        quiet: true,
    }
}

fn open(place: &Place, images: &Arc<[PathBuf]>) -> Result<Cache> {
    Cache::open(place, images, form(Element::U8), 2)
}

/// The file that stands for the cache.
fn inode(place: &Place) -> u64 {
    fs::metadata(&place.path).unwrap().ino()
}

fn first_pixel(cache: &Cache, index: usize) -> [u8; 3] {
    let mut values = vec![0; 3 * SIZE * SIZE];
    assert!(cache.read(index, Pixels::U8(&mut values)));
    values[..3].try_into().unwrap()
}

#[test]
fn every_type_reads_back_as_decoded() {
    let (dir, images) = images(3);
    // Of another shape, so that there is grey, too.
    let wide = image::RgbImage::from_fn(20, 10, |x, y| image::Rgb([x as u8, y as u8, 99]));
    wide.save(&images[1]).unwrap();
    for stored in [Element::U8, Element::F16, Element::F32] {
        for wanted in [Element::U8, Element::F16, Element::F32] {
            let place = place(&dir, stored);
            let cache = Cache::open(&place, &images, form(wanted), 2);
            if stored != Element::U8 && stored != wanted {
                let error = cache.err().unwrap().to_string();
                assert!(error.contains("--cache-type u8"), "{error}");
                continue;
            }
            let cache = cache.unwrap();
            let mut preparer = Preparer::new(Options::default());
            for (index, image) in images.iter().enumerate() {
                let mut expected = Values::zeros(wanted, 3 * SIZE * SIZE);
                let mode = crate::preprocess::Mode::Predict;
                preparer
                    .prepare(image, mode, SIZE, expected.pixels())
                    .unwrap();
                let mut found = Values::zeros(wanted, 3 * SIZE * SIZE);
                assert!(cache.read(index, found.pixels()));
                assert!(
                    found == expected,
                    "{stored:?} for {wanted:?}, image {index}"
                );
            }
        }
    }
}

#[test]
fn it_is_used_again_until_something_changes() {
    let (dir, images) = images(4);
    let place = place(&dir, Element::U8);
    open(&place, &images).unwrap();
    let made = inode(&place);
    // Held, so that its number is not given to another file.
    let held = open(&place, &images).unwrap();
    assert_eq!(inode(&place), made);

    // Another image of the same name.
    write(&images[2], [1, 2, 3], 9);
    let cache = open(&place, &images).unwrap();
    assert_ne!(inode(&place), made);
    assert_eq!(first_pixel(&cache, 2), [1, 2, 3]);
    // Who had the former one has it whole.
    assert_eq!(first_pixel(&held, 2), colour(2));

    let changes: [(&str, &dyn Fn() -> Result<Cache>); 3] = [
        ("a later time", &|| {
            let later =
                fs::metadata(&images[0])?.modified()? + std::time::Duration::from_nanos(1000);
            File::options()
                .write(true)
                .open(&images[0])?
                .set_modified(later)?;
            open(&place, &images)
        }),
        ("fewer images", &|| open(&place, &images[1..].into())),
        ("another type", &|| {
            let place = Place {
                element: Element::F16,
                ..place.clone()
            };
            Cache::open(&place, &images, form(Element::F16), 2)
        }),
    ];
    for (what, change) in changes {
        let _former = File::open(&place.path).unwrap();
        let before = inode(&place);
        change().unwrap();
        assert_ne!(inode(&place), before, "{what}");
    }
}

#[test]
fn a_damaged_one_is_noticed() {
    let (dir, images) = images(4);
    let place = place(&dir, Element::U8);
    let cut = |by: u64| {
        let file = OpenOptions::new().write(true).open(&place.path).unwrap();
        file.set_len(file.metadata().unwrap().len() - by).unwrap();
    };
    let flip = |at: u64| {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&place.path)
            .unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[!byte[0]], at).unwrap();
    };
    let damages: [&dyn Fn(); 5] = [
        &|| cut(1),
        &|| cut(4096),
        &|| flip(8),
        &|| flip(30),
        &|| {
            let length = fs::metadata(&place.path).unwrap().len();
            cut(length - 20);
        },
    ];
    for damage in damages {
        open(&place, &images).unwrap();
        let mut free = fs::metadata(&place.path).unwrap().permissions();
        #[allow(clippy::permissions_set_readonly_false, reason = "a folder of its own")]
        free.set_readonly(false);
        fs::set_permissions(&place.path, free).unwrap();
        damage();
        let cache = open(&place, &images).unwrap();
        assert_eq!(first_pixel(&cache, 3), colour(3));
    }

    // Damaged within an image: decoded from its file, and made anew next time.
    let before = inode(&place);
    let mut free = fs::metadata(&place.path).unwrap().permissions();
    #[allow(clippy::permissions_set_readonly_false, reason = "a folder of its own")]
    free.set_readonly(false);
    fs::set_permissions(&place.path, free).unwrap();
    flip(4096 + 3 * (SIZE * SIZE) as u64);
    let cache = Arc::new(open(&place, &images).unwrap());
    assert_eq!(inode(&place), before);
    let mut values = Values::zeros(Element::U8, 4 * 3 * SIZE * SIZE);
    loader(2, &images, Some(cache))
        .fill(0..4, values.pixels())
        .unwrap();
    let mut expected = Values::zeros(Element::U8, 4 * 3 * SIZE * SIZE);
    loader(2, &images, None)
        .fill(0..4, expected.pixels())
        .unwrap();
    assert!(values == expected);
    assert!(!place.path.exists());
}

#[test]
fn what_is_no_cache_is_not_overwritten() {
    let (dir, images) = images(1);
    let place = place(&dir, Element::U8);
    fs::write(&place.path, "a long letter").unwrap();
    let error = format!("{:#}", open(&place, &images).err().unwrap());
    assert!(
        error.contains("images.cache") && error.contains("no cache"),
        "{error}"
    );
    assert_eq!(fs::read(&place.path).unwrap(), b"a long letter");
    let folder = Place {
        path: dir.path().to_owned(),
        ..place
    };
    let error = format!("{:#}", open(&folder, &images).err().unwrap());
    assert!(error.contains("is a folder"), "{error}");
}

#[test]
fn a_bad_image_leaves_nothing() {
    let (dir, images) = images(12);
    fs::write(&images[5], "no picture").unwrap();
    let place = place(&dir, Element::U8);
    let error = format!("{:#}", open(&place, &images).err().unwrap());
    assert!(
        error.contains("005.png") && error.contains("images.cache"),
        "{error}"
    );
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 12);
}

#[test]
fn of_several_one_makes_it() {
    let (dir, images) = images(12);
    let place = place(&dir, Element::U8);
    // What a process left that was ended.
    fs::write(dir.path().join(".images.cache.partial"), "half of it").unwrap();
    let form = form(Element::U8);
    let key = Key::of(&images, form).unwrap();
    let start = std::sync::Barrier::new(6);
    let made = thread::scope(|scope| {
        let one = || {
            start.wait();
            build::build(&place, &key, &images, form, 1).unwrap().made
        };
        let all: Vec<_> = (0..6).map(|_| scope.spawn(one)).collect();
        let made = all.into_iter().map(|one| one.join().unwrap());
        made.filter(|made| *made).count()
    });
    assert_eq!(made, 1);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 13);
    let cache = open(&place, &images).unwrap();
    assert_eq!(first_pixel(&cache, 11), colour(11));
}
