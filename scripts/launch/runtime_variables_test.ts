import { assertEquals } from "@std/assert";
import { runtimeVariables } from "./runtime_variables.ts";

Deno.test("runtimeVariables() keeps what the runtime needs and no settings", () => {
  const needed = {
    PATH: "/bin",
    HOME: "/root",
    DENO_DIR: "/cache",
    SSL_CERT_FILE: "/certificates.pem",
    https_proxy: "http://localhost:3128",
    npm_config_registry: "https://registry.example.com",
  };
  assertEquals(
    runtimeVariables({ ...needed, PORT: "80", REDIS_URL: "x", MY_PATH: "y" }),
    needed,
  );
});
