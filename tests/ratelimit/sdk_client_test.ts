import { assertEquals, assertStringIncludes } from "@std/assert";
import { RateLimitClient, type RateLimitRequest } from "../../sdk/ratelimit.ts";
import { ConfigFolder } from "./config_folder.ts";
import { serveHere } from "./service_here.ts";

const RULES = `domain: edge
descriptors:
  - key: login
    rate_limit: {unit: minute, requests_per_unit: 3, name: logins}
  - key: partner
    rate_limit: {unlimited: true}
  - key: exempt
  - key: report
    rate_limit: {window: 15m, requests_per_unit: 9}
`;

function request(
  domain: string,
  ...keys: readonly string[]
): RateLimitRequest {
  return {
    domain,
    descriptors: keys.map((key) => ({ entries: [{ key, value: "ada" }] })),
  };
}

Deno.test("RateLimitClient tells by the service's answers which rules applied, and refuses none with strict", async () => {
  await using folder = await ConfigFolder.make({ "edge.yaml": RULES });
  await using service = await serveHere({
    RUNTIME_ROOT: folder.root,
    RESPONSE_DYNAMIC_METADATA: "true",
  });
  const url = service.httpUrl;
  const lenient = new RateLimitClient({ url, timeoutMs: 10_000 });
  const { statuses } = await lenient.check(
    request("edge", "login", "partner", "exempt", "report", "logn"),
  );
  assertEquals(
    statuses.map(({ rule, name, limit, windowSeconds }) =>
      [rule, name, limit, windowSeconds].join(" ")
    ),
    ["limit logins 3 60", "unlimited   ", "none   ", "limit  9 900", "none   "],
  );
  const strict = new RateLimitClient({ url, timeoutMs: 10_000, strict: true });
  const checkCode = (asked: RateLimitRequest) =>
    strict.check(asked).then(({ allowed }) => allowed, ({ code }) => code);
  assertEquals(await checkCode(request("edge", "login", "partner")), true);
  assertEquals(await checkCode(request("edge", "exempt")), "no_rule");
  assertEquals(await checkCode(request("edge", "login", "logn")), "no_rule");
  for (let call = 0; call < 3; call++) {
    assertEquals(await checkCode(request("edgee", "login")), "no_rule");
  }
  const told = service.lines.filter((line) => line.includes("edgee"));
  assertEquals(told.length, 1);
  assertStringIncludes(told[0]!, "level=warning");
  assertStringIncludes(told[0]!, 'did you mean \\"edge\\"?');
});
