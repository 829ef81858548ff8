/**
 * A discovery server that shares no code with the service: the gRPC library, in
 * a process of its own, and messages written and read by protobufjs from the
 * .proto files.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import {
  type IndependentType,
  loadSchema,
} from "../../proto/testing/schema.ts";
import { runtimeVariables } from "../../scripts/launch/deno_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { withOwnStd } from "../support/with_own_std.ts";
import type { ServerCommand, ServerEvent } from "./discovery_server_program.ts";
/** The type of the resources. */
export const RULES_TYPE_URL =
  "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig";

/** Numbers of units on the wire. */
export const UNITS = { UNKNOWN: 0, DAY: 4, WEEK: 7 } as const;

/** Rules in protobufjs' plain form. */
export type PlainRules = Readonly<Record<string, unknown>>;

/** A request of the client. */
export interface DiscoveryRequestTold {
  /** Number of the stream it came on, from 0. */
  readonly stream: number;
  /** The version in force. */
  readonly versionInfo: string;
  /** The nonce of the response that it answers. */
  readonly responseNonce: string;
  /** Why that was refused; null when it was not. */
  readonly errorDetail:
    | { readonly code: number; readonly message: string }
    | null;
  /** What is asked for. */
  readonly typeUrl: string;
  /** Who asks. */
  readonly node: {
    readonly id: string;
    readonly metadata: {
      readonly fields: Readonly<
        Record<string, { readonly stringValue: string }>
      >;
    };
  };
}

/** What the server offers. */
export interface Offer {
  /** The version. */
  readonly version: string;
  /** The resources; of {@linkcode RULES_TYPE_URL} unless told otherwise. */
  readonly rules: readonly PlainRules[];
  /**
   * The type of the response and its resources.
   *
   * @default RULES_TYPE_URL
   */
  readonly typeUrl?: string;
}

/** How a {@linkcode DiscoveryServer} is opened. */
export interface DiscoveryServerOptions {
  /**
   * The port.
   *
   * @default a free one
   */
  readonly port?: number;
  /**
   * Path of a unix socket to listen on instead.
   *
   * @default none
   */
  readonly socket?: string | undefined;
  /**
   * Certificates for TLS; with `caPem` clients must have one as well.
   *
   * @default no TLS
   */
  readonly tls?: {
    readonly certPem: string;
    readonly keyPem: string;
    readonly caPem?: string;
  };
}

/** Rules with one limit for a key. */
export function oneLimit(
  domain: string,
  limit: number,
  unit: number = UNITS.DAY,
): PlainRules {
  return {
    name: `${domain}-rules`,
    domain,
    descriptors: [{
      key: "user",
      rateLimit: { unit, requestsPerUnit: limit },
    }],
  };
}

const ROOT = new URL("../../", import.meta.url);

/** One server; it offers the same to all clients. */
export class DiscoveryServer {
  /** All requests so far. */
  readonly requests: DiscoveryRequestTold[] = [];
  /** What came with each stream. */
  readonly headers: Readonly<Record<string, string>>[] = [];
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #reading: Promise<void>;
  readonly #types: (fullName: string) => IndependentType;
  readonly #openStreams = new Set<number>();
  readonly #nonceOf = new Map<number, string>();
  #offer: Offer | undefined;
  #port: number | undefined;
  #nonces = 0;

  private constructor(
    types: (fullName: string) => IndependentType,
    offer: Offer | undefined,
  ) {
    this.#types = types;
    this.#offer = offer;
    const program = new URL("./discovery_server_program.ts", import.meta.url);
    const flags = ["run", "--allow-all", "--no-prompt"];
    this.#child = new Deno.Command(Deno.execPath(), {
      args: [...withOwnStd(flags), program.href],
      cwd: ROOT,
      clearEnv: true,
      env: runtimeVariables(Deno.env.toObject()),
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#writer = this.#child.stdin.getWriter();
    this.#reading = this.#read();
  }

