/**
 * Finds the tasks that a claim proposes: groups take turns, and within a group
 * the lowest rank is first.
 *
 * @module
 */

import { BoundedMap } from "../../../shared/bounded_map.ts";
import type { Runner } from "../../../shared/postgres/session.ts";
import type { SqlParameter } from "../../../shared/postgres/values.ts";
import type { Task } from "../../domain/task.ts";
import type { Claim, DueWorkersQuery, WorkerName } from "../queries.ts";
import { compareBytes, type DueFloors, type DueQueue } from "./due_floors.ts";
import type { InternedNames } from "./interned_names.ts";
import { decodeTasks, type ReadParts, selectFound } from "./task_rows.ts";

/**
 * The most groups without room that a claim skips. The next claim continues
 * after the last of them.
 */
const MAX_PASSED_GROUPS = 1_000;
/** Before all ranks. */
const FIRST_RANK = Number.MIN_SAFE_INTEGER;

/** A group whose turn it is. */
interface Turn {
  readonly group: string;
  /** The most tasks that may be taken from the group. */
  readonly room: number;
}

/** A task that was found. */
interface Place {
  readonly id: string;
  readonly rank: number;
}

/** What a claim looks at. */
interface Look {
  readonly claim: Claim;
  readonly queues: readonly DueQueue[];
  /** Over what is asked. */
  readonly runner: Runner;
  /** Whether the rows are locked, and those that others have locked skipped. */
  readonly isLocking: boolean;
}

/** Finds tasks that workers may take. */
export class CandidateReads {
  readonly #parts: ReadParts;
  readonly #names: InternedNames;
  readonly #floors: DueFloors;
  /**
   * Where the walk over a worker's groups stopped because it became too long, by
   * the worker's number.
   */
  readonly #walkEnds = new BoundedMap<number, string>({ maxEntries: 10_000 });

  /** Takes what reading needs. */
  constructor(
    parts: ReadParts,
    { names, floors }: {
      readonly names: InternedNames;
      readonly floors: DueFloors;
    },
  ) {
    this.#parts = parts;
    this.#names = names;
    this.#floors = floors;
  }

