/**
 * Opens tracing as the settings say. The packages of OpenTelemetry are loaded
 * here, and only where tracing is on, so that they don't slow the start of a
 * service without tracing.
 *
 * @module
 */

import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import { quote } from "../quote.ts";
import { describeError } from "../settled.ts";
import type { Part } from "../stopper.ts";
import type { OtlpPems } from "./span_provider.ts";
import type { OpenTracing } from "./tracing.ts";
import {
  isRuntimeTracing,
  type OtlpFile,
  type OtlpFiles,
  otlpFilesOf,
  tracingPlan,
  type TracingSettings,
} from "./tracing_settings.ts";

/** What tracing needs beside its settings. */
interface OpenTracingParts {
  /** What the service calls itself where no setting says. */
  readonly defaultServiceName: string;
  /** The time source. */
  readonly clock: Clock;
  /** Logs lost spans. */
  readonly logger: Logger;
  /** Reads the files that settings name. */
  readonly readText: (path: string) => Promise<string>;
}

/** Tracing, or why the settings can't be followed. */
type OpenTracingOutcome =
  | { readonly kind: "off" }
  | { readonly kind: "on"; readonly open: OpenTracing }
  | { readonly kind: "invalid"; readonly problems: readonly string[] };

/** Opens tracing; connects to nothing before the first spans. */
export async function openTracing(
  settings: TracingSettings,
  parts: OpenTracingParts,
): Promise<OpenTracingOutcome> {
  if (!settings.tracingEnabled) return { kind: "off" };
  if (isRuntimeTracing(settings)) {
    const { runtimeTracing } = await import("./runtime_tracing.ts");
    const open = { tracing: runtimeTracing(), part: partOf(() => {}) };
    return { kind: "on", open };
  }
  const outcome = tracingPlan(settings, {
    defaultServiceName: parts.defaultServiceName,
    newId: () => crypto.randomUUID(),
  });
  if (outcome.kind === "invalid") return outcome;
  const { plan } = outcome;
  const files = await readFiles(plan.files, parts.readText);
  if (files.kind === "invalid") return files;
  const { collectorTracing } = await import("./span_provider.ts");
  const { clock, logger } = parts;
  const { tracing, queue } = collectorTracing(plan, {
    pems: files.pems,
    clock,
    logger,
  });
  const part = partOf((graceMs) => queue.stop(graceMs));
  return { kind: "on", open: { tracing, part } };
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
  const files = await readFiles(otlpFilesOf(settings), readText);
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

function partOf(stop: (graceMs: number) => void | Promise<void>): Part {
  return {
    name: "tracing",
    start: () => Promise.resolve(),
    async stop(graceMs) {
      await stop(graceMs);
    },
  };
}
