/**
 * Ends as lost the push calls of instances that have died or left: their outcome
 * will never be reported. At a start on a store of its own, these are the calls
 * of the earlier process. Leases of pull workers stay valid until they end.
 *
 * @module
 */

import { BEAT_EVERY_MS } from "../../shared/members.ts";
import type { Task } from "../domain/task.ts";
import type { TaskChanges } from "./changes.ts";
import type { Instances } from "../../shared/instances.ts";
import { Maintainer, type MaintainerParts } from "./maintainer.ts";

/**
 * How often the running tasks are looked through after an instance has gone. A
 * commit that it had sent may be applied late.
 */
const LOOKS = 5;

/** Ends the push calls of instances that are gone. */
export class Recovery extends Maintainer {
  readonly #changes: TaskChanges;
  readonly #instances: Instances;
  readonly #listeners = new Set<(attempts: number) => void>();
  /** How many looks are still to be made. */
  #looks = 1;

  /** Listens to the members; the looks begin with `start()`. */
  constructor(parts: MaintainerParts, changes: TaskChanges) {
    super({
      parts,
      intervalMs: BEAT_EVERY_MS,
      failure: "Cannot end the push calls of other instances: the store failed",
      duty: "recover",
    });
    this.#changes = changes;
    this.#instances = parts.instances;
    parts.instances.onChange((change) => {
      if (change.kind !== "answered" || change.gone.length === 0) return;
      this.#looks = LOOKS;
      if (this.isMine) this.wake();
    });
  }

  /** Calls `listen` with how many attempts a look has ended, if any. */
  onEnded(listen: (attempts: number) => void): void {
    this.#listeners.add(listen);
  }

  /** The last holder may not have finished, so there is a look in any case. */
  protected override onGained(): void {
    this.#looks = Math.max(1, this.#looks);
  }

  /**
   * Looks through the running tasks, if an instance has gone lately or none
   * has looked.
   *
   * @returns how many attempts were ended
   * @throws {Error} when the store fails; the next run looks again
   */
  override async runOnce(): Promise<number> {
    if (this.#looks === 0) return 0;
    const looks = this.#looks;
    const ended = await this.#changes.applyToRunning(async (tasks) => {
      const gone = await findGoneCallers(tasks, this.#instances);
      return ({ attempt }) =>
        attempt?.bootId === undefined || !gone.has(attempt.bootId)
          ? undefined
          : {
            kind: "lose",
            lease: { id: attempt.id },
            reason: "the server that called its worker is gone",
          };
    });
    for (const listen of ended > 0 ? this.#listeners : []) listen(ended);
    // One that has gone meanwhile has set the number again.
    if (this.#looks === looks) this.#looks--;
    return ended;
  }
}

/**
 * The instances that make the calls of some tasks and are gone. The tasks are
 * read before the members, so the instance of a new attempt is never among
 * them.
 *
 * @throws {Error} when the store does not answer
 */
export async function findGoneCallers(
  tasks: readonly Task[],
  instances: Pick<Instances, "findGone">,
): Promise<ReadonlySet<string>> {
  return await instances.findGone(
    new Set(tasks.flatMap(({ attempt }) => attempt?.bootId ?? [])),
  );
}
