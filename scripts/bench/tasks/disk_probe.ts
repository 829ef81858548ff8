/**
 * Measures how fast the disk syncs, which bounds every durable write.
 *
 * @module
 */

import { median, quantile } from "./load_job.ts";

/** How long the disk takes to store a page durably. */
export interface DiskSpeed {
  /** Median time of a write, in milliseconds. */
  readonly p50Ms: number;
  /** 99th percentile of the time of a write, in milliseconds. */
  readonly p99Ms: number;
}

const WRITES = 500;
const PAGE_BYTES = 4_096;

/**
 * Measures the time of `fdatasync` after each write of one page to a file in
 * the folder.
 */
export async function probeDisk(folder: string): Promise<DiskSpeed> {
  using file = await Deno.open(`${folder}/probe`, {
    create: true,
    write: true,
  });
  const page = new Uint8Array(PAGE_BYTES).fill(1);
  const times: number[] = [];
  for (let write = 0; write < WRITES; write++) {
    await file.write(page);
    const beginMs = performance.now();
    await file.syncData();
    times.push(performance.now() - beginMs);
  }
  const sorted = Float64Array.from(times).sort();
  return { p50Ms: median(times), p99Ms: quantile(sorted, 0.99) };
}
