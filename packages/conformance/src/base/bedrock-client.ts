import { Readable } from 'node:stream'
import { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import type { ResponseContent } from './content/content.ts'
import { joinConverse, readConverse } from './content/converse.ts'
import { type JsonObject, objectOf } from './json.ts'
import type { ClientTarget } from './sdk-clients.ts'

/** The parts of AWS's HTTP request that a call of a model has. */
interface AwsRequest {
  readonly protocol: string
  readonly hostname: string
  readonly port?: number
  readonly path: string
  readonly method: string
  readonly headers: Record<string, string>
  readonly body?: string | Uint8Array
}

/** Sends the calls of AWS's client with a `fetch`, such as that of a gateway in the same process. */
const fetchHandler = (fetch: typeof globalThis.fetch) => ({
  metadata: { handlerProtocol: 'http/1.1' },
  async handle(request: AwsRequest, { abortSignal }: { readonly abortSignal?: AbortSignal } = {}) {
    const { protocol, hostname, port, path, method, headers, body } = request
    const response = await fetch(`${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: body as BodyInit }),
      ...(abortSignal === undefined ? {} : { signal: abortSignal }),
    })
    const stream = response.body === null ? Readable.from([]) : Readable.fromWeb(response.body as never)
    return { response: { statusCode: response.status, headers: Object.fromEntries(response.headers), body: stream } }
  },
  updateHttpClientConfig() {},
  httpHandlerConfigs: () => ({}),
})

/** Creates AWS's client with a Bedrock API key. By default it speaks HTTP/2, which `node:http` does not. */
export const bedrockRuntime = ({
  origin = 'http://gateway.test',
  token = 'client-token',
  fetch,
}: ClientTarget): BedrockRuntimeClient =>
  new BedrockRuntimeClient({
    endpoint: origin,
    region: 'us-east-1',
    token: { token },
    authSchemePreference: ['httpBearerAuth'],
    maxAttempts: 1,
    requestHandler: fetch === undefined ? new NodeHttpHandler() : (fetchHandler(fetch) as never),
  })

/** Sends a body with AWS's client, which has no accumulator of streams. The body is the wire format plus model and stream flag. */
export async function askConverse(place: ClientTarget, body: JsonObject): Promise<ResponseContent> {
  const { model = 'recorded', stream, ...rest } = body
  const client = bedrockRuntime(place)
  const input = { ...rest, modelId: String(model) } as never
  const options = { abortSignal: AbortSignal.timeout(place.timeoutMs ?? 60_000) }
  let answer: JsonObject | undefined
  if (stream === true) {
    const events: JsonObject[] = []
    const response = await client.send(new ConverseStreamCommand(input), options)
    for await (const event of response.stream ?? []) events.push(event as unknown as JsonObject)
    answer = joinConverse(events)
  } else answer = (await client.send(new ConverseCommand(input), options)) as unknown as JsonObject
  const content = readConverse(objectOf(answer))
  if (content === undefined) throw new Error(`The SDK returned no response: ${JSON.stringify(answer).slice(0, 200)}`)
  return content
}
