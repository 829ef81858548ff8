/**
 * From the texts of all configuration files to a snapshot.
 *
 * @module
 */

import { type CompileOptions, compileSnapshot } from "./compile.ts";
import type { ConfigFault, DomainConfig } from "./config.ts";
import { type ConfigText, readDomain } from "./read_domain.ts";
import { unreachableRules } from "./rule_checks.ts";
import type { Snapshot } from "./snapshot.ts";

/** What loading gave: a snapshot only where there are no faults. */
export interface Loaded {
  /** The rules; undefined when anything is wrong. */
  readonly snapshot: Snapshot | undefined;
  /** All that is wrong, in the order of the files. */
  readonly faults: readonly ConfigFault[];
  /** What was taken although it looks like a mistake. */
  readonly warnings: readonly ConfigFault[];
}

/** What all files say, before they are compiled. */
interface ReadRules {
  /** The domains of the files without faults. */
  readonly domains: readonly DomainConfig[];
  /** What is wrong with single files. */
  readonly faults: readonly ConfigFault[];
  /** What was taken although it looks like a mistake. */
  readonly warnings: readonly ConfigFault[];
}

/** Reads all files; how they fit together is seen when they are compiled. */
export function readRules(files: readonly ConfigText[]): ReadRules {
  const reads = files.map(readDomain);
  const domains = reads.flatMap((read) => read.domain ?? []);
  return {
    domains,
    faults: reads.flatMap((read) => read.faults),
    warnings: [
      ...reads.flatMap((read) => read.warnings),
      ...unreachableRules(domains),
    ],
  };
}

/** Reads, checks and compiles all files; one fault in one file rejects all. */
export function loadRules(
  files: readonly ConfigText[],
  options: CompileOptions = {},
): Loaded {
  const { domains, faults, warnings } = readRules(files);
  const compiled = compileSnapshot(domains, options);
  const allFaults = [...faults, ...compiled.faults];
  return {
    snapshot: allFaults.length === 0 ? compiled.snapshot : undefined,
    faults: allFaults,
    warnings,
  };
}
