import { bedrock } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { describe, expect, test } from 'vitest'
import { gatewayTo } from '../base/gateways.ts'
import { isObject, type Json, type JsonObject, listOf, objectOf, parseJson } from '../base/json.ts'
import { formats } from '../base/recorded-traffic.ts'
import { agentModel, promptPieces, runSession } from './run-session.ts'
import { markedMessages, type SessionClient, sessionClients } from './session-clients.ts'

const clients: readonly (readonly [string, SessionClient])[] = [
  ...Object.entries(sessionClients),
  ['messages with cache marks', markedMessages],
]

/** Returns the bodies that an upstream received in a session. */
async function sentTo(upstream: (typeof formats)[number] | 'converse', client: SessionClient): Promise<JsonObject[]> {
  if (upstream === 'converse') {
    const bodies: JsonObject[] = []
    const gateway = gatewayTo('chat', {
      upstream: bedrock({ region: 'eu-west-1', apiKey: 'key', formats: ['converse'] }),
      models: { '*': { upstream: 'up', model: 'anthropic.claude-sonnet-4-5-20250929-v1:0' } },
      fetch: async (_input, init) => {
        const body = objectOf(parseJson(new TextDecoder().decode(await new Response(init?.body).arrayBuffer())))
        bodies.push(body)
        return Response.json(converseResponse(body))
      },
    })
    await runSession(gateway, client)
    return bodies
  }
  const provider = createFakeProvider({ brain: agentModel })
  const model = { chat: 'gpt-5', responses: 'gpt-5', messages: 'claude-sonnet-4-5', gemini: 'gemini-3-pro' }[upstream]
  const gateway = gatewayTo(upstream, { fetch: provider.fetch, models: { '*': { upstream: 'up', model } } })
  await runSession(gateway, client)
  return provider.requests.map(({ body }) => (isObject(body as Json) ? (body as JsonObject) : {}))
}

/** Responds as Bedrock does. */
function converseResponse(body: JsonObject): JsonObject {
  const turns = listOf(body.messages)
    .map(objectOf)
    .map(({ role }) => ({
      role: role === 'assistant' ? ('assistant' as const) : ('user' as const),
      text: '',
      media: [],
      toolCalls: [],
      toolResults: [],
    }))
  const { text, toolCalls = [] } = agentModel({ turns })
  const content: JsonObject[] = [
    ...(text === undefined ? [] : [{ text }]),
    ...toolCalls.map(({ name, input = {} }, index) => ({
      toolUse: { toolUseId: `tooluse_${turns.length}_${index}`, name, input: input as Json },
    })),
  ]
  return {
    output: { message: { role: 'assistant', content } },
    stopReason: toolCalls.length > 0 ? 'tool_use' : 'end_turn',
    usage: { inputTokens: 10, outputTokens: 10, totalTokens: 20 },
    metrics: { latencyMs: 1 },
  }
}

describe.each([...formats, 'converse' as const])('a session on a %s upstream', (upstream) => {
  test.each(clients)(
    'sends each prompt with the previous one unchanged at its beginning: %s',
    async (_name, client) => {
      const requests = (await sentTo(upstream, client)).map(promptPieces)
      expect(requests).toHaveLength(20)
      for (const [index, { settings, pieces }] of requests.entries()) {
        const before = requests[index - 1]
        if (before === undefined) continue
        expect(settings).toBe(before.settings)
        expect(pieces.length).toBeGreaterThan(before.pieces.length)
        expect(pieces.slice(0, before.pieces.length)).toEqual(before.pieces)
      }
    },
  )
})

test('a changed piece is detected', () => {
  const first = promptPieces({ model: 'm', messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }] }] })
  const changed = promptPieces({
    model: 'm',
    messages: [
      { role: 'user', content: [{ text: 'a', type: 'text' }] },
      { role: 'assistant', content: 'b' },
    ],
  })
  expect(changed.pieces.slice(0, 1)).not.toEqual(first.pieces)
  expect(promptPieces({ tools: [], max_tokens: 1 }).settings).not.toBe(
    promptPieces({ max_tokens: 1, tools: [] }).settings,
  )
})
