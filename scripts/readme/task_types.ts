/**
 * Generates the SDK's types for the API of the tasks service from its OpenAPI
 * document.
 *
 * @module
 */

import { openApiOf } from "../../services/tasks/http/openapi.ts";
import { tasksRoutes } from "./tasks_tables.ts";

/** A schema of the document, as far as types need it. */
interface DocumentSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly DocumentSchema[];
  readonly properties?: Readonly<Record<string, DocumentSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | DocumentSchema;
  readonly items?: DocumentSchema;
  readonly description?: string;
  readonly readOnly?: boolean;
  readonly writeOnly?: boolean;
  readonly default?: unknown;
}

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
  /** The doc comment, where the document has no description. */
  readonly doc: string;
}

/** The types to generate: everything that methods of the SDK take or return. */
const TYPES: readonly SdkType[] = [
  of("Task", "service", "A task."),
  of("TaskPart", "service", "A task, or the fields of it that were asked for."),
  of("TaskList", "service", "A page of tasks."),
  of("NewTask", "client", "A task to be made."),
  of("TaskChanges", "client", "A task as it is to be from now on."),
  of("TaskBatchResults", "service", "What became of the tasks of a batch."),
  of("Repeat", "client", "How a task repeats: by an interval or by cron."),
  of("RetryPolicy", "client", "When a failed attempt is tried again."),
  of("Retain", "client", "How long a task is kept after its end."),
  of("Duration", "client", "A length of time."),
  of("DurationOrMilliseconds", "client", "A length of time."),
  of("BulkAction", "client", "What is done to many tasks."),
  of("BulkResult", "service", "What was done to many tasks."),
  of("Operation", "service", "What goes on with many tasks."),
  of("HistoryList", "service", "A page of a task's history."),
  of("HistoryRecord", "service", "One thing that happened to a task."),
  of("TaskAttemptList", "service", "A page of a task's attempts."),
  of("TaskAttempt", "service", "One attempt to do a task."),
  of("TaskExplanation", "service", "Why a task does or does not run now."),
  of("PreviewRequest", "client", "A schedule to be looked at."),
  of("SchedulePreview", "service", "When a schedule would run."),
  of("Calendar", "service", "Times at which schedules have no slots."),
  of("CalendarList", "service", "A page of calendars."),
  // Named differently, since `Worker` is a class of the SDK.
  { ...of("Worker", "service", "A worker."), name: "TaskWorker" },
  { ...of("Worker", "client", "A worker to be made."), name: "NewWorker" },
  of("WorkerChanges", "client", "A worker as it is to be from now on."),
  of("WorkerPage", "service", "A page of workers."),
  of("WorkerTest", "client", "How a worker is tried."),
  of("WorkerTestResult", "service", "What a worker that was tried answered."),
  of("NewSecrets", "client", "Secrets of a worker to be kept or made."),
  of("AddedSecrets", "service", "Secrets that were kept or made."),
  of("SecretList", "service", "A worker's secrets, without their values."),
  of("ApiKey", "service", "An API key, without its secret."),
  { ...of("ApiKey", "client", "An API key to be made."), name: "NewApiKey" },
  of("ApiKeyList", "service", "A page of API keys."),
  of("MadeApiKey", "service", "An API key that was made, with its secret."),
  of("KeyRotation", "client", "How an API key is replaced."),
  of("Me", "service", "Who asks, and what they may do."),
  of("Usage", "service", "What the tenant uses of its plan."),
  of("Use", "service", "How much is used of how much."),
  of("LeaseWish", "client", "What a worker asks for."),
  of("Leases", "service", "What a worker is given."),
  of("DependencyResult", "service", "What a dependency of a task came to."),
  of("LeaseWord", "client", "What the holder of a lease says of it."),
  of("LeaseBatch", "client", "What the holder of leases says of them."),
  of("LeaseResults", "service", "What became of what was said of leases."),
  of("LeaseState", "service", "How a lease and its task are."),
  of("TaskBatch", "client", "Tasks to be made together."),
  of("User", "service", "A person of the tenant."),
  of("PlanLimits", "service", "What a plan allows."),
  of("Problem", "service", "Why a request was refused (RFC 9457)."),
  of("ProblemFault", "service", "One fault of a request."),
];

/** Descriptions of fields that many schemas have without a description. */
const KNOWN_FIELDS: Readonly<Record<string, string>> = {
  id: "Its id",
  job: "The handler within the worker",
  timezone: "The IANA zone of cron and calendar intervals",
  repeat: "How it repeats; null when it does not",
  retry: "When a failed attempt is tried again",
  retain: "How long it is kept after its end",
  expires: "When it expires if it has not started; null for never",
  dependencies: "Ids of tasks that have to succeed before",
  on_dependency_failure: "What a dependency that fails means",
  priority: "Higher goes first",
  group: "Groups of a worker take turns",
  key: "A worker has one live task with a key at most",
  callback: "Who is called at the end",
  tags: "Labels",
  metadata: "Named labels",
  data: "The items of the page",
  next: "The cursor of the next page; null on the last",
  created_at: "When it was made",
  updated_at: "When it was changed last",
  message: "For people",
  code: "For programs",
};

