/**
 * Makes descriptors of the .proto files, as protobufjs reads these. The
 * descriptors that server reflection serves are written from them, and compared
 * with them in a test.
 *
 * @module
 */

import protobuf from "npm:protobufjs@^7.5.0";
import { WireWriter } from "../wire_writer.ts";

/** A file and its `google.protobuf.FileDescriptorProto`. */
export interface FileDescriptor {
  /** Its name, as other files import it. */
  readonly name: string;
  /** The names of the files it imports. */
  readonly imports: readonly string[];
  /** The file descriptor, serialized. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** The .proto files of the services that our servers offer. */
export const SERVED_FILES: readonly string[] = [
  "envoy/service/ratelimit/v3/rls.proto",
  "grpc/health/v1/health.proto",
  "grpc/reflection/v1/reflection.proto",
  "grpc/reflection/v1alpha/reflection.proto",
];

/** Reads those files and all they import; each comes after its imports. */
export async function describeFiles(): Promise<readonly FileDescriptor[]> {
  const files = new Map<string, ParsedFile>();
  for (const name of SERVED_FILES) await parseInto(files, name);
  // One root with all files, in which the types of fields are found.
  const whole = new protobuf.Root();
  for (const { nested } of files.values()) whole.addJSON(nested);
  whole.resolveAll();
  return [...files].map(([name, { packageName, imports, nested }]) => ({
    name,
    imports,
    bytes: fileDescriptor(
      name,
      { packageName, imports },
      findMembers(
        whole.lookup(packageName),
        Object.keys(innermost(nested, packageName)),
      ),
    ),
  }));
}

interface ParsedFile {
  readonly packageName: string;
  readonly imports: readonly string[];
  /** Everything declared, by the parts of the package's name. */
  readonly nested: Readonly<Record<string, protobuf.AnyNestedObject>>;
}

async function parseInto(
  files: Map<string, ParsedFile>,
  name: string,
): Promise<void> {
  if (files.has(name)) return;
  const common = protobuf.common.get(name);
  if (common?.nested !== undefined) {
    // The library has the well-known types parsed, without their source.
    const packageName = "google.protobuf";
    files.set(name, { packageName, imports: [], nested: common.nested });
    return;
  }
  const source = await Deno.readTextFile(
    new URL(`../${name}`, import.meta.url),
  );
  const parsed = protobuf.parse(source, { keepCase: true });
  const imports = parsed.imports ?? [];
  for (const one of imports) await parseInto(files, one);
  const { nested } = parsed.root.toJSON();
  if (parsed.package === undefined || nested === undefined) {
    throw new Error(`Cannot describe "${name}": it has no package`);
  }
  files.set(name, { packageName: parsed.package, imports, nested });
}

/** Returns what a file declares in its package, by name. */
function innermost(
  nested: ParsedFile["nested"],
  packageName: string,
): ParsedFile["nested"] {
  let members = nested;
  for (const part of packageName.split(".")) {
    const inner = members[part];
    members = inner !== undefined && "nested" in inner && inner.nested || {};
  }
  return members;
}

function findMembers(
  space: protobuf.ReflectionObject | null,
  names: readonly string[],
): readonly protobuf.ReflectionObject[] {
  if (!(space instanceof protobuf.Namespace)) return [];
  return names.flatMap((name) => space.get(name) ?? []);
}

// Numbers of the fields are those of google/protobuf/descriptor.proto.

function fileDescriptor(
  name: string,
  file: Pick<ParsedFile, "packageName" | "imports">,
  members: readonly protobuf.ReflectionObject[],
): Uint8Array<ArrayBuffer> {
  const writer = new WireWriter(1_024);
  writer.text(1, name);
  writer.text(2, file.packageName);
  for (const one of file.imports) writer.text(3, one);
  for (const member of members) {
    if (member instanceof protobuf.Type) message(writer, 4, member);
  }
  for (const member of members) {
    if (member instanceof protobuf.Enum) enumeration(writer, 5, member);
  }
  for (const member of members) {
    if (member instanceof protobuf.Service) service(writer, member);
  }
  writer.text(12, "proto3");
  return writer.finish();
}

function message(writer: WireWriter, at: number, type: protobuf.Type): void {
  const mark = writer.open(at);
  writer.text(1, type.name);
  const maps = type.fieldsArray.filter((one) =>
    one instanceof protobuf.MapField
  );
  for (const one of type.fieldsArray) field(writer, one);
  for (const one of type.nestedArray) {
    if (one instanceof protobuf.Type) message(writer, 3, one);
  }
  for (const one of maps) mapEntry(writer, one);
  for (const one of type.nestedArray) {
    if (one instanceof protobuf.Enum) enumeration(writer, 4, one);
  }
  for (const { name } of type.oneofsArray) {
    const oneof = writer.open(8);
    writer.text(1, name);
    writer.close(oneof);
  }
  writer.close(mark);
}

const LABEL = { optional: 1, repeated: 3 };
const TYPES: Readonly<Record<string, number>> = {
  double: 1,
  float: 2,
  int64: 3,
  uint64: 4,
  int32: 5,
  fixed64: 6,
  fixed32: 7,
  bool: 8,
  string: 9,
  bytes: 12,
  uint32: 13,
  sfixed32: 15,
  sfixed64: 16,
  sint32: 17,
  sint64: 18,
};
const MESSAGE_TYPE = 11;
const ENUM_TYPE = 14;

function field(writer: WireWriter, one: protobuf.Field): void {
  const mark = writer.open(2);
  writer.text(1, snakeCase(one.name));
  writer.int(3, one.id);
  const isMap = one instanceof protobuf.MapField;
  writer.int(4, isMap || one.repeated ? LABEL.repeated : LABEL.optional);
  if (isMap) {
    writer.int(5, MESSAGE_TYPE);
    writer.text(6, `${one.parent?.fullName}.${entryName(one)}`);
  } else writeType(writer, one);
  const oneof = one.partOf;
  if (oneof !== null && one.parent instanceof protobuf.Type) {
    writer.int(9, one.parent.oneofsArray.indexOf(oneof));
  }
  writer.text(10, jsonName(one));
  writer.close(mark);
}

function writeType(
  writer: WireWriter,
  one: Pick<protobuf.Field, "type" | "resolvedType">,
): void {
  const { resolvedType, type } = one;
  if (resolvedType !== null) {
    const isEnum = resolvedType instanceof protobuf.Enum;
    writer.int(5, isEnum ? ENUM_TYPE : MESSAGE_TYPE);
    writer.text(6, resolvedType.fullName);
    return;
  }
  const number = TYPES[type];
  if (number === undefined) throw new Error(`Cannot describe type "${type}"`);
  writer.int(5, number);
}

/**
 * Writes the message type of a map's entries: on the wire, a map is a list of
 * these (MessageOptions.map_entry).
 */
function mapEntry(writer: WireWriter, one: protobuf.MapField): void {
  const mark = writer.open(3);
  writer.text(1, entryName(one));
  const parts = [
    { name: "key", number: 1, type: one.keyType, resolvedType: null },
    {
      name: "value",
      number: 2,
      type: one.type,
      resolvedType: one.resolvedType,
    },
  ];
  for (const { name, number, ...type } of parts) {
    const inner = writer.open(2);
    writer.text(1, name);
    writer.int(3, number);
    writer.int(4, LABEL.optional);
    writeType(writer, type);
    writer.text(10, name);
    writer.close(inner);
  }
  const options = writer.open(7);
  writer.bool(7, true);
  writer.close(options);
  writer.close(mark);
}

function enumeration(writer: WireWriter, at: number, one: protobuf.Enum): void {
  const mark = writer.open(at);
  writer.text(1, one.name);
  for (const [name, number] of Object.entries(one.values)) {
    const value = writer.open(2);
    writer.text(1, name);
    writer.int(2, number);
    writer.close(value);
  }
  writer.close(mark);
}

function service(writer: WireWriter, one: protobuf.Service): void {
  const mark = writer.open(6);
  writer.text(1, one.name);
  for (const method of one.methodsArray) {
    const inner = writer.open(2);
    writer.text(1, method.name);
    for (
      const [at, type] of [
        [2, method.resolvedRequestType],
        [3, method.resolvedResponseType],
      ] as const
    ) {
      if (type === null) throw new Error(`Cannot describe "${method.name}"`);
      writer.text(at, type.fullName);
    }
    if (method.requestStream === true) writer.bool(5, true);
    if (method.responseStream === true) writer.bool(6, true);
    writer.close(inner);
  }
  writer.close(mark);
}

function entryName({ name }: Pick<protobuf.Field, "name">): string {
  const camel = jsonName({ name });
  return `${camel.slice(0, 1).toUpperCase()}${camel.slice(1)}Entry`;
}

/**
 * Turns camelCase into snake_case: the library has the fields of the well-known
 * types by their JSON names.
 */
function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function jsonName({ name }: Pick<protobuf.Field, "name">): string {
  return name.replace(/_([a-z0-9])/g, (_, next: string) => next.toUpperCase());
}
