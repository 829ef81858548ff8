/**
 * Faults that several instances on one store could have. Each is put into a
 * simulation on purpose, which has to find it.
 *
 * @module
 */

import { DEAD_AFTER_MS } from "../../../shared/members.ts";
import type { BeatAnswer, Member } from "../../../shared/members.ts";
import { computePlacement } from "../../domain/placement.ts";
import type { Store, StoredRecord, Write } from "../../store/store.ts";
import { TaskIds } from "../../store/task_id.ts";
import { withReads } from "../../store/wrapped_store.ts";
import { LeaseClock } from "../lease_clock.ts";
import { workerKey } from "../workers.ts";
import { simulate } from "./simulation.ts";
import type { Plant } from "./simulated_process.ts";

/** A fault, and how it is found. */
export interface PlantedFault {
  /** Puts the fault into the world. */
  readonly plant: Plant;
  /** What the simulation says of it. */
  readonly told: RegExp;
}

/** The faults, by what is wrong. */
export const PLANTED_FAULTS = {
  "foreign-calls-ended": {
    told: /was ended, and \w+ is alive$/,
    plant: {
      store: (store) => ({
        ...store,
        beat: async (beat) => {
          const answer = await store.beat(beat);
          if (answer.kind === "expired") return answer;
          const members = answer.members.filter(({ id }) => id === beat.id);
          return { ...answer, members };
        },
      }),
    },
  },
  "task-ids-collide": {
    told: /^the id \w+ was given twice$/,
    plant: {
      ids(newId) {
        const clock = { nowMs: () => 1_800_000_000_000, setTimer: unused };
        const ids = new TaskIds(clock, (length) => new Uint8Array(length));
        return (prefix) => prefix === "tsk" ? ids.next() : newId(prefix);
      },
    },
  },
  "instance-ids-collide": {
    told: /is the id of two instances$/,
    plant: {
      ids: (newId) => (prefix) =>
        prefix === "boot" ? "boot_same" : newId(prefix),
    },
  },
  "leases-follow-own-clock": {
    told: /was shifted by -?\d+ ms$/,
    plant: {
      engine({ parts, changes, liveness }, machine) {
        const leaseClock = new LeaseClock({
          parts: {
            ...parts,
            clock: machine.clock,
            store: { ...parts.store, hasOwnTime: false },
          },
          changes,
          liveness,
        });
        const settle = async (): Promise<void> => {
          await leaseClock.settle().catch(() => {});
          machine.clock.setTimer(settle, 1_000);
        };
        void settle();
      },
    },
  },
  "records-cached-for-ever": {
    told: /ms after that was forbidden$/,
    plant: { store: cachedForEver },
  },
  "claims-unlocked": {
    told: /under way|more than \d+ in a period$/,
    plant: {
      store: (store) => ({
        ...store,
        claim: async (_scope, decide) =>
          await store.commit(await decide(store)),
      }),
    },
  },
  "dead-goes-on": {
    told: /goes on$|which is the duty of another one$|is alive$|^nobody runs/,
    plant: { store: neverFenced },
  },
  "nobody-dies": {
    told: /which has died$|^nobody runs who does/,
    plant: { store: neverDead },
  },
  "all-duties-mine": {
    told: /sweeps, which is the duty of another one$/,
    plant: {
      store: (store) => ({
        ...store,
        beat: async (beat) => {
          const answer = await store.beat(beat);
          if (answer.kind === "expired") return answer;
          const duties = beat.wants.map((name) => (
            { name, holder: beat.id, fence: 1 }
          ));
          return { ...answer, duties };
        },
      }),
    },
  },
  "due-by-own-clock": {
    told: /ms early$|in the future$/,
    plant: {
      store: (store, machine) => ({
        ...store,
        clock: { ...store.clock, nowMs: () => machine.clock.nowMs() },
      }),
    },
  },
  "looks-only-when-told": {
    told: /is stuck: it is due since/,
    plant: { store: looksOnlyWhenTold },
  },
  "requests-removed-first": {
    told: /^request \d+ became 0 tasks and 0 refusals$/,
    plant: { store: (store) => requestsApart(store, "first") },
  },
  "requests-removed-last": {
    told: /^request \d+ became \d tasks/,
    plant: { store: (store) => requestsApart(store, "last") },
  },
} satisfies Readonly<Record<string, PlantedFault>>;

