/**
 * Checks a document against OpenAPI 3.1, for tests: its form by the schema that
 * the OpenAPI Initiative publishes, and by hand what that schema cannot say.
 *
 * @module
 */

import { Validator } from "npm:@seriousme/openapi-schema-validator@^2.11.0";
import { isJsonObject, type JsonSchema } from "../../schema/schema.ts";
import { misfits } from "../../schema/testing/json_schema_check.ts";

type Part = Readonly<Record<string, unknown>>;

/** What is wrong with a document, as lines that begin with the place. */
export async function openApiFaults(
  document: unknown,
): Promise<readonly string[]> {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(
    structuredClone(part(document)),
  );
  const faults = valid ? [] : formFaults(errors);
  const { version } = validator;
  if (valid && version !== "3.1") faults.push(`openapi: is ${version}`);
  // The rest can't be told of a document that is none.
  if (faults.length > 0) return faults;
  const checker = new Checker(part(document));
  checker.check();
  return checker.faults;
}

function formFaults(errors: unknown): string[] {
  if (!Array.isArray(errors)) return [String(errors)];
  return errors.map((error) =>
    `${part(error).instancePath}: ${part(error).message}`
  );
}

/** Finds parts of a document that contradict each other. */
class Checker {
  readonly faults: string[] = [];
  readonly #document: Part;
  readonly #operationIds = new Set<unknown>();

  constructor(document: Part) {
    this.#document = document;
  }

  check(): void {
    const { paths, components } = this.#document;
    const schemas = Object.entries(part(part(components).schemas));
    for (const [name, schema] of schemas) this.#schema(name, schema);
    this.#references("", this.#document);
    const shapes = new Set<string>();
    for (const [path, item] of Object.entries(part(paths))) {
      const shape = path.replaceAll(/\{[^}]*\}/g, "{}");
      if (shapes.has(shape)) this.#add(path, "same as another path");
      shapes.add(shape);
      for (const [method, operation] of Object.entries(part(item))) {
        this.#operation(`${method} ${path}`, {
          path,
          operation: part(operation),
        });
      }
    }
  }

  #operation(
    at: string,
    { path, operation }: { readonly path: string; readonly operation: Part },
  ): void {
    const { operationId, tags, security, requestBody, responses } = operation;
    if (operationId === undefined) this.#add(at, "no operationId");
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
    const bodies = [requestBody, ...Object.values(part(responses))];
    for (const one of bodies) {
      for (
        const [type, media] of Object.entries(
          part(part(this.#resolve(one)).content),
        )
      ) this.#media(`${at} ${type}`, part(media));
    }
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
      const { name, in: place, schema } = part(this.#resolve(one));
      const key = `${place} ${name}`;
      if (seen.has(key)) this.#add(at, `parameter ${key} twice`);
      seen.add(key);
      if (place === "path") inPath.push(String(name));
      if (schema !== undefined) this.#schema(`${at} ${name}`, schema);
    }
    const templates = [...path.matchAll(/\{([^}]*)\}/g)].map((found) =>
      found[1]
    );
    if (templates.toSorted().join() !== inPath.toSorted().join()) {
      this.#add(at, `path parameters are ${inPath.join()}`);
    }
  }

  #media(at: string, { schema, example, examples }: Part): void {
    if (schema === undefined) return;
    this.#schema(at, schema);
    if (example === undefined && examples === undefined) {
      this.#add(at, "no example");
    }
    // Nothing can be said of examples while their schemas may be broken.
    if (this.faults.length > 0) return;
    const values: unknown[] = example === undefined ? [] : [example];
    for (const one of Object.values(part(examples))) {
      values.push(part(this.#resolve(one)).value);
    }
    const definitions = new Map(
      Object.entries(part(part(this.#document.components).schemas)),
    ) as Map<string, JsonSchema>;
    for (const value of values) {
      const shape = {
        json: part(schema) as JsonSchema,
        definitions: () => definitions,
      };
      for (const fault of misfits(value, shape)) {
        this.#add(at, `example: ${fault}`);
      }
    }
  }

  /** Looks into a schema and all schemas within it. */
  #schema(at: string, schema: unknown): void {
    const json = part(schema) as JsonSchema;
    for (
      const pattern of [
        ...json.pattern === undefined ? [] : [json.pattern],
        ...Object.keys(json.patternProperties ?? {}),
      ]
    ) {
      if (!isPattern(pattern)) this.#add(at, `pattern ${pattern}`);
    }
    for (const name of json.required ?? []) {
      const isKnown = Object.hasOwn(json.properties ?? {}, name) ||
        json.additionalProperties !== false;
      if (!isKnown) this.#add(at, `requires the unknown ${name}`);
    }
    const parts: readonly (readonly [string | number, unknown])[] = [
      ...Object.entries(json.properties ?? {}),
      ...Object.entries(json.patternProperties ?? {}),
      ...(json.anyOf ?? []).entries(),
      ["items", json.items],
      ["names", json.propertyNames],
      ["more", json.additionalProperties],
    ];
    for (const [name, inner] of parts) {
      if (isJsonObject(inner)) this.#schema(`${at}/${name}`, inner);
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
