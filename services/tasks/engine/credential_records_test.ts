import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import type { TokenSubject } from "../access/jwt.ts";
import { CredentialRecords } from "./credential_records.ts";
import { addUser, peopleRoutes } from "../routes/users/testing/add_user.ts";
import { openTestApi } from "../routes/testing/test_api.ts";

Deno.test("CredentialRecords has a key in memory that was found, until it is ended", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const { apiKeys } = new CredentialRecords(api.engine.parts);
  const id = (await api.addKey({ networks: ["10.0.0.0/8"] })).slice(0, 19);
  const { id: tenantId } = api.tenant;
  assertEquals(apiKeys.recall(tenantId, id), undefined);
  const reading = apiKeys.find(tenantId, id);
  assertInstanceOf(reading, Promise);
  const found = await reading;
  assertEquals([found?.id, found?.networks?.length], [id, 1]);
  // It is made of the stored key once.
  assert(apiKeys.find(tenantId, id) === found);
  assert(apiKeys.recall(tenantId, id) === found);
  assertEquals(apiKeys.recall("ten_other", id), undefined);
  assertEquals((await api.call("DELETE", `/v1/keys/${id}`)).status, 204);
  assertEquals(apiKeys.recall(tenantId, id), undefined);
  assertEquals(await apiKeys.find(tenantId, id), undefined);
  await api.close();
});

Deno.test("CredentialRecords.findUser() ties a user to the subject that comes first", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const records = new CredentialRecords(api.engine.parts);
  const ada = await addUser(api);
  assertEquals(
    await records.findUser(api.tenant.id, createSubject("nobody", {})),
    undefined,
  );
  const found = await records.findUser(api.tenant.id, createSubject("ada"));
  assertEquals([found?.id, found?.status], [ada.id, "active"]);
  const again = await records.findUser(
    api.tenant.id,
    createSubject("ada", { verifiedEmail: "other@example.com" }),
  );
  assertEquals(again?.id, ada.id);
  const second = await records.findUser(api.tenant.id, createSubject("eve"));
  assertEquals(second, undefined);
  await api.close();
});

Deno.test("CredentialRecords.findUser() lets in one of two subjects that come at once", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const records = new CredentialRecords(api.engine.parts);
  const ada = await addUser(api);
  const find = (name: string) =>
    records.findUser(api.tenant.id, createSubject(name));
  const found = await Promise.all([find("ada"), find("eve"), find("ada")]);
  const stored = await api.engine.parts.repositories.users.get(
    api.tenant.id,
    ada.id,
  );
  assertEquals(stored?.identity?.subject, "ada");
  assertEquals(found.map((user) => user?.id), [ada.id, undefined, ada.id]);
  await api.close();
});

Deno.test("CredentialRecords.findUser() ties a user who is changed at that moment", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const ada = await addUser(api);
  const { repositories } = api.engine.parts;
  const { store } = api.engine.parts;
  let changes = 0;
  const records = new CredentialRecords({
    ...api.engine.parts,
    store: {
      ...store,
      record: (...place) => store.record(...place),
      async commit(transactions) {
        // Another request renames the user between the read and the commit.
        if (changes++ === 0) {
          await api.write(
            repositories.users.update(ada, { ...ada, version: 2, name: "Ada" }),
          );
        }
        return await store.commit(transactions);
      },
    },
  });
  const found = await records.findUser(api.tenant.id, createSubject("ada"));
  assertEquals([found?.id, found?.status], [ada.id, "active"]);
  const stored = await repositories.users.get(api.tenant.id, ada.id);
  assertEquals([stored?.name, stored?.identity?.subject], ["Ada", "ada"]);
  await api.close();
});

Deno.test("CredentialRecords.findUser() makes who was invited anew active again", async () => {
  const api = await openTestApi({ routes: peopleRoutes });
  const records = new CredentialRecords(api.engine.parts);
  const ada = await addUser(api);
  await records.findUser(api.tenant.id, createSubject("ada"));
  const path = `/v1/users/${ada.id}`;
  await api.call("PUT", path, { body: { status: "invited" } });
  const found = await Promise.all([
    records.findUser(api.tenant.id, createSubject("ada")),
    records.findUser(api.tenant.id, createSubject("ada")),
  ]);
  assertEquals(found.map((user) => user?.status), ["active", "active"]);
  assertEquals((await api.call("GET", path)).at("status"), "active");
  await api.call("PUT", path, { body: { status: "disabled" } });
  const disabled = await records.findUser(api.tenant.id, createSubject("ada"));
  assertEquals(disabled?.status, "disabled");
  await api.close();
});

function createSubject(
  subject: string,
  patch: Partial<TokenSubject> = { verifiedEmail: "Ada@example.com" },
): TokenSubject {
  return {
    issuer: "https://idp.test/",
    subject,
    expiresAtMs: Infinity,
    ...patch,
  };
}
