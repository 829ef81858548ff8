/**
 * Makes calls of the same name once at a time.
 *
 * @module
 */

/** Calls that are under way. */
export class SharedCalls<Result> {
  readonly #underWay = new Map<string, Promise<Result>>();

  /** The call of a name; undefined where none is under way. */
  get(name: string): Promise<Result> | undefined {
    return this.#underWay.get(name);
  }

  /** Runs `work`, unless a call of that name is under way, which is shared. */
  run(name: string, work: () => Promise<Result>): Promise<Result> {
    const known = this.#underWay.get(name);
    if (known !== undefined) return known;
    const call = work().finally(() => this.#underWay.delete(name));
    this.#underWay.set(name, call);
    return call;
  }
}
