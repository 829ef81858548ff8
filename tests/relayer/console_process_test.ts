import { assertEquals } from "@std/assert";
import { metricsUrl } from "../support/read_metrics.ts";
import { RelayerHome } from "./relayer_home.ts";

Deno.test("relayer has pages for owners and its operator, and none with CONSOLE=false", async () => {
  await using home = await RelayerHome.open();
  const read = async () => {
    const metrics = await metricsUrl(home.service);
    const urls = [
      `${home.url}/console`,
      `${home.url}/console/assets/x.js`,
      metrics.replace("/metrics", "/console"),
    ];
    return await Promise.all(urls.map(async (url) => {
      const response = await fetch(url);
      await response.body?.cancel();
      return response.status;
    }));
  };
  assertEquals(await read(), [200, 404, 200]);
  await home.restart({ CONSOLE: "false" });
  assertEquals(await read(), [404, 404, 404]);
});
