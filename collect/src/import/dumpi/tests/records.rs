//! Records field by field, against other readers and the layouts of all versions.

use super::*;

fn shared() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/dumpi")
}

fn open(path: &Path) -> (Index, Records) {
    let set = FileSet::of_files(&[path.to_path_buf()], tempfile::tempfile).unwrap();
    let member = set.named().unwrap();
    let index = Index::read(member).unwrap();
    let records = Records::new(member, 0, &index, 64);
    (index, records)
}

/// The lines that sst-dumpi's `dumpi2ascii` prints of a record, without the names of handles.
fn lines(record: &Record<'_>, biases: (i32, i32)) -> Vec<String> {
    let function = &FUNCTIONS[usize::from(record.function())];
    let time = |bias: i32, stamp: Stamp| format!("{}.{:09}", i64::from(bias) + i64::from(stamp.s), stamp.ns);
    let (wall, cpu) = (record.wall().unwrap(), record.cpu().unwrap());
    let moment = |word: &str, of: fn(&Span) -> Stamp| {
        format!(
            "{} {word} at walltime {}, cputime {} seconds in thread {}.",
            function.name,
            time(biases.1, of(&wall)),
            time(biases.0, of(&cpu)),
            record.thread()
        )
    };
    let mut lines = vec![moment("entering", |span| span.start)];
    for (place, field) in function.fields.iter().enumerate() {
        let name = field.name;
        let line = match field.kind {
            FieldKind::Int if name == "request" => format!("{name}=[{}]", record.int(place)),
            FieldKind::Int => format!("{name}={}", record.int(place)),
            FieldKind::Handle => format!("{name}={}", record.handle(place)),
            FieldKind::Code => format!("{name}={}", record.code(place)),
            FieldKind::Statuses => match record.status(place, 0) {
                None => format!("{name}=<IGNORED>"),
                Some(status) => format!(
                    "{name}=[{{bytes={}, cancelled={}, source={}, tag={}, error={}}}]",
                    status.bytes,
                    u8::from(status.cancelled),
                    status.source,
                    status.tag.unwrap(),
                    status.error
                ),
            },
            FieldKind::Arguments => {
                let texts = record.texts(place);
                lines.push(format!("argc={}", texts.len()));
                format!("argv[{}]={texts:?}", texts.len())
            }
            kind => panic!("the sample has no {kind:?}"),
        };
        lines.push(line);
    }
    lines.push(moment("returning", |span| span.stop));
    lines
}

/// A line of `dumpi2ascii` without the type in front and the name of a handle behind.
fn plain(line: &str) -> String {
    if line.starts_with("MPI_") && line.contains(" at walltime ") {
        return line.into();
    }
    let line = line.split_once(' ').map_or(line, |(_, rest)| rest);
    line.split_once(" (MPI_").map_or(line, |(value, _)| value).into()
}

#[test]
#[ignore = "reads sst-dumpi's traces in ../shared/data; tests/run runs it where they are"]
fn shared_data_dumpi_decodes_to_the_text_of_its_own_reader() {
    let text = std::fs::read_to_string(shared().join("testtrace-0000.txt")).unwrap();
    let (index, mut records) = open(&shared().join("testtrace-0000.bin"));
    let mut expected = text.lines();
    let mut header = |key: &str| {
        let line = expected.next().unwrap();
        line.strip_prefix(key).unwrap_or_else(|| panic!("{line} has no {key}")).to_string()
    };
    let version = index.version.0.map(|part| part.to_string()).join(".");
    assert_eq!(header("version="), version);
    assert_eq!(header("starttime="), "Thu Feb  3 16:05:56 2011");
    // 16:05:56 in California is 00:05:56 of the day after in Greenwich.
    assert_eq!(index.starttime, 1_296_777_956);
    assert_eq!(header("hostname="), index.hostname);
    let body: Vec<String> = expected
        .by_ref()
        .skip_while(|line| !line.starts_with("MPI_"))
        .take_while(|line| !line.starts_with("Total keyvals"))
        .map(plain)
        .collect();
    let mut found = Vec::new();
    while let Some(record) = records.next().unwrap() {
        found.extend(lines(&record, index.biases));
    }
    assert_eq!(found, body);
    let (mut counted, mut sized) = (0, 0);
    for line in expected {
        if let Some((name, counts)) = line.split_once(" called ") {
            assert_eq!(name, FUNCTIONS[counted].name);
            let found =
                format!("{} times and ignored {} times", index.calls[counted], index.ignored[counted]);
            assert_eq!(counts, found, "{name}");
            counted += 1;
        } else if line.starts_with("Datatype ") {
            let size = line.rsplit(' ').next().unwrap();
            assert_eq!(size, index.sizes[sized].to_string(), "{line}");
            sized += 1;
        }
    }
    assert_eq!((counted, sized), (usize::from(ALL_FUNCTIONS) + 1, index.sizes.len()));
}