/** How many seeds are tried. */
const TRIES = 30;

/**
 * Tells whether a fault is found by one of some seeds. The first of them should
 * be one that finds it; the others are for when something has changed what a
 * seed does.
 */
export async function isFound(
  { plant, told }: PlantedFault,
  { first, engines }: { readonly first: number; readonly engines: number },
): Promise<boolean> {
  for (let seed = first; seed < first + TRIES; seed++) {
    const { violations } = await simulate(seed, { engines, plant });
    if (told.test(violations[0] ?? "")) return true;
  }
  return false;
}

function unused(): never {
  throw new Error("Cannot set a timer: nobody should want one");
}

/** Reads each record once, and again only after a commit of its own. */
function cachedForEver(store: Store): Store {
  const known = new Map<string, StoredRecord>();
  return {
    ...store,
    async record(kind, tenantId, id) {
      const key = `${kind} ${tenantId} ${id}`;
      const record = known.get(key) ?? await store.record(kind, tenantId, id);
      if (record !== undefined) known.set(key, record);
      return record;
    },
    async commit(transactions, pausing) {
      const results = await store.commit(transactions, pausing);
      for (const write of transactions.flatMap(({ writes }) => writes)) {
        if (write.kind !== "record") continue;
        known.delete(`${write.recordKind} ${write.tenantId} ${write.id}`);
      }
      return results;
    },
    onNotice: (listen) =>
      store.onNotice((notice) => {
        if (notice.kind !== "record" && notice.kind !== "gap") listen(notice);
      }),
  };
}

/** Believes that a beat was heard, whatever happens to it. */
function neverFenced(store: Store): Store {
  let last: BeatAnswer | undefined;
  return {
    ...store,
    async beat(beat) {
      try {
        const answer = await store.beat(beat);
        if (answer.kind === "member") last = answer;
      } catch (error) {
        if (last === undefined) throw error;
      }
      return last ?? { kind: "expired" };
    },
  };
}

/** Beats for all members that it knows. */
function neverDead(store: Store): Store {
  let members: readonly Member[] = [];
  return {
    ...store,
    async beat(beat) {
      for (const { id, version, address } of members) {
        const sinceLastMs = DEAD_AFTER_MS;
        const wants = beat.wants;
        await store.beat({ id, version, address, wants, sinceLastMs });
      }
      const answer = await store.beat(beat);
      if (answer.kind === "member") {
        members = answer.members.filter(({ id }) => id !== beat.id);
      }
      return answer;
    },
  };
}

/** Removes requests from the inbox in another commit than makes their tasks. */
function requestsApart(store: Store, when: "first" | "last"): Store {
  return {
    ...store,
    async commit(transactions, pausing) {
      const isRequest = ({ kind }: Write): boolean => kind === "request";
      const removals = transactions.flatMap(({ writes }) =>
        writes.filter(isRequest).map((write) => ({ writes: [write] }))
      );
      const remove = async (): Promise<void> => {
        if (removals.length > 0) await store.commit(removals);
      };
      if (when === "first") await remove();
      const results = await store.commit(
        transactions.map(({ writes }) => ({
          writes: writes.filter((write) => !isRequest(write)),
        })),
        pausing,
      );
      if (when === "last") await remove();
      return results;
    },
  };
}

/** Finds the tasks of a worker only after it has heard of them. */
function looksOnlyWhenTold(store: Store): Store {
  const heard = new Set<string>();
  const told: Store = {
    ...store,
    async commit(transactions, pausing) {
      const results = await store.commit(transactions, pausing);
      for (const write of transactions.flatMap(({ writes }) => writes)) {
        if (write.kind !== "task" || write.next === undefined) continue;
        const isReady = computePlacement(write.next).rank !== undefined;
        if (isReady) heard.add(workerKey(write.next));
      }
      return results;
    },
    onNotice: (listen) =>
      store.onNotice((notice) => {
        if (notice.kind === "due") heard.add(workerKey(notice));
        listen(notice);
      }),
  };
  return withReads(told, {
    async candidates(claim) {
      if (!heard.has(workerKey(claim))) return [];
      const tasks = await store.candidates(claim);
      if (tasks.length < claim.limit) heard.delete(workerKey(claim));
      return tasks;
    },
  });
}
