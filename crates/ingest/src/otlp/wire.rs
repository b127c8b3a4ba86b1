//! The messages of OpenTelemetry's profiles, each read on its own.
//!
//! Source: open-telemetry/opentelemetry-proto 1.11.0, `profiles/v1development/profiles.proto`,
//! `common/v1/common.proto` and `resource/v1/resource.proto`. The signal is alpha, and its package
//! says `v1development`: another version may number its fields otherwise.

/// The version of opentelemetry-proto that is read.
pub(super) const VERSION: &str = "1.11.0";

/// `ProfilesData`, and `ExportProfilesServiceRequest`, which is the same on the wire.
pub(super) mod data {
    pub(crate) const RESOURCE_PROFILES: u32 = 1;
    pub(crate) const DICTIONARY: u32 = 2;
}

/// `ResourceProfiles`.
pub(super) mod of_resource {
    pub(crate) const RESOURCE: u32 = 1;
    pub(crate) const SCOPE_PROFILES: u32 = 2;
    pub(crate) const SCHEMA_URL: u32 = 3;
}

/// `ScopeProfiles`.
pub(super) mod of_scope {
    pub(crate) const SCOPE: u32 = 1;
    pub(crate) const PROFILES: u32 = 2;
    pub(crate) const SCHEMA_URL: u32 = 3;
}

/// `ProfilesDictionary`.
pub(super) mod dictionary {
    pub(crate) const MAPPING: u32 = 1;
    pub(crate) const LOCATION: u32 = 2;
    pub(crate) const FUNCTION: u32 = 3;
    pub(crate) const STRING: u32 = 5;
    pub(crate) const ATTRIBUTE: u32 = 6;
    pub(crate) const STACK: u32 = 7;
}

/// `Profile`.
pub(super) mod profile {
    pub(crate) const SAMPLE_TYPE: u32 = 1;
    pub(crate) const SAMPLES: u32 = 2;
    pub(crate) const TIME_UNIX_NANO: u32 = 3;
    pub(crate) const DURATION_NANO: u32 = 4;
    pub(crate) const PERIOD_TYPE: u32 = 5;
    pub(crate) const PERIOD: u32 = 6;
}

/// What the values of a profile are.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct ValueType {
    #[prost(int32, tag = "1")]
    pub(super) name: i32,
    #[prost(int32, tag = "2")]
    pub(super) unit: i32,
}

/// Samples of one stack, thread and span: a value for each time.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Sample {
    #[prost(int32, tag = "1")]
    pub(super) stack: i32,
    #[prost(int32, repeated, tag = "2")]
    pub(super) attributes: Vec<i32>,
    #[prost(int64, repeated, tag = "4")]
    pub(super) values: Vec<i64>,
    #[prost(fixed64, repeated, tag = "5")]
    pub(super) timestamps: Vec<u64>,
}

/// A stack: locations, the innermost first.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Stack {
    #[prost(int32, repeated, tag = "1")]
    pub(super) locations: Vec<i32>,
}

/// A library or program in memory.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Mapping {
    #[prost(int32, tag = "4")]
    pub(super) file: i32,
}

/// An address, with the functions that it is in: the innermost inlined one first.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Location {
    #[prost(int32, tag = "1")]
    pub(super) mapping: i32,
    #[prost(uint64, tag = "2")]
    pub(super) address: u64,
    #[prost(message, repeated, tag = "3")]
    pub(super) lines: Vec<Line>,
    #[prost(int32, repeated, tag = "4")]
    pub(super) attributes: Vec<i32>,
}

/// A function and a line in it.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct Line {
    #[prost(int32, tag = "1")]
    pub(super) function: i32,
    #[prost(int64, tag = "2")]
    pub(super) line: i64,
}

/// A function.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct Function {
    #[prost(int32, tag = "1")]
    pub(super) name: i32,
    #[prost(int32, tag = "2")]
    pub(super) system_name: i32,
}

/// An attribute of the dictionary.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct KeyValueAndUnit {
    #[prost(int32, tag = "1")]
    pub(super) key: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) value: Option<AnyValue>,
}

/// An attribute of a resource.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct KeyValue {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(message, optional, tag = "2")]
    pub(super) value: Option<AnyValue>,
    #[prost(int32, tag = "3")]
    pub(super) key_index: i32,
}

/// A value, of the sorts that are looked at.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct AnyValue {
    #[prost(string, tag = "1")]
    pub(super) text: String,
    #[prost(int64, tag = "3")]
    pub(super) number: i64,
    #[prost(int32, tag = "8")]
    pub(super) text_index: i32,
}
