/**
 * Parses request bodies as JSON, makes routes whose body has a schema, and
 * answers calls of JSON-RPC.
 *
 * @module
 */

import { Buffer, isUtf8 } from "node:buffer";
import {
  type JsonShapeFault,
  jsonShapeFault,
  type JsonShapeLimits,
} from "../../shared/http/json_shape.ts";
import { type Answer, ok, refused } from "./answer.ts";
import {
  isJsonObject,
  readWhole,
  type Schema,
} from "../../shared/schema/schema.ts";
import { faultText } from "./body_schemas.ts";
import { MAX_BODY_BYTES, type SignedCall, type SignedRoute } from "./route.ts";
import { namespaceRefusal } from "./token_rule.ts";

/** The outcome of reading JSON. */
type JsonOutcome<T> =
  | { readonly kind: "ok"; readonly value: T }
  | {
    readonly kind: "invalid";
    /** What is wrong, as the second half of a message. */
    readonly reason: string;
  };

/**
 * Limits of a body's JSON: no route needs deeper nesting, or more numbers than
 * a vector has.
 */
const LIMITS: JsonShapeLimits = { maxDepth: 16, maxValues: 20_000 };

const FAULTS: Readonly<Record<JsonShapeFault["kind"], string>> = {
  too_deep: `the body is nested more than ${LIMITS.maxDepth} deep`,
  too_many_values: `the body has more than ${LIMITS.maxValues} values`,
  too_many_members: "the body has an object with too many members",
  number_too_large: "the body has a number that is too large",
};

/** Options of {@linkcode signedPost}. */
interface SignedPostOptions<T>
  extends Pick<SignedRoute, "points" | "onlyReads" | "token" | "words"> {
  /** What the route does, for error texts, such as `remember text`. */
  readonly action: string;
  /**
   * Most bytes of the body.
   * @default {@linkcode MAX_BODY_BYTES}
   */
  readonly maxBodyBytes?: number;
  /**
   * Returns the namespaces that a body is about; none for one that names
   * records, whose namespaces the answer looks at.
   */
  readonly namespacesOf: (body: T) => readonly string[];
  /** Answers a call whose body is valid. */
  readonly answer: (call: SignedCall, body: T) => Answer | Promise<Answer>;
}

/**
 * Makes a signed POST route whose body is a JSON object; a body that does not
 * fit the schema is answered with 400, and one about namespaces that the
 * caller's access token is not for with 403.
 */
export function signedPost<T>(
  path: string,
  schema: Schema<T>,
  options: SignedPostOptions<T>,
): SignedRoute {
  const { maxBodyBytes = MAX_BODY_BYTES, ...given } = options;
  const { action, answer, namespacesOf, ...facts } = given;
  return {
    ...facts,
    access: "signed",
    method: "POST",
    path,
    maxBodyBytes,
    body: schema,
    async answer(call) {
      const read = readBody(call.body, schema);
      if (read.kind !== "ok") {
        return refused(400, `Cannot ${action}: ${read.reason}`);
      }
      return namespaceRefusal(call.caller, namespacesOf(read.value)) ??
        await answer(call, read.value);
    },
  };
}

function readBody<T>(bytes: Uint8Array, schema: Schema<T>): JsonOutcome<T> {
  const body = jsonBody(bytes);
  if (body.kind === "invalid") return body;
  const read = readWhole(schema, body.value);
  if (read.kind === "ok") return read;
  const [fault] = read.faults;
  const reason = fault === undefined
    ? "the body is not valid"
    : faultText(fault);
  return { kind: "invalid", reason };
}

/**
 * Answers a JSON-RPC call, or a batch of them.
 *
 * @param answer Answers the parsed body; resolves with undefined when no call
 * wants an answer.
 */
export async function jsonRpcAnswer(
  bytes: Uint8Array,
  answer: (body: unknown) => Promise<unknown>,
): Promise<Answer> {
  const read = parseJson(bytes);
  if (read.kind === "invalid") {
    // Errors of JSON-RPC are good answers of HTTP (JSON-RPC 2.0, 5.1).
    return ok({
      jsonrpc: "2.0",
      id: null,
      error: { code: -32_700, message: `Cannot read call: ${read.reason}` },
    });
  }
  const reply = await answer(read.value);
  // No call wanted an answer (JSON-RPC 2.0, 4.1).
  return reply === undefined ? { status: 204 } : ok(reply);
}

/** Parses bytes as a JSON object. */
export function jsonBody(
  bytes: Uint8Array,
): JsonOutcome<Readonly<Record<string, unknown>>> {
  const parsed = parseJson(bytes);
  if (parsed.kind === "invalid") return parsed;
  return isJsonObject(parsed.value)
    ? { kind: "ok", value: parsed.value }
    : { kind: "invalid", reason: "the body is not a JSON object" };
}

/** Parses bytes as JSON. */
export function parseJson(bytes: Uint8Array): JsonOutcome<unknown> {
  if (!isUtf8(bytes)) {
    return { kind: "invalid", reason: "the body is not UTF-8" };
  }
  const fault = jsonShapeFault(bytes, LIMITS);
  if (fault !== undefined) {
    return { kind: "invalid", reason: FAULTS[fault.kind] };
  }
  const { buffer, byteOffset, byteLength } = bytes;
  // Faster than a `TextDecoder`, for bodies of usual size.
  const text = Buffer.from(buffer, byteOffset, byteLength).toString("utf8");
  try {
    // A byte order mark is left out (RFC 8259, 8.1).
    const value: unknown = JSON.parse(
      text.startsWith("\ufeff") ? text.slice(1) : text,
    );
    return { kind: "ok", value };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // The parser's own message would repeat parts of the body.
    return { kind: "invalid", reason: "the body is not JSON" };
  }
}
