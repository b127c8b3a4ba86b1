//! The messages of `ProfilesData`.
//!
//! Source: open-telemetry/opentelemetry-proto 1.11.0, `profiles/v1development/profiles.proto`,
//! `common/v1/common.proto`, `resource/v1/resource.proto`. The signal is alpha: a later version may
//! number its fields otherwise.

use prost::{Message, Oneof};

/// The version of opentelemetry-proto that is written.
pub(super) const VERSION: &str = "1.11.0";

#[derive(Clone, PartialEq, Message)]
pub(in crate::export) struct ProfilesData {
    #[prost(message, repeated, tag = "1")]
    pub resource_profiles: Vec<ResourceProfiles>,
    #[prost(message, optional, tag = "2")]
    pub dictionary: Option<ProfilesDictionary>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::export) struct ProfilesDictionary {
    #[prost(message, repeated, tag = "1")]
    pub mapping_table: Vec<Nothing>,
    #[prost(message, repeated, tag = "2")]
    pub location_table: Vec<Location>,
    #[prost(message, repeated, tag = "3")]
    pub function_table: Vec<Function>,
    #[prost(message, repeated, tag = "4")]
    pub link_table: Vec<Nothing>,
    #[prost(string, repeated, tag = "5")]
    pub string_table: Vec<String>,
    #[prost(message, repeated, tag = "6")]
    pub attribute_table: Vec<KeyValueAndUnit>,
    #[prost(message, repeated, tag = "7")]
    pub stack_table: Vec<Stack>,
}

/// An entry of a table that has but the empty one. A mapping must have a build id, which no
/// recording has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub(in crate::export) struct Nothing {}

#[derive(Clone, PartialEq, Message)]
pub(in crate::export) struct ResourceProfiles {
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub scope_profiles: Vec<ScopeProfiles>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::export) struct Resource {
    #[prost(message, repeated, tag = "1")]
    pub attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::export) struct ScopeProfiles {
    #[prost(message, optional, tag = "1")]
    pub scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    pub profiles: Vec<Profile>,
}

#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub(in crate::export) struct Scope {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub version: String,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::export) struct Profile {
    #[prost(message, optional, tag = "1")]
    pub sample_type: Option<ValueType>,
    #[prost(message, repeated, tag = "2")]
    pub samples: Vec<Sample>,
    #[prost(fixed64, tag = "3")]
    pub time_unix_nano: u64,
    #[prost(uint64, tag = "4")]
    pub duration_nano: u64,
    #[prost(message, optional, tag = "5")]
    pub period_type: Option<ValueType>,
    #[prost(int64, tag = "6")]
    pub period: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub(in crate::export) struct ValueType {
    #[prost(int32, tag = "1")]
    pub type_strindex: i32,
    #[prost(int32, tag = "2")]
    pub unit_strindex: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::export) struct Sample {
    #[prost(int32, tag = "1")]
    pub stack_index: i32,
    #[prost(int32, repeated, tag = "2")]
    pub attribute_indices: Vec<i32>,
    #[prost(int64, repeated, tag = "4")]
    pub values: Vec<i64>,
    #[prost(fixed64, repeated, tag = "5")]
    pub timestamps_unix_nano: Vec<u64>,
}

/// Locations, the leaf first.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub(in crate::export) struct Stack {
    #[prost(int32, repeated, tag = "1")]
    pub location_indices: Vec<i32>,
}

#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub(in crate::export) struct Location {
    #[prost(message, repeated, tag = "3")]
    pub lines: Vec<Line>,
    #[prost(int32, repeated, tag = "4")]
    pub attribute_indices: Vec<i32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub(in crate::export) struct Line {
    #[prost(int32, tag = "1")]
    pub function_index: i32,
    #[prost(int64, tag = "2")]
    pub line: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub(in crate::export) struct Function {
    #[prost(int32, tag = "1")]
    pub name_strindex: i32,
}

/// An attribute of the dictionary.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub(in crate::export) struct KeyValueAndUnit {
    #[prost(int32, tag = "1")]
    pub key_strindex: i32,
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

/// An attribute of a resource.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub(in crate::export) struct KeyValue {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub(in crate::export) struct AnyValue {
    #[prost(oneof = "Value", tags = "1, 3")]
    pub value: Option<Value>,
}

#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub(in crate::export) enum Value {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(int64, tag = "3")]
    Number(i64),
}

impl From<Value> for AnyValue {
    fn from(value: Value) -> Self {
        Self { value: Some(value) }
    }
}
