/**
 * Measures the project's folders ("rooms"): how large they are, and into how
 * many files they are divided.
 *
 * @module
 */

import { isTestCode } from "../lint/project_file.ts";
import type { SourceFacts } from "./source_facts.ts";

/** The figures of one folder, without its tests. */
export interface RoomFigures {
  /** The path of the folder. */
  readonly room: string;
  /** Number of files in the folder. */
  readonly files: number;
  /** Number of lines in these files. */
  readonly lines: number;
  /** Number of those lines that hold code. */
  readonly codeLines: number;
  /** Number of files that exactly one other file imports. */
  readonly oneImporter: number;
  /** Number of exported names that no other file uses, tests apart. */
  readonly unusedExports: number;
  /** Number of places that spread `{}` to leave out a member. */
  readonly optionalSpreads: number;
}

/** A name that is exported although only its own file uses it. */
export interface UnusedExport {
  /** The path of the file. */
  readonly path: string;
  /** The exported name. */
  readonly name: string;
}

/** The figures of a project. */
export interface House {
  /** The figures of each room, in the order asked for. */
  readonly rooms: readonly RoomFigures[];
  /** The exported names that no other file uses, tests apart. */
  readonly unused: readonly UnusedExport[];
  /** Files that only one other file imports, and that importer. */
  readonly single: readonly {
    readonly path: string;
    readonly importer: string;
  }[];
}

/**
 * Computes the figures of some folders.
 *
 * @param facts The facts of all files, including tests.
 * @param options `rooms` are folders with a slash at their end; exports of the
 * files in `entries` count as used, since they are for users of the package.
 */
export function measureHouse(
  facts: readonly SourceFacts[],
  { rooms, entries }: {
    readonly rooms: readonly string[];
    readonly entries: readonly string[];
  },
): House {
  const production = facts.filter(({ path }) => isProduction(path));
  const importers = new Map<string, Set<string>>();
  const used = new Map<string, Set<string>>();
  for (const { path, imports } of production) {
    for (const one of imports) {
      membersOf(importers, one.path).add(path);
      membersOf(used, one.path).add(one.name);
    }
  }
  const isEntry = new Set(entries);
  const unused: UnusedExport[] = [];
  const single: { path: string; importer: string }[] = [];
  for (const { path, exports } of production) {
    const [importer, ...others] = importers.get(path) ?? [];
    if (importer !== undefined && others.length === 0) {
      single.push({ path, importer });
    }
    const names = used.get(path);
    if (isEntry.has(path) || names?.has("*")) continue;
    for (const name of exports) {
      if (!names?.has(name)) unused.push({ path, name });
    }
  }
  return {
    rooms: rooms.map((room) => {
      const within = production.filter(({ path }) => path.startsWith(room));
      const isWithin = ({ path }: { readonly path: string }): boolean =>
        path.startsWith(room);
      return {
        room: room.replace(/\/$/, ""),
        files: within.length,
        lines: sum(within, ({ lines }) => lines),
        codeLines: sum(within, ({ codeLines }) => codeLines),
        oneImporter: single.filter(isWithin).length,
        unusedExports: unused.filter(isWithin).length,
        optionalSpreads: sum(within, ({ optionalSpreads }) => optionalSpreads),
      };
    }),
    unused,
    single,
  };
}

function isProduction(path: string): boolean {
  return !isTestCode(path) && !/^(?:tests|scripts)\//.test(path);
}

function membersOf(map: Map<string, Set<string>>, key: string): Set<string> {
  let members = map.get(key);
  if (members === undefined) map.set(key, members = new Set());
  return members;
}

function sum(
  facts: readonly SourceFacts[],
  figure: (facts: SourceFacts) => number,
): number {
  return facts.reduce((total, one) => total + figure(one), 0);
}
