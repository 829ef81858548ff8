/**
 * Generates the SDK's types for the API of the tasks service from its OpenAPI
 * document.
 *
 * @module
 */

import {
  describedAs,
  repeatsName,
} from "../../services/shared/openapi/testing/description.ts";
import type { JsonSchema } from "../../services/shared/schema/schema.ts";
import { tasksSchemas } from "./tasks_tables.ts";

/** The side of the API that writes values of a type. */
type Writer = "client" | "service";

/** A type that is generated for the SDK. */
interface SdkType {
  /** The name of the type in the SDK. */
  readonly name: string;
  /** The name of the schema in the document. */
  readonly schema: string;
  /**
   * The side that writes such values: fields that only the other side writes
   * are left out.
   */
  readonly writer: Writer;
  /**
   * The doc comment.
   * @default the description of the schema
   */
  readonly doc?: string;
}

/** The types to generate: everything that methods of the SDK take or return. */
const TYPES: readonly SdkType[] = [
  of("Task", "service"),
  of("TaskPart", "service"),
  of("TaskList", "service"),
  of("NewTask", "client"),
  of("TaskChanges", "client"),
  of("TaskBatchResults", "service"),
  of("Repeat", "client"),
  of("RetryPolicy", "client"),
  of("Retain", "client"),
  of("Duration", "client"),
  of("DurationOrMilliseconds", "client"),
  of("BulkAction", "client"),
  of("BulkResult", "service"),
  of("Operation", "service"),
  of("HistoryList", "service"),
  of("HistoryRecord", "service"),
  of("TaskAttemptList", "service"),
  of("TaskAttempt", "service"),
  of("TaskExplanation", "service"),
  of("PreviewRequest", "client"),
  of("SchedulePreview", "service"),
  of("Calendar", "service"),
  of("CalendarList", "service"),
  // Named differently, since `Worker` is a class of the SDK.
  { ...of("Worker", "service"), name: "TaskWorker" },
  {
    ...of("Worker", "client"),
    name: "NewWorker",
    doc: "A worker, as it is made.",
  },
  of("WorkerChanges", "client"),
  of("WorkerPage", "service"),
  of("WorkerTest", "client"),
  of("WorkerTestResult", "service"),
  of("NewSecrets", "client"),
  of("AddedSecrets", "service"),
  of("SecretList", "service"),
  of("ApiKey", "service"),
  {
    ...of("ApiKey", "client"),
    name: "NewApiKey",
    doc: "An API key, as it is asked for.",
  },
  of("ApiKeyList", "service"),
  of("MadeApiKey", "service"),
  of("KeyRotation", "client"),
  of("Me", "service"),
  of("Usage", "service"),
  of("Use", "service"),
  of("LeaseWish", "client"),
  of("Leases", "service"),
  of("DependencyResult", "service"),
  of("LeaseWord", "client"),
  of("LeaseBatch", "client"),
  of("LeaseResults", "service"),
  of("LeaseState", "service"),
  of("TaskBatch", "client"),
  of("User", "service"),
  of("PlanLimits", "service"),
  of("Problem", "service"),
  of("ProblemFault", "service"),
];

function of(schema: string, writer: Writer): SdkType {
  return { name: schema, schema, writer };
}

const HEAD = `// deno-fmt-ignore-file: made by a program
/**
 * What the API of the tasks service takes and gives. Made of its OpenAPI document by
 * \`deno task readme\`: change the service's schemas, not this file.
 *
 * @module
 */
`;

/** What types are made by. */
interface Making {
  /** The type that is made, for messages. */
  readonly type: string;
  /** The side that writes values of it. */
  readonly writer: Writer;
  /** The named schemas of the document. */
  readonly schemas: Readonly<Record<string, JsonSchema>>;
}

/**
 * Returns the text of `sdk/tasks/api_types.ts`.
 *
 * @throws {Error} When the document says nothing of a type or of its members.
 */
export async function taskTypesSource(): Promise<string> {
  const schemas = await tasksSchemas();
  const texts = TYPES.map((type) => {
    const schema = schemas[type.schema];
    if (schema === undefined) {
      throw new Error(`Cannot make types: no schema ${type.schema}`);
    }
    return declaration(type, schema, schemas);
  });
  return indented([HEAD, ...texts].join("\n"));
}

