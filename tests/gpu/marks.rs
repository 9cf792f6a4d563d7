//! Files that say what they hold, rightly or not.

use crate::attack::{compile, parse};
use crate::harness::Test;
use crate::programs::{self, device_file, host_file, linear_expected};
use migraphx::hip::{Device, Stream};
use migraphx::mxr::{self, Buffers, FileFormat, Loaded};
use migraphx::{Argument, CompileOptions, CompiledProgram, DeviceProgram, Error, Target};
use testkit::models;
use testkit::onnx::{Elem, Graph, fixed};

pub const TESTS: &[Test] = &[
    Test::new("names_that_the_library_takes_for_its_own", taken_names),
    Test::new("a_changed_file_is_seen", changed_files),
    Test::new("a_file_that_says_the_other_kind", other_marks),
    Test::new("files_as_json", as_json),
];

fn taken_names() {
    let device = Device::new(0).unwrap();
    for name in ["scratch", "main:#output_0"] {
        let mut g = Graph::new("named");
        g.input(name, Elem::F32, &fixed(&[4]));
        g.node("Relu", &[name], &["y"], vec![]);
        g.output("y", Elem::F32, &fixed(&[4]));
        let model = g.into_bytes();
        let error = parse(&model)
            .compile_for_device(device, &CompileOptions::new())
            .unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
        let target = Target::gpu_on(device).unwrap();
        let error = parse(&model)
            .compile(&target, &CompileOptions::new())
            .unwrap_err();
        assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
        // The host's targets have no such names.
        let target = Target::reference().unwrap();
        let mut program = parse(&model)
            .compile(&target, &CompileOptions::new())
            .unwrap();
        let x = [-1.0f32, 1.0, -2.0, 2.0];
        let x = Argument::from_slice(&x, &[4]).unwrap();
        let y = program.run_once(&[(name, x)]).unwrap();
        assert_eq!(y.slice::<f32>(0).unwrap(), [0.0, 1.0, 0.0, 2.0]);
    }
}

fn changed_files() {
    let device = Device::new(2).unwrap();
    for file in [device_file(), host_file()] {
        let whole = std::fs::read(file).unwrap();
        let key = whole
            .windows(11)
            .position(|text| text == b"migraphx-rs")
            .unwrap();
        let step = (whole.len() / 40).max(1);
        let places = (0..300)
            .chain((300..whole.len()).step_by(step))
            .chain([whole.len() - 1]);
        for at in places {
            let cut = &whole[..at];
            let error = mxr::load_bytes(cut, FileFormat::Msgpack).unwrap_err();
            assert!(matches!(error, Error::Mxr { .. }), "cut at {at}: {error}");
            for bit in [0, 7] {
                let mut changed = whole.clone();
                changed[at] ^= 1 << bit;
                match device
                    .scope(|| mxr::load_bytes(&changed, FileFormat::Msgpack))
                    .unwrap()
                {
                    Err(Error::Mxr { .. }) => {}
                    // Where the key itself is damaged, it is a file of others: all else is whole.
                    Ok(_) if (key..key + 11).contains(&at) || is_key(&whole, at) => {}
                    other => panic!("bit {bit} of byte {at} of {}: {other:?}", whole.len()),
                }
            }
        }
        let longer = [&whole[..], b"\0"].concat();
        mxr::load_bytes(&longer, FileFormat::Msgpack).unwrap_err();
    }
}

/// The key of the checksum, or its length.
fn is_key(file: &[u8], at: usize) -> bool {
    let key = file
        .windows(9)
        .position(|text| text == b"\xa8checksum")
        .unwrap();
    (key..key + 9).contains(&at)
}

/// Without our mark, as MIGraphX itself writes.
pub fn unmarked(file: &[u8]) -> Vec<u8> {
    let find = |text: &[u8]| file.windows(text.len()).position(|found| found == text);
    let start = find(b"\xabmigraphx-rs").unwrap();
    let end = find(b"\xa8checksum\xce").unwrap() + 10 + 4;
    [&[file[0] - 1], &file[1..start], &file[end..]].concat()
}

/// With a mark made by hand: `value` in MessagePack.
fn marked(file: &[u8], value: &[u8]) -> Vec<u8> {
    let plain = unmarked(file);
    let at = plain
        .windows(8)
        .position(|text| text == b"\xa7version")
        .unwrap()
        + 9;
    [
        &[plain[0] + 1],
        &plain[1..at],
        b"\xabmigraphx-rs",
        value,
        &plain[at..],
    ]
    .concat()
}

