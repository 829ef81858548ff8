/**
 * A mirror of users for tests: notes what it is asked for, and answers as told.
 *
 * @module
 */

import type {
  MirrorOutcome,
  UserMirror,
} from "../../../access/identity_provider.ts";

/** What a mirror that is away answers. */
export const AWAY: MirrorOutcome = {
  kind: "unavailable",
  reason: "the answer has status 503",
};

/** Answers "ok" unless told otherwise. */
export class RecordingMirror implements UserMirror {
  /** What it was asked for: the method and its arguments, as JSON sends them. */
  readonly calls: unknown[][] = [];
  /** The next answer; after that it is as before. */
  next: MirrorOutcome | undefined;
  /** The answer to everything; undefined answers "ok". */
  always: MirrorOutcome | undefined;
  /** Called while a call is under way. */
  meanwhile: (() => Promise<unknown>) | undefined;
  #created = 0;

  /** The methods it was asked for. */
  get verbs(): readonly unknown[] {
    return this.calls.map(([verb]) => verb);
  }

  /** Gives the subjects "sub_1", "sub_2" and so on. */
  create(...values: unknown[]): Promise<MirrorOutcome> {
    return this.#answer("create", values, `sub_${++this.#created}`);
  }

  /** Notes it. */
  update(...values: unknown[]): Promise<MirrorOutcome> {
    return this.#answer("update", values, String(values[0]));
  }

  /** Notes it. */
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
