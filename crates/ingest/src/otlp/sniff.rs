//! Whether bytes are profiles: there is no magic number, and the order of the fields is free. What
//! is there must be fields of such a message down to its profiles, or a dictionary whose tables
//! begin with the empty entry that the format demands.

use super::framed;
use super::wire::{data, dictionary, of_resource, of_scope, profile};
use crate::protobuf::{Part, Parts};

/// Fields of a message that are looked at.
const LOOKED_AT: usize = 16;

pub(super) fn is_profiles(head: &[u8]) -> bool {
    let head = framed::first(head).unwrap_or(head);
    let mut known = false;
    for part in Parts::of_head(head).take(LOOKED_AT) {
        known |= match part {
            Part::Bytes(data::RESOURCE_PROFILES, message) => match is_of_resource(message) {
                Some(profiles) => profiles,
                None => return false,
            },
            Part::Bytes(data::DICTIONARY, message) => match is_dictionary(message) {
                Some(tables) => tables,
                None => return false,
            },
            Part::Bytes(..) | Part::Number(..) => return false,
        };
    }
    known
}

/// `None` where it cannot be one; else whether it has profiles.
fn is_of_resource(message: &[u8]) -> Option<bool> {
    let mut profiles = false;
    for part in Parts::of_head(message).take(LOOKED_AT) {
        match part {
            Part::Bytes(of_resource::SCOPE_PROFILES, scope) => profiles |= is_of_scope(scope)?,
            Part::Bytes(of_resource::RESOURCE | of_resource::SCHEMA_URL, _) => {}
            Part::Bytes(..) | Part::Number(..) => return None,
        }
    }
    Some(profiles)
}

fn is_of_scope(message: &[u8]) -> Option<bool> {
    let mut profiles = false;
    for part in Parts::of_head(message).take(LOOKED_AT) {
        match part {
            Part::Bytes(of_scope::PROFILES, message) => profiles |= is_profile(message)?,
            Part::Bytes(of_scope::SCOPE | of_scope::SCHEMA_URL, _) => {}
            Part::Bytes(..) | Part::Number(..) => return None,
        }
    }
    Some(profiles)
}

fn is_profile(message: &[u8]) -> Option<bool> {
    let mut typed = false;
    for part in Parts::of_head(message).take(LOOKED_AT) {
        match part {
            Part::Bytes(profile::SAMPLE_TYPE, bytes) => typed |= bytes.len() <= 16,
            Part::Bytes(profile::SAMPLES | profile::PERIOD_TYPE | 7..=12, _)
            | Part::Number(profile::TIME_UNIX_NANO | profile::DURATION_NANO | profile::PERIOD..=12, _) => {}
            Part::Bytes(..) | Part::Number(..) => return None,
        }
    }
    Some(typed)
}

/// `None` where it cannot be one; else whether it has tables.
fn is_dictionary(message: &[u8]) -> Option<bool> {
    let mut begun = [false; 8];
    for part in Parts::of_head(message).take(LOOKED_AT) {
        let Part::Bytes(number @ dictionary::MAPPING..=dictionary::STACK, entry) = part else { return None };
        let begun = begun.get_mut(number as usize)?;
        if !*begun && !is_zero(entry) {
            return None;
        }
        *begun = true;
    }
    Some(begun.contains(&true))
}

/// Whether all fields of an entry are zero: some are written although they are.
fn is_zero(entry: &[u8]) -> bool {
    Parts::of_head(entry).take(LOOKED_AT).all(|part| match part {
        Part::Bytes(_, bytes) => bytes.iter().all(|byte| *byte == 0),
        Part::Number(_, number) => number == 0,
    })
}
