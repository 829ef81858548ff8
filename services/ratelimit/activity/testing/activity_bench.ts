/**
 * A test bench for what is told of rules: a decider whose decisions are
 * sampled, and the reports on them.
 *
 * @module
 */

import { DeciderBench } from "../../../../tests/support/decider_bench.ts";
import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import { NEVER_PAUSING } from "../../../shared/slices.ts";
import { StatsRegistry } from "../../stats/registry.ts";
import { ActivityReports } from "../activity_report.ts";
import { OverLimitBoard, OverLimitKeys } from "../over_limit_keys.ts";
import { RuleActivity } from "../rule_activity.ts";
import { Timeline } from "../timeline.ts";

/** Decides by rules in YAML, and tells what they did. */
export class ActivityBench {
  /** The clock of the samples and events. */
  readonly clock = new FakeClock(Date.UTC(2026, 10, 30, 12));
  /** Keeps the statistics. */
  readonly registry: StatsRegistry;
  /** Decides. */
  readonly bench: DeciderBench;
  /** Samples. */
  readonly activity: RuleActivity;
  /** Takes events. */
  readonly timeline = new Timeline(this.clock);
  /** Tells of all that. */
  readonly reports: ActivityReports;

  /**
   * Makes a bench.
   *
   * @param yaml The rules; none when it is undefined.
   */
  constructor(
    yaml?: string | readonly string[],
    { topKeys = true, registry = new StatsRegistry() }: {
      /** Whether keys are looked for. @default {true} */
      readonly topKeys?: boolean;
      /** Keeps the statistics. @default one of its own */
      readonly registry?: StatsRegistry;
    } = {},
  ) {
    this.registry = registry;
    const overLimitKeys = topKeys ? new OverLimitKeys() : undefined;
    this.bench = new DeciderBench(yaml ?? "domain: d", {
      registry,
      overLimit: overLimitKeys,
    });
    this.activity = new RuleActivity({
      registry,
      pausing: NEVER_PAUSING,
      clock: this.clock,
      logger: new RecordingLogger(),
    });
    this.reports = new ActivityReports({
      snapshot: () =>
        yaml === undefined ? undefined : this.bench.decider.snapshot,
      activity: this.activity,
      overLimitKeys,
      board: new OverLimitBoard(),
      timeline: this.timeline,
      keyFormat: "escaped",
      pausing: NEVER_PAUSING,
    });
  }

  /** Decides a call of one descriptor in the domain "d" so many times. */
  ask(entries: readonly (readonly [string, string])[], times = 1): void {
    for (let call = 0; call < times; call++) this.bench.ask({ entries });
  }
}
