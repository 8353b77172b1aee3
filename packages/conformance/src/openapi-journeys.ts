import { GatewayError } from '../../core/src/errors.ts'
import type { Codec } from '../../core/src/formats/codec.ts'
import { codecs } from '../../core/src/formats/index.ts'
import type { Format, JsonObject } from '../../core/src/formats/ir.ts'
import { answerSide, createReport } from '../../core/src/losses.ts'
import type { Carried } from './openapi-judge.ts'

/** Models that take all their format has, and others that take little or insist on something: less arrives, none is lost. */
export const models: readonly { readonly [F in Format]: string }[] = [
  { chat: 'gpt-next', messages: 'claude-next', gemini: 'house-model', responses: 'gpt-next' },
  { chat: 'gpt-4', messages: 'claude-2', gemini: 'gemini-2.0-flash', responses: 'gpt-4' },
  { chat: 'gpt-4', messages: 'claude-opus-5-5', gemini: 'gemini-3-pro', responses: 'gpt-4' },
]

export const pairs: readonly (readonly [Codec, Codec])[] = codecs.flatMap((from) =>
  codecs.map((to) => [from, to] as const),
)

/** Takes a client's request through two codecs, as the gateway does. */
export function sendRequest(client: Codec, upstream: Codec, model: string, body: JsonObject): Carried {
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

/** Where the first choice stands in an answer of each format. */
const choicePlaces: { readonly [F in Format]: string } = {
  chat: '/choices/0',
  messages: '',
  gemini: '/candidates/0',
  responses: '',
}

/** Takes an upstream's answer through two codecs. An answer that is an error reaches the client as one. */
export function sendAnswer(upstream: Codec, client: Codec, asked: JsonObject, body: JsonObject): Carried {
  let ids = 0
  const report = createReport()
  const context = {
    report,
    newId: (prefix: string) => `${prefix}made${ids++}`,
    now: () => 1_800_000_000,
    upstream: upstream.format,
  }
  const decoded = client.decodeRequest(asked, { ...context, report: createReport() })
  const request = { ...decoded, at: { ...client.fieldPointers, ...decoded.at } }
  const exchange = { ...context, report: answerSide(report), request }
  try {
    const answer = upstream.decodeResponse(structuredClone(body), exchange)
    const sent = client.encodeResponse(answer, exchange)
    // Encoders name an answer's choice as the IR does: they do not know where it stood.
    const place = choicePlaces[upstream.format]
    const losses = report.losses.map((loss) => ({ ...loss, path: loss.path.replace(/^\/choices\/0/, place) }))
    return { sent, losses }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return { sent: { error: { message: error.message, code: error.info.code ?? null } }, losses: report.losses }
  }
}
