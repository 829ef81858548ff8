/**
 * Traces that begin here.
 *
 * @module
 */

import { randomBytes } from "node:crypto";

/** A new trace as W3C Trace Context writes it; it is not sampled here. */
export function newTraceparent(): string {
  const id = randomBytes(24).toString("hex");
  return `00-${id.slice(0, 32)}-${id.slice(32)}-00`;
}
