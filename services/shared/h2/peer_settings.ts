/**
 * Reads and writes SETTINGS frames of HTTP/2 (RFC 9113, section 6.5).
 *
 * @module
 */

import type { ByteSpan } from "./byte_span.ts";
import {
  H2_ERROR,
  type H2ErrorCode,
  MAX_31_BITS,
  MAX_FRAME_BYTES,
  read32Bits,
} from "./frame.ts";
import type { H2Limits } from "./limits.ts";

const SETTING = {
  HEADER_TABLE_SIZE: 1,
  ENABLE_PUSH: 2,
  MAX_CONCURRENT_STREAMS: 3,
  INITIAL_WINDOW_SIZE: 4,
  MAX_FRAME_SIZE: 5,
  MAX_HEADER_LIST_SIZE: 6,
} as const;

const SETTING_BYTES = 6;

/** What a SETTINGS frame of the peer changes. */
export interface SettingsChange {
  /** How large the table of our header encoder may be. */
  headerTableBytes: number | undefined;
  /** The smallest such size the frame mentions. */
  leastHeaderTableBytes: number | undefined;
  /** The window a stream begins with, for what we send. */
  initialWindowBytes: number | undefined;
  /** How many streams we may have open at a time. */
  maxConcurrentStreams: number | undefined;
}

/** A change, or what is wrong with the frame. */
type SettingsOutcome =
  | { readonly kind: "ok"; readonly change: Readonly<SettingsChange> }
  | { readonly kind: "failed"; readonly code: H2ErrorCode };

/**
 * Reads the payload of a SETTINGS frame. Of a setting that is given more than
 * once the last value counts, so a frame costs the same whatever it repeats.
 */
export function readSettings(payload: ByteSpan): SettingsOutcome {
  const { bytes, start, end } = payload;
  if ((end - start) % SETTING_BYTES !== 0) {
    return failed(H2_ERROR.FRAME_SIZE_ERROR);
  }
  const change: SettingsChange = {
    headerTableBytes: undefined,
    leastHeaderTableBytes: undefined,
    initialWindowBytes: undefined,
    maxConcurrentStreams: undefined,
  };
  for (let at = start; at < end; at += SETTING_BYTES) {
    const value = read32Bits(bytes, at + 2);
    switch (bytes[at]! << 8 | bytes[at + 1]!) {
      case SETTING.HEADER_TABLE_SIZE:
        change.headerTableBytes = value;
        change.leastHeaderTableBytes = Math.min(
          change.leastHeaderTableBytes ?? value,
          value,
        );
        break;
      case SETTING.ENABLE_PUSH:
        if (value > 1) return failed(H2_ERROR.PROTOCOL_ERROR);
        break;
      case SETTING.MAX_CONCURRENT_STREAMS:
        change.maxConcurrentStreams = value;
        break;
      case SETTING.INITIAL_WINDOW_SIZE:
        if (value > MAX_31_BITS) return failed(H2_ERROR.FLOW_CONTROL_ERROR);
        change.initialWindowBytes = value;
        break;
      case SETTING.MAX_FRAME_SIZE:
        if (value < MAX_FRAME_BYTES || value > 0xff_ffff) {
          return failed(H2_ERROR.PROTOCOL_ERROR);
        }
        // Nothing to keep: all frames sent fit into the smallest allowed size.
        break;
    }
  }
  return { kind: "ok", change };
}

/** The payload of the SETTINGS frame with which a server begins. */
export function serverSettings(limits: H2Limits): Uint8Array {
  return settingsPayload([
    [SETTING.MAX_CONCURRENT_STREAMS, limits.maxConcurrentStreams],
    [SETTING.INITIAL_WINDOW_SIZE, limits.streamWindowBytes],
    [SETTING.MAX_HEADER_LIST_SIZE, limits.maxHeaderListBytes],
  ]);
}

/** The payload of the SETTINGS frame with which a client begins. */
export function clientSettings(
  limits: Pick<H2Limits, "streamWindowBytes" | "maxHeaderListBytes">,
): Uint8Array {
  return settingsPayload([
    [SETTING.ENABLE_PUSH, 0],
    [SETTING.INITIAL_WINDOW_SIZE, limits.streamWindowBytes],
    [SETTING.MAX_HEADER_LIST_SIZE, limits.maxHeaderListBytes],
  ]);
}

function settingsPayload(
  settings: readonly (readonly [id: number, value: number])[],
): Uint8Array {
  const payload = new Uint8Array(settings.length * SETTING_BYTES);
  const view = new DataView(payload.buffer);
  for (const [index, [id, value]] of settings.entries()) {
    view.setUint16(index * SETTING_BYTES, id);
    view.setUint32(index * SETTING_BYTES + 2, value);
  }
  return payload;
}

function failed(code: H2ErrorCode): SettingsOutcome {
  return { kind: "failed", code };
}
