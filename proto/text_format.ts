/**
 * Writes an answer in protobuf's text format, as command-line tools print it
 * (https://protobuf.dev/reference/protobuf/textformat-spec).
 *
 * @module
 */

import {
  CODE,
  type CurrentLimit,
  type DescriptorStatus,
  type RateLimitResponse,
  UNIT,
} from "./rate_limit_response.ts";
import type { JsonObject, JsonValue } from "./struct.ts";

/**
 * Writes an answer on one line: fields in the order of their numbers, enums by
 * name and, where this version knows no name, by number, and no field that has
 * its default. An answer of defaults only is empty text.
 *
 * @example
 * ```ts
 * import { responseToText } from "./text_format.ts";
 *
 * responseToText({ overallCode: 1, statuses: [], responseHeadersToAdd: [] });
 * // overall_code: OK
 * ```
 */
export function responseToText(response: RateLimitResponse): string {
  const { dynamicMetadata } = response;
  const metadata = dynamicMetadata && structToText(dynamicMetadata);
  return joined([
    enumField("overall_code", response.overallCode, CODE),
    ...response.statuses.map((status) =>
      message("statuses", statusToText(status))
    ),
    ...response.responseHeadersToAdd.map(({ key, value }) =>
      message(
        "response_headers_to_add",
        joined([textField("key", key), textField("value", value)]),
      )
    ),
    metadata === undefined ? "" : message("dynamic_metadata", metadata),
  ]);
}

function statusToText(status: DescriptorStatus): string {
  const { code, currentLimit, limitRemaining } = status;
  const seconds = status.durationUntilResetSeconds;
  return joined([
    enumField("code", code, CODE),
    currentLimit === undefined
      ? ""
      : message("current_limit", limitToText(currentLimit)),
    numberField("limit_remaining", limitRemaining),
    seconds === undefined
      ? ""
      : message("duration_until_reset", numberField("seconds", seconds)),
  ]);
}

function limitToText(limit: CurrentLimit): string {
  return joined([
    numberField("requests_per_unit", limit.requestsPerUnit),
    enumField("unit", limit.unit, UNIT),
    textField("name", limit.name ?? ""),
  ]);
}

function structToText(object: JsonObject): string {
  return joined(
    Object.entries(object).map(([key, value]) => {
      const content = message("value", valueToText(value));
      return message("fields", joined([textField("key", key), content]));
    }),
  );
}

/**
 * Writes a Value, a oneof: the member that is set is written even when it has
 * its default.
 */
function valueToText(value: JsonValue): string {
  if (value === null) return "null_value: NULL_VALUE";
  if (typeof value === "number") return `number_value: ${doubleToText(value)}`;
  if (typeof value === "string") return `string_value: ${quoted(value)}`;
  if (typeof value === "boolean") return `bool_value: ${value}`;
  if (!isJsonList(value)) return message("struct_value", structToText(value));
  const values = value.map((item) => message("values", valueToText(item)));
  return message("list_value", joined(values));
}

function doubleToText(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (Number.isFinite(value)) return Object.is(value, -0) ? "-0" : `${value}`;
  return value > 0 ? "inf" : "-inf";
}

function enumField(
  name: string,
  number: number,
  numbers: Readonly<Record<string, number>>,
): string {
  if (number === 0) return "";
  const known = Object.keys(numbers).find((key) => numbers[key] === number);
  return `${name}: ${known ?? number}`;
}

function numberField(name: string, value: number): string {
  return value === 0 ? "" : `${name}: ${value}`;
}

function textField(name: string, value: string): string {
  return value === "" ? "" : `${name}: ${quoted(value)}`;
}

function message(name: string, content: string): string {
  return content === "" ? `${name}: {}` : `${name}: { ${content} }`;
}

function joined(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" ");
}

/** Quotes text with C escapes; characters beyond ASCII stay as they are. */
function quoted(text: string): string {
  // deno-lint-ignore no-control-regex -- control characters are what it is for
  const escaped = text.replace(/["\\\x00-\x1f\x7f]/g, (character) => {
    switch (character) {
      case "\n":
        return "\\n";
      case "\r":
        return "\\r";
      case "\t":
        return "\\t";
      case '"':
      case "\\":
        return `\\${character}`;
      default:
        return `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`;
    }
  });
  return `"${escaped}"`;
}

function isJsonList(
  value: readonly JsonValue[] | JsonObject,
): value is readonly JsonValue[] {
  return Array.isArray(value);
}
