import { assertEquals } from "@std/assert";
import type { Http1Server } from "./server.ts";
import { publicServerOptions } from "./settings.ts";

type ServerOptions = Extract<
  ConstructorParameters<typeof Http1Server>[0],
  { readonly port: number }
>;
type PortOptions = ReturnType<typeof publicServerOptions>;

Deno.test("publicServerOptions() gives each setting its place and no other when a service has more", () => {
  const settings = {
    host: "0.0.0.0",
    port: 1,
    headerTimeoutMs: 2,
    requestTimeoutMs: 3,
    idleTimeoutMs: 4,
    maxConnections: 5,
    maxBodiesBytes: 6,
    maxBodyBytes: 7,
  };
  // Of this type, since a spread takes names that the server does not know.
  const options: Pick<ServerOptions, keyof PortOptions> = publicServerOptions(
    settings,
  );
  assertEquals(options, {
    hostname: "0.0.0.0",
    port: 1,
    headerTimeoutMs: 2,
    requestTimeoutMs: 3,
    idleTimeoutMs: 4,
    maxConnections: 5,
    maxBodyBytesInFlight: 6,
  });
});
