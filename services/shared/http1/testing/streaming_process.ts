/**
 * Serves a stream and tells what there still is of its request while the stream
 * is sent: "kept" or "gone". It needs the flag `--v8-flags=--expose-gc`.
 *
 * @module
 */

import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import { ByteQueue } from "../../http/byte_queue.ts";
import { Http1Server } from "../server.ts";
import { RawClient } from "./raw_client.ts";

if (import.meta.main) {
  const stream = new ByteQueue();
  const held: WeakRef<object>[] = [];
  const server = new Http1Server({
    ...{ hostname: "127.0.0.1", port: 0, logger: new RecordingLogger() },
    // An async function, as the handlers of services are.
    handler: async (request) => {
      await Promise.resolve();
      const listener = () => request.isGone();
      request.onGone(listener);
      for (const one of [request, request.headers, listener]) {
        held.push(new WeakRef(one));
      }
      return { status: 200, headers: {}, stream };
    },
  });
  const { port } = await server.start();
  const client = await RawClient.connect(port);
  await client.send("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  stream.put(new TextEncoder().encode("one"));
  await client.waitFor("one\r\n");
  // A WeakRef keeps its target until the current task of the event loop ends.
  await new Promise((resolve) => setTimeout(resolve));
  Reflect.get(globalThis, "gc")();
  const isKept = held.length === 0 ||
    held.some((one) => one.deref() !== undefined);
  const told = isKept ? "kept\n" : "gone\n";
  await Deno.stdout.write(new TextEncoder().encode(told));
  client.close();
  await server.stop(0);
}
