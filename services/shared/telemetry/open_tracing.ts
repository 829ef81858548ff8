/**
 * Opens tracing as the settings say. The packages of OpenTelemetry are loaded
 * here, and only where tracing is on, so that they don't slow the start of a
 * service without tracing.
 *
 * @module
 */

import type { Clock } from "../clock.ts";
import { type Lifecycle, startFault } from "../lifecycle.ts";
import type { Logger } from "../logger.ts";
import { quote } from "../quote.ts";
import { describeError } from "../settled.ts";
import type { OtlpPems } from "./span_provider.ts";
import type { Tracing } from "./tracing.ts";
import {
  isRuntimeTracing,
  type OtlpFile,
  type OtlpFiles,
  pickOtlpFiles,
  tracingPlan,
  type TracingSettings,
  type TracingSettingTable,
} from "./tracing_settings.ts";

/** What tracing needs beside its settings. */
interface OpenTracingTools {
  /** Their table, which names the service where no setting says. */
  readonly table: Pick<TracingSettingTable, "tracingServiceName">;
  /** Stops tracing; parts that are added later stop before it. */
  readonly lifecycle: Pick<Lifecycle, "add">;
  /** The time source. */
  readonly clock: Clock;
  /** Logs lost spans. */
  readonly logger: Logger;
}

/**
 * Opens tracing; connects to nothing before the first spans.
 *
 * @returns What makes spans; undefined where tracing is off.
 * @throws when the settings can't be followed
 */
export async function openTracing(
  settings: TracingSettings,
  { table, lifecycle, clock, logger }: OpenTracingTools,
): Promise<Tracing | undefined> {
  if (!settings.tracingEnabled) return undefined;
  const stopBy = (stop: (graceMs: number) => Promise<void>): void => {
    const start = () => Promise.resolve();
    lifecycle.add({ name: "tracing", start, stop });
  };
  if (isRuntimeTracing(settings)) {
    stopBy(() => Promise.resolve());
    const { runtimeTracing } = await import("./runtime_tracing.ts");
    return runtimeTracing();
  }
  const outcome = tracingPlan(settings, {
    defaultServiceName: table.tracingServiceName.fallback,
    newId: () => crypto.randomUUID(),
  });
  if (outcome.kind === "invalid") throw startFault(outcome.problems);
  const { plan } = outcome;
  const files = await readFiles(plan.files, Deno.readTextFile);
  if (files.kind === "invalid") throw startFault(files.problems);
  const { collectorTracing } = await import("./span_provider.ts");
  const { tracing, queue } = collectorTracing(plan, {
    pems: files.pems,
    clock,
    logger,
  });
  stopBy((graceMs) => queue.stop(graceMs));
  return tracing;
}

/**
 * Checks the settings of tracing and the files they name; returns a line for
 * each fault.
 */
export async function tracingFaults(
  settings: TracingSettings,
  readText: (path: string) => Promise<string>,
): Promise<readonly string[]> {
  if (!settings.tracingEnabled || isRuntimeTracing(settings)) return [];
  const outcome = tracingPlan(settings, {
    defaultServiceName: "",
    newId: () => "",
  });
  const files = await readFiles(pickOtlpFiles(settings), readText);
  return [
    ...(outcome.kind === "invalid" ? outcome.problems : []),
    ...(files.kind === "invalid" ? files.problems : []),
  ];
}

type FilesOutcome =
  | { readonly kind: "read"; readonly pems: OtlpPems }
  | { readonly kind: "invalid"; readonly problems: readonly string[] };

async function readFiles(
  { ca, cert, key }: OtlpFiles,
  readText: (path: string) => Promise<string>,
): Promise<FilesOutcome> {
  const problems: string[] = [];
  const read = async (
    { path, setting }: OtlpFile,
  ): Promise<string | undefined> => {
    if (path === "") return undefined;
    try {
      return await readText(path);
    } catch (error) {
      problems.push(
        `Cannot read a file of tracing, ${quote(path)} (${setting}): ` +
          describeError(error),
      );
      return undefined;
    }
  };
  const pems = {
    ca: await read(ca),
    cert: await read(cert),
    key: await read(key),
  };
  return problems.length === 0
    ? { kind: "read", pems }
    : { kind: "invalid", problems };
}