  /** Opens a server on the loopback. */
  static async open(
    offer?: Offer,
    options: DiscoveryServerOptions = {},
  ): Promise<DiscoveryServer> {
    const { port = 0, socket, tls } = options;
    const server = new DiscoveryServer(await loadSchema(), offer);
    const address = socket === undefined
      ? `127.0.0.1:${port}`
      : `unix:${socket}`;
    server.#command({ kind: "listen", address, tls });
    await waitUntil(() => server.#port !== undefined, {
      what: "the discovery server",
    });
    return server;
  }

  /** The port it listens on. */
  get port(): number {
    return this.#port ?? 0;
  }

  /** What the service dials. */
  get url(): string {
    return `localhost:${this.port}`;
  }

  /** Offers this to all clients, and to those that come. */
  offer(offer: Offer): void {
    this.#offer = offer;
    for (const stream of this.#openStreams) this.#send(stream, offer);
  }

  /** Ends all streams, as a server does that restarts orderly. */
  endStreams(): void {
    for (const stream of this.#openStreams) {
      this.#command({ kind: "end", stream });
    }
  }

  /** Waits for a request that is as `matches` wants it. */
  async waitFor(
    what: string,
    matches: (request: DiscoveryRequestTold) => boolean,
  ): Promise<DiscoveryRequestTold> {
    await waitUntil(() => this.requests.some(matches), { what });
    return this.requests.find(matches)!;
  }

  /** Ends it as a crash would. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch (error) {
      // It has ended.
      if (!(error instanceof TypeError)) throw error;
    }
    await this.#child.status;
    await this.#writer.abort().catch(() => {});
    await this.#reading;
  }

  #command(command: ServerCommand): void {
    const line = new TextEncoder().encode(`${JSON.stringify(command)}\n`);
    // A server that has crashed takes none.
    this.#writer.write(line).catch(() => {});
  }

  async #read(): Promise<void> {
    let rest = "";
    const decoder = new TextDecoderStream();
    for await (const text of this.#child.stdout.pipeThrough(decoder)) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#happened(JSON.parse(line));
    }
  }

  #happened(event: ServerEvent): void {
    switch (event.kind) {
      case "listening":
        this.#port = event.port;
        break;
      case "opened":
        this.headers[event.stream] = event.headers;
        this.#openStreams.add(event.stream);
        break;
      case "received":
        this.#received(event.stream, Buffer.from(event.message, "base64"));
        break;
      case "closed":
        this.#openStreams.delete(event.stream);
    }
  }

  #received(stream: number, message: Uint8Array): void {
    const request = this.#types("envoy.service.discovery.v3.DiscoveryRequest")
      .decode(message) as unknown as DiscoveryRequestTold;
    this.requests.push({ ...request, stream });
    // As servers do: a request with an old nonce is none, one that has another
    // version is answered at once, also when it refuses, and one with the same
    // waits for the next.
    const { responseNonce: nonce, versionInfo } = request;
    const offer = this.#offer;
    if (offer === undefined || versionInfo === offer.version) return;
    if (nonce !== "" && nonce !== this.#nonceOf.get(stream)) return;
    this.#send(stream, offer);
  }

  #send(stream: number, offer: Offer): void {
    const { version, rules, typeUrl = RULES_TYPE_URL } = offer;
    const type = this.#types("ratelimit.config.ratelimit.v3.RateLimitConfig");
    const nonce = `n${++this.#nonces}`;
    this.#nonceOf.set(stream, nonce);
    const response = this.#types(
      "envoy.service.discovery.v3.DiscoveryResponse",
    ).encode({
      versionInfo: version,
      nonce,
      typeUrl,
      resources: rules.map((plain) => ({
        type_url: typeUrl,
        value: type.encode(plain),
      })),
    });
    const message = Buffer.from(response).toString("base64");
    this.#command({ kind: "send", stream, message });
  }
}
