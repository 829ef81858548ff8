/**
 * Serves, on port `HOUSE_PORT`, the URLs of the modules of which a function ran
 * since the last request, in the process that preloads this module.
 *
 * @module
 */

import { Session } from "node:inspector/promises";

const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true });
const server = Deno.serve({
  hostname: "127.0.0.1",
  port: Number(Deno.env.get("HOUSE_PORT")),
  onListen() {},
}, async () => {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const ran = result.filter(({ functions }) =>
    functions.some(({ ranges: [all] }) => (all?.count ?? 0) > 0)
  );
  return Response.json(ran.map(({ url }) => url));
});
// The program starts once nothing keeps this module alive.
server.unref();
