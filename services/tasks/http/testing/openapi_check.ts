/**
 * Checks a document against the structural rules of OpenAPI 3.1 that a
 * generator can break, for tests.
 *
 * @module
 */

import {
  isJsonObject,
  type JsonSchema,
} from "../../../shared/schema/schema.ts";
import { misfits } from "../../../shared/schema/testing/json_schema_check.ts";

type Part = Readonly<Record<string, unknown>>;

const METHODS = ["get", "put", "post", "delete", "patch"];

/** What is wrong with a document, as lines that begin with the place. */
export function openApiFaults(document: unknown): readonly string[] {
  if (!isJsonObject(document)) return ["the document is no object"];
  const checker = new Checker(document);
  checker.check();
  return checker.faults;
}

class Checker {
  readonly faults: string[] = [];
  readonly #document: Part;
  readonly #operationIds = new Set<string>();

  constructor(document: Part) {
    this.#document = document;
  }

  check(): void {
    const { openapi, info, paths, components } = this.#document;
    if (!/^3\.1\.\d+$/.test(String(openapi))) this.#add("openapi", "not 3.1");
    for (const name of ["title", "version"]) {
      if (typeof part(info)[name] !== "string") this.#add("info", `no ${name}`);
    }
    this.#references("", this.#document);
    for (const [kind, named] of Object.entries(part(components))) {
      for (const name of Object.keys(part(named))) {
        if (!/^[a-zA-Z0-9._-]+$/.test(name)) this.#add(kind, `name ${name}`);
      }
    }
    const schemas = Object.entries(part(part(components).schemas));
    for (const [name, schema] of schemas) this.#schema(name, schema);
    const shapes = new Set<string>();
    for (const [path, item] of Object.entries(part(paths))) {
      const shape = path.replaceAll(/\{[^}]*\}/g, "{}");
      if (shapes.has(shape)) this.#add(path, "same as another path");
      shapes.add(shape);
      if (!path.startsWith("/")) this.#add(path, "begins without slash");
      this.#item(path, part(item));
    }
  }

  #item(path: string, item: Part): void {
    for (const [method, operation] of Object.entries(item)) {
      const at = `${method} ${path}`;
      if (!METHODS.includes(method)) this.#add(at, "unknown method");
      this.#operation(at, { path, operation: part(operation) });
    }
  }

  #operation(
    at: string,
    { path, operation }: { readonly path: string; readonly operation: Part },
  ): void {
    const { operationId, tags, security, requestBody, responses } = operation;
    if (typeof operationId !== "string") this.#add(at, "no operationId");
    else if (this.#operationIds.has(operationId)) {
      this.#add(at, `operationId ${operationId} is another's`);
    } else this.#operationIds.add(operationId);
    const known = list(this.#document.tags).map((tag) => part(tag).name);
    for (const tag of list(tags)) {
      if (!known.includes(tag)) this.#add(at, `tag ${tag} is not listed`);
    }
    const schemes = part(part(this.#document.components).securitySchemes);
    for (const needed of list(security)) {
      for (const name of Object.keys(part(needed))) {
        if (schemes[name] === undefined) this.#add(at, `security ${name}`);
      }
    }
    this.#parameters(at, { path, parameters: list(operation.parameters) });
    if (requestBody !== undefined) {
      this.#content(`${at} body`, part(part(requestBody).content));
    }
    this.#responses(at, part(responses));
  }

  #parameters(
    at: string,
    { path, parameters }: {
      readonly path: string;
      readonly parameters: readonly unknown[];
    },
  ): void {
    const seen = new Set<string>();
    const inPath: string[] = [];
    for (const one of parameters) {
      const parameter = part(this.#resolve(one));
      const { name, in: place, required, schema } = parameter;
      const key = `${place} ${name}`;
      if (seen.has(key)) this.#add(at, `parameter ${key} twice`);
      seen.add(key);
      if (place === "path") {
        inPath.push(String(name));
        if (required !== true) this.#add(at, `${name} is not required`);
      } else if (place !== "query" && place !== "header") {
        this.#add(at, `parameter in ${place}`);
      }
      if (schema === undefined) this.#add(at, `parameter ${name}: no schema`);
      else this.#schema(`${at} ${name}`, schema);
    }
    const templates = [...path.matchAll(/\{([^}]*)\}/g)].map((found) =>
      found[1]
    );
    if (templates.toSorted().join() !== inPath.toSorted().join()) {
      this.#add(at, `path parameters are ${inPath.join()}`);
    }
  }

  #responses(at: string, responses: Part): void {
    if (Object.keys(responses).length === 0) this.#add(at, "no responses");
    for (const [status, response] of Object.entries(responses)) {
      const place = `${at} ${status}`;
      if (!/^[1-5]\d\d$/.test(status)) this.#add(place, "no status");
      const { description, headers, content } = part(response);
      if (typeof description !== "string" || description === "") {
        this.#add(place, "no description");
      }
      for (const [name, header] of Object.entries(part(headers))) {
        if (part(header).schema === undefined) this.#add(place, `${name} bare`);
      }
      if (content !== undefined) this.#content(place, part(content));
    }
  }

  #content(at: string, content: Part): void {
    if (Object.keys(content).length === 0) this.#add(at, "no content");
    for (const [type, media] of Object.entries(content)) {
      const place = `${at} ${type}`;
      const { schema, example, examples } = part(media);
      if (example !== undefined && examples !== undefined) {
        this.#add(place, "both example and examples");
      }
      if (schema === undefined) continue;
      this.#schema(place, schema);
      if (example === undefined && examples === undefined) {
        this.#add(place, "no example");
      }
      if (example !== undefined) this.#example(place, { schema, example });
      for (const one of Object.values(part(examples))) {
        const value = part(this.#resolve(one)).value;
        this.#example(place, { schema, example: value });
      }
    }
  }

  #example(
    at: string,
    { schema, example }: {
      readonly schema: unknown;
      readonly example: unknown;
    },
  ): void {
    // Nothing can be said of examples while their schemas may be broken.
    if (this.faults.length > 0) return;
    const definitions = new Map(
      Object.entries(part(part(this.#document.components).schemas)),
    ) as Map<string, JsonSchema>;
    const json = part(schema) as JsonSchema;
    for (const fault of misfits(example, { json, definitions })) {
      this.#add(at, `example: ${fault}`);
    }
  }

  /** Looks into a schema and all schemas within it. */
  #schema(at: string, schema: unknown): void {
    if (typeof schema === "boolean") return;
    const json = part(schema) as JsonSchema;
    if (json.pattern !== undefined && !isPattern(json.pattern)) {
      this.#add(at, `pattern ${json.pattern}`);
    }
    for (const pattern of Object.keys(json.patternProperties ?? {})) {
      if (!isPattern(pattern)) this.#add(at, `pattern ${pattern}`);
    }
    for (const name of json.required ?? []) {
      const isKnown = Object.hasOwn(json.properties ?? {}, name) ||
        json.additionalProperties !== false;
      if (!isKnown) this.#add(at, `requires the unknown ${name}`);
    }
    const parts = [
      ...Object.entries(json.properties ?? {}),
      ...Object.entries(json.patternProperties ?? {}),
      ...(json.anyOf ?? []).entries(),
      ...[["items", json.items], ["names", json.propertyNames]] as const,
      ["more", json.additionalProperties] as const,
    ];
    for (const [name, inner] of parts) {
      if (inner !== undefined) this.#schema(`${at}/${name}`, inner);
    }
  }

  #references(at: string, value: unknown): void {
    if (typeof value !== "object" || value === null) return;
    for (const [name, inner] of Object.entries(value)) {
      if (name === "$ref" && this.#resolve(value) === undefined) {
        this.#add(at, `refers to ${inner}, which is not there`);
      }
      this.#references(`${at}/${name}`, inner);
    }
  }

  #resolve(value: unknown): unknown {
    const reference = part(value).$ref;
    if (typeof reference !== "string") return value;
    let found: unknown = this.#document;
    for (const token of reference.replace(/^#\//, "").split("/")) {
      found = part(found)[token];
    }
    return found;
  }

  #add(at: string, fault: string): void {
    this.faults.push(`${at}: ${fault}`);
  }
}

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern, "u") instanceof RegExp;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return false;
  }
}

function part(value: unknown): Part {
  return isJsonObject(value) ? value : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
