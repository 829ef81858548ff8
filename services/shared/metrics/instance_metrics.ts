/**
 * Metrics of the instances that share a store, as each of them knows them.
 *
 * @module
 */

import type { Duty } from "../members.ts";
import type { MetricRegistry } from "./registry.ts";

/** What an instance knows of itself and of the others. */
export interface KnownInstances {
  /** The id of this instance. */
  readonly id: string;
  /** Those that live. */
  readonly members: readonly unknown[];
  /** Who does which background work. */
  readonly duties: readonly Pick<Duty, "name" | "holder">[];
  /** Whether others may count this instance as dead. */
  readonly isFenced: boolean;
}

/** Options of {@linkcode addInstances}. */
interface InstanceMetricsOptions {
  /** The beginning of the names. */
  readonly service: string;
  /** Knows the instances; undefined until the store is open. */
  readonly instances: () => KnownInstances | undefined;
}

/**
 * Adds how many instances share the store, which duties this one has, and
 * whether it may act.
 */
export function addInstances(
  registry: MetricRegistry,
  { service, instances }: InstanceMetricsOptions,
): void {
  registry.read({
    kind: "gauge",
    name: `${service}_instances`,
    help: "Instances of the service that live, as this one knows.",
    labels: [],
    read: () => [{ labels: {}, value: instances()?.members.length ?? 0 }],
  });
  registry.read({
    kind: "gauge",
    name: `${service}_instance_fenced`,
    help: "1 while the store has not answered this instance for so long that " +
      "it pauses and others take over.",
    labels: [],
    read: () => [{ labels: {}, value: instances()?.isFenced ? 1 : 0 }],
  });
  registry.read({
    kind: "gauge",
    name: `${service}_instance_duty`,
    help: "1 for the background work that this instance does for all, 0 for " +
      "what another one does.",
    labels: ["duty"],
    read: () => {
      const { id, duties = [] } = instances() ?? {};
      return duties.map(({ name: duty, holder }) => ({
        labels: { duty },
        value: holder === id ? 1 : 0,
      }));
    },
  });
}
