//! Several processes that share the images, one after the other here.

use std::fs;

use serde_json::Value;

use super::{refused, stored, tmp, yolo26};

const BENCH: &str = "bench --data {demo}/coco.yaml --weights {demo}/model.mxr --warmup 0 \
                     --quiet-mode yes --dry-run no --output {tmp}/results --json {tmp}/node.json";

#[test]
fn shards_make_the_whole_and_one_report() {
    let tmp = tmp();
    yolo26(&tmp, &format!("{BENCH} --shard no")).unwrap();
    let whole = stored(&tmp.path().join("results"), 1);
    let mut rows = Vec::new();
    for (shard, said) in [
        (
            "0/3",
            "shard 0/3 (--shard): images 0 to 1 of 5, Worker 0 to Worker 1\n",
        ),
        ("1/3", "images 2 to 3 of 5"),
        ("2/3", "images 4 to 4 of 5"),
    ] {
        let table = yolo26(&tmp, &format!("{BENCH} --num-gpus 2 --shard {shard}")).unwrap();
        assert!(table.contains(said), "{table}");
        let folder = format!("results-{}", shard.replace('/', "of"));
        rows.extend(stored(&tmp.path().join(folder), 2));
    }
    assert!(rows == whole, "the stored rows differ");

    let parts = "{tmp}/node-2of3.json {tmp}/node-0of3.json {tmp}/node-1of3.json";
    let line = format!("merge {parts} --json {{tmp}}/all.json --html {{tmp}}/all.html");
    let table = yolo26(&tmp, &line).unwrap();
    assert!(table.contains("6-WORKER INFERENCE COMPLETE"), "{table}");
    // One after the other.
    assert!(table.contains("did not run at the same time"), "{table}");
    let all: Value =
        serde_json::from_slice(&fs::read(tmp.path().join("all.json")).unwrap()).unwrap();
    assert_eq!(all["total"]["images"], 5);
    assert_eq!(all["nodes"].as_array().unwrap().len(), 3);
    assert!(
        fs::read_to_string(tmp.path().join("all.html"))
            .unwrap()
            .contains("same time")
    );

    let error = refused(&tmp, "merge {tmp}/node-2of3.json {tmp}/node-0of3.json");
    assert!(error.contains("no report of shard 1/3"), "{error}");
    let error = refused(&tmp, "merge {tmp}/node.json");
    assert!(error.contains("over all images"), "{error}");
}

#[test]
fn shards_that_make_no_sense_are_refused() {
    let tmp = tmp();
    let error = refused(&tmp, &format!("{BENCH} --shard 3/3"));
    assert!(error.contains("no shard 3 of 3"), "{error}");
    let error = refused(&tmp, &format!("{BENCH} --shard 6/8"));
    assert!(error.contains("only 5 images"), "{error}");
    let error = refused(
        &tmp,
        "val --data {demo}/coco.yaml --weights {demo}/model.mxr --shard 0/2",
    );
    assert!(error.contains("the whole data set"), "{error}");
}
