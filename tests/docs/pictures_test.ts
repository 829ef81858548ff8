import { assertEquals, assertNotEquals } from "@std/assert";
import { PROJECT } from "./pages.ts";

Deno.test("the pictures for light and for dark differ in colours alone", async () => {
  const read = async (name: string): Promise<string> =>
    await Deno.readTextFile(`${PROJECT}docs/pictures/parts_${name}.svg`);
  const [light, dark] = await Promise.all([read("light"), read("dark")]);
  assertNotEquals(light, dark);
  const withoutColours = (text: string): string =>
    text.replaceAll(/#[0-9a-f]{6}/g, "#");
  assertEquals(withoutColours(light), withoutColours(dark));
});