  /** The tasks that a claim may take. */
  candidates(claim: Claim): Promise<readonly Task[]> {
    return this.#candidates(claim, {
      runner: this.#parts.runner,
      isLocking: false,
    });
  }

  /**
   * The tasks that a claim may take, locked against other claims until the end
   * of the transaction; those that others have locked are left out.
   */
  locked(claim: Claim, open: Runner): Promise<readonly Task[]> {
    return this.#candidates(claim, { runner: open, isLocking: true });
  }

  /** The workers with tasks that may be taken. */
  async workers(
    { limit, after }: DueWorkersQuery,
  ): Promise<readonly WorkerName[]> {
    const from = after === undefined
      ? 0
      : await this.#names.lane(after.tenantId, after.workerId) ?? 0;
    const rows = await this.#parts.runner.query<
      { tenant_id: string; worker: string }
    >(
      "WITH RECURSIVE due(lane) AS ((SELECT lane FROM task_state " +
        "WHERE lane > $1::integer AND rank IS NOT NULL ORDER BY lane LIMIT 1) " +
        "UNION ALL SELECT (SELECT next.lane FROM task_state AS next " +
        "WHERE next.lane > due.lane AND next.rank IS NOT NULL " +
        "ORDER BY next.lane LIMIT 1) FROM due WHERE due.lane IS NOT NULL) " +
        "SELECT names.id AS tenant_id, lanes.worker " +
        "FROM (SELECT lane FROM due WHERE lane IS NOT NULL " +
        "LIMIT $2::bigint) AS due JOIN lanes ON lanes.lane = due.lane " +
        "JOIN tenants AS names ON names.tenant = lanes.tenant " +
        "ORDER BY due.lane",
      [from, limit],
    );
    return rows.map(({ tenant_id: tenantId, worker: workerId }) => ({
      tenantId,
      workerId,
    }));
  }

  async #candidates(
    claim: Claim,
    over: Pick<Look, "runner" | "isLocking">,
  ): Promise<readonly Task[]> {
    const lane = await this.#names.lane(claim.tenantId, claim.workerId);
    if (lane === undefined || claim.limit <= 0) return [];
    const { jobs } = claim;
    const queues = jobs === undefined
      ? [{ lane, job: undefined }]
      : [...new Set(jobs)].map((job) => ({ lane, job }));
    const look = { claim, queues, ...over };
    const groups = this.#knownGroups(queues);
    if (groups !== undefined) {
      const tasks = await this.#find(look, groups);
      const mayLack = queues.some((queue) => this.#floors.mayLack(queue));
      if (tasks.length === claim.limit || !mayLack) return tasks;
    }
    return await this.#find(look, await this.#findGroups(look));
  }

  /** The groups of all queues, if those of each are known. */
  #knownGroups(queues: readonly DueQueue[]): readonly string[] | undefined {
    const known: (readonly string[])[] = [];
    for (const queue of queues) {
      const groups = this.#floors.groups(queue);
      if (groups === undefined) return undefined;
      known.push(groups);
    }
    const [only, ...others] = known;
    return others.length === 0
      ? only
      : [...new Set(known.flat())].sort(compareBytes);
  }

  /** All groups of the queues, or as many as a claim may look at. */
  async #findGroups(
    { runner, queues, claim }: Look,
  ): Promise<readonly string[]> {
    const groups = new Set<string>();
    const limit = MAX_PASSED_GROUPS + claim.limit;
    const start = this.#start(claim, queues);
    for (const queue of queues) {
      const beginMs = performance.now();
      const behind = start === undefined
        ? []
        : await readGroups(runner, queue, { after: start, limit });
      const before = behind.length === limit
        ? []
        : await readGroups(runner, queue, { upTo: start, limit });
      // Where not all were read, the next claim has to read again.
      if (behind.length < limit && before.length < limit) {
        const tookMs = performance.now() - beginMs;
        this.#floors.found(queue, [...before, ...behind], tookMs);
      }
      for (const group of before) groups.add(group);
      for (const group of behind) groups.add(group);
    }
    return [...groups].sort(compareBytes);
  }

  /** The tasks that a claim proposes, in their order. */
  async #find(
    look: Look,
    known: readonly string[],
  ): Promise<readonly Task[]> {
    const { claim } = look;
    if (known.length === 1 && look.queues.length === 1) {
      const [turn] = this.#turns(look, known);
      return turn === undefined ? [] : await this.#readOnly(look, turn);
    }
    let groups = known;
    const read = new Map<string, readonly Place[]>();
    while (true) {
      const turns = this.#turns(look, groups);
      if (turns.length === 0) return [];
      // Each group first gives its share; it gives more only if other groups
      // have less.
      const share = Math.ceil(claim.limit / turns.length);
      await this.#readPlaces(look, read, turns, () => share);
      // Groups that were known and have nothing left make room for others.
      const empty = new Set(
        turns.filter(({ group }) => read.get(group)?.length === 0)
          .map(({ group }) => group),
      );
      if (empty.size > 0) {
        groups = groups.filter((group) => !empty.has(group));
        if (groups.length > 0) continue;
      }
      const found = turns.reduce(
        (sum, { group }) => sum + (read.get(group)?.length ?? 0),
        0,
      );
      if (found < claim.limit) {
        const more = turns.filter(({ group, room }) =>
          room > share && (read.get(group)?.length ?? 0) >= share
        );
        await this.#readPlaces(look, read, more, () => claim.limit);
      }
      const places = inTurns(
        turns.map(({ group, room }) => read.get(group)?.slice(0, room) ?? []),
        claim.limit,
      );
      return await this.#read(look, places.map(({ id }) => id));
    }
  }

  /** Reads the tasks of the only group, all in one round trip. */
  async #readOnly(
    look: Look,
    { group, room }: Turn,
  ): Promise<readonly Task[]> {
    const [queue] = look.queues;
    if (queue === undefined) return [];
    const floor = this.#floors.floor(queue, group);
    const { at, id } = floor;
    const end = floor.look();
    const rows = await look.runner.query(
      selectFound(
        `SELECT id, rank AS at FROM (${placesSql(look)}) AS places`,
      ),
      placesParameters(look, [{
        queue,
        group,
        at,
        id,
        limit: Math.min(room, look.claim.limit),
      }]),
    );
    this.#endLook(look, { queue, group, end }, {
      rank: rows[0]?.["at"],
      id: rows[0]?.["id"],
    });
    return decodeTasks(rows, this.#parts.known);
  }

  /** Notes where a look at a group has found its first task. */
  #endLook(
    { isLocking }: Look,
    { queue, group, end }: {
      readonly queue: DueQueue;
      readonly group: string;
      readonly end: (first: number, id?: string) => void;
    },
    first: { readonly rank?: unknown; readonly id?: unknown } = {},
  ): void {
    const { rank, id } = first;
    if (typeof rank === "number") {
      end(rank, String(id));
      this.#floors.looked(queue, group, rank);
    } // Rows that others have locked were not found, and may be free again.
    else if (!isLocking) {
      end(Infinity);
      this.#floors.empty(queue, group);
    }
  }

  #start(
    { afterGroup }: Claim,
    queues: readonly DueQueue[],
  ): string | undefined {
    const [first] = queues;
    return first === undefined
      ? afterGroup
      : this.#walkEnds.get(first.lane) ?? afterGroup;
  }

  /**
   * The groups with room in the order of their turns, at most as many as tasks
   * are wanted.
   */
  #turns(
    { claim, queues }: Look,
    groups: readonly string[],
  ): readonly Turn[] {
    const { limit, room } = claim;
    const lane = queues[0]?.lane ?? 0;
    const start = this.#start(claim, queues);
    const first = start === undefined ? 0 : Math.max(
      0,
      groups.findIndex((group) => compareBytes(group, start) > 0),
    );
    const turns: Turn[] = [];
    let passed = 0;
    for (let index = 0; index < groups.length; index++) {
      if (turns.length === limit) break;
      const group = groups[(first + index) % groups.length] ?? "";
      const left = group === "" ? Infinity : room?.(group) ?? Infinity;
      if (left > 0) turns.push({ group, room: left });
      else if (++passed >= MAX_PASSED_GROUPS) {
        this.#walkEnds.set(lane, group);
        return turns;
      }
    }
    this.#walkEnds.delete(lane);
    return turns;
  }

  /** Reads the first places of groups that were not read so far. */
  async #readPlaces(
    look: Look,
    read: Map<string, readonly Place[]>,
    turns: readonly Turn[],
    count: (turn: Turn) => number,
  ): Promise<void> {
    const wanted = turns.map((turn) => ({
      group: turn.group,
      limit: Math.min(turn.room, count(turn)),
    })).filter(({ group, limit }) => (read.get(group)?.length ?? -1) < limit);
    if (wanted.length === 0) return;
    const parts = look.queues.flatMap((queue) =>
      wanted.map(({ group, limit }) => {
        const floor = this.#floors.floor(queue, group);
        const { at, id } = floor;
        return { queue, group, limit, at, id, end: floor.look() };
      })
    );
    const rows = await look.runner.query<
      { part: number; id: string; rank: number }
    >(placesSql(look), placesParameters(look, parts));
    const places = new Map<string, Place[]>(
      wanted.map(({ group }) => [group, []]),
    );
    const found = parts.map((): Place[] => []);
    for (const { part, id, rank } of rows) found[part - 1]?.push({ id, rank });
    parts.forEach((part, index) =>
      this.#endLook(look, part, found[index]?.[0])
    );
    parts.forEach(({ group }, index) =>
      places.get(group)?.push(...found[index] ?? [])
    );
    for (const { group, limit } of wanted) {
      const of = places.get(group) ?? [];
      if (look.queues.length > 1) of.sort(comparePlaces);
      read.set(group, of.slice(0, limit));
    }
  }

  async #read(
    { runner }: Look,
    ids: readonly string[],
  ): Promise<readonly Task[]> {
    if (ids.length === 0) return [];
    return decodeTasks(
      await runner.query(
        selectFound(
          "SELECT id, at FROM unnest($1::text[]) WITH ORDINALITY " +
            "AS of(id, at)",
        ),
        [ids],
      ),
      this.#parts.known,
    );
  }
}

