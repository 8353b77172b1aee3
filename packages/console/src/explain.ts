import { type Explanation, GatewayError, type Inbound, type PluginHost } from '@modelgate/core'

/** Limit in bytes of a request to explain; the gateway's own limit applies if it is lower. */
const maxBytes = 32 * 1024 * 1024

/** Request headers that affect authentication and handling of a call. */
const passedOn = [
  'authorization',
  'x-api-key',
  'x-goog-api-key',
  'anthropic-version',
  'anthropic-beta',
  'content-encoding',
  'content-length',
  'modelgate-on-loss',
]

/**
 * Explains the call that the same body, sent to `?path=`, would make. The gateway checks the credential before the body is read.
 * Rejects with the GatewayError that the call would fail with.
 */
export async function explainCall(gateway: PluginHost, inbound: Inbound, mount: string): Promise<Explanation> {
  const type = (inbound.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/json')
    throw new GatewayError(
      'unsupported_media_type',
      'Explanations need a JSON body: send the body of the call with content-type: application/json.',
    )
  const path = new URLSearchParams(inbound.query).get('path') ?? ''
  if (!path.startsWith('/'))
    throw new GatewayError(
      'invalid_request',
      "Missing query parameter 'path': set it to the path of the call, such as ?path=/v1/chat/completions.",
      { param: 'path' },
    )
  const headers = new Headers({ 'content-type': 'application/json' })
  for (const name of passedOn) {
    const value = inbound.header(name)
    if (value !== undefined) headers.set(name, value)
  }
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        controller.enqueue(await inbound.read(maxBytes))
        controller.close()
      },
    },
    { highWaterMark: 0 },
  )
  // Fetch requires `duplex` for a stream body; TypeScript's DOM types lack it.
  const init: RequestInit & { duplex: 'half' } = { method: 'POST', headers, body, duplex: 'half' }
  // Any holder of a token can read this, so values that the operator configured stay hidden.
  return gateway.explain(new Request(`http://gateway${mount}${path}`, init), undefined, { hideConfigured: true })
}
