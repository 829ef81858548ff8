import { assertEquals } from "@std/assert";
import { describeTaken, takenPorts } from "./taken_ports.ts";

const SERVICE = {
  name: "ratelimit",
  listeners: [{ what: "HTTP", hostVariable: "HOST", portVariable: "PORT" }],
};

Deno.test("takenPorts() names the port that another program has, and its variable", () => {
  using other = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = other.addr as Deno.NetAddr;
  assertEquals(
    takenPorts(SERVICE, { HOST: "127.0.0.1", PORT: String(port) }),
    [{ port, name: "ratelimit HTTP", variable: "PORT" }],
  );
});

Deno.test("takenPorts() has none when the ports are free", () => {
  assertEquals(takenPorts(SERVICE, { HOST: "127.0.0.1", PORT: "0" }), []);
});

Deno.test("describeTaken() gives the command when one port is in use", () => {
  assertEquals(
    describeTaken(
      [{ port: 8080, name: "HTTP", variable: "PORT" }],
      "deno task dev",
    ),
    "Cannot start: port 8080 (HTTP) is in use; free it, or start with\n\n" +
      "  PORT=9080 deno task dev",
  );
});

Deno.test("describeTaken() gives one command for all ports when several are in use", () => {
  const said = describeTaken([
    { port: 8080, name: "HTTP", variable: "PORT" },
    { port: 65_000, name: "gRPC", variable: "GRPC_PORT" },
  ], "npx -y deno@2.9.6 task dev");
  assertEquals(said.split("\n"), [
    "Cannot start: these ports are in use: 8080 (HTTP), 65000 (gRPC).",
    "If the services run in another terminal already, use them, or stop them " +
    "there with Ctrl+C.",
    "If other programs have the ports, free them, or start with",
    "",
    "  PORT=9080 GRPC_PORT=64000 npx -y deno@2.9.6 task dev",
  ]);
});