/** Indents lines by the braces around them. */
function indented(text: string): string {
  let depth = 0;
  return text.split("\n").map((line) => {
    const isComment = /^\s*(?:\/?\*|\/\/)/.test(line);
    const own = line.trimStart();
    if (own.startsWith("}")) depth--;
    const lead = own.startsWith("*") ? " " : "";
    const shown = own === "" ? "" : `${"  ".repeat(depth)}${lead}${own}`;
    if (!isComment) {
      for (const char of own.startsWith("}") ? own.slice(1) : own) {
        if (char === "{") depth++;
        else if (char === "}") depth--;
      }
    }
    return shown;
  }).join("\n");
}

function declaration(
  { name, writer, doc }: SdkType,
  schema: JsonSchema,
  schemas: Making["schemas"],
): string {
  const making = { type: name, writer, schemas };
  const comment = doc === undefined
    ? docOf(name, schema, making)
    : `/** ${doc} */\n`;
  const body = typeOf(schema, making);
  return schema.properties !== undefined && typeof schema.type === "string"
    ? `${comment}export interface ${name} ${body}\n`
    : `${comment}export type ${name} = ${body};\n`;
}

/** Returns the TypeScript type of a schema. */
function typeOf(schema: JsonSchema, making: Making): string {
  if (schema.$ref !== undefined) {
    const target = schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1);
    const types = TYPES.filter((type) => type.schema === target);
    const found = types.find(({ writer }) => writer === making.writer) ??
      types[0];
    if (found === undefined) {
      throw new Error(`Cannot make types: ${target} is not in the list`);
    }
    return found.name;
  }
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return union(schema.enum.map(literal));
  if (schema.anyOf !== undefined) {
    return union(schema.anyOf.map((part) => typeOf(part, making)));
  }
  const types = typeof schema.type === "string" ? [schema.type] : schema.type;
  return types === undefined
    ? "unknown"
    : union(types.map((type) => ofType(type, schema, making)));
}

function literal(value: unknown): string {
  return JSON.stringify(value);
}

function union(types: readonly string[]): string {
  const parts = [...new Set(types.flatMap((type) => type.split(" | ")))];
  return types.some((type) => /[{<(]/.test(type))
    ? [...new Set(types)].join(" | ")
    : parts.join(" | ");
}

function ofType(type: string, schema: JsonSchema, making: Making): string {
  switch (type) {
    case "integer":
    case "number":
      return "number";
    case "array":
      return `ReadonlyArray<${typeOf(schema.items ?? {}, making)}>`;
    case "object":
      return objectType(schema, making);
    default:
      return type;
  }
}

function objectType(schema: JsonSchema, making: Making): string {
  const { properties, additionalProperties: others } = schema;
  const { writer } = making;
  if (properties === undefined) {
    const value = typeof others === "object"
      ? typeOf(others, making)
      : "unknown";
    return `Readonly<Record<string, ${value}>>`;
  }
  const lines = Object.entries(properties).flatMap(([name, property]) => {
    const isHidden = writer === "client"
      ? property.readOnly === true
      : property.writeOnly === true;
    if (isHidden) return [];
    const type = typeOf(property, making);
    const isThere = schema.required?.includes(name) === true ||
      (writer === "service" && isAlwaysShown(property));
    const doc = docOf(name, property, making);
    const undefinedToo = /\bunknown$|\bundefined$/.test(type)
      ? ""
      : " | undefined";
    return [
      isThere
        ? `${doc}readonly ${name}: ${type};`
        : `${doc}readonly ${name}?: ${type}${undefinedToo};`,
    ];
  });
  return `{\n${lines.join("\n")}\n}`;
}

/**
 * Whether a response always has the field: the service decides or fills in the
 * value of a field that a request need not have.
 */
function isAlwaysShown({ readOnly, default: given }: JsonSchema): boolean {
  return readOnly === true || given !== undefined;
}

/** Most characters of a comment in one line, with its indentation. */
const MAX_LINE = 80;

/** The comment of a type or a member: what the document says of it. */
function docOf(
  name: string,
  schema: JsonSchema,
  { type, schemas }: Making,
): string {
  const text = describedAs(schema, schemas);
  if (text === undefined || repeatsName(name, text)) {
    throw new Error(
      `Cannot make type ${type}: nothing is said of "${name}" but its name`,
    );
  }
  const sentence = text.endsWith(".") ? text : `${text}.`;
  const safe = sentence.replaceAll("*/", "*\\/");
  if (safe.length <= MAX_LINE - "  /**  */".length) return `/** ${safe} */\n`;
  return `/**\n${wrapped(safe)}\n */\n`;
}

/** Lines of a comment, broken between words. */
function wrapped(text: string): string {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || ` * ${last} ${word}`.length > MAX_LINE - 2) {
      lines.push(word);
    } else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.map((line) => ` * ${line}`).join("\n");
}
