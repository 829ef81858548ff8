/**
 * The program that the benchmark of HTTP servers runs once for each server. All
 * servers give the same answers, and have the shortest timeouts that each can
 * be given.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { cpuUsage } from "node:process";
import { Http1Server } from "../../../services/shared/http1/server.ts";
import type { Logger } from "../../../services/shared/logger.ts";
import { print } from "../../terminal.ts";
import { type Usage, USAGE_PATH } from "./server_process.ts";

/** The timeouts, for the servers that have such a setting. */
const HEAD_MS = 1_000;
const REQUEST_MS = 2_000;
const IDLE_MS = 2_000;

const HOSTNAME = "127.0.0.1";
const JSON_TYPE = { "content-type": "application/json" };
const SMALL = JSON.stringify({ ok: true });
/** A body that is larger than the buffers of a socket. */
const LARGE = new Uint8Array(33_554_432).fill(0x61);
const MAX_BODY_BYTES = 65_536;

/** The servers by name; each function starts one and returns its port. */
const SERVERS: Readonly<Record<string, () => number | Promise<number>>> = {
  http1: startHttp1,
  node: startNode,
  deno: startDeno,
};

if (import.meta.main) {
  const start = SERVERS[Deno.args[0] ?? ""];
  if (start === undefined) throw new TypeError("Cannot start: no such server");
  print(String(await start()));
}

function contentOf(target: string): string | Uint8Array<ArrayBuffer> {
  switch (target) {
    case "/large":
      return LARGE;
    case USAGE_PATH: {
      const { user, system } = cpuUsage();
      const rssBytes = Deno.memoryUsage().rss;
      const usage: Usage = { rssBytes, cpuUs: user + system };
      return JSON.stringify(usage);
    }
    default:
      return SMALL;
  }
}

async function startHttp1(): Promise<number> {
  const drop = (): void => {};
  const logger: Logger = { debug: drop, info: drop, warn: drop, error: drop };
  const server = new Http1Server({
    hostname: HOSTNAME,
    port: 0,
    logger,
    headerTimeoutMs: HEAD_MS,
    requestTimeoutMs: REQUEST_MS,
    idleTimeoutMs: IDLE_MS,
    async handler(request) {
      if (request.method === "GET") {
        const body = contentOf(request.target);
        return { status: 200, headers: JSON_TYPE, body };
      }
      const body = await request.body(MAX_BODY_BYTES);
      if (body.kind !== "ok") return { status: 400, headers: {} };
      const { length } = body.bytes;
      const text = JSON.stringify({ length });
      return { status: 200, headers: JSON_TYPE, body: text };
    },
  });
  return (await server.start()).port;
}

function startNode(): Promise<number> {
  const server = createServer({
    headersTimeout: HEAD_MS,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: IDLE_MS,
    connectionsCheckingInterval: 100,
  }, (request, response) => {
    if (request.method === "GET") {
      response.writeHead(200, JSON_TYPE);
      response.end(contentOf(request.url ?? ""));
      return;
    }
    const chunks: Uint8Array[] = [];
    request.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    request.on("error", () => {});
    request.on("end", () => {
      const { length } = Buffer.concat(chunks);
      response.writeHead(200, JSON_TYPE);
      response.end(JSON.stringify({ length }));
    });
  });
  // The only timeout of `node:http` that covers a client which reads slowly.
  server.setTimeout(REQUEST_MS);
  return new Promise((resolve) => {
    server.listen(0, HOSTNAME, () => {
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function startDeno(): number {
  const server = Deno.serve(
    { hostname: HOSTNAME, port: 0, onListen: () => {} },
    async (request) => {
      if (request.method === "GET") {
        const { pathname } = new URL(request.url);
        return new Response(contentOf(pathname), { headers: JSON_TYPE });
      }
      const { byteLength } = await request.arrayBuffer();
      const text = JSON.stringify({ length: byteLength });
      return new Response(text, { headers: JSON_TYPE });
    },
  );
  return server.addr.port;
}
