/**
 * Where the page shows what: a schema that one operation takes stands there, all
 * others stand in the list of schemas, with an example.
 *
 * @module
 */

import type { JsonValue } from "../schema/schema.ts";
import type {
  OpenApiDocument,
  OpenApiMedia,
  OpenApiOperation,
  OpenApiResponse,
} from "./document.ts";
import { resolved } from "./reference.ts";
import { componentOf } from "./schema_html.ts";

/** What is known of the schemas with a name. */
interface Places {
  /** The operation that alone has to do with a schema: as its body. */
  readonly homes: ReadonlyMap<string, OpenApiOperation>;
  /** A good value. */
  readonly examples: ReadonlyMap<string, JsonValue>;
}

/** Finds the place of every schema with a name. */
export function placesOf(document: OpenApiDocument): Places {
  const all = new Map<string, number>();
  countReferences(document, all);
  const homes = new Map<string, OpenApiOperation>();
  const examples = new Map<string, JsonValue>();
  for (const item of Object.values(document.paths)) {
    for (const operation of Object.values(item)) {
      const bodies = Object.values(operation.requestBody?.content ?? {});
      for (const name of bodies.map(nameOf)) {
        if (name === undefined) continue;
        const own = bodies.filter((media) => nameOf(media) === name).length;
        if (all.get(name) === own) homes.set(name, operation);
      }
      const answers = Object.values(operation.responses).flatMap((answer) =>
        Object.values(
          resolved<OpenApiResponse>(document, answer).content ?? {},
        )
      );
      for (const media of [...answers, ...bodies]) {
        const name = nameOf(media);
        if (name === undefined || media.example === undefined) continue;
        if (!examples.has(name)) examples.set(name, media.example);
      }
    }
  }
  return { homes, examples };
}

function nameOf({ schema }: OpenApiMedia): string | undefined {
  return schema && componentOf(schema);
}

function countReferences(value: unknown, counts: Map<string, number>): void {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    const name = key === "$ref" && typeof inner === "string"
      ? componentOf({ $ref: inner })
      : undefined;
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
    countReferences(inner, counts);
  }
}
