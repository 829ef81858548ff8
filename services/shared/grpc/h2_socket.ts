/**
 * A socket under a connection of the HTTP/2 engine.
 *
 * @module
 */

import type { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { H2Connection } from "../h2/connection.ts";
import type { H2Engine } from "../h2/engine.ts";

/** Runs a connection on `socket`, a TLS socket as well as a plain one. */
export function attachSocket(socket: Socket, engine: H2Engine): H2Connection {
  const connection = new H2Connection(engine, {
    write: (bytes) => void socket.write(bytes),
    get unsentBytes(): number {
      return socket.writableLength;
    },
    end: () => void socket.end(),
    destroy: () => void socket.destroy(),
  });
  socket.on("data", (chunk: Buffer) => {
    // Methods get parts of it, and to them it is plain bytes.
    connection.receive(
      new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength),
    );
  });
  socket.on("drain", () => connection.drained());
  // "close" follows and says the same.
  socket.on("error", (error: Error) => {
    engine.logger.debug("A connection broke", { error: error.message });
  });
  socket.once("end", () => connection.ended());
  socket.once("close", () => connection.closed());
  return connection;
}
