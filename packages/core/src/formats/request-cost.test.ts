import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../base/json/json.ts'
import { decodeBody as decodeRerank } from '../operations/rerank/request.ts'
import { chatCodec } from './chat/codec.ts'
import type { Codec, UpstreamCodec } from './codec.ts'
import { converseCodec } from './converse/index.ts'
import { geminiCodec } from './gemini/codec.ts'
import { requestSchema as geminiSchema } from './gemini/validate.ts'
import { createReport } from './loss-report.ts'
import { messagesCodec } from './messages/index.ts'
import { responsesCodec } from './responses/codec.ts'
import { countSteps } from './shared/count-steps.test-support.ts'
import { unread } from './shared/json-fields.ts'

/** Requests whose translation must run in linear time for any shape, because every client with a token can send them. */

const list = <T>(length: number, make: (index: number) => T): T[] => Array.from({ length }, (_, index) => make(index))
const object = <T>(length: number, make: (index: number) => [string, T]): { [key: string]: T } =>
  Object.fromEntries(list(length, make))

const chat = (more: JsonObject): JsonObject => ({ messages: [{ role: 'user', content: 'hi' }], ...more })
const messages = (more: JsonObject): JsonObject => ({ ...chat(more), max_tokens: 9 })
const responses = (more: JsonObject): JsonObject => ({ input: 'hi', ...more })
const gemini = (more: JsonObject): JsonObject => ({ contents: [{ parts: [{ text: 'hi' }] }], ...more })

const strictTool = (schema: JsonObject): JsonObject =>
  messages({ tools: [{ name: 'f', input_schema: schema, strict: true }] })
const chatTool = (schema: JsonObject): JsonObject =>
  chat({ tools: [{ type: 'function', function: { name: 'f', parameters: schema, strict: true } }] })
const answerFormat = (schema: JsonObject): JsonObject =>
  chat({ response_format: { type: 'json_schema', json_schema: { name: 'n', schema, strict: true } } })

const refersToA = { $ref: '#/$defs/A' }
const objectOf = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  ...more,
})

/** Spells the same name in many ways, with plain or percent-encoded letters. */
const spelled = (index: number): string =>
  [...'abcdefghijkl']
    .map((letter, bit) => ((index >> bit) & 1 ? `%${letter.charCodeAt(0).toString(16)}` : letter))
    .join('')

const foreignLetter = (index: number): string => String.fromCharCode(0x4e00 + index)
const call = (id: string): JsonObject => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })

interface Attack {
  readonly client: Codec
  readonly upstream: UpstreamCodec
  readonly body: (size: number) => JsonObject
  readonly model?: string
  readonly quirks?: { readonly alternatingRoles?: boolean }
}

const schemaAttacks: { readonly [name: string]: Attack } = {
  'a schema whose alternatives all refer back to it': {
    client: messagesCodec,
    upstream: chatCodec,
    body: (size) => strictTool(objectOf({ a: refersToA }, { $defs: { A: { anyOf: list(size, () => refersToA) } } })),
  },
  'a function without `strict` whose alternatives all refer back to it': {
    client: responsesCodec,
    upstream: chatCodec,
    body: (size) =>
      responses({
        tools: [
          {
            type: 'function',
            name: 'f',
            parameters: objectOf({ a: refersToA }, { $defs: { A: { anyOf: list(size, () => refersToA) } } }),
          },
        ],
      }),
  },
  'alternatives that refer to each other in layers': {
    client: messagesCodec,
    upstream: responsesCodec,
    body: (size) =>
      strictTool(
        objectOf(
          { a: { $ref: '#/$defs/d0' } },
          {
            $defs: object(size + 1, (index) => [
              `d${index}`,
              index === size
                ? { type: 'null' }
                : { anyOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] },
            ]),
          },
        ),
      ),
  },
  'optional properties that share one schema with many alternatives': {
    client: messagesCodec,
    upstream: chatCodec,
    body: (size) =>
      strictTool(
        objectOf(
          object(size, (index) => [`p${index}`, refersToA]),
          { $defs: { A: { anyOf: [...list(size, () => ({ type: 'string' })), { type: 'null' }] } } },
        ),
      ),
  },
  'one definition under many spellings of its name': {
    client: chatCodec,
    upstream: messagesCodec,
    body: (size) =>
      chatTool(
        objectOf(
          object(size, (index) => [`p${index}`, { $ref: `#/$defs/${spelled(index)}` }]),
          { $defs: { abcdefghijkl: objectOf(object(size, (index) => [`x${index}`, { type: 'string' }])) } },
        ),
      ),
  },
  'many required properties': {
    client: chatCodec,
    upstream: responsesCodec,
    body: (size) =>
      answerFormat(
        objectOf(
          object(size, (index) => [`p${index}`, { type: ['string', 'null'] }]),
          { required: list(size, (index) => `q${index}`) },
        ),
      ),
  },
  'exclusive alternatives, one with many required properties': {
    client: chatCodec,
    upstream: messagesCodec,
    body: (size) =>
      answerFormat(
        objectOf({
          a: {
            oneOf: [
              objectOf({}, { required: list(size, (index) => `r${index}`) }),
              ...list(size, () => objectOf({}, { required: ['x'] })),
            ],
          },
        }),
      ),
  },
}

