/**
 * A mirror of users for tests, which records its calls and returns the answers
 * it was given.
 *
 * @module
 */

import type {
  MirrorOutcome,
  UserMirror,
} from "../../access/identity_provider.ts";

/** The answer of a mirror that is down. */
export const AWAY: MirrorOutcome = {
  kind: "unavailable",
  reason: "the answer has status 503",
};

/** Records calls and answers "ok" unless a test sets another answer. */
export class RecordingMirror implements UserMirror {
  /**
   * The recorded calls: the method and its arguments, as JSON transmits them.
   */
  readonly calls: unknown[][] = [];
  /** The answer to the next call only. */
  next: MirrorOutcome | undefined;
  /** The answer to every call; undefined means "ok". */
  always: MirrorOutcome | undefined;
  /** Runs during a call. */
  meanwhile: (() => Promise<unknown>) | undefined;
  #created = 0;

  /** The names of the methods that were called. */
  get verbs(): readonly unknown[] {
    return this.calls.map(([verb]) => verb);
  }

  /** Records the call; the subjects are "sub_1", "sub_2" and so on. */
  create(...values: unknown[]): Promise<MirrorOutcome> {
    return this.#answer("create", values, `sub_${++this.#created}`);
  }

  /** Records the call. */
  update(...values: unknown[]): Promise<MirrorOutcome> {
    return this.#answer("update", values, String(values[0]));
  }

  /** Records the call. */
  remove(...values: unknown[]): Promise<MirrorOutcome> {
    return this.#answer("remove", values, String(values[0]));
  }

  async #answer(
    ...[verb, values, subject]: [string, unknown[], string]
  ): Promise<MirrorOutcome> {
    this.calls.push([verb, ...JSON.parse(JSON.stringify(values))]);
    const outcome = this.next ?? this.always ?? { kind: "ok", subject };
    this.next = undefined;
    const { meanwhile } = this;
    this.meanwhile = undefined;
    await meanwhile?.();
    return outcome;
  }
}
