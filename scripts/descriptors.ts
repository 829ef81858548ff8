/**
 * Writes proto/descriptors.ts, the descriptors that gRPC reflection serves,
 * from the .proto files. Run `deno task descriptors` after a .proto file has
 * changed.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { describeFiles } from "../proto/testing/file_descriptors.ts";

const TARGET = new URL("../proto/descriptors.ts", import.meta.url);
const LINE_CHARS = 64;

const HEAD = `/**
 * The descriptors of the .proto files of services that are served, each after
 * those it imports: \`google.protobuf.FileDescriptorProto\` as base64. Written by
 * \`deno task descriptors\`; a test tells when that is to be done.
 *
 * They are data and not made from the .proto files at run time: these would have
 * to travel with each executable, and a reader of them, too.
 *
 * @module
 */

/** A .proto file. */
interface DescribedFile {
  /** Its name, as other files import it. */
  readonly name: string;
  /** The names of the files it imports. */
  readonly imports: readonly string[];
  /** Its descriptor as base64. */
  readonly base64: string;
}

/** The files; see above. */
export const DESCRIBED_FILES: readonly DescribedFile[] = [
`;

const entries = (await describeFiles()).map(({ name, imports, bytes }) => {
  const base64 = Buffer.from(bytes).toString("base64");
  const lines = base64.match(new RegExp(`.{1,${LINE_CHARS}}`, "g")) ?? [];
  const text = lines.map((line) => `      "${line}"`).join(" +\n");
  const names = imports.map((one) => `"${one}"`).join(", ");
  return `  {\n    name: "${name}",\n    imports: [${names}],\n    base64:\n${text},\n  },\n`;
});
await Deno.writeTextFile(TARGET, `${HEAD}${entries.join("")}];\n`);
await new Deno.Command(Deno.execPath(), {
  args: ["fmt", "--quiet", TARGET.pathname],
}).output();
