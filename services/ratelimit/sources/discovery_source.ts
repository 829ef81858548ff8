/**
 * Gets rules from a discovery server: keeps a stream open, loads what arrives
 * and accepts or refuses it, and opens another stream when one ends. The rules
 * in force stay meanwhile.
 *
 * @module
 */

import type { DiscoveryNode } from "../../../proto/discovery.ts";
import { type Clock, steadyClock } from "../../shared/clock.ts";
import type {
  GrpcChannel,
  GrpcMetadata,
  GrpcStream,
} from "../../shared/grpc/channel.ts";
import { GRPC_STATUS, GrpcFailure } from "../../shared/grpc/method.ts";
import type { Logger } from "../../shared/logger.ts";
import { pause } from "../../shared/periodic.ts";
import { quote } from "../../shared/quote.ts";
import { describeError, settle, waitAtMost } from "../../shared/settled.ts";
import { Backoff, type BackoffOptions } from "../backoff.ts";
import { OutageLog } from "../counters/server_outage.ts";
import type { ConfigMessage } from "../rules/read_message.ts";
import type { ConfigLoader } from "./config_loader.ts";
import {
  type DiscoveryArrival,
  DiscoveryExchange,
} from "./discovery_exchange.ts";

/** The server that is asked for rules, and who takes them. */
interface DiscoverySourceOptions {
  /** The server's address, for log lines. */
  readonly server: string;
  /**
   * Opens the channel of one attempt to reach the server; may reject. Each
   * attempt opens its own, so that replaced certificates count for the next.
   */
  readonly connect: () => GrpcChannel | Promise<GrpcChannel>;
  /** The node that asks. */
  readonly node: DiscoveryNode;
  /** Metadata fields that are sent with the stream. */
  readonly metadata: GrpcMetadata;
  /** Largest response in bytes that `connect` lets through, for log lines. */
  readonly maxMessageBytes: number;
  /** How the waits between failed attempts grow. */
  readonly backoff: Omit<BackoffOptions, "random">;
  /** Loads the rules that the server offers. */
  readonly loader: Pick<ConfigLoader, "take" | "refuse" | "isLoaded">;
  /** Gives the time, for waits and time limits. */
  readonly clock: Clock;
  /** Gets log lines about failures. */
  readonly logger: Logger;
  /**
   * Returns a number from 0 up to, not including, 1.
   *
   * @default Math.random
   */
  readonly random?: (() => number) | undefined;
}

const METHOD = "/envoy.service.discovery.v3.AggregatedDiscoveryService/" +
  "StreamAggregatedResources";

/**
 * Milliseconds that a server which is asked for everything may take to send it,
 * before it is asked on another connection: it may hang, or know nothing for
 * this node.
 */
const FIRST_RESPONSE_MS = 30_000;

/**
 * Milliseconds that a server may take to accept a request, connecting included.
 */
const SEND_MS = 30_000;

/**
 * Waits before refusals in a row, after a first one that is sent at once: some
 * servers immediately offer again what was refused. A refusal for a new reason
 * waits for the initial time at most.
 */
const REFUSAL_WAITS = {
  firstMs: 0,
  initialMs: 1_000,
  maxMs: 10_000,
  growth: 1,
  jitter: false,
} as const;

/** The resources that were refused last. */
interface Refusal {
  readonly version: string;
  /** Hash of all these resources. */
  readonly fingerprint: string;
  readonly reason: string;
}

type Offer = DiscoveryArrival & { readonly kind: "resources" };

/** What to send in answer to a message. */
type Answer =
  | {
    readonly kind: "request";
    readonly request: Uint8Array;
    /** Milliseconds to wait before the request is sent. */
    readonly waitMs: number;
  }
  | {
    /** Nothing can be sent: the stream is of no use. */
    readonly kind: "none";
    readonly reason: string;
  };

/**
 * Loads the rules that a discovery server sends, from its start to its stop.
 */
export class DiscoverySource {
  readonly #options: DiscoverySourceOptions;
  readonly #clock: Clock;
  readonly #exchange: DiscoveryExchange;
  readonly #backoff: Backoff;
  readonly #refusals: Backoff;
  readonly #outage: OutageLog;
  readonly #stop = new AbortController();
  /** Aborts the current attempt, or the wait for the next one. */
  #renewal = new AbortController();
  /** True when the next stream must request also what is in force. */
  #isForced = false;
  #isAway = false;
  /** Since when the current stream is open and need not say anything. */
  #heldSinceMs = Infinity;
  #refused: Refusal | undefined;
  /** Reason of the last refusal. */
  #refusedFor: string | undefined;
  #running: Promise<void> | undefined;

