import type { SharedFormat } from '@modelgate/core'
import {
  type ClientCodec,
  type Codec,
  codecs,
  createReport,
  type JsonObject,
  type UpstreamCodec,
} from '@modelgate/core/test-support'
import type { Carried } from './field-arrival.ts'

/** Models that accept everything in their format, and others with fewer features, for which losses are reported. */
export const models: readonly { readonly [F in SharedFormat]: string }[] = [
  {
    chat: 'gpt-next',
    messages: 'claude-next',
    gemini: 'house-model',
    responses: 'gpt-next',
    converse: 'us.anthropic.claude-next',
  },
  { chat: 'gpt-4', messages: 'claude-2', gemini: 'gemini-2.0-flash', responses: 'gpt-4', converse: 'meta.llama3-1' },
  {
    chat: 'gpt-4',
    messages: 'claude-opus-5-5',
    gemini: 'gemini-3-pro',
    responses: 'gpt-4',
    converse: 'amazon.nova-2-lite',
  },
]

export const pairs: readonly (readonly [Codec, Codec])[] = codecs.flatMap((from) =>
  codecs.map((to) => [from, to] as const),
)

/** Translates a client's request with two codecs, as the gateway does. */
export function sendRequest(client: ClientCodec, upstream: UpstreamCodec, model: string, body: JsonObject): Carried {
  let ids = 0
  const report = createReport()
  const context = {
    report,
    newId: (prefix: string) => `${prefix}made${ids++}`,
    now: () => 1_800_000_000,
    upstream: upstream.format,
  }
  const decoded = client.decodeRequest(structuredClone(body), context)
  const request = { ...decoded, at: { ...client.fieldPointers, ...decoded.at } }
  const sent = upstream.encodeRequest(request, { ...context, target: { model, quirks: {} } })
  return { sent, losses: report.losses }
}
