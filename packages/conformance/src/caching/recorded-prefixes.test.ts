import { createFakeProvider } from '@modelgate/testing'
import { describe, expect, test } from 'vitest'
import { gatewayTo, requestTo } from '../base/gateways.ts'
import { isObject, type Json, type JsonObject, listOf, objectOf, parseJson, textOf } from '../base/json.ts'
import {
  clientRequests,
  type Exchange,
  type Format,
  formats,
  fullRun,
  haveRecordings,
  patience,
  recordedExchanges,
  whyNoRecordings,
} from '../base/recorded-traffic.ts'
import { type PromptPieces, promptPieces } from './run-session.ts'

const turnsField: Readonly<Record<Format, string>> = {
  chat: 'messages',
  messages: 'messages',
  gemini: 'contents',
  responses: 'input',
}
const models: Readonly<Record<Format, string>> = {
  chat: 'gpt-5',
  responses: 'gpt-5',
  messages: 'claude-sonnet-4-5',
  gemini: 'gemini-3-pro',
}

/** Returns whether the model wrote a turn or an item of one. */
const isFromModel = (turn: Json | undefined): boolean => {
  const { role, type } = objectOf(turn)
  if (role !== undefined) return role === 'assistant' || role === 'model'
  return !(textOf(type).endsWith('_output') || type === 'additional_tools')
}
const isQuestion = (turn: Json): boolean => {
  const { role, content, parts } = objectOf(turn)
  const text = Array.isArray(parts) ? parts.map((part) => textOf(objectOf(part).text)).join('') : content
  return (role ?? 'user') === 'user' && text !== ''
}

/** Returns the requests of a recorded conversation: its beginnings before each response of the model, and the whole of it. */
function beginnings({ format, request }: Exchange): JsonObject[] {
  const field = turnsField[format]
  if (!isObject(request)) return []
  const { stream: _, stream_options: _options, ...body } = request
  const turns = listOf(body[field])
  return turns.flatMap((turn, index) => {
    const isRequest = !isFromModel(turn) && (index === turns.length - 1 || isFromModel(turns[index + 1]))
    return isRequest && turns.slice(0, index + 1).some(isQuestion)
      ? [{ ...body, [field]: turns.slice(0, index + 1) }]
      : []
  })
}

/** Returns what the upstream receives for a request; undefined if the request is rejected, such as a call without its result. */
async function sentFor(upstream: Format, { format }: Exchange, body: JsonObject): Promise<PromptPieces | undefined> {
  const provider = createFakeProvider({ validate: false, brain: () => ({ text: 'ok' }) })
  const gateway = gatewayTo(upstream, {
    fetch: provider.fetch,
    models: { '*': { upstream: 'up', model: models[upstream] } },
  })
  const response = await gateway.fetch(requestTo(format, JSON.stringify(body), {}, { model: 'demo' }))
  await response.text()
  const sent = provider.requests[0]?.body as Json | undefined
  return response.status === 200 && isObject(sent) ? promptPieces(sent) : undefined
}

/** The conversations with several requests; without MODELGATE_FULL a third of them. */
const conversations = haveRecordings
  ? [...clientRequests(), ...recordedExchanges()]
      .filter((exchange) => beginnings(exchange).length > 1)
      .filter((_, index) => fullRun || index % 3 === 0)
  : []

describe.skipIf(!haveRecordings)('a recorded conversation', () => {
  test.each(formats)(
    'keeps its beginning unchanged from turn to turn on a %s upstream',
    { timeout: patience },
    async (upstream) => {
      const changed: string[] = []
      let compared = 0
      for (const exchange of conversations) {
        let before: PromptPieces | undefined
        for (const body of beginnings(exchange)) {
          const sent = await sentFor(upstream, exchange, body)
          if (sent === undefined) continue
          if (before !== undefined) {
            compared++
            const at = before.pieces.findIndex((piece, index) => piece !== sent.pieces[index])
            if (at >= 0)
              changed.push(
                `${exchange.path}: piece ${at}: ${before.pieces[at]?.slice(0, 200)} => ${sent.pieces[at]?.slice(0, 200)}`,
              )
            else if (before.settings !== sent.settings && !isExpected(exchange, before, sent))
              changed.push(`${exchange.path}: settings: ${firstDifference(before.settings, sent.settings)}`)
          }
          before = sent
        }
      }
      expect(compared).toBeGreaterThan(100)
      expect(changed).toEqual([])
    },
  )
})

test.skipIf(haveRecordings)(whyNoRecordings, () => {})

/**
 * Returns whether the settings had to change:
 * - The conversation itself adds tools, which only its own format can add to a conversation.
 * - Anthropic accepts thinking in a tool loop only if the calls of the loop have their signed thinking, which these clients do not return.
 */
function isExpected({ request }: Exchange, before: PromptPieces, sent: PromptPieces): boolean {
  const addsTools = /"(tool_search_output|additional_tools)"/.test(JSON.stringify(request))
  return addsTools || withoutThinking(before.settings) === withoutThinking(sent.settings)
}
const withoutThinking = (settings: string): string => {
  const { thinking: _, ...rest } = objectOf(parseJson(settings))
  return JSON.stringify(rest)
}

function firstDifference(a: string, b: string): string {
  let at = 0
  while (a[at] === b[at]) at++
  return `${a.slice(at, at + 100)} => ${b.slice(at, at + 100)}`
}
