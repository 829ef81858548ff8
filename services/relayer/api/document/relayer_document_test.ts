import { assert, assertEquals } from "@std/assert";
import { CodedText } from "../../../shared/http/coded_text.ts";
import { documentedRoutes } from "../../../shared/openapi/testing/document_check.ts";
import { undescribed } from "../../../shared/openapi/testing/description_check.ts";
import { openApiFaults } from "../../../shared/openapi/testing/openapi_check.ts";
import { RATE_LAYERS } from "../../auth/rate_limits.ts";
import { allRoutes } from "../handler.ts";
import { openTestRelayer } from "../testing/test_relayer.ts";
import { relayerDocument } from "./relayer_document.ts";

// What each route answers is checked in the tests of the routes:
// `openTestRelayer()` throws for an answer that is not as documented.

Deno.test("relayerDocument() has every route", async () => {
  const routes = allRoutes(openTestRelayer().parts);
  const document = relayerDocument(routes, "0.1.0");
  const names = routes.map(({ method, path }) => `${method} ${path}`);
  assertEquals(
    documentedRoutes(document),
    names.map((name) => name.replaceAll(/:([a-z]+)/g, "{$1}")).toSorted(),
  );
  assertEquals(await openApiFaults(document), []);
  assertEquals(undescribed(document), []);
});

Deno.test("relayerDocument() says what bodies look like by the schemas that read them", () => {
  const { parts } = openTestRelayer();
  const document = relayerDocument(allRoutes(parts), "0.1.0");
  for (const { method, path, body, maxBodyBytes = 0 } of allRoutes(parts)) {
    const template = path.replaceAll(/:([a-z]+)/g, "{$1}");
    const operation = document.paths[template]?.[method.toLowerCase()];
    const content = operation?.requestBody?.content["application/json"];
    assertEquals(content !== undefined, maxBodyBytes > 0, path);
    if (body !== undefined) {
      assertEquals(content?.schema, JSON.parse(JSON.stringify(body.json)));
    }
  }
});

Deno.test("relayerDocument() has at most 50 KB when compressed", async () => {
  const { parts } = openTestRelayer();
  const text = JSON.stringify(relayerDocument(allRoutes(parts), "0.1.0"));
  const { bytes } = await new CodedText(text).formFor("gzip");
  assert(bytes.length <= 50_000);
});

Deno.test("relayerDocument() names limits as they are, and no answers that cannot come", () => {
  const { parts } = openTestRelayer();
  const { paths, components } = relayerDocument(allRoutes(parts), "0.1.0");
  const limited = Object(components?.responses?.["RateLimited"]);
  const { example } = limited.content["application/json"];
  const { layer } = Object(components?.schemas?.["RateLimited"]).properties;
  assertEquals(layer.enum, RATE_LAYERS);
  assert(layer.enum.includes(example.layer), example.layer);
  // Analyzing takes no idempotency key (409) and supersedes nothing (404).
  const { responses } = Object(paths["/api/analyze"]?.["post"]);
  assertEquals(["402", "404", "409"].filter((one) => one in responses), [
    "402",
  ]);
});