function of(schema: string, writer: Writer, doc: string): SdkType {
  return { name: schema, schema, writer, doc };
}

const HEAD = `// deno-fmt-ignore-file: made by a program
/**
 * What the API of the tasks service takes and gives. Made of its OpenAPI document by
 * \`deno task readme\`: change the service's schemas, not this file.
 *
 * @module
 */
`;

/** Returns the text of `sdk/tasks/api_types.ts`. */
export async function taskTypesSource(): Promise<string> {
  const document = openApiOf(await tasksRoutes(), {
    title: "Tercet tasks",
    version: "1",
    host: "example.com",
  });
  const schemas = document.components.schemas as Readonly<
    Record<string, DocumentSchema>
  >;
  const texts = TYPES.map((type) => {
    const schema = schemas[type.schema];
    if (schema === undefined) {
      throw new Error(`Cannot make types: no schema ${type.schema}`);
    }
    return declaration(type, schema);
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
    const shown = isComment && depth === 0
      ? line
      : "  ".repeat(own === "" ? 0 : depth) + own;
    if (!isComment) {
      for (const char of own.startsWith("}") ? own.slice(1) : own) {
        if (char === "{") depth++;
        else if (char === "}") depth--;
      }
    }
    return shown;
  }).join("\n");
}

function declaration(type: SdkType, schema: DocumentSchema): string {
  const doc = docOf(schema.description ?? type.doc, "");
  const body = typeOf(schema, type.writer);
  return schema.properties !== undefined && typeof schema.type === "string"
    ? `${doc}export interface ${type.name} ${body}\n`
    : `${doc}export type ${type.name} = ${body};\n`;
}

/** Returns the TypeScript type of a schema. */
function typeOf(schema: DocumentSchema, writer: Writer): string {
  if (schema.$ref !== undefined) {
    const target = schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1);
    const types = TYPES.filter((type) => type.schema === target);
    const found = types.find((type) => type.writer === writer) ?? types[0];
    if (found === undefined) {
      throw new Error(`Cannot make types: ${target} is not in the list`);
    }
    return found.name;
  }
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return union(schema.enum.map(literal));
  if (schema.anyOf !== undefined) {
    return union(schema.anyOf.map((part) => typeOf(part, writer)));
  }
  const types = typeof schema.type === "string" ? [schema.type] : schema.type;
  return types === undefined
    ? "unknown"
    : union(types.map((type) => ofType(type, schema, writer)));
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

function ofType(
  type: string,
  schema: DocumentSchema,
  writer: Writer,
): string {
  switch (type) {
    case "integer":
    case "number":
      return "number";
    case "array":
      return `ReadonlyArray<${typeOf(schema.items ?? {}, writer)}>`;
    case "object":
      return objectType(schema, writer);
    default:
      return type;
  }
}

function objectType(schema: DocumentSchema, writer: Writer): string {
  const { properties, additionalProperties: others } = schema;
  if (properties === undefined) {
    const value = typeof others === "object"
      ? typeOf(others, writer)
      : "unknown";
    return `Readonly<Record<string, ${value}>>`;
  }
  const lines = Object.entries(properties).flatMap(([name, property]) => {
    const isHidden = writer === "client"
      ? property.readOnly === true
      : property.writeOnly === true;
    if (isHidden) return [];
    const type = typeOf(property, writer);
    const isThere = schema.required?.includes(name) === true ||
      (writer === "service" && isAlwaysShown(property));
    const known = name === "data" && property.items === undefined
      ? "What the job is given"
      : KNOWN_FIELDS[name];
    const doc = docOf(property.description ?? known ?? titleOf(name), "  ");
    const undefinedToo = /\bunknown$|\bundefined$/.test(type)
      ? ""
      : " | undefined";
    return [
      isThere
        ? `${doc}  readonly ${name}: ${type};`
        : `${doc}  readonly ${name}?: ${type}${undefinedToo};`,
    ];
  });
  return `{\n${lines.join("\n")}\n}`;
}

/**
 * Whether a response always has the field: the service decides or fills in the
 * value of a field that a request need not have.
 */
function isAlwaysShown({ readOnly, default: given }: DocumentSchema): boolean {
  return readOnly === true || given !== undefined;
}

/** Turns `last_seen_at` into `Last seen at.` */
function titleOf(name: string): string {
  const words = name.replaceAll("_", " ");
  return `${words[0]!.toUpperCase()}${words.slice(1)}`;
}

function docOf(text: string, indent: string): string {
  const sentence = text.endsWith(".") || text.endsWith("`") ? text : `${text}.`;
  return `${indent}/** ${sentence.replaceAll("*/", "*\\/")} */\n`;
}
