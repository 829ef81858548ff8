/**
 * Loads rules: reads all configuration files, or all resources of a discovery
 * server, and compiles them to a snapshot.
 *
 * @module
 */

import type { Pausing } from "../../shared/slices.ts";
import {
  compileInSlices,
  type CompileOptions,
  compileSnapshot,
} from "./compile.ts";
import type { ConfigFault, DomainConfig } from "./config.ts";
import { type ConfigText, readDomain } from "./read_domain.ts";
import { type ConfigMessage, readMessage } from "./read_message.ts";
import { atOnce, plainDomainSteps } from "./read_plain.ts";
import { unreachableRules } from "./rule_checks.ts";
import type { Snapshot } from "./snapshot.ts";

/** One configuration as it arrived: a file, or a resource. */
export type ConfigDocument = ConfigText | ConfigMessage;

/** The result of loading: a snapshot only when there are no faults. */
export interface Loaded {
  /** The rules; undefined when anything is wrong. */
  readonly snapshot: Snapshot | undefined;
  /** All faults, in the order of the documents. */
  readonly faults: readonly ConfigFault[];
  /** Warnings about what was accepted although it looks like a mistake. */
  readonly warnings: readonly ConfigFault[];
}

/** The rules of all documents, before they are compiled. */
interface ReadRules {
  /** The domains of the documents without faults. */
  readonly domains: readonly DomainConfig[];
  /** Faults within single documents. */
  readonly faults: readonly ConfigFault[];
  /** Warnings about what was accepted although it looks like a mistake. */
  readonly warnings: readonly ConfigFault[];
}

/**
 * Reads all documents. Faults between documents are found when they are
 * compiled.
 */
export function readRules(documents: readonly ConfigDocument[]): ReadRules {
  const reads = documents.map((document) =>
    "text" in document ? readDomain(document) : readMessage(document)
  );
  const domains = reads.flatMap((read) => read.domain ?? []);
  return {
    domains,
    faults: reads.flatMap((read) => read.faults),
    warnings: [
      ...reads.flatMap((read) => read.warnings),
      ...atOnce(unreachableRules(domains)),
    ],
  };
}

/**
 * Reads, checks and compiles all documents; a single fault rejects all of them.
 */
export function loadRules(
  documents: readonly ConfigDocument[],
  options: CompileOptions = {},
): Loaded {
  const { domains, faults, warnings } = readRules(documents);
  const compiled = compileSnapshot(domains, options);
  const allFaults = [...faults, ...compiled.faults];
  return {
    snapshot: allFaults.length === 0 ? compiled.snapshot : undefined,
    faults: allFaults,
    warnings,
  };
}

/** How long work is interrupted. */
interface Between {
  /** Lets decisions run in between. */
  readonly pausing: Pausing;
  /** Aborts the loading. */
  readonly signal: AbortSignal;
}

/**
 * Does what {@linkcode loadRules} does for plain files, a few descriptors at a
 * time between other work.
 *
 * @returns Undefined when a document is not a plain file.
 */
export async function loadPlainRules(
  documents: readonly ConfigDocument[],
  { compile, ...between }: Between & {
    /** How configurations become rules. */
    readonly compile: CompileOptions;
  },
): Promise<Loaded | undefined> {
  const { pausing } = between;
  const domains: DomainConfig[] = [];
  for (const document of documents) {
    if (!("text" in document)) return undefined;
    const domain = await inSlices(plainDomainSteps(document), between);
    if (domain === undefined) return undefined;
    domains.push(domain);
  }
  const warnings = await inSlices(unreachableRules(domains), between);
  const compiled = await compileInSlices(domains, { ...compile, pausing });
  return { ...compiled, warnings };
}

/**
 * Runs the steps a few at a time; returns their result.
 *
 * @throws {Error} When `signal` aborts.
 */
async function inSlices<T>(
  steps: Generator<void, T>,
  { pausing, signal }: Between,
): Promise<T> {
  while (true) {
    const step = steps.next();
    if (step.done === true) return step.value;
    const wait = pausing.pause();
    if (wait === undefined) continue;
    await wait;
    if (signal.aborted) {
      throw new Error("the rules could not be loaded: the service stops");
    }
  }
}
