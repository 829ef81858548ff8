/**
 * Reads settings of the rate limit service as its start does, within the test's
 * process, which costs far less than a start. That a start with such settings
 * ends with 1 and prints the same, each test shows with one process.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import {
  type RateLimitSettings,
  rateLimitSettings,
} from "../../services/ratelimit/settings.ts";
import { startSettings } from "../../services/shared/telemetry/start_settings.ts";

/** Returns what the service tells of settings, which it has to refuse. */
export async function readRefusal(
  env: Readonly<Record<string, string>>,
  { findFaults = () => [] }: {
    /**
     * Checks settings of one part of the service.
     *
     * @default only what is checked of each setting by itself, and tracing
     */
    readonly findFaults?: (
      settings: RateLimitSettings,
    ) => readonly string[] | Promise<readonly string[]>;
  } = {},
): Promise<string> {
  const told: string[] = [];
  const settings = await startSettings(rateLimitSettings, {
    readVariable: (name) => env[name],
    allVariables: () => env,
    io: { err: (text) => told.push(text) },
    readText: Deno.readTextFile,
    findFaults,
  });
  const text = told.join("\n");
  assertEquals(settings, undefined, text);
  return text;
}