#[test]
#[ignore = "reads sst-dumpi's traces in ../shared/data; tests/run runs it where they are"]
fn shared_data_dumpi_has_the_calls_that_were_counted() {
    for table in ["callcounts-single.txt", "callcounts-batch.txt"] {
        let text = std::fs::read_to_string(shared().join(table)).unwrap();
        let expected: Vec<(&str, u32)> = text
            .lines()
            .filter_map(|line| {
                let (name, rest) = line.split_once(" called ")?;
                Some((name, rest.split(' ').next()?.parse().ok()?))
            })
            .filter(|(name, calls)| *calls > 0 && *name != "MPI_ALL_FUNCTIONS")
            .collect();
        assert_eq!(expected.len(), 9);
        for rank in 0..4 {
            let (_, mut records) = open(&shared().join(format!("testtrace-{rank:04}.bin")));
            let mut calls = vec![0; FUNCTIONS.len()];
            while let Some(record) = records.next().unwrap() {
                calls[usize::from(record.function())] += 1;
            }
            let found = FUNCTIONS.iter().zip(calls).filter(|(_, calls)| *calls > 0);
            assert_eq!(found.map(|(f, calls)| (f.name, calls)).collect::<Vec<_>>(), expected, "{table}");
        }
    }
}

#[test]
#[ignore = "reads sst-dumpi's traces in ../shared/data; tests/run runs it where they are"]
fn shared_data_dumpi_becomes_a_trace() {
    // By the text of rank 0, each rank sends an int to the next one.
    for input in [
        Input::Directory(shared()),
        Input::open(&shared().join("testtrace.meta")).unwrap(),
        Input::open(&shared().join("testtrace-0002.bin")).unwrap(),
    ] {
        let Trace { imported, messages, calls } = collect(input, None).unwrap();
        let mut pairs: Vec<_> = messages.iter().map(|m| (m.src.0, m.dst.0, m.bytes, m.tag)).collect();
        pairs.sort_unstable();
        assert_eq!(pairs, (0..4).map(|rank| (rank, (rank + 1) % 4, 4, Some(1337))).collect::<Vec<_>>());
        let summary = imported.summary;
        assert_eq!((summary.ranks, summary.unmatched, summary.clock_error_ns), (4, Some(0), Some(0)));
        let first = messages.iter().find(|message| message.src == Rank(0)).unwrap();
        assert_eq!(first.send_post_ns, 1_296_777_956_739_674_000);
        assert_eq!(first.send_complete_ns, Some(1_296_777_956_739_894_000));
        let of_0 = calls.iter().filter(|call| call.rank == Rank(0));
        let found: Vec<_> = of_0.map(|call| (call.operation, call.bytes)).collect();
        let expected = [
            (Operation::Barrier, Some(0)),
            (Operation::Recv, None),
            (Operation::Wait, None),
            (Operation::Allreduce, Some(4)),
            (Operation::Finalize, None),
        ];
        assert_eq!(found, expected);
    }
}

/// Every function in every version and with every mask is passed over to the byte.
#[test]
fn every_function_is_as_long_as_its_layout() {
    let versions = [[0, 2, 0], [0, 3, 1], [0, 6, 1], [0, 6, 2], [0, 6, 5], [0, 6, 8], [1, 0, 0]];
    for version in versions {
        for mask in [8, 8 | 3, 8 | 4 | 3, 8 | 64 | 2, 8 | 64 | 128 | 1] {
            for is_root in [false, true] {
                let mut file = RankFile::of_version(version, 5);
                file.mask = mask;
                let mut expected = Vec::new();
                for (number, function) in FUNCTIONS.iter().enumerate().filter(|(_, f)| f.is_recorded) {
                    let of = |(place, field): (usize, &functions::Field)| {
                        // Both say which rank the caller is: 3, or 3 and 4.
                        let value = match function.roles {
                            Some((own, _)) if own == place => 3,
                            Some((_, root)) if root == place => 3 + i32::from(!is_root),
                            _ => 40 + place as i32,
                        };
                        (!field.at_root || is_root).then(|| argument(field.kind, version, value))
                    };
                    let arguments: Vec<Arg> = function.fields.iter().enumerate().filter_map(of).collect();
                    let start = file.len();
                    file.call(number as u16, 6_000_000_001, 7_000_000_002, &arguments);
                    expected.push((number as u16, file.len() - start));
                }
                // Not the last: Finalize is among them, and 0 is the number of MPI_Send.
                let folder = tempfile::tempdir().unwrap();
                write_run(folder.path(), "x", &[file.finish()]);
                let (_, mut records) = open(&folder.path().join("x-0000.bin"));
                let mut found = Vec::new();
                while let Some(record) = records.next().unwrap() {
                    found.push((record.function(), record.length()));
                    let span = record.wall().unwrap();
                    assert_eq!(span, Span { start: Stamp { s: 1, ns: 1 }, stop: Stamp { s: 2, ns: 2 } });
                }
                assert_eq!(found, expected, "{version:?} {mask:#x} {is_root}");
            }
        }
    }
}

/// A writer of one time left out the receive type of a gatherv except at the root.
#[test]
fn a_gatherv_without_its_type_is_told_by_what_follows() {
    for with_type in [false, true] {
        let mut file = RankFile::new(5);
        for _ in 0..3 {
            let mut arguments = vec![
                Arg::Int(1),
                Arg::Int(2),
                Arg::Int(4),
                Arg::Handle(INT),
                Arg::Int(0),
                Arg::Handle(WORLD),
            ];
            arguments.extend(with_type.then_some(Arg::Handle(INT)));
            file.call(number("MPI_Gatherv"), 5_000_000_000, 5_000_000_001, &arguments);
        }
        let bytes = file.finish();
        let folder = tempfile::tempdir().unwrap();
        write_run(folder.path(), "x", &[bytes]);
        let (_, mut records) = open(&folder.path().join("x-0000.bin"));
        for _ in 0..3 {
            assert_eq!(records.next().unwrap().unwrap().int(2), 4, "{with_type}");
        }
        assert!(records.next().unwrap().is_none());
    }
}