const listAttacks: { readonly [name: string]: Attack } = {
  'ids of calls that become equal because only ASCII is accepted': {
    client: chatCodec,
    upstream: messagesCodec,
    body: (size) =>
      chat({
        messages: [
          { role: 'user', content: 'hi' },
          { role: 'assistant', tool_calls: list(size, (index) => call(foreignLetter(index))) },
          ...list(size, (index) => ({ role: 'tool', tool_call_id: foreignLetter(index), content: 'r' })),
        ],
      }),
  },
  'ids of calls that become equal for Bedrock': {
    client: chatCodec,
    upstream: converseCodec,
    model: 'amazon.nova-pro-v1',
    body: (size) =>
      chat({
        messages: [
          { role: 'user', content: 'hi' },
          { role: 'assistant', tool_calls: list(size, (index) => call(foreignLetter(index))) },
        ],
      }),
  },
  'calls and results without ids': {
    client: chatCodec,
    upstream: messagesCodec,
    body: (size) =>
      chat({
        messages: [
          { role: 'assistant', tool_calls: list(size, () => call('')) },
          ...list(size, () => ({ role: 'tool', tool_call_id: '', content: 'r' })),
        ],
      }),
  },
  'function responses without a call': {
    client: geminiCodec,
    upstream: chatCodec,
    body: (size) =>
      gemini({
        contents: [
          { role: 'model', parts: list(size, (index) => ({ functionCall: { name: 'f', id: `i${index}` } })) },
          {
            role: 'user',
            parts: list(size, (index) => ({ functionResponse: { name: 'g', id: `j${index}`, response: {} } })),
          },
        ],
      }),
  },
  'documents with the same name': {
    client: messagesCodec,
    upstream: converseCodec,
    model: 'amazon.nova-pro-v1',
    body: (size) =>
      messages({
        messages: [
          {
            role: 'user',
            content: list(size, () => ({
              type: 'document',
              title: 'a',
              source: { type: 'text', media_type: 'text/plain', data: 'a' },
            })),
          },
        ],
      }),
  },
  ...Object.fromEntries(
    ([messagesCodec, converseCodec, chatCodec] as const).map((upstream): [string, Attack] => [
      `a choice among many tools for ${upstream.format}`,
      {
        client: upstream === chatCodec ? responsesCodec : chatCodec,
        upstream,
        model: 'claude-sonnet-4-5',
        body: (size) => {
          const tools = list(size, (index) => ({ type: 'function', name: `f${index}` }))
          if (upstream === chatCodec)
            return responses({ tools, tool_choice: { type: 'allowed_tools', mode: 'auto', tools } })
          const wire = tools.map(({ type, name }) => ({ type, function: { name } }))
          return chat({
            tools: wire,
            tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: wire } },
          })
        },
      },
    ]),
  ),
  'consecutive assistant turns after a turn with a call at its end': {
    client: messagesCodec,
    upstream: chatCodec,
    body: (size) =>
      messages({
        messages: [
          { role: 'user', content: 'hi' },
          {
            role: 'assistant',
            content: [
              ...list(size, () => ({ type: 'text', text: 'a' })),
              { type: 'tool_use', id: 'a', name: 'f', input: {} },
            ],
          },
          ...list(size, () => ({ role: 'assistant', content: 'a' })),
        ],
      }),
  },
  'system messages at the end for an upstream that requires them first': {
    client: chatCodec,
    upstream: chatCodec,
    quirks: { alternatingRoles: true },
    body: (size) =>
      chat({
        messages: [
          ...list(size, (index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content: 'a' })),
          ...list(size, () => ({ role: 'system', content: 'a' })),
        ],
      }),
  },
  'long numbers in the arguments of a call': {
    client: chatCodec,
    upstream: messagesCodec,
    body: (size) =>
      chat({
        messages: [
          {
            role: 'assistant',
            tool_calls: [
              {
                id: 'a',
                type: 'function',
                function: {
                  name: 'f',
                  arguments: `[${list(size, (index) => 1_234_567_890_120_000 + index).join()}]`,
                },
              },
            ],
          },
        ],
      }),
  },
  'signatures that precede their parts': {
    client: messagesCodec,
    upstream: geminiCodec,
    model: 'gemini-2.5-pro',
    body: (size) =>
      messages({
        messages: [
          { role: 'user', content: 'hi' },
          {
            role: 'assistant',
            content: [
              ...list(size, () => ({ type: 'thinking', thinking: '', signature: 'mgs1.gemini.@media:a' })),
              ...list(size, () => ({ type: 'text', text: 'a' })),
            ],
          },
        ],
      }),
  },
}

