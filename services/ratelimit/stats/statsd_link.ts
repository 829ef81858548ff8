/**
 * What carries statsd lines to their server.
 *
 * @module
 */

/** An open way to the server. */
export interface StatsdLink {
  /** Most bytes that should go into one payload. */
  readonly maxPayloadBytes: number;
  /** Settles with the reason once the link is of no more use; never rejects. */
  readonly closed: Promise<string>;
  /**
   * Resolves once the system has taken the payload. One at a time.
   *
   * @throws {Error} when the link is closed before that.
   */
  send(payload: Uint8Array): Promise<void>;
  /** Says goodbye; resolves when all that was sent is on its way. */
  end(): Promise<void>;
  /** Closes at once, for the reason given; harmless when closed already. */
  destroy(reason: string): void;
}

/** Where the server is. */
export interface StatsdTarget {
  /** Host name or address. */
  readonly host: string;
  /** Port. */
  readonly port: number;
  /** Ends the attempt; has no effect once the link is open. */
  readonly signal: AbortSignal;
}

/**
 * Opens a link.
 *
 * @throws {Error} when the server cannot be reached or the signal ends it.
 */
export type StatsdDial = (target: StatsdTarget) => Promise<StatsdLink>;