/** The SQL of the first places of groups. */
function placesSql({ claim, isLocking }: Look): string {
  const byJob = claim.jobs !== undefined;
  return "SELECT part.part, found.id, found.rank FROM unnest($2::text[], " +
    `$3::bigint[], $4::text[], $5::bigint[]${byJob ? ", $6::text[]" : ""}) ` +
    "WITH ORDINALITY AS part(grp, floor, floor_id, most" +
    `${byJob ? ", job" : ""}, part), ` +
    "LATERAL (SELECT id, rank FROM task_state AS there " +
    "WHERE there.lane = $1::integer " +
    `${byJob ? "AND there.job = part.job " : ""}AND there.grp = part.grp ` +
    "AND there.rank IS NOT NULL AND " +
    "(there.rank, there.id) >= (part.floor, part.floor_id) " +
    "ORDER BY there.rank, there.id LIMIT part.most" +
    `${isLocking ? " FOR UPDATE SKIP LOCKED" : ""}) AS found`;
}

/** The parameters of {@linkcode placesSql}. */
function placesParameters(
  { claim, queues }: Look,
  parts: readonly {
    readonly queue: DueQueue;
    readonly group: string;
    readonly at: number;
    readonly id: string;
    readonly limit: number;
  }[],
): readonly SqlParameter[] {
  return [
    queues[0]?.lane ?? 0,
    parts.map(({ group }) => group),
    parts.map(({ at }) => Math.max(FIRST_RANK, at)),
    parts.map(({ id }) => id),
    parts.map(({ limit }) => limit),
    ...(claim.jobs === undefined
      ? []
      : [parts.map(({ queue }) => queue.job ?? "")]),
  ];
}

