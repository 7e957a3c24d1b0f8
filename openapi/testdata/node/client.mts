// A client generated from openapi.yaml by openapi-typescript, for openapi-fetch. It drives the service
// at the base address of its first argument, with the key of its second, and prints the outcome of
// each call. tsc checks every field that it reads against the document.
import createClient from "openapi-fetch";
import type { components, paths } from "./petstore";

declare const process: { argv: string[] }; // all that is used of Node's own types

type Failure = components["schemas"]["Error"];

const [baseUrl, key] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });

// failed describes an Error body: code and status are typed for every status that the document has.
const failed = (operation: string, error: Failure) =>
  console.log(`${operation}: ${error.status} ${error.code}`);

async function main() {
  const created = await client.POST("/pets", { body: { name: "Mia", categoryId: 3, status: "available" } });
  if (created.error) return failed("createPet", created.error);
  console.log(`created ${created.data.id} ${created.data.name} ${created.data.status}`);

  const list = await client.GET("/pets", { params: { query: { limit: 5, status: "available" } } });
  if (list.error) return failed("listPets", list.error);
  console.log(`listed ${list.data.map((pet) => pet.name).join(", ")}`);

  const pet = await client.GET("/pets/{petId}", { params: { path: { petId: created.data.id } } });
  if (pet.error) return failed("getPet", pet.error);
  console.log(`fetched ${pet.data.id}, category ${pet.data.categoryId}`);

  const missing = await client.GET("/pets/{petId}", { params: { path: { petId: 4711 } } });
  if (missing.error) failed("getPet", missing.error);

  for (let calls = 0; calls < 100; calls++) {
    const { error, response } = await client.GET("/pets");
    if (!error) continue;
    failed("listPets", error);
    const seconds = Number(response.headers.get("Retry-After"));
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    const again = await client.GET("/pets");
    console.log(`after Retry-After: ${again.response.status}`);
    return;
  }
}

main();
