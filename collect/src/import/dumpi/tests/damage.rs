//! Files that are cut, changed or short.

use proptest::prelude::*;

use super::*;

/// Bytes that are changed, cut or appended: an error or a trace, nothing else.
fn survives(files: &[Vec<u8>]) {
    let folder = tempfile::tempdir().unwrap();
    write_run(folder.path(), "run", files);
    let _ = collect(Input::Directory(folder.path().into()), Some(crate::expand::Rules::Basic));
}

/// Two files with something of everything.
fn rich() -> [Vec<u8>; 2] {
    let mut files = two();
    for (rank, file) in files.iter_mut().enumerate() {
        let at = 100 * S + 10;
        for (number, function) in FUNCTIONS.iter().enumerate().filter(|(_, f)| f.is_recorded) {
            let of = |(place, field): (usize, &functions::Field)| {
                let value = if field.kind == FieldKind::Handle { 2 } else { place as i32 % 2 };
                let is_root = function.roles.is_none_or(|(own, root)| own % 2 == root % 2);
                (!field.at_root || is_root).then(|| argument(field.kind, [1, 0, 0], value))
            };
            let arguments: Vec<Arg> = function.fields.iter().enumerate().filter_map(of).collect();
            file.call(number as u16, at + number as u64, at + number as u64 + 1, &arguments);
        }
        file.hostname = format!("host{rank}");
        file.starttime = 1_700_000_000;
    }
    files.map(|file| file.finish())
}

/// An index of the fewest words, in a file with nothing else.
#[test]
fn a_short_index_has_the_offsets_that_it_has() {
    for words in 3..12 {
        for odd in 0..8 {
            let index = std::iter::repeat_n(0_u64.to_be_bytes(), words).flatten();
            let file: Vec<u8> = MAGIC.into_iter().chain(vec![0; odd]).chain(MAGIC).chain(index).collect();
            survives(&[file.clone(), file]);
        }
    }
}

/// A file without its end has no index, which says where records are.
#[test]
fn cut_files_say_where() {
    let [first, second] = rich();
    let folder = tempfile::tempdir().unwrap();
    // Every length takes ten seconds: those of head and index, and each seventh.
    let lengths =
        (8..second.len()).filter(|length| *length < 200 || length + 300 > second.len() || length % 7 == 0);
    for length in lengths {
        write_run(folder.path(), "run", &[first.clone(), second[..length].to_vec()]);
        let Err(error) = collect(Input::Directory(folder.path().into()), None) else {
            panic!("{length} bytes were read")
        };
        let error = error.to_string();
        assert!(error.contains("rank 1: ") && error.contains("byte "), "{length}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_damage_makes_reading_panic(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut files = rich().to_vec();
        for (at, byte) in damage {
            let file = &mut files[usize::from(byte) % 2];
            let at = at.index(file.len());
            file[at] = byte;
        }
        if let Some(cut) = cut {
            let length = cut.index(files[1].len());
            files[1].truncate(length);
        }
        survives(&files);
    }

    /// Any bytes after the magic.
    #[test]
    fn no_record_makes_a_layout_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), version in 0u8..10, all: bool) {
        let mut layout = Layout::new(Version([0, 6, version]));
        match layout.find(&bytes, all) {
            Ok(()) => {
                prop_assert!(layout.length <= bytes.len());
                let record = Record::new(&layout, &bytes[..layout.length]);
                let _ = Op::of(&record, 4);
                types::Types::new(&[]).learn(&record);
                for place in 0..functions::MOST_FIELDS {
                    let _ = (record.int(place), record.ints(place).count(), record.status(place, 1));
                }
            }
            Err(Stop::More(needed, _)) => prop_assert!(needed > bytes.len()),
            Err(_) => {}
        }
    }

    /// The short way through plain records finds what the general one does.
    #[test]
    fn plain_records_are_found_as_all_are(
        function in 0u16..300,
        rest in prop::collection::vec(prop_oneof![4 => Just(0u8), 1 => any::<u8>()], 0..200),
        version in 0u8..10,
        all: bool,
    ) {
        let bytes = [&function.to_be_bytes()[..], &rest].concat();
        let mut layouts = [Layout::new(Version([0, 6, version])); 2];
        let [plain, general] = &mut layouts;
        if plain.find_plain(&bytes) {
            prop_assert_eq!(general.find(&bytes, all), Ok(()));
            let [plain, general] = layouts.each_ref().map(|layout| Record::new(layout, &bytes));
            prop_assert_eq!((plain.length(), plain.wall()), (general.length(), general.wall()));
            for place in 0..FUNCTIONS[usize::from(function)].fields.len() {
                prop_assert_eq!(plain.has(place), general.has(place));
                prop_assert_eq!(plain.int(place), general.int(place));
            }
        }
    }
}
