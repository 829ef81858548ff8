import { assert, assertEquals } from "@std/assert";
import { flagsHelp, settingsHelp, settingsMarkdown } from "./option_help.ts";
import {
  choiceOption,
  durationOption,
  portOption,
  switchOption,
  textOption,
} from "./options.ts";

const TABLE = {
  port: portOption({
    name: "GRPC_PORT",
    group: "Listeners",
    default: 8081,
    help: "Port of the gRPC listener",
  }),
  url: textOption({
    name: "KVSTORE_URL",
    aliases: ["REDIS_URL"],
    group: "Store",
    default: "",
    help: "Address of the store: host and port, or a|b.",
  }),
  retry: durationOption({
    name: "CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL",
    group: "Store",
    default: "24h",
    help: "Wait between two tries to reach the configuration server",
  }),
  uds: textOption({ name: "GRPC_UDS", group: "Listeners", help: "A socket" }),
  auth: textOption({
    secret: true,
    name: "AUTH",
    default: "letmein",
    help: "Password",
  }),
  type: choiceOption({
    name: "TYPE",
    values: { a: "x", b: "x" },
    default: "x",
    help: "Kind",
  }),
} as const;

Deno.test("settingsHelp() groups and aligns in the order of the table", () => {
  assertEquals(
    settingsHelp(TABLE),
    `Listeners:
  GRPC_PORT                     Port of the gRPC listener. Accepts a port number from 0 to
                                65535. Default: 8081.
  GRPC_UDS                      A socket.

Store:
  KVSTORE_URL                   Address of the store: host and port, or a|b. Also read as:
                                REDIS_URL.
  CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL
                                Wait between two tries to reach the configuration server.
                                Accepts a duration such as 10s or 1h30m. Default: 24h.

General:
  AUTH                          Password. Default: ****.
  TYPE                          Kind. Accepts one of a, b. Default: a.
`,
  );
});

Deno.test("settingsHelp() stays within 90 columns", () => {
  for (const line of settingsHelp(TABLE).split("\n")) assert(line.length <= 90);
});

Deno.test("settingsMarkdown() writes a table for each group", () => {
  const markdown = settingsMarkdown(TABLE);
  assertEquals(
    markdown.slice(0, markdown.indexOf("### General")),
    `### Listeners

| Setting | Default | Meaning |
| --- | --- | --- |
| \`GRPC_PORT\` | \`8081\` | Port of the gRPC listener. Accepts a port number from 0 to 65535. |
| \`GRPC_UDS\` | none | A socket. |

### Store

| Setting | Default | Meaning |
| --- | --- | --- |
| \`KVSTORE_URL\` (also \`REDIS_URL\`) | none | Address of the store: host and port, or a\\|b. |
| \`CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL\` | \`24h\` | Wait between two tries to reach the configuration server. Accepts a duration such as 10s or 1h30m. |

`,
  );
});

Deno.test("settingsMarkdown() and settingsHelp() show no secret", () => {
  assert(!settingsMarkdown(TABLE).includes("letmein"));
  assert(!settingsHelp(TABLE).includes("letmein"));
});

/** The lines of help about one flag. */
function findLines(key: string, help: string): readonly string[] {
  const text = flagsHelp({ [key]: switchOption({ help }) }, {
    usage: "x",
    about: "y",
  });
  const lines = text.split("\n");
  return lines.slice(
    lines.indexOf("Flags:") + 1,
    lines.findIndex((line) => line.startsWith("  -h, --help")),
  );
}

/** Stands in front of a meaning that begins on a line of its own. */
const INDENT = " ".repeat(30);

Deno.test("flagsHelp() breaks between words and keeps long words whole", () => {
  const [half, long] = ["a".repeat(30), "b".repeat(70)];
  assertEquals(findLines("json", `${half}  ${half}\n${long} c`), [
    `${"  --json".padEnd(30)}${half}`,
    INDENT + half,
    INDENT + long,
    `${INDENT}c`,
  ]);
  assertEquals(findLines("json", `${half} ${half.slice(1)} d`), [
    `${"  --json".padEnd(30)}${half} ${half.slice(1)}`,
    `${INDENT}d`,
  ]);
  assertEquals(findLines("x", " "), ["  -x"]);
});

Deno.test("flagsHelp() puts the meaning beside the term, or below a long one", () => {
  assertEquals(findLines("json", "as JSON lines"), [
    `${"  --json".padEnd(30)}as JSON lines`,
  ]);
  const name = "a".repeat(24);
  assertEquals(findLines(name, "the domain"), [
    `  --${name}`.padEnd(30) + "the domain",
  ]);
  assertEquals(findLines(`${name}b`, "the domain"), [
    `  --${name}b`,
    `${INDENT}the domain`,
  ]);
});
