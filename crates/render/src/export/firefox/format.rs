//! The parts of the processed profile format of the Firefox Profiler, as they are written.

use serde::Serialize;
use serde_json::Value;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Thread {
    pub(super) name: String,
    pub(super) is_main_thread: bool,
    pub(super) process_type: &'static str,
    pub(super) process_name: String,
    pub(super) process_startup_time: f64,
    pub(super) process_shutdown_time: Option<f64>,
    pub(super) register_time: f64,
    pub(super) unregister_time: Option<f64>,
    pub(super) paused_ranges: [u8; 0],
    pub(super) pid: String,
    pub(super) tid: String,
    pub(super) samples: Samples,
    pub(super) markers: Markers,
    pub(super) stack_table: StackTable,
    pub(super) frame_table: FrameTable,
    pub(super) func_table: FuncTable,
    pub(super) resource_table: ResourceTable,
    pub(super) native_symbols: Value,
    pub(super) string_array: Vec<String>,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct Samples {
    pub(super) length: usize,
    pub(super) time: Vec<f64>,
    pub(super) stack: Vec<Option<u32>>,
    pub(super) weight: Vec<f64>,
    pub(super) weight_type: &'static str,
    /// CPU time since the sample before, nanoseconds; none where the samples are of something else.
    #[serde(rename = "threadCPUDelta", skip_serializing_if = "Vec::is_empty")]
    pub(super) cpu_delta: Vec<i64>,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct Markers {
    pub(super) length: usize,
    pub(super) category: Vec<u8>,
    pub(super) data: Vec<Value>,
    pub(super) start_time: Vec<f64>,
    pub(super) end_time: Vec<Option<f64>>,
    pub(super) name: Vec<u32>,
    /// 0 a point in time, 1 an interval.
    pub(super) phase: Vec<u8>,
}

#[derive(Serialize, Default)]
pub(super) struct StackTable {
    pub(super) length: usize,
    pub(super) prefix: Vec<Option<u32>>,
    pub(super) frame: Vec<u32>,
    pub(super) category: Vec<u8>,
    pub(super) subcategory: Vec<u8>,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct FrameTable {
    pub(super) length: usize,
    pub(super) address: Vec<i8>,
    pub(super) inline_depth: Vec<u8>,
    pub(super) category: Vec<u8>,
    pub(super) subcategory: Vec<u8>,
    pub(super) func: Vec<u32>,
    pub(super) native_symbol: Vec<Option<u8>>,
    #[serde(rename = "innerWindowID")]
    pub(super) inner_window: Vec<Option<u8>>,
    pub(super) implementation: Vec<Option<u8>>,
    pub(super) line: Vec<Option<i32>>,
    pub(super) column: Vec<Option<u8>>,
    pub(super) optimizations: Vec<Option<u8>>,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct FuncTable {
    pub(super) length: usize,
    pub(super) name: Vec<u32>,
    #[serde(rename = "isJS")]
    pub(super) is_js: Vec<bool>,
    #[serde(rename = "relevantForJS")]
    pub(super) relevant_for_js: Vec<bool>,
    pub(super) resource: Vec<i64>,
    pub(super) file_name: Vec<Option<u32>>,
    pub(super) line_number: Vec<Option<u8>>,
    pub(super) column_number: Vec<Option<u8>>,
}

#[derive(Serialize, Default)]
pub(super) struct ResourceTable {
    pub(super) length: usize,
    pub(super) lib: Vec<Option<u8>>,
    pub(super) name: Vec<u32>,
    pub(super) host: Vec<Option<u8>>,
    #[serde(rename = "type")]
    pub(super) kind: Vec<u8>,
}
