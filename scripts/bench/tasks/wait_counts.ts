/**
 * Reads from the service's metrics how long requests waited inside it.
 *
 * @module
 */

/**
 * A histogram of waits: how many were at most as long as each bound, in
 * seconds.
 */
export type WaitCounts = ReadonlyMap<number, number>;

/** Reads the current histogram of a tenant's waits. */
export async function readWaits(
  metricsPort: number,
  { tenantId, kind }: {
    readonly tenantId: string;
    readonly kind: "turn" | "commit";
  },
): Promise<WaitCounts> {
  const answer = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
  const labels = `{tenant="${tenantId}",for="${kind}",le="`;
  const start = `tasks_wait_seconds_bucket${labels}`;
  const counts = new Map<number, number>();
  for (const line of (await answer.text()).split("\n")) {
    if (!line.startsWith(start)) continue;
    const [bound = "", count = ""] = line.slice(start.length).split('"} ');
    counts.set(bound === "+Inf" ? Infinity : Number(bound), Number(count));
  }
  return counts;
}

/**
 * Returns a quantile, in milliseconds, of the waits between two readings. It
 * assumes that waits are spread evenly between two bounds of the histogram.
 */
export function waitQuantileMs(
  { before, after }: {
    readonly before: WaitCounts;
    readonly after: WaitCounts;
  },
  share: number,
): number {
  const waits = [...after].map(([bound, count]) =>
    [bound, count - (before.get(bound) ?? 0)] as const
  );
  const all = waits.at(-1)?.[1] ?? 0;
  if (all === 0) return NaN;
  let [lower, below] = [0, 0];
  for (const [bound, within] of waits) {
    if (within >= all * share) {
      const part = (all * share - below) / Math.max(1, within - below);
      return 1_000 *
        (bound === Infinity ? lower : lower + part * (bound - lower));
    }
    [lower, below] = [bound, within];
  }
  return NaN;
}
