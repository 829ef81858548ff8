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
  of("Webhook", "service"),
  {
    ...of("Webhook", "client"),
    name: "NewWebhook",
    doc: "A webhook, as it is made.",
  },
  of("WebhookChanges", "client"),
  of("WebhookList", "service"),
  of("WebhookTestResult", "service"),
  of("WebhookDelivery", "service"),
  of("WebhookDeliveryDetail", "service"),
  of("WebhookDeliveryList", "service"),
  of("Alert", "service"),
  {
    ...of("Alert", "client"),
    name: "NewAlert",
    doc: "An alert, as it is made.",
  },
  of("AlertChanges", "client"),
  of("AlertList", "service"),
  of("Me", "service"),
  of("Usage", "service"),
  of("Overview", "service"),
  of("Activity", "service"),
  of("Use", "service"),
  of("LeaseWish", "client"),
  of("Leases", "service"),
  of("DependencyResult", "service"),
  of("Resumed", "service"),
  of("Awaited", "service"),
  of("WaitFor", "client"),
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
  const made = new Map<string, readonly Member[]>();
  const texts = TYPES.map((type) => {
    const schema = schemas[type.schema];
    if (schema === undefined) {
      throw new Error(`Cannot make types: no schema ${type.schema}`);
    }
    return declaration(type, schema, { schemas, made });
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

/** A member of a type that is made. */
interface Member {
  readonly name: string;
  /** The comment. */
  readonly doc: string;
  /** The type, without what stands for absence. */
  readonly type: string;
  readonly isRequired: boolean;
}

function declaration(
  { name, writer, doc }: SdkType,
  schema: JsonSchema,
  { schemas, made }: Pick<Making, "schemas"> & {
    /** The members of the types that were made before, by name. */
    readonly made: Map<string, readonly Member[]>;
  },
): string {
  const making = { type: name, writer, schemas };
  const comment = doc === undefined
    ? formatDoc(name, schema, making)
    : `/** ${doc} */\n`;
  if (schema.properties === undefined || typeof schema.type !== "string") {
    return `${comment}export type ${name} = ${formatType(schema, making)};\n`;
  }
  const members = listMembers(schema.properties, { ...making, schema });
  const declared = derivedType(name, members, made) ??
    `interface ${name} ${formatBody(members)}`;
  made.set(name, members);
  return `${comment}export ${declared}\n`;
}

/** Fewest members that a type has in common with the one it is derived from. */
const MIN_SHARED = 5;

/** Fewest members of a kind for which the other type is named. */
const MIN_ALIKE = 3;

/**
 * Declares a type by an earlier one that has most of its members, so that no
 * member is declared twice. Returns undefined if no earlier type fits.
 */
function derivedType(
  name: string,
  members: readonly Member[],
  made: ReadonlyMap<string, readonly Member[]>,
): string | undefined {
  const derived = Array.from(made, ([base, of]) => sharing(members, base, of))
    .filter(({ shared }) =>
      shared >= MIN_SHARED && shared * 2 > members.length
    );
  const best = derived.toSorted((left, right) => right.shared - left.shared)[0];
  if (best === undefined) return undefined;
  const { extended, mapped, own } = best;
  if (mapped.length === 0) {
    return `interface ${name} extends ${extended.join(", ")} ${
      formatBody(own)
    }`;
  }
  const parts = [...extended, ...mapped];
  if (own.length > 0) parts.push(formatBody(own));
  return `type ${name} = ${parts.join(" & ")};`;
}

/** How a member is alike that of another type. */
type Alike = "same" | "loose" | "null" | "own";

/** What members have in common with another type, and how that is written. */
interface Sharing {
  /** How many members they share. */
  readonly shared: number;
  /** The part of the other type that is taken as it is; one at most. */
  readonly extended: readonly string[];
  /** Parts of which more may be absent, or null. */
  readonly mapped: readonly string[];
  /** The other members. */
  readonly own: readonly Member[];
}

function sharing(
  members: readonly Member[],
  base: string,
  of: readonly Member[],
): Sharing {
  const alike = Map.groupBy(members, (member): Alike => {
    const other = of.find(({ name }) => name === member.name);
    if (other === undefined || other.doc !== member.doc) return "own";
    const isSame = other.type === member.type;
    if (isSame && other.isRequired === member.isRequired) return "same";
    if (member.isRequired) return "own";
    if (isSame) return "loose";
    return `${other.type} | null` === member.type ? "null" : "own";
  });
  // Members of the other type stay optional, or nullable, if all of a kind are.
  for (const [kind, fits] of [["loose", ""], ["null", "null"]] as const) {
    const wider = alike.get(kind) ?? [];
    if (wider.length < MIN_ALIKE) continue;
    const same = alike.get("same") ?? [];
    const fitsToo = ({ isRequired, type }: Member) =>
      !isRequired && type.endsWith(fits);
    alike.set(kind, [...wider, ...same.filter(fitsToo)]);
    alike.set("same", same.filter((member) => !fitsToo(member)));
  }
  const part = (kind: Alike): string | undefined => {
    const found = alike.get(kind) ?? [];
    if (found.length < MIN_ALIKE) return undefined;
    alike.delete(kind);
    const names = found.map((member) => member.name);
    const others = of.map((member) => member.name)
      .filter((one) => !names.includes(one));
    if (others.length === 0) return base;
    return others.length < names.length
      ? `Omit<${base}, ${union(others.map(literal))}>`
      : `Pick<${base}, ${union(names.map(literal))}>`;
  };
  const mapped = ([["loose", ""], ["null", " | null"]] as const).flatMap(
    ([kind, more]) => {
      const from = part(kind);
      return from === undefined
        ? []
        : `{ readonly [Name in keyof ${from}]?: ${base}[Name]${more} | undefined }`;
    },
  );
  const same = part("same");
  const own = members.filter((member) =>
    [...alike.values()].some((left) => left.includes(member))
  );
  return {
    shared: members.length - own.length,
    extended: same === undefined ? [] : [same],
    mapped,
    own,
  };
}

/** Returns the TypeScript type of a schema. */
function formatType(schema: JsonSchema, making: Making): string {
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
    return union(schema.anyOf.map((part) => formatType(part, making)));
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
      return `ReadonlyArray<${formatType(schema.items ?? {}, making)}>`;
    case "object":
      return objectType(schema, making);
    default:
      return type;
  }
}

function objectType(schema: JsonSchema, making: Making): string {
  const { properties, additionalProperties: others } = schema;
  if (properties === undefined) {
    const value = typeof others === "object"
      ? formatType(others, making)
      : "unknown";
    return `Readonly<Record<string, ${value}>>`;
  }
  return formatBody(listMembers(properties, { ...making, schema }));
}

/** The members that the type has for those who read or write it. */
function listMembers(
  properties: Readonly<Record<string, JsonSchema>>,
  { schema, ...making }: Making & { readonly schema: JsonSchema },
): readonly Member[] {
  const { writer } = making;
  return Object.entries(properties).flatMap(([name, property]) => {
    const isHidden = writer === "client"
      ? property.readOnly === true
      : property.writeOnly === true;
    return isHidden ? [] : [{
      name,
      doc: formatDoc(name, property, making),
      type: formatType(property, making),
      isRequired: schema.required?.includes(name) === true ||
        (writer === "service" && isAlwaysShown(property)),
    }];
  });
}

/** Writes members as the body of a type. */
function formatBody(members: readonly Member[]): string {
  const lines = members.map(({ name, doc, type, isRequired }) => {
    if (isRequired) return `${doc}readonly ${name}: ${type};`;
    const undefinedToo = /\bunknown$|\bundefined$/.test(type)
      ? ""
      : " | undefined";
    return `${doc}readonly ${name}?: ${type}${undefinedToo};`;
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
function formatDoc(
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