function translate({ client, upstream, body, model = 'm', quirks = {} }: Attack, size: number): void {
  const text = JSON.stringify({ model, ...body(size) })
  const value = JSON.parse(text) as JsonObject
  const context = {
    report: createReport(value),
    newId: (prefix: string) => `${prefix}1`,
    now: () => 1,
    upstream: upstream.format,
    target: { model, quirks },
  }
  const request = client.decodeRequest(value, context)
  JSON.stringify(upstream.encodeRequest({ ...request, at: { ...client.fieldPointers, ...request.at } }, context))
}

/** Shared fields must not be copied for each part, because memory would grow with the product of both. */
describe('fields that many parts share', () => {
  const context = { report: createReport(), newId: (prefix: string) => `${prefix}1`, now: () => 1 }
  const decode = (more: JsonObject) => responsesCodec.decodeRequest({ model: 'm', ...responses(more) }, context)

  it('are stored once for the tools of a namespace', () => {
    const functions = list(3, (index) => ({ type: 'function', name: `f${index}` }))
    const { tools } = decode({ tools: [{ type: 'namespace', name: 'n', extra: 1, tools: functions }] })
    const others = tools?.list.map(({ extra }) => (extra?.responses?.namespace as JsonObject | undefined)?.others)
    expect(others).toEqual([{ extra: 1 }, { extra: 1 }, { extra: 1 }])
    expect(new Set(others).size).toBe(1)
  })

  it('are stored once for the parts of a reasoning item', () => {
    const summary = list(3, () => ({ type: 'summary_text', text: 'a' }))
    const { turns } = decode({ input: [{ type: 'reasoning', id: 'rs_1', extra: 1, summary }] })
    expect(turns[0]?.parts.map(({ extra }) => extra?.responses)).toEqual([
      { id: 'rs_1', extra: 1 },
      { id: 'rs_1' },
      { id: 'rs_1' },
    ])
  })
})

describe('an invalid body', () => {
  it('is checked up to its first error', () => {
    for (const wrong of [
      { contents: list(9, () => 1) },
      { contents: [{ parts: list(9, () => 1) }] },
      { contents: [], tools: [{ functionDeclarations: list(9, () => ({})) }] },
    ])
      expect(geminiSchema.issues(wrong).filter(({ path }) => path.length > 1).length).toBeLessThan(2)
  })
})

describe('rank fields of documents', () => {
  it('are found in linear time in the fields of each document', () => {
    const rank = (size: number): number =>
      countSteps(() => {
        const body = JSON.parse(
          JSON.stringify({
            query: 'q',
            rank_fields: list(size, (index) => `f${index}`),
            documents: list(size, () => ({ f1: 'a' })),
          }),
        ) as JsonObject
        decodeRerank(unread(body), { report: createReport(), newId: (prefix) => `${prefix}1`, now: () => 1 })
      })
    expect(rank(1000) / rank(250)).toBeLessThan(5)
  })
})

describe.each([
  ['a schema', schemaAttacks],
  ['a list', listAttacks],
])('%s from a client', (_, attacks) => {
  it.each(Object.entries(attacks))('is translated in linear time: %s', (_, attack) => {
    const few = countSteps(() => translate(attack, 250))
    const many = countSteps(() => translate(attack, 1000))
    expect(many / few, `${few} and ${many} steps`).toBeLessThan(5)
  })
})
