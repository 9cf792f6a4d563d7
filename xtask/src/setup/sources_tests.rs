use super::*;

fn bookworm() -> Release {
    Release::parse("PRETTY_NAME=\"Debian GNU/Linux 12\"\nID=debian\nVERSION_CODENAME=bookworm\n")
}

const STANZAS: &str = "\
# a comment
Types: deb deb-src
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
 contrib
Signed-By: /keys/debian.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
";

#[test]
fn stanzas_give_one_entry_a_suite() {
    let entries = parse_stanzas(STANZAS);
    let suites: Vec<&str> = entries.iter().map(|entry| entry.suite.as_str()).collect();
    assert_eq!(
        suites,
        ["bookworm", "bookworm-updates", "bookworm-security"]
    );
    assert_eq!(entries[0].components, ["main", "contrib"]);
    assert_eq!(entries[0].option("signed-by"), Some("/keys/debian.gpg"));
    let archive = debian_archive(&entries, &bookworm()).unwrap();
    assert_eq!(
        (archive.uri.as_str(), archive.suite.as_str()),
        ("http://mirror.example/debian", "bookworm")
    );
}

#[test]
fn a_key_may_stand_in_the_file() {
    let text = "Types: deb\nURIs: http://m.example/debian\nSuites: sid\nComponents: main\nSigned-By:\n \
                -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc=\n -----END PGP PUBLIC KEY BLOCK-----\n";
    let entries = parse_stanzas(text);
    let key = entries[0].key.as_deref().unwrap();
    assert!(
        key.starts_with("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nabc=\n"),
        "{key}"
    );
    assert_eq!(entries[0].option("signed-by"), None);
}

#[test]
fn lines_are_read_with_their_options() {
    let text = "# deb http://no.example/debian sid main\n\
                deb-src http://no.example/debian sid main\n\
                deb [ arch=amd64,i386 signed-by=/k.gpg ] http://m.example/debian trixie main # end\n\
                deb cdrom:[Debian]/ trixie main\n\
                deb http://flat.example ./\n";
    let entries = parse_lines(text);
    let archive = debian_archive(&entries, &bookworm()).unwrap();
    assert_eq!(archive.uri, "http://m.example/debian");
    assert_eq!(archive.suite, "trixie");
    assert_eq!(archive.option("signed-by"), Some("/k.gpg"));
    assert_eq!(archive.components, ["main"]);
}

#[test]
fn vendors_and_security_are_not_the_archive() {
    let none = "deb http://vendor.example/apt stable-bookworm main\n\
                deb http://m.example/debian-security bookworm-security main\n\
                deb [arch=arm64] http://m.example/debian bookworm main\n\
                deb http://vendor.example/other bookworm other\n\
                deb http://vendor.example/chat stable main\n\
                deb http://m.example/ubuntu noble main universe\n";
    assert_eq!(debian_archive(&parse_lines(none), &bookworm()), None);
}

#[test]
fn the_archive_wins_over_vendors_with_the_same_suite() {
    let entries = parse_lines(
        "deb http://vendor.example/apt bookworm main\ndeb http://m.example/debian/ bookworm main",
    );
    let archive = debian_archive(&entries, &bookworm()).unwrap();
    assert_eq!(archive.uri, "http://m.example/debian/");
}

#[test]
fn updates_will_do_where_the_suite_itself_is_not_listed() {
    let entries = parse_lines("deb http://m.example/debian bookworm-updates main");
    assert!(debian_archive(&entries, &bookworm()).is_some());
}

#[test]
fn the_own_release_is_that_of_the_machine() {
    let release = Release::parse("ID=ubuntu\nVERSION_CODENAME=noble\nID_LIKE=debian\n");
    let entries = parse_lines(
        "deb http://m.example/ubuntu noble-updates main\ndeb http://m.example/ubuntu noble main universe\n",
    );
    assert_eq!(own_release(&entries, &release).unwrap().suite, "noble");
    assert_eq!(debian_archive(&entries, &release), None);
}
