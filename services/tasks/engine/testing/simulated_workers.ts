/**
 * The workers of a simulation, each with different limits.
 *
 * @module
 */

import type { WorkerDefinition } from "../../domain/records.ts";

/** The tenant of the simulation. */
export const SIMULATED_TENANT_ID = "ten_simulated";

const COMMON = {
  tenantId: SIMULATED_TENANT_ID,
  version: 1,
  method: "POST",
  headers: {},
  timeoutMs: 60_000,
  leaseMs: 15_000,
  maxLost: 3,
  isPaused: false,
  signing: [],
  createdAtMs: 0,
  updatedAtMs: 0,
} as const;

/** The workers of a simulation. */
export const SIMULATED_WORKERS: readonly WorkerDefinition[] = [
  { ...COMMON, id: "wrk_free", name: "free", kind: "pull", concurrency: 0 },
  {
    ...COMMON,
    id: "wrk_narrow",
    name: "narrow",
    kind: "pull",
    concurrency: 3,
    limits: { groupConcurrency: 1 },
  },
  {
    ...COMMON,
    id: "wrk_slow",
    name: "slow",
    kind: "pull",
    concurrency: 0,
    limits: { rate: { count: 3, periodMs: 2_000, per: "worker" } },
    retry: { limit: 1, interval: "PT2S" },
  },
  {
    ...COMMON,
    id: "wrk_fair",
    name: "fair",
    kind: "pull",
    concurrency: 5,
    limits: { rate: { count: 2, periodMs: 3_000, per: "group" } },
  },
  {
    ...COMMON,
    id: "wrk_shared",
    name: "shared",
    kind: "pull",
    concurrency: 0,
    limits: {
      rate: { count: 4, periodMs: 3_000, per: "group" },
      groupConcurrency: 2,
      groupScope: "tenant",
    },
    retain: { succeededMs: 0, failedMs: 120_000 },
  },
  {
    ...COMMON,
    id: "wrk_push_shared",
    name: "push_shared",
    kind: "push",
    url: "https://worker.example/shared",
    concurrency: 0,
    limits: {
      rate: { count: 3, periodMs: 2_000, per: "group" },
      groupConcurrency: 1,
      groupScope: "tenant",
    },
  },
  {
    ...COMMON,
    id: "wrk_push",
    name: "push",
    kind: "push",
    url: "https://worker.example/run",
    concurrency: 3,
  },
  {
    ...COMMON,
    id: "wrk_push_too",
    name: "push_too",
    kind: "push",
    url: "https://worker.example/other",
    concurrency: 0,
  },
];
