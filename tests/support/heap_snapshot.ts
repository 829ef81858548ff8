/**
 * Takes heap snapshots of a process that was started with V8's inspector, over
 * the protocol of the developer tools.
 *
 * @module
 */

import type { ServiceProcess } from "./service_process.ts";

/** The flag that starts the inspector, on a free port of this machine. */
export const INSPECTOR_FLAG = "--inspect=127.0.0.1:0";

const SNAPSHOT_CALL = 1;

/**
 * Writes a snapshot of a process's heap to a file: every object and every
 * string in it.
 */
export async function writeHeapSnapshot(
  process: ServiceProcess,
  path: string,
): Promise<void> {
  const line = await process.waitForLine("Debugger listening on ");
  const url = /ws:\/\/\S+/.exec(line)?.[0];
  if (url === undefined) throw process.failure("the inspector has no address");
  using file = await Deno.open(path, { create: true, write: true });
  const socket = new WebSocket(url);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const writer = file.writable.getWriter();
  socket.onopen = () =>
    socket.send(JSON.stringify({
      id: SNAPSHOT_CALL,
      method: "HeapProfiler.takeHeapSnapshot",
      params: { reportProgress: false },
    }));
  const encoder = new TextEncoder();
  let written: Promise<unknown> = Promise.resolve();
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(String(data));
    if (message.method === "HeapProfiler.addHeapSnapshotChunk") {
      const bytes = encoder.encode(message.params.chunk);
      written = written.then(() => writer.write(bytes));
    } else if (message.id === SNAPSHOT_CALL) {
      if (message.error === undefined) resolve();
      else reject(new Error(message.error.message));
    }
  };
  socket.onerror = () => reject(process.failure("the inspector went away"));
  const closed = new Promise((done) => socket.onclose = done);
  try {
    await promise;
    await written;
  } finally {
    socket.close();
    await closed;
    await writer.close();
  }
}
