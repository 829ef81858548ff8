/**
 * How fast the disk is, which bounds every durable write.
 *
 * @module
 */

import { median, quantile } from "./load_job.ts";

/** How long the disk takes to keep a page. */
export interface DiskSpeed {
  /** The time that half of the writes do not exceed, in milliseconds. */
  readonly p50Ms: number;
  /** The time that 99 of 100 do not exceed, in milliseconds. */
  readonly p99Ms: number;
}

const WRITES = 500;
const PAGE_BYTES = 4_096;

/** Measures `fdatasync` after writes of a page in a folder. */
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
