import { assertEquals } from "@std/assert";
import { integerOption, textOption } from "../options.ts";
import { startSettings } from "./start_settings.ts";
import { tracingSettings } from "./tracing_settings.ts";

const TABLE = {
  port: integerOption({ name: "PORT", default: 80, min: 1, help: "Port." }),
  cert: textOption({ name: "CERT", default: "", help: "Certificate." }),
  key: textOption({ name: "KEY", default: "", help: "Its key." }),
  ...tracingSettings({ serviceName: "example" }),
} as const;

async function start(variables: Readonly<Record<string, string>>) {
  const told: string[] = [];
  const settings = await startSettings(TABLE, {
    readVariable: (name) => variables[name],
    allVariables: () => variables,
    io: { err: (text) => void told.push(text) },
    readText: () => Promise.reject(new Error("it is gone")),
    findFaults: ({ port, cert, key }) => [
      ...(cert === "" ? [] : key === "" ? ["CERT needs KEY"] : []),
      ...(port === 80 && cert !== "" ? ["PORT 80 is not for CERT"] : []),
    ],
  });
  return { settings, told };
}

Deno.test("startSettings() tells faults of single settings and those of all together in one pass", async () => {
  const { settings, told } = await start({ PORT: "zero", CERT: "a.pem" });
  assertEquals(settings, undefined);
  assertEquals(told.length, 2, told.join("\n"));
  assertEquals(told[0]?.startsWith("Cannot read settings: PORT"), true);
  // A fault about the default of an unreadable setting is not reported.
  assertEquals(told[1], "CERT needs KEY");
});

Deno.test("startSettings() tells faults of tracing and its files beside the others", async () => {
  const { settings, told } = await start({
    CERT: "a.pem",
    PORT: "81",
    TRACING_ENABLED: "true",
    OTEL_EXPORTER_OTLP_ENDPOINT: "ftp://a",
    OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE: "/b.pem",
  });
  assertEquals([settings, told], [undefined, [
    "CERT needs KEY",
    "Cannot read settings: OTEL_EXPORTER_OTLP_ENDPOINT is not an http or " +
    "https URL without a password",
    'Cannot read a file of tracing, "/b.pem" ' +
    "(OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE): it is gone",
  ]]);
});

Deno.test("startSettings() tells faults of a setting whose name has that of an unread one in it", async () => {
  const told: string[] = [];
  await startSettings(TABLE, {
    readVariable: (name) => name === "PORT" ? "zero" : undefined,
    allVariables: () => ({}),
    io: { err: (text) => void told.push(text) },
    readText: () => Promise.resolve(""),
    findFaults: () => ["GRPC_PORT is wrong", "PORT=80 is wrong"],
  });
  assertEquals(told.slice(1), ["GRPC_PORT is wrong"]);
});

Deno.test("startSettings() gives the values, and tells what has no effect", async () => {
  const good = await start({ PORT: "81", CERT: "a.pem", KEY: "a.key" });
  assertEquals([good.settings?.port, good.told], [81, []]);
  const idle = await start({ PORT: "81", TRACING_SAMPLING_RATE: "0.5" });
  assertEquals(idle.told.length, 1);
  assertEquals(idle.settings?.port, 81);
  const wrong = await start({ PORT: "81", CERT: "a.pem" });
  assertEquals([wrong.settings, wrong.told], [undefined, ["CERT needs KEY"]]);
});
