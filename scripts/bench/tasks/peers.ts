/**
 * Starts other queues, and makes the requests of their program.
 *
 * @module
 */

import { HttpSocket, requestBytes } from "../kit/http_socket.ts";
import { MeasuredProcess } from "../kit/measured_process.ts";
import { BATCH } from "./service.ts";

const PROGRAM = new URL("peer_program.ts", import.meta.url).pathname;
const HOST = "127.0.0.1";
const JOBS = 30_000;
const DATA = { to: "someone@example.com", text: "x".repeat(80) };

/** The bytes of a request that adds a job. */
export const PEER_ADD: Uint8Array = request("/add", DATA);
/** The bytes of a request that adds {@linkcode BATCH} jobs. */
export const PEER_BATCH: Uint8Array = request(
  "/batch",
  Array(BATCH).fill(DATA),
);

/**
 * Starts another queue, whose packages are fetched unless they are there.
 *
 * @param name The name that the peer program knows it by.
 * @param place The server that it is connected to.
 * @throws {Error} When it can't be installed or started.
 */
export function startPeer(
  name: string,
  place: string | number,
): Promise<MeasuredProcess> {
  return MeasuredProcess.start({
    // Whatever says how packages are fetched here.
    env: Deno.env.toObject(),
    command: [
      ...[Deno.execPath(), "run", "-A", "--no-config", "--no-lock"],
      // A peer runs code of other projects with all permissions, so only
      // versions that have been public for 60 days are used.
      ...["--minimum-dependency-age=P60D", "--node-modules-dir=none"],
      ...[PROGRAM, name, String(place)],
    ],
  });
}

/** How many jobs a second a peer runs, in its process and without HTTP. */
export function askDrain(port: number): Promise<number> {
  return ask(port, "/drain", JOBS);
}

/**
 * The median of the milliseconds from when a job is stored to its start, in the
 * peer's process and without HTTP.
 */
export function askStart(port: number): Promise<number> {
  return ask(port, "/start", {});
}

/** Makes the peer program run a measurement itself; returns the result. */
async function ask(port: number, path: string, body: unknown): Promise<number> {
  const method = "POST";
  using socket = await HttpSocket.connect(port);
  const { status, json } = await socket.json({
    ...{ method, path, host: HOST, body: JSON.stringify(body) },
  });
  const value: unknown = Reflect.get(Object(json), "value");
  if (status === 200 && typeof value === "number") return value;
  throw new Error(`${path} answered ${status} ${JSON.stringify(json)}`);
}

function request(path: string, body: unknown): Uint8Array {
  const text = JSON.stringify(body);
  return requestBytes({ method: "POST", path, host: HOST, body: text });
}
