//! Display names of the processes of a recording, so that no two JVMs have the same one.
//!
//! A JVM is named by its main class. Where several have the same main class (replicas, members of a
//! cluster), each is named by the class without its package, the part of its arguments that
//! distinguishes it from the others, and its pid: "StartUp db2 2 [pid 1234]". Other processes keep
//! the name of their program, even where many run the same one.

use std::collections::{BTreeMap, BTreeSet};

use crate::vocabulary::fact;
use crate::{Process, ProcessId, Source};

/// Characters of arguments in a name: longer ones are paths or lists, for which the pid is enough.
const ARGUMENTS: usize = 40;
/// The placeholder of a masked value, which distinguishes nothing.
const MASKED: &str = "***";

/// Names by process.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessNames(Vec<String>);

impl ProcessNames {
    pub(crate) fn of(processes: &[Process], sources: &[Source]) -> Self {
        let mut names: Vec<String> = processes.iter().map(|process| process.name.clone()).collect();
        let mut namesakes: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (i, process) in processes.iter().enumerate().filter(|(_, p)| p.jvm && !p.name.is_empty()) {
            namesakes.entry(&process.name).or_default().push(i);
        }
        for (name, members) in namesakes.into_iter().filter(|(_, members)| members.len() > 1) {
            let arguments = distinguishing(processes, &members);
            for ((member, argument), marks) in
                members.iter().zip(arguments).zip(marks(processes, sources, &members))
            {
                let argument = if argument.is_empty() { argument } else { format!(" {argument}") };
                names[*member] = format!("{}{argument} [{marks}]", without_package(name));
            }
        }
        Self(names)
    }

    pub(crate) fn get(&self, id: ProcessId) -> Option<&str> {
        self.0.get(id.index()).map(String::as_str)
    }
}

/// For each process of the same name the arguments that not all of them have: the program's own,
/// otherwise its system properties.
fn distinguishing(processes: &[Process], members: &[usize]) -> Vec<String> {
    let words = |key: &str, wanted: fn(&str) -> Option<&str>| -> Vec<Vec<String>> {
        let of = |i: &usize| processes[*i].fact(key).unwrap_or_default();
        let open = |word: &&str| !word.contains(MASKED);
        let words = |i| of(i).split_whitespace().filter(open).filter_map(wanted).map(str::to_owned).collect();
        members.iter().map(words).collect()
    };
    let own = differing(&words(fact::MAIN_ARGS, |word| Some(word)));
    match own.iter().all(String::is_empty) {
        true => differing(&words(fact::JVM_ARGS, |word| word.strip_prefix("-D"))),
        false => own,
    }
}

fn differing(all: &[Vec<String>]) -> Vec<String> {
    let sets: Vec<BTreeSet<&String>> = all.iter().map(|words| words.iter().collect()).collect();
    let common = |word: &String| sets.iter().all(|set| set.contains(word));
    let of = |words: &Vec<String>| {
        let own: Vec<&str> = words.iter().filter(|word| !common(word)).map(String::as_str).collect();
        let own = own.join(" ");
        match own.char_indices().nth(ARGUMENTS) {
            Some((at, _)) => format!("{}…", &own[..at]),
            None => own,
        }
    };
    all.iter().map(of).collect()
}

/// For each process of the same name what no other has: "pid 1234"; the file that it is known from
/// as well where pids are unknown or, on several machines, equal; and its row where that does not
/// distinguish them either.
fn marks(processes: &[Process], sources: &[Source], members: &[usize]) -> Vec<String> {
    let pid = |i: &usize| processes[*i].pid.map(|pid| format!("pid {pid}"));
    let file = |i: &usize| {
        let own = sources.iter().find(|source| source.process == Some(*i as u32));
        own.map(|source| source.name.clone())
    };
    let row = |i: &usize| Some(format!("process {}", i + 1));
    let mut marks: Vec<String> = vec![String::new(); members.len()];
    for next in [&pid as &dyn Fn(&usize) -> Option<String>, &file, &row] {
        let distinct: BTreeSet<&String> = marks.iter().filter(|mark| !mark.is_empty()).collect();
        if distinct.len() == members.len() {
            break;
        }
        for (mark, member) in marks.iter_mut().zip(members) {
            let Some(more) = next(member) else { continue };
            *mark = if mark.is_empty() { more } else { format!("{mark}, {more}") };
        }
    }
    marks
}

/// "StartUp" of "org.elasql.bench.server.StartUp", "shop.jar" of "/opt/shop.jar".
fn without_package(main: &str) -> &str {
    let file = main.rsplit('/').next().unwrap_or(main);
    let last = file.rsplit('.').next().unwrap_or(file);
    // An extension in small letters: the name of a file.
    if last.chars().next().is_some_and(char::is_uppercase) { last } else { file }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Recording, Sink};

    fn names(jvms: &[(Option<i64>, &str, &str)]) -> Vec<String> {
        let mut recording = Recording::new();
        for (pid, name, args) in jvms {
            let mut process = Process { pid: *pid, name: (*name).into(), jvm: true, ..Process::default() };
            let key = if args.starts_with('-') { fact::JVM_ARGS } else { fact::MAIN_ARGS };
            process.facts.insert(key.into(), (*args).into());
            let id = recording.add_process(process);
            let name = format!("{}.log", id.0);
            recording.add_source(Source { name, process: Some(id.0), ..Source::default() });
        }
        recording.seal();
        (0..jvms.len()).map(|i| recording.process_name(ProcessId(i as u32)).to_owned()).collect()
    }

    #[test]
    fn jvms_of_one_main_class_are_distinguished_by_pid_and_by_what_their_arguments_differ_in() {
        let all = [
            (Some(11), "org.db.StartUp", "conf.xml db1 1"),
            (Some(12), "org.db.StartUp", "conf.xml db2 2"),
            (Some(13), "org.db.Other", "conf.xml"),
        ];
        assert_eq!(names(&all), ["StartUp db1 1 [pid 11]", "StartUp db2 2 [pid 12]", "org.db.Other"]);
        let options =
            [(Some(1), "/opt/shop.jar", "-Dnode=a -Xmx1g"), (Some(2), "/opt/shop.jar", "-Dnode=b -Xmx2g")];
        assert_eq!(names(&options), ["shop.jar node=a [pid 1]", "shop.jar node=b [pid 2]"]);
    }

    #[test]
    fn without_a_pid_of_their_own_they_are_distinguished_by_the_file() {
        assert_eq!(names(&[(None, "Main", ""), (None, "Main", "")]), ["Main [0.log]", "Main [1.log]"]);
        let containers = [(Some(1), "Main", ""), (Some(1), "Main", "")];
        assert_eq!(names(&containers), ["Main [pid 1, 0.log]", "Main [pid 1, 1.log]"]);
    }

    #[test]
    fn other_programs_keep_their_name() {
        let mut recording = Recording::new();
        for pid in [1, 2] {
            recording.add_process(Process { pid: Some(pid), name: "sh".into(), ..Process::default() });
        }
        recording.seal();
        assert_eq!(recording.process_name(ProcessId(1)), "sh");
        assert_eq!(recording.process_name(ProcessId(7)), "");
    }
}