/** The groups of a queue with tasks, in their order. */
async function readGroups(
  runner: Runner,
  { lane, job }: DueQueue,
  { after, upTo, limit }: {
    readonly after?: string;
    readonly upTo?: string | undefined;
    readonly limit: number;
  },
): Promise<readonly string[]> {
  const parameters: SqlParameter[] = [lane, limit];
  const add = (value: string): string => `$${parameters.push(value)}::text`;
  const ofJob = job === undefined ? "" : ` AND there.job = ${add(job)}`;
  const last = upTo === undefined ? "" : ` AND there.grp <= ${add(upTo)}`;
  const first = after === undefined ? "" : ` AND there.grp > ${add(after)}`;
  const select = (condition: string): string =>
    "SELECT there.grp FROM task_state AS there " +
    `WHERE there.lane = $1::integer${ofJob} AND there.rank IS NOT NULL` +
    `${last}${condition} ORDER BY there.grp LIMIT 1`;
  const rows = await runner.query<{ grp: string }>(
    `WITH RECURSIVE due(grp) AS ((${select(first)}) UNION ALL ` +
      `SELECT (${select(" AND there.grp > due.grp")}) FROM due ` +
      "WHERE due.grp IS NOT NULL) " +
      "SELECT grp FROM due WHERE grp IS NOT NULL LIMIT $2::bigint",
    parameters,
  );
  return rows.map(({ grp }) => grp);
}

/** Takes the first of each queue, then the second of each, and so on. */
function inTurns(
  queues: readonly (readonly Place[])[],
  limit: number,
): readonly Place[] {
  const places: Place[] = [];
  for (let round = 0; places.length < limit; round++) {
    const before = places.length;
    for (const queue of queues) {
      const place = queue[round];
      if (place !== undefined && places.length < limit) places.push(place);
    }
    if (places.length === before) break;
  }
  return places;
}

function comparePlaces(left: Place, right: Place): number {
  return left.rank - right.rank || (left.id < right.id ? -1 : 1);
}
