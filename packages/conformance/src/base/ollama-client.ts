import { type ChatRequest, Ollama } from 'ollama'
import type { ResponseContent } from './content/content.ts'
import { readOllama } from './content/ollama.ts'
import type { JsonObject } from './json.ts'
import type { ClientTarget } from './sdk-clients.ts'

// Apart from the clients of the command `modelgate-conformance`, which does not check Ollama's API and does not depend on its client.

/** Creates the official client of Ollama. Without a token it sends none, which is its default. */
export const ollamaClient = ({ origin = 'http://gateway.test', fetch, token }: ClientTarget): Ollama =>
  new Ollama({
    host: origin,
    ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
    ...(fetch === undefined ? {} : { fetch }),
  })

/** Returns the result of Ollama's client, which has no accumulator of streams. */
export async function askOllama(place: ClientTarget, body: JsonObject): Promise<ResponseContent> {
  const client = ollamaClient(place)
  const request = body as unknown as ChatRequest
  const chunks: unknown[] = []
  if (body.stream === true)
    for await (const chunk of await client.chat({ ...request, stream: true })) chunks.push(chunk)
  else chunks.push(await client.chat({ ...request, stream: false }))
  const answer = readOllama(chunks)
  if (answer === undefined) throw new Error(`The client returned no response: ${JSON.stringify(chunks).slice(0, 200)}`)
  return answer
}
