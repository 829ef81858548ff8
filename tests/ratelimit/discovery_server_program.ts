/**
 * The program that holds the streams of a discovery server, with the gRPC
 * library, in a process of its own: this runtime's HTTP/2 under that library
 * may crash its process when several threads use it or connections break. Each
 * line of standard input is a command in JSON, each line of standard output an
 * event; the test decides what is sent on the streams.
 *
 * @module
 */

import {
  type Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
} from "npm:@grpc/grpc-js@^1.14.0";
import { Buffer } from "node:buffer";

/** A command, in a line of the program's input. */
export type ServerCommand =
  | {
    /** Has to be the first command. */
    readonly kind: "listen";
    /** The address to listen on, such as `127.0.0.1:0` or `unix:/path`. */
    readonly address: string;
    /**
     * The server's certificate; with `caPem`, clients must have a certificate,
     * too.
     */
    readonly tls: {
      readonly certPem: string;
      readonly keyPem: string;
      readonly caPem?: string;
    } | undefined;
  }
  | {
    readonly kind: "send";
    readonly stream: number;
    /** The bytes of the message, in base64. */
    readonly message: string;
  }
  | { readonly kind: "end"; readonly stream: number };

/** An event, in a line of the program's output. */
export type ServerEvent =
  | { readonly kind: "listening"; readonly port: number }
  | {
    readonly kind: "opened";
    readonly stream: number;
    /** The header fields of the stream. */
    readonly headers: Readonly<Record<string, string>>;
  }
  | {
    readonly kind: "received";
    readonly stream: number;
    /** The bytes of the message, in base64. */
    readonly message: string;
  }
  | { readonly kind: "closed"; readonly stream: number };

type Duplex = ServerDuplexStream<Uint8Array, Uint8Array>;

const METHOD = "/envoy.service.discovery.v3.AggregatedDiscoveryService/" +
  "StreamAggregatedResources";

async function main(): Promise<void> {
  const streams: Duplex[] = [];
  const decoder = new TextDecoderStream();
  let rest = "";
  for await (const text of Deno.stdin.readable.pipeThrough(decoder)) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) await obey(JSON.parse(line), streams);
  }
}

async function obey(command: ServerCommand, streams: Duplex[]): Promise<void> {
  switch (command.kind) {
    case "listen":
      tell({ kind: "listening", port: await listen(command, streams) });
      break;
    case "send":
      streams[command.stream]?.write(Buffer.from(command.message, "base64"));
      break;
    case "end":
      streams[command.stream]?.end();
  }
}

function listen(
  { address, tls }: ServerCommand & { readonly kind: "listen" },
  streams: Duplex[],
): Promise<number> {
  const server = new Server();
  server.addService({
    stream: {
      path: METHOD,
      requestStream: true,
      responseStream: true,
      requestSerialize: (bytes: Uint8Array) => Buffer.from(bytes),
      requestDeserialize: (bytes: Buffer) => new Uint8Array(bytes),
      responseSerialize: (bytes: Uint8Array) => Buffer.from(bytes),
      responseDeserialize: (bytes: Buffer) => new Uint8Array(bytes),
    },
  }, { stream: (call: Duplex) => serve(call, streams) });
  const credentials = tls === undefined
    ? ServerCredentials.createInsecure()
    : ServerCredentials.createSsl(
      tls.caPem === undefined ? null : Buffer.from(tls.caPem),
      [{
        cert_chain: Buffer.from(tls.certPem),
        private_key: Buffer.from(tls.keyPem),
      }],
      tls.caPem !== undefined,
    );
  return new Promise((resolve, reject) =>
    server.bindAsync(
      address,
      credentials,
      (error, bound) => error === null ? resolve(bound) : reject(error),
    )
  );
}

function serve(call: Duplex, streams: Duplex[]): void {
  const stream = streams.push(call) - 1;
  tell({ kind: "opened", stream, headers: toTexts(call.metadata) });
  call.on("data", (message: Uint8Array) => {
    const text = Buffer.from(message).toString("base64");
    tell({ kind: "received", stream, message: text });
  });
  let isClosed = false;
  const close = (): void => {
    if (!isClosed) tell({ kind: "closed", stream });
    isClosed = true;
  };
  call.on("error", close);
  call.on("close", close);
  call.on("end", close);
}

function toTexts(metadata: Metadata): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(metadata.getMap()).map(([name, value]) => [
      name,
      String(value),
    ]),
  );
}

function tell(event: ServerEvent): void {
  const bytes = new TextEncoder().encode(`${JSON.stringify(event)}\n`);
  let at = 0;
  while (at < bytes.length) at += Deno.stdout.writeSync(bytes.subarray(at));
}

if (import.meta.main) await main();
