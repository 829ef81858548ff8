/**
 * The `metadata` of a rule: free values that must fit a
 * `google.protobuf.Struct`.
 *
 * @module
 */

import type {
  JsonObject,
  JsonValue,
} from "../../../proto/rate_limit_response.ts";
import { MAX_STRUCT_DEPTH } from "../../../proto/struct.ts";
import type { YamlNode } from "./yaml_tree.ts";

/** The answer that carries metadata is one level around it. */
const MAX_DEPTH = MAX_STRUCT_DEPTH - 1;

/** The metadata of a node, none, or why it can't be taken. */
export type MetadataOutcome =
  | { readonly kind: "metadata"; readonly value: JsonObject }
  | { readonly kind: "none" }
  | { readonly kind: "fault"; readonly reason: string };

/** Reads a `metadata` node. */
export function metadataOf(node: YamlNode | undefined): MetadataOutcome {
  if (
    node === undefined || (node.kind === "scalar" && node.type === "null")
  ) return { kind: "none" };
  if (node.kind !== "map") {
    return { kind: "fault", reason: "expected a map" };
  }
  const faults: string[] = [];
  const value = objectOf(node.entries, { faults, depth: 1 });
  return faults[0] === undefined
    ? { kind: "metadata", value }
    : { kind: "fault", reason: faults[0] };
}

interface Place {
  readonly faults: string[];
  readonly depth: number;
}

function objectOf(
  entries: ReadonlyMap<string, YamlNode>,
  place: Place,
): JsonObject {
  return Object.fromEntries(
    Array.from(entries, ([key, node]) => [key, valueOf(node, place)]),
  );
}

function valueOf(node: YamlNode, place: Place): JsonValue {
  const { faults } = place;
  const depth = place.depth + 1;
  if (node.kind !== "scalar" && depth > MAX_DEPTH) {
    faults.push(`it nests deeper than ${MAX_DEPTH} levels`);
    return null;
  }
  switch (node.kind) {
    case "map":
      return objectOf(node.entries, { faults, depth });
    case "list":
      return node.items.map((item) => valueOf(item, { faults, depth }));
    case "scalar": {
      const { value } = node;
      if (value === null || value === undefined) return null;
      if (typeof value === "string" || typeof value === "boolean") return value;
      if (typeof value === "number" && Number.isFinite(value)) return value;
      if (node.type === "text") return node.written;
      faults.push(`"${node.written}" is no value of a Struct`);
      return null;
    }
  }
}
