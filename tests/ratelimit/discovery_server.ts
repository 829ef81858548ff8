/**
 * A discovery (xDS) server that shares no code with the service: it uses the
 * gRPC library in a process of its own, and protobufjs reads and writes the
 * messages by the .proto files.
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
/** The type URL of the resources. */
export const RULES_TYPE_URL =
  "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig";

/** The numbers of some units on the wire. */
export const UNITS = { UNKNOWN: 0, DAY: 4, WEEK: 7 } as const;

/** Rules in the plain object form of protobufjs. */
export type PlainRules = Readonly<Record<string, unknown>>;

/** A request that the server received. */
export interface DiscoveryRequestTold {
  /** The number of the stream on which the request came, from 0. */
  readonly stream: number;
  /** The version of the rules that the client uses. */
  readonly versionInfo: string;
  /** The nonce of the response that the request acknowledges or refuses. */
  readonly responseNonce: string;
  /** Why the client refused that response; null when it accepted it. */
  readonly errorDetail:
    | { readonly code: number; readonly message: string }
    | null;
  /** The type of resources that the client requests. */
  readonly typeUrl: string;
  /** The identity that the client reports. */
  readonly node: {
    readonly id: string;
    readonly metadata: {
      readonly fields: Readonly<
        Record<string, { readonly stringValue: string }>
      >;
    };
  };
}

/** The rules that the server offers. */
export interface Offer {
  /** The version of the offer. */
  readonly version: string;
  /**
   * The resources of the offer; their type is {@linkcode RULES_TYPE_URL} unless
   * `typeUrl` is given.
   */
  readonly rules: readonly PlainRules[];
  /**
   * The type URL of the response and of its resources.
   *
   * @default RULES_TYPE_URL
   */
  readonly typeUrl?: string;
}

/** Options of {@linkcode DiscoveryServer.open}. */
export interface DiscoveryServerOptions {
  /**
   * The port to listen on.
   *
   * @default a free one
   */
  readonly port?: number;
  /**
   * The path of a unix socket to listen on instead.
   *
   * @default none
   */
  readonly socket?: string | undefined;
  /**
   * The server's certificate for TLS; with `caPem` clients must have a
   * certificate as well.
   *
   * @default no TLS
   */
  readonly tls?: {
    readonly certPem: string;
    readonly keyPem: string;
    readonly caPem?: string;
  };
}

/** Returns rules with one limit for a key. */
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

/** A discovery server, which offers the same rules to all clients. */
export class DiscoveryServer {
  /** All requests received so far. */
  readonly requests: DiscoveryRequestTold[] = [];
  /** The headers of each stream. */
  readonly headers: Readonly<Record<string, string>>[] = [];
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #reading: Promise<void>;
  readonly #types: (fullName: string) => IndependentType;
  readonly #openStreams = new Set<number>();
  readonly #lastNonces = new Map<number, string>();
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

  /** Starts a server on the loopback interface. */
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

  /** The port on which the server listens. */
  get port(): number {
    return this.#port ?? 0;
  }

  /** The address to which the service connects. */
  get url(): string {
    return `localhost:${this.port}`;
  }

  /** Sends an offer to all open streams and to those that open later. */
  offer(offer: Offer): void {
    this.#offer = offer;
    for (const stream of this.#openStreams) this.#send(stream, offer);
  }

  /** Ends all streams, as a server does when it restarts gracefully. */
  endStreams(): void {
    for (const stream of this.#openStreams) {
      this.#command({ kind: "end", stream });
    }
  }

  /** Waits for a request that `matches` accepts, and returns it. */
  async waitFor(
    what: string,
    matches: (request: DiscoveryRequestTold) => boolean,
  ): Promise<DiscoveryRequestTold> {
    await waitUntil(() => this.requests.some(matches), { what });
    return this.requests.find(matches)!;
  }

  /** Kills the server process, as a crash would. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch (error) {
      // The process has already ended.
      if (!(error instanceof TypeError)) throw error;
    }
    await this.#child.status;
    await this.#writer.abort().catch(() => {});
    await this.#reading;
  }

  #command(command: ServerCommand): void {
    const line = new TextEncoder().encode(`${JSON.stringify(command)}\n`);
    // A server that has crashed accepts no commands.
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
    // The server behaves as real ones do: it ignores a request with an old
    // nonce; a request with another version is answered at once, even if it
    // refuses the offer; a request with the current version waits for the next
    // offer.
    const { responseNonce: nonce, versionInfo } = request;
    const offer = this.#offer;
    if (offer === undefined || versionInfo === offer.version) return;
    if (nonce !== "" && nonce !== this.#lastNonces.get(stream)) return;
    this.#send(stream, offer);
  }

  #send(stream: number, offer: Offer): void {
    const { version, rules, typeUrl = RULES_TYPE_URL } = offer;
    const type = this.#types("ratelimit.config.ratelimit.v3.RateLimitConfig");
    const nonce = `n${++this.#nonces}`;
    this.#lastNonces.set(stream, nonce);
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
