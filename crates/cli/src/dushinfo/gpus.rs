//! GPUs, how PEs share them, and where kernels run.
use dushmem_backends::cuda::facts::{Facts as Cuda, Gpu, Link};
use dushmem_boot::env::DeviceKind;
use serde_json::{Value as Json, json};
use std::fmt::Write;

/// Where a program's kernels run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name of the back end.
    pub device: &'static str,
    /// What decided that.
    pub why: String,
}

/// All that is shown about GPUs.
#[derive(Debug)]
pub struct Gpus {
    /// What the driver says.
    pub cuda: Cuda,
    /// For a program without kernels for GPUs.
    pub host: Option<Place>,
    /// For one with such kernels.
    pub kernels: Option<Place>,
    /// `CUDA_DEVICE_MAX_CONNECTIONS`, if it is set here.
    pub connections: Option<String>,
}

/// Fewer hardware queues than this can be too few.
const CONNECTIONS: u32 = 32;

/// Asks the driver. Says what init would refuse, and what is wrong.
pub fn gather(
    kind: Option<DeviceKind>,
    connections: Option<String>,
    errors: &mut Vec<String>,
    warnings: &mut Vec<String>,
) -> Gpus {
    // Before the driver is asked, which loads it into this process.
    let mut place = |units| match dushmem_backends::choice(kind?, units) {
        Ok(choice) => Some(Place { device: choice.device.name(), why: choice.why }),
        Err(error) => {
            let text = error.to_string();
            if !errors.contains(&text) {
                errors.push(text);
            }
            None
        }
    };
    let (host, kernels) = (place(0), place(1));
    let cuda = dushmem_backends::cuda::facts();
    let few = connections.as_ref().filter(|text| text.trim().parse::<u32>().is_ok_and(|n| n < CONNECTIONS));
    if let (Some(few), Ok(_)) = (few, &cuda.driver) {
        warnings.push(format!(
            "CUDA_DEVICE_MAX_CONNECTIONS={few}: streams that wait for each other can hang with fewer than {CONNECTIONS}; \
             unset it, dushrun sets {CONNECTIONS} then"
        ));
    }
    Gpus { cuda, host, kernels, connections }
}

impl Gpus {
    /// How PEs that have the same GPU share it; nothing where there is none.
    fn sharing(&self) -> Option<&'static str> {
        let gpus = &self.cuda.driver.as_ref().ok()?.gpus;
        let first = gpus.first()?;
        Some(if first.mps { "mps" } else { "plain" })
    }

    /// For people.
    pub fn text(&self, out: &mut String) {
        let library = &self.cuda.library;
        match &self.cuda.driver {
            Err(why) => {
                let _ = writeln!(out, "GPUs:       none: {why}");
            }
            Ok(driver) => {
                let (major, minor) = driver.version;
                let count = match driver.gpus.len() {
                    0 => "none, though there is a".to_owned(),
                    1 => "1, by the".to_owned(),
                    many => format!("{many}, by the"),
                };
                let _ = writeln!(out, "GPUs:       {count} CUDA driver for CUDA {major}.{minor} ({library})");
                driver.gpus.iter().for_each(|gpu| line(gpu, out));
            }
        }
        let sharing = match self.sharing() {
            Some("mps") => "by MPS: kernels of several PEs run on a GPU at the same time",
            Some(_) => {
                "in turns: PEs that have the same GPU use it one after the other; dushrun --gpu-share=mps changes that"
            }
            None => "",
        };
        if !sharing.is_empty() {
            let _ = writeln!(out, "GPU shared: {sharing}");
        }
        let gpus = self.cuda.driver.as_ref().map_or(&[][..], |driver| &driver.gpus);
        if let Some(text) = links(gpus) {
            let _ = writeln!(out, "GPU links:  {text}");
        }
        let places =
            [("a program with kernels for GPUs", &self.kernels), ("a program for the CPU", &self.host)];
        for (program, place) in places {
            if let Some(Place { device, why }) = place {
                // The line above has told why there is no driver.
                let known = self.cuda.driver.as_ref().err().map_or("", String::as_str);
                let why = if known.is_empty() {
                    why.clone()
                } else {
                    why.replace(known, "there is none that works")
                };
                let _ = writeln!(out, "{program} uses: {device} ({why})");
            }
        }
    }

    /// For programs.
    pub fn json(&self) -> Json {
        let gpu = |gpu: &Gpu| {
            json!({
                "ordinal": gpu.ordinal,
                "name": gpu.name,
                "uuid": gpu.uuid,
                "pci": gpu.pci,
                "memory": gpu.memory,
                "compute_capability": [gpu.compute.0, gpu.compute.1],
                "multiprocessors": gpu.multiprocessors,
                "mps": gpu.mps,
                "links": gpu.links.iter().map(|(to, link)| json!({"to": to, "can": can(*link)})).collect::<Vec<_>>(),
                "heap_in_chunks": gpu.vmm,
            })
        };
        let place =
            |place: &Option<Place>| place.as_ref().map(|p| json!({ "device": p.device, "why": p.why }));
        let driver = self.cuda.driver.as_ref();
        json!({
            "library": self.cuda.library,
            "driver_version": driver.ok().map(|driver| [driver.version.0, driver.version.1]),
            "why_no_driver": driver.err(),
            "gpus": driver.map_or(Vec::new(), |driver| driver.gpus.iter().map(gpu).collect()),
            "sharing": self.sharing(),
            "max_connections": self.connections,
            "program_with_gpu_kernels": place(&self.kernels),
            "program_for_cpu": place(&self.host),
        })
    }
}

/// What one GPU can do with another one's memory.
fn can(link: Link) -> &'static str {
    match link {
        Link::Whole => "load, store and atomic operations",
        Link::WithoutAtomics => "load and store, no atomic operations",
        Link::Missing => "nothing",
        Link::Unseen => "not known",
    }
}

/// What GPUs can do with each other's memory, where there are several; pairs that can do less than the others by name.
fn links(gpus: &[Gpu]) -> Option<String> {
    let all = gpus.iter().flat_map(|gpu| gpu.links.iter().map(|(to, link)| (gpu.ordinal, *to, *link)));
    let pairs: Vec<(u32, u32, Link)> = all.filter(|(from, to, _)| from < to).collect();
    let (.., first) = pairs.first()?;
    if pairs.iter().all(|(.., link)| link == first) {
        return Some(format!("each to each other: {}", can(*first)));
    }
    let less = pairs.iter().filter(|(.., link)| *link != Link::Whole);
    let told: Vec<String> = less.map(|(a, b, link)| format!("{a} and {b}: {}", can(*link))).collect();
    Some(format!("{}; all others: {}", told.join("; "), can(Link::Whole)))
}

fn line(gpu: &Gpu, out: &mut String) {
    let Gpu { ordinal, name, uuid, pci, compute: (major, minor), multiprocessors, .. } = gpu;
    let memory = gpu.memory as f64 / f64::from(1 << 30);
    let chunks = if gpu.vmm { "" } else { ", without memory in chunks: the heap can't grow" };
    let _ = writeln!(
        out,
        "    {ordinal}: {name}, {memory:.1} GiB, compute capability {major}.{minor}, {multiprocessors} multiprocessors{chunks}"
    );
    let _ = writeln!(out, "       {uuid}, at {pci}");
}