fn other_marks() {
    let device = Device::new(3).unwrap();
    let (on_device, on_host) = (
        std::fs::read(device_file()).unwrap(),
        std::fs::read(host_file()).unwrap(),
    );
    let load = |bytes: &[u8]| {
        device
            .scope(|| mxr::load_bytes(bytes, FileFormat::Msgpack))
            .unwrap()
    };
    // Files of others: the instructions say what they are.
    assert!(matches!(
        load(&unmarked(&on_device)).unwrap(),
        Loaded::Device(_)
    ));
    assert!(matches!(
        load(&unmarked(&on_host)).unwrap(),
        Loaded::Compiled(_)
    ));
    let mut program = DeviceProgram::load_bytes(&unmarked(&on_device), device).unwrap();
    let (set, stream) = (program.bindings().unwrap(), Stream::new(device).unwrap());
    let (_, y) = programs::run_device(&mut program, set, &stream, 4).unwrap();
    assert_eq!(y, linear_expected(4));
    // A constant alone, and an input alone: no buffers for outputs, no copies.
    for model in [
        models::constant_only(&[1.0, 2.0]),
        models::identity(Elem::F32, &[3]),
    ] {
        let bytes = compile(&model, device).to_bytes().unwrap();
        assert!(matches!(
            load(&unmarked(&bytes)).unwrap(),
            Loaded::Device(_)
        ));
        let target = Target::gpu_on(device).unwrap();
        let program = parse(&model)
            .compile(&target, &CompileOptions::new())
            .unwrap();
        let bytes = program.to_bytes().unwrap();
        assert!(matches!(
            load(&unmarked(&bytes)).unwrap(),
            Loaded::Compiled(_)
        ));
    }

    let saying = |kind: &str| {
        let length = 0xa0 | kind.len() as u8;
        [b"\x81\xa7buffers", &[length][..], kind.as_bytes()].concat()
    };
    for (file, lie) in [(&on_device, "host"), (&on_host, "device")] {
        let error = load(&marked(file, &saying(lie))).unwrap_err();
        assert!(matches!(error, Error::Mxr { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.contains("host buffers") && text.contains("on the device"),
            "{text}"
        );
    }
    // It does not say which parameters are outputs.
    match load(&marked(&on_device, &saying("device"))).unwrap() {
        Loaded::Device(program) => assert_eq!(program.parameters().len(), 1),
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        load(&marked(&on_host, &saying("host"))).unwrap(),
        Loaded::Compiled(_)
    ));
    // A program of the host that says `device`, and nonsense.
    let target = Target::reference().unwrap();
    let reference = programs::linear()
        .compile(&target, &CompileOptions::new())
        .unwrap();
    let reference = reference.to_bytes().unwrap();
    load(&marked(&reference, &saying("device"))).unwrap_err();
    for nonsense in [
        &b"\xc0"[..],
        b"\x2a",
        b"\xa3abc",
        b"\x93\x01\x02\x03",
        b"\x81\xa7buffers\x01",
        b"\x81\xa7buffers\xa5cloud",
        b"\x81\xa7outputs\x81\xa1x\xa1y",
        b"\x81\xa7outputs\x92\xa1x\xa1x",
        b"\x81\xa7outputs\x91\xa5wrong",
        b"\x81\xacarchitecture\xa4\xff\xfe\x00\x01",
        b"\x81\xa8checksum\xa1x",
        b"\x81\xa8checksum\xcf\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x81\xa8checksum\x00",
        b"\x81\xde\x00\x00\xc2",
        b"\xdf\xff\xff\xff\xff",
    ] {
        for file in [&on_device, &on_host, &reference] {
            match load(&marked(file, nonsense)) {
                Ok(_) | Err(Error::Mxr { .. } | Error::Architecture { .. }) => {}
                Err(other) => panic!("{nonsense:x?}: {other}"),
            }
        }
    }
    // Outputs that are inputs: another signature, and still memory of the device.
    let mark = b"\x82\xa7buffers\xa6device\xa7outputs\x91\xa1x";
    let mut program = DeviceProgram::load_bytes(&marked(&on_device, mark), device).unwrap();
    let set = program.bindings().unwrap();
    program.run(set, &stream).unwrap();
    // Of another architecture, says the mark: an error that names both.
    let mark = b"\x82\xa7buffers\xa6device\xacarchitecture\xa6gfx906";
    let error = load(&marked(&on_device, mark)).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("gfx906") && text.contains("gfx90a"), "{text}");

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.mxr");
    std::fs::write(&path, unmarked(&on_device)).unwrap();
    let info = mxr::inspect(&path).unwrap();
    assert_eq!((info.buffers(), info.architecture()), (None, None));
    for (file, kind) in [
        (device_file(), Buffers::Device),
        (host_file(), Buffers::Host),
    ] {
        let info = mxr::inspect(file).unwrap();
        assert_eq!(info.buffers(), Some(kind));
        assert_eq!(info.architecture(), Some("gfx90a:sramecc+:xnack-"));
    }
}

fn as_json() {
    let device = Device::new(1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let program = DeviceProgram::load(device_file(), device).unwrap();
    program
        .save_as(path("device.json"), FileFormat::Json)
        .unwrap();
    let program = CompiledProgram::load_on(host_file(), device).unwrap();
    program
        .save_as(path("host.json"), FileFormat::Json)
        .unwrap();
    for (name, kind) in [
        ("device.json", Buffers::Device),
        ("host.json", Buffers::Host),
    ] {
        let info = mxr::inspect(path(name)).unwrap();
        assert_eq!(info.buffers(), Some(kind), "{name}");
        let loaded = device
            .scope(|| mxr::load_as(path(name), FileFormat::Json))
            .unwrap();
        match (loaded.unwrap(), kind) {
            (Loaded::Device(mut program), Buffers::Device) => {
                assert_eq!(program.device(), device);
                let (set, stream) = (program.bindings().unwrap(), Stream::new(device).unwrap());
                let (_, y) = programs::run_device(&mut program, set, &stream, 2).unwrap();
                assert_eq!(y, linear_expected(2));
            }
            (Loaded::Compiled(mut program), Buffers::Host) => {
                assert_eq!(
                    programs::run_host(&mut program, 3).unwrap(),
                    linear_expected(3)
                );
            }
            (other, _) => panic!("{name}: {other:?}"),
        }
        // The other kind, edited by hand.
        let text = std::fs::read_to_string(path(name)).unwrap();
        let (ours, other) = match kind {
            Buffers::Device => ("device", "host"),
            Buffers::Host => ("host", "device"),
        };
        let marks = [ours, other].map(|kind| format!("\"buffers\":\"{kind}\""));
        assert!(text.contains(&marks[0]));
        std::fs::write(path("edited"), text.replace(&marks[0], &marks[1])).unwrap();
        let error = device
            .scope(|| mxr::load_as(path("edited"), FileFormat::Json))
            .unwrap();
        assert!(matches!(error, Err(Error::Mxr { .. })), "{error:?}");
    }
}
