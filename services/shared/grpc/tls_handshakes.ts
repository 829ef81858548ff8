/**
 * Runs the TLS handshakes of a gRPC server, before a connection carries HTTP/2.
 *
 * @module
 */

import type { Clock } from "../clock.ts";
import { Alarm } from "../h2/connection_alarms.ts";
import { type Logger, RateLimitedLog } from "../logger.ts";
import { describeError } from "../settled.ts";
import type { TimerWheel } from "../timer_wheel.ts";
import type { ServerTls } from "../tls/server_tls.ts";
import { acceptTls, type TlsWire } from "../tls/tls_wire.ts";

/** How a gRPC server speaks TLS. */
export interface GrpcServerTls {
  /** The certificate that the next handshake gets. */
  readonly current: () => ServerTls;
  /**
   * A DNS name that the certificate of a client must be for.
   *
   * @default any name
   */
  readonly clientName?: string | undefined;
  /**
   * Handshakes that run at a time; one more takes the place of the oldest.
   *
   * @default 1000
   */
  readonly maxHandshakes?: number | undefined;
}

/** What handshakes need of their server. */
interface TlsHandshakesOptions extends GrpcServerTls {
  /** Takes a connection whose handshake is done. */
  readonly onOpen: (wire: TlsWire) => void;
  /** Takes a connection that is refused; its peer gets the reason. */
  readonly onRefused: (wire: TlsWire, reason: string) => void;
  /** Deadlines. */
  readonly wheel: TimerWheel;
  /** The time source. */
  readonly clock: Clock;
  /** Takes lines about peers. */
  readonly logger: Logger;
}

/** What HTTP/2 over TLS is called (RFC 9113, section 3.1). */
const H2_PROTOCOL = "h2";
const HANDSHAKE_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_HANDSHAKES = 1_000;

/** Runs the handshakes of connections, a limited number at a time. */
export class TlsHandshakes {
  readonly #options: TlsHandshakesOptions;
  readonly #failures: RateLimitedLog;
  readonly #refusals: RateLimitedLog;
  /** The handshakes that run, the oldest first. */
  readonly #running = new Set<TlsWire>();

  /** None runs. */
  constructor(options: TlsHandshakesOptions) {
    this.#options = options;
    this.#failures = new RateLimitedLog(options.logger, options.clock);
    this.#refusals = new RateLimitedLog(options.logger, options.clock);
  }

  /** Number of handshakes that run. */
  get count(): number {
    return this.#running.size;
  }

  /** Begins the handshake of a connection, which is owned from now on. */
  begin(connection: Deno.Conn): void {
    const { current, wheel, maxHandshakes = DEFAULT_MAX_HANDSHAKES } =
      this.#options;
    if (this.#running.size >= maxHandshakes) this.evict(1);
    const peer = formatPeer(connection);
    const wire = acceptTls(connection, {
      tls: current(),
      protocols: [H2_PROTOCOL],
    });
    const deadline = new Alarm(() =>
      wire.fail(new Error("The handshake takes too long"))
    );
    wheel.add(deadline, HANDSHAKE_TIMEOUT_MS);
    this.#running.add(wire);
    wire.opened().then(
      () => this.#opened(wire, peer),
      (error: unknown) => this.#failed(error, peer),
    ).finally(() => {
      wheel.remove(deadline);
      this.#running.delete(wire);
    });
  }

  /** Ends the oldest handshakes, whose peers are the slowest. */
  evict(count: number): void {
    for (const wire of [...this.#running].slice(0, count)) {
      this.#running.delete(wire);
      wire.close();
    }
  }

  #opened(wire: TlsWire, peer: string): void {
    const { clientName, onOpen, onRefused } = this.#options;
    const reason = wire.alpnProtocol !== H2_PROTOCOL
      ? 'the client does not offer "h2" (ALPN)'
      : clientName !== undefined && !wire.isPeerNamed(clientName)
      ? "the certificate of the client is for another name"
      : undefined;
    if (reason === undefined) return onOpen(wire);
    this.#refusals.warn("Refused a TLS connection", { reason, peer });
    onRefused(wire, reason);
  }

  #failed(error: unknown, peer: string): void {
    const { logger } = this.#options;
    const fields = { error: describeError(error), peer };
    // Port checks connect and leave without a word: not worth a warning.
    if (isEndOfPeer(error)) logger.debug("A TLS handshake was aborted", fields);
    else this.#failures.warn("A TLS handshake failed", fields);
  }
}

function isEndOfPeer(error: unknown): boolean {
  return error instanceof Error &&
    /closed|hang up|reset by peer/i.test(error.message);
}

function formatPeer({ remoteAddr }: Deno.Conn): string {
  return "hostname" in remoteAddr ? remoteAddr.hostname : "unix socket";
}
