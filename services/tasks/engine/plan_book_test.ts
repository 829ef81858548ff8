import { assert, assertEquals, assertThrows } from "@std/assert";
import { UNLIMITED_PLAN } from "../domain/records.ts";
import { PlanBook, warnOfUnknownPlans } from "./plan_book.ts";
import { accountRoutes } from "../routes/account/account_routes.ts";
import { openTestApi } from "../routes/testing/test_api.ts";

const FREE = { ...UNLIMITED_PLAN, id: "free", name: "Free" };

Deno.test("warnOfUnknownPlans() tells once of each plan that is gone", async () => {
  const api = await openTestApi({
    routes: (parts) => accountRoutes(parts),
    plans: [FREE],
  });
  const plansOfTenants = ["gone", "gone", "unlimited", "free"];
  for (const [index, plan] of plansOfTenants.entries()) {
    await api.addTenant(`t${index}`, { plan });
  }
  await api.addTenant("closed", { plan: "old", status: "closing" });
  const { logger } = api;
  const { signal } = new AbortController();
  const { repositories } = api.engine.parts;
  const { plans } = api.parts;
  await warnOfUnknownPlans({ repositories, plans, logger, signal });
  const warnings = logger.lines.filter(({ level }) => level === "warning");
  assertEquals(warnings.map(({ fields }) => fields), [
    { plan: "gone", tenants: 2, default: "free" },
  ]);
  await api.close();
});

Deno.test("PlanBook knows the unlimited plan always, and shows it where it is listed", () => {
  const book = new PlanBook([FREE]);
  assert(book.has("unlimited"));
  assertEquals(book.plan("unlimited"), UNLIMITED_PLAN);
  assertEquals(book.plan("gone"), FREE);
  assertEquals(book.plans, [FREE]);
  const own = { ...FREE, id: "unlimited" };
  assertEquals(new PlanBook([own]).plan("unlimited"), own);
  const chosen = new PlanBook([FREE], { defaultPlanId: "unlimited" });
  assertEquals(chosen.defaultPlan, UNLIMITED_PLAN);
});

Deno.test("PlanBook.replace() puts other plans into force, and changes nothing when the default plan is not among them", () => {
  const book = new PlanBook([FREE], { defaultPlanId: "free" });
  const other = { ...FREE, name: "Other" };
  book.replace([other], []);
  assertEquals([book.plans, book.defaultPlan], [[other], other]);
  assertThrows(
    () => book.replace([{ ...FREE, id: "team" }], []),
    RangeError,
    'Cannot use "free" as default plan',
  );
  assertEquals([book.plans, book.plan("gone")], [[other], other]);
});