  /** Makes a source that is idle until `start()`. */
  constructor(options: DiscoverySourceOptions) {
    this.#options = options;
    this.#clock = steadyClock(options.clock);
    this.#exchange = new DiscoveryExchange(options.node);
    const { random } = options;
    this.#backoff = new Backoff({ ...options.backoff, random });
    this.#refusals = new Backoff({ ...REFUSAL_WAITS, random });
    const server = quote(options.server);
    this.#outage = new OutageLog(
      options.logger,
      `Cannot get rules from discovery server ${server}`,
    );
  }

  /**
   * Begins to ask the server, in the background, since the server may be down.
   * A second start does nothing.
   */
  start(): Promise<void> {
    this.#running ??= this.#run();
    return Promise.resolve();
  }

  /**
   * Opens another stream at once and requests everything, also what is in
   * force.
   */
  reload(): void {
    this.#isForced = true;
    this.#refused = undefined;
    this.#renewal.abort();
  }

  /**
   * Ends the stream and all attempts. It does no harm to stop twice, or before
   * the start.
   */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const clock = this.#clock;
    const { maxMs } = this.#options.backoff;
    while (!this.#stop.signal.aborted) {
      this.#renewal = new AbortController();
      const signal = AbortSignal.any([this.#stop.signal, this.#renewal.signal]);
      this.#heldSinceMs = Infinity;
      const reason = await this.#attempt(signal);
      if (signal.aborted) continue;
      // A server may be silent for days, when nothing changes: a stream that
      // was open for long is as good as one that delivered.
      if (clock.nowMs() - this.#heldSinceMs > maxMs) this.#endOutage();
      const waitMs = this.#backoff.next();
      this.#noteFailure(reason, waitMs);
      await pause(waitMs, { clock, signal });
    }
  }

  /** Makes one connection with one stream; returns why it has ended. */
  async #attempt(signal: AbortSignal): Promise<string> {
    const connected = await settle(() => this.#options.connect());
    if (connected.kind === "failed") return describeError(connected.error);
    const channel = connected.value;
    try {
      const { metadata } = this.#options;
      const stream = channel.stream(METHOD, { metadata, signal });
      return await this.#hold(stream, signal);
    } finally {
      channel.close();
    }
  }

  async #hold(stream: GrpcStream, signal: AbortSignal): Promise<string> {
    const forced = this.#isForced;
    let isSilent = false;
    // The server does not send again what the client has, so silence is right.
    const maySayNothing = !forced && this.#exchange.version !== "";
    const silence = maySayNothing ? undefined : this.#clock.setTimer(() => {
      isSilent = true;
      stream.cancel();
    }, FIRST_RESPONSE_MS);
    try {
      const unsent = await this.#send(stream, this.#exchange.begin({ forced }));
      if (unsent !== undefined) return unsent;
      // Counted from here, as connecting takes long when there is no server.
      if (maySayNothing) this.#heldSinceMs = this.#clock.nowMs();
      const messages = stream.messages[Symbol.asyncIterator]();
      let next = messages.next();
      while (true) {
        const { value: message, done } = await next;
        if (isSilent) return this.#describeSilence();
        if (done) return "it has ended the stream";
        if (message instanceof GrpcFailure) return this.#failed(message);
        silence?.cancel();
        if (forced) this.#isForced = false;
        next = messages.next();
        const answer = await this.#answer(message);
        if (answer.kind === "none") return answer.reason;
        // A response that arrives during the wait may be the corrected one.
        await this.#pause(answer.waitMs, { signal, until: next });
        const late = await this.#send(stream, answer.request);
        if (late !== undefined) return late;
      }
    } finally {
      silence?.cancel();
      stream.cancel();
    }
  }

  /** Handles a message; returns what to answer. */
  async #answer(bytes: Uint8Array): Promise<Answer> {
    const { logger, loader, server } = this.#options;
    if (this.#isAway) logger.info("The discovery server answers again");
    this.#isAway = false;
    const arrival = this.#exchange.take(bytes);
    switch (arrival.kind) {
      case "malformed":
        loader.refuse([arrival.reason]);
        return { kind: "none", reason: arrival.reason };
      case "foreign":
        logger.error(arrival.reason, { server });
        return this.#refusal(arrival.reason);
      case "resources":
        return await this.#load(arrival);
    }
  }

  async #load(offer: Offer): Promise<Answer> {
    const { version, resources } = offer;
    if (this.#refused?.version === version) {
      const { fingerprint, reason } = this.#refused;
      if (await computeFingerprint(resources) === fingerprint) {
        return this.#refusal(reason);
      }
    }
    const { loader } = this.#options;
    const verdict = await loader.take({ kind: "resources", resources });
    if (verdict.kind === "refused") {
      const reason = verdict.reasons.join("; ");
      const fingerprint = await computeFingerprint(resources);
      this.#refused = { version, fingerprint, reason };
      return this.#refusal(reason);
    }
    this.#refused = undefined;
    this.#refusedFor = undefined;
    this.#refusals.reset();
    this.#endOutage();
    return { kind: "request", request: this.#exchange.accept(), waitMs: 0 };
  }

  #refusal(reason: string): Answer {
    const isSame = reason === this.#refusedFor;
    this.#refusedFor = reason;
    const waitMs = this.#refusals.next();
    return {
      kind: "request",
      request: this.#exchange.refuse(reason),
      waitMs: isSame ? waitMs : Math.min(waitMs, REFUSAL_WAITS.initialMs),
    };
  }

  async #pause(
    waitMs: number,
    { signal, until }: {
      readonly signal: AbortSignal;
      readonly until: Promise<unknown>;
    },
  ): Promise<void> {
    if (waitMs === 0) return;
    const over = new AbortController();
    void until.then(() => over.abort());
    await pause(waitMs, {
      clock: this.#clock,
      signal: AbortSignal.any([signal, over.signal]),
    });
  }

  /** Sends a request; returns why it could not be sent. */
  async #send(
    stream: GrpcStream,
    request: Uint8Array,
  ): Promise<string | undefined> {
    const sent = await waitAtMost(stream.send(request), {
      clock: this.#clock,
      timeoutMs: SEND_MS,
    });
    return sent === "late"
      ? `it has not taken a request within ${SEND_MS} ms`
      : undefined;
  }

  /**
   * Returns the reason of a failure; a response that is too large also counts
   * as a failed load.
   */
  #failed({ code, message }: GrpcFailure): string {
    const name = Object.entries(GRPC_STATUS)
      .find(([, known]) => known === code)?.[0];
    const reason = `${name ?? code}: ${message}`;
    if (code !== GRPC_STATUS.RESOURCE_EXHAUSTED) return reason;
    const { loader, maxMessageBytes } = this.#options;
    const told = `${reason}; a response may have ` +
      `XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES, which is ${maxMessageBytes}`;
    loader.refuse([told]);
    return told;
  }

  #describeSilence(): string {
    const node = quote(this.#options.node.id);
    return `it has sent nothing within ${FIRST_RESPONSE_MS} ms; does it know ` +
      `node ${node}?`;
  }

  #noteFailure(reason: string, waitMs: number): void {
    const { logger, loader, server } = this.#options;
    this.#isAway = true;
    const fields = { server, reason, waitMs: Math.round(waitMs) };
    if (loader.isLoaded && this.#backoff.failures === 1) {
      // Not a failure yet: servers close old connections, and are restarted.
      logger.info("The stream of the discovery server has ended", fields);
      return;
    }
    this.#outage.note(
      loader.isLoaded
        ? `${reason}; the rules loaded before stay in force`
        : `${reason}; there are no rules until it answers`,
    );
    logger.debug("The discovery server is to be asked again", fields);
  }

  #endOutage(): void {
    this.#backoff.reset();
    this.#outage.end();
  }
}

/** Returns a hash that is the same for the same resources in the same order. */
async function computeFingerprint(
  resources: readonly ConfigMessage[],
): Promise<string> {
  const bytes = new Uint8Array(
    resources.reduce((sum, resource) => sum + resource.bytes.length, 0),
  );
  let at = 0;
  for (const resource of resources) {
    bytes.set(resource.bytes, at);
    at += resource.bytes.length;
  }
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return new Uint8Array(digest).toHex();
}
