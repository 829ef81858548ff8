/**
 * Reads events over many connections, in a process of its own. It prints "ready"
 * when all of them are open, reads until its input ends, and prints how many
 * bytes came.
 *
 * ```sh
 * deno run -A event_readers_program.ts '{"port":8070,"host":"…","token":"…","readers":500,"query":""}'
 * ```
 *
 * @module
 */

import { print } from "../../terminal.ts";
import { loadPages, openReaders, type ReadersJob } from "./event_readers.ts";

if (import.meta.main) {
  const job: ReadersJob = JSON.parse(Deno.args[0] ?? "");
  let bytes = 0;
  using readers = await openReaders(job, (chunk) => bytes += chunk.length);
  print("ready");
  const ending = new AbortController();
  const loading = loadPages(job, ending.signal);
  for await (const _ of Deno.stdin.readable);
  ending.abort();
  const pages = await loading;
  print(JSON.stringify({ bytes, open: readers.open, pages }));
}
