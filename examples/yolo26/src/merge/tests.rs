use std::time::Duration;

use super::*;
use crate::report::tests::{card_of, report};
use crate::shard::Shard;

/// Of shard `index/of`: two cards of `images` together, at work from 1 s to 3 s of a
/// clock that started at `start`.
fn node(index: usize, of: usize, start: f64) -> Named {
    let share = Shard { index, of }.share(10);
    let cards = (0..2).map(|number| {
        let mut tally = crate::bench::Tally {
            images: Shard {
                index: number,
                of: 2,
            }
            .range(share.images)
            .len(),
            ..crate::bench::Tally::default()
        };
        tally.model = Duration::from_secs(1);
        tally.began = Duration::from_secs(1);
        tally.ended = Duration::from_secs(3);
        card_of(number, tally)
    });
    let mut report = report(cards.collect());
    report.setting.images = 10;
    report.setting.decoders = index + 1;
    report.nodes[0].share = Some(share);
    report.nodes[0].started_unix_s = start;
    report.nodes[0].name = format!("host{index}");
    report.environment = [("HIP_A", "1"), ("HIP_VISIBLE_DEVICES", &index.to_string())]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    (report, format!("node{index}.json"))
}

fn total(report: &Report, key: &str) -> f64 {
    report.to_json()["total"][key].as_f64().unwrap()
}

fn refused(reports: Vec<Named>) -> String {
    merge(reports, Clock::Own).unwrap_err().to_string()
}

#[test]
fn parts_are_summed_on_one_clock() {
    // In any order; the second started half a second later: from 1 s to 3.5 s.
    let all = merge(vec![node(1, 2, 100.5), node(0, 2, 100.0)], Clock::Own).unwrap();
    let names: Vec<_> = all.cards.iter().map(|card| all.card_name(card)).collect();
    assert_eq!(
        names,
        ["host0 GPU 0", "host0 GPU 1", "host1 GPU 0", "host1 GPU 1"]
    );
    assert_eq!(total(&all, "images"), 10.0);
    // 3, 2, 3, 2 images, each in a second.
    assert_eq!(total(&all, "model_fps"), 10.0);
    assert_eq!(total(&all, "pipeline_s"), 2.5);
    assert_eq!(total(&all, "pipeline_fps"), 4.0);
    assert!(all.to_string().contains("started within 0.500 s"), "{all}");
    assert_eq!(all.environment.len(), 1);
    // It is a report as any other.
    let text = all.to_json().to_string();
    assert_eq!(Report::from_json(&text).unwrap(), all);
}

#[test]
fn nodes_that_met_have_one_clock() {
    let all = merge(vec![node(0, 2, 100.0), node(1, 2, 100.5)], Clock::Met).unwrap();
    assert_eq!(total(&all, "pipeline_fps"), 5.0);
    // As apart as that they did not run together, or their clocks are wrong.
    let all = merge(vec![node(0, 2, 100.0), node(1, 2, 102.0)], Clock::Own).unwrap();
    assert_eq!(total(&all, "pipeline_fps"), 5.0);
    assert!(all.to_string().contains("that of the slowest"), "{all}");
}

#[test]
fn several_of_a_machine_are_told_apart() {
    let same = |index| {
        let (mut report, name) = node(index, 2, 100.0);
        report.nodes[0].name = "host".into();
        (report, name)
    };
    let all = merge(vec![same(0), same(1)], Clock::Own).unwrap();
    assert_eq!(all.card_name(&all.cards[2]), "host#1 GPU 0");
    let on = |index, bus: &str| {
        let (mut report, name) = same(index);
        for card in &mut report.cards {
            let place = format!("{bus}:{}", card.number);
            card.device.as_mut().unwrap().pci_bus_id = Some(place);
        }
        (report, name)
    };
    assert!(merge(vec![on(0, "a"), on(1, "b")], Clock::Own).is_ok());
    let error = refused(vec![on(0, "a"), on(1, "a")]);
    assert!(
        error.contains("node0.json and node1.json used the same GPU, a:0 of host"),
        "{error}"
    );
}

#[test]
fn reports_that_do_not_belong_together_are_named() {
    let parts = || (node(0, 3, 1.0), node(1, 3, 1.0), node(2, 3, 1.0));
    let (a, _, c) = parts();
    assert_eq!(refused(vec![c, a]), "there is no report of shard 1/3");
    let (a, b, c) = parts();
    let error = refused(vec![a, b.clone(), c, b]);
    assert_eq!(error, "node1.json and node1.json are both shard 1/3");
    let (a, b, _) = parts();
    let error = refused(vec![a, b, node(1, 2, 1.0)]);
    assert!(
        error.contains("one of 3 shards of 10 images, and one of 2"),
        "{error}"
    );

    let changed = |change: &dyn Fn(&mut Report)| {
        let (a, mut b, c) = parts();
        change(&mut b.0);
        refused(vec![a, b, c])
    };
    for (error, expected) in [
        (
            changed(&|report| report.model.sha256 = "cd".repeat(32)),
            "node0.json and node1.json are of different models: model.mxr (abababababab…) and \
             model.mxr (cdcdcdcdcdcd…)",
        ),
        (
            changed(&|report| report.setting.batch = 32),
            "batch is 64 and 32",
        ),
        (
            changed(&|report| report.versions.migraphx = None),
            "migraphx is \"2.14.0\" and null",
        ),
        (
            changed(&|report| report.cards[0].tally.images = 1),
            "node1.json: its cards did 2 of 3 images",
        ),
        (
            changed(&|report| report.nodes[0].share = None),
            "over all images",
        ),
    ] {
        assert!(error.contains(expected), "{error}");
    }
    let whole = merge(vec![node(0, 1, 1.0)], Clock::Own).unwrap();
    let merged = merge(vec![node(0, 2, 1.0), node(1, 2, 1.0)], Clock::Own).unwrap();
    assert_eq!(whole.nodes.len(), 1);
    let error = refused(vec![(merged, "all.json".into())]);
    assert!(error.contains("all.json is merged already"), "{error}");
}
