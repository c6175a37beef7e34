//! Operations in streams, on the stand-in for the driver: PEs that take turns on the device, that use it at the same time,
//! that are threads of one process, on several devices, with the heap of the host.
mod common;
#[path = "streams/counts.rs"]
mod counts;
#[path = "streams/elsewhere.rs"]
mod elsewhere;
#[path = "streams/everything.rs"]
mod everything;
#[path = "streams/full.rs"]
mod full;
#[path = "streams/pe.rs"]
mod pe;
#[path = "streams/records.rs"]
mod records;
#[path = "streams/wrong.rs"]
mod wrong;

modes! {
    turns_of_2: Turns 2 everything::all;
    turns_of_4: Turns 4 everything::all;
    turns_of_5: Turns 5 everything::all;
    concurrent_2: Concurrent 2 everything::all;
    concurrent_3: Concurrent 3 everything::all;
    threads_2: Threads 2 everything::all;
    threads_3: Threads 3 everything::all;
    hidden_3: Hidden 3 everything::all;
    many_in_turns: Turns 16 everything::few;
    two_devices_4: TwoDevices 4 everything::all;
    two_devices_at_once_4: TwoAtOnce 4 everything::all;
    a_device_each_2: OneEach 2 everything::all;
    buffers_on_another_device: OneEach 2 elsewhere::all;
    host_heap_3: HostHeap 3 everything::all;
    host_heap_together_2: HostHeapTogether 2 everything::all;
    alone: Turns 1 everything::all;
    wrong_in_turns: Turns 2 wrong::all;
    wrong_concurrent: Concurrent 3 wrong::all;
    full_streams: LittleRoom 2 full::all;
    calls_of_2: Concurrent 2 counts::concurrent;
    calls_of_3: Concurrent 3 counts::concurrent;
    calls_in_turns: Turns 3 counts::in_turns;
    waits_in_turns: Turns 3 records::in_turns;
    waits_of_5_in_turns: Turns 5 records::in_turns;
    waits_concurrent: Concurrent 3 records::together;
    waits_of_2: Concurrent 2 records::together;
    waits_of_threads: Threads 2 records::together;
    refused: Turns 2 wrong::refused;
    first_call: Unbound 2 wrong::first_call;
}
