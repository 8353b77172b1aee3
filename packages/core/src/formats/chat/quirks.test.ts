import { describe, expect, test } from 'vitest'
import { scanJson } from '../../base/json/scan.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import { passThroughLane } from '../../lanes/pass-through.ts'
import { openai } from '../../upstreams/openai.ts'
import { redactorOf } from '../../upstreams/redaction/redactor.ts'
import type { Effort } from '../ir.ts'
import { nearestEffort } from '../shared/model-rules.ts'
import type { Quirks } from '../target-traits.ts'
import { chatCodec } from './codec.ts'
import { testContext } from './context.test-support.ts'
import { prepareWireEdit } from './wire.ts'

const user = (content: Json = 'hi'): JsonObject => ({ role: 'user', content })
const said = (content: Json = 'yes', more: JsonObject = {}): JsonObject => ({ role: 'assistant', content, ...more })
const call = (id: string): JsonObject => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })
const tool = (name: string): JsonObject => ({ type: 'function', function: { name, parameters: { type: 'object' } } })
const named = (name: string): JsonObject => ({ type: 'function', function: { name } })

const picture: JsonObject = { type: 'image_url', image_url: { url: 'https://pictures.test/1' } }

await prepareWireEdit({ model: 'm', quirks: { streamOptions: false } })

/** What the wire lane sends of a client's body, and what it says of that. */
function onTheWire(body: JsonObject, quirks: Quirks) {
  const text = JSON.stringify(body)
  const request = {
    bytes: new TextEncoder().encode(text),
    text,
    members: scanJson(text, 100).members,
    value: structuredClone(body),
  }
  const lane = passThroughLane(chatCodec, request, { model: 'm', quirks }, 1000, redactorOf(openai()))
  const sent = typeof lane.body === 'string' ? lane.body : new TextDecoder().decode(lane.body as Uint8Array)
  return { sent: JSON.parse(sent) as JsonObject, asIs: sent === text, losses: lane.report.losses }
}

/** The same by the other lane. */
function translated(body: JsonObject, quirks: Quirks) {
  const context = testContext({ quirks })
  const request = chatCodec.decodeRequest(structuredClone(body), context)
  return { sent: chatCodec.encodeRequest(request, context), losses: context.losses }
}

interface Case {
  readonly what: string
  readonly quirks: Quirks
  /** Beside the model; the messages are one of the user's where none are given. */
  readonly body: JsonObject
  /** What becomes of it, in both lanes. */
  readonly sent: JsonObject
  readonly told?: readonly (readonly [path: string, severity: string])[]
}

const cases: readonly Case[] = [
  {
    what: 'the bound of tokens under its older name',
    quirks: { maxTokensField: 'max_tokens' },
    body: { max_completion_tokens: 9 },
    sent: { max_tokens: 9 },
  },
  {
    what: 'a seed under the name that the upstream knows',
    quirks: { fieldNames: { seed: 'random_seed' } },
    body: { seed: 7 },
    sent: { random_seed: 7 },
  },
  {
    what: 'no field that it refuses',
    quirks: { lacks: { logit_bias: 'refused', n: 'refused', user: 'refused' } },
    body: { logit_bias: { 5: 1 }, n: 2, user: 'u', top_p: 0.5 },
    sent: { top_p: 0.5 },
    told: [
      ['/logit_bias', 'warn'],
      ['/n', 'warn'],
      ['/user', 'note'],
    ],
  },
  {
    what: 'nothing about a refused field that says no more than the default',
    quirks: { lacks: { logit_bias: 'refused', n: 'refused', store: 'refused', parallel_tool_calls: 'refused' } },
    body: { logit_bias: {}, n: 1, store: false, parallel_tool_calls: true, tools: [tool('f')] },
    sent: { tools: [tool('f')] },
  },
  {
    what: 'a field that is taken with its default only, where it says that',
    quirks: { lacks: { n: 'limited' } },
    body: { n: 1 },
    sent: { n: 1 },
  },
  {
    what: 'no field that is taken with its default only, where it says something else',
    quirks: { lacks: { n: 'limited' } },
    body: { n: 2 },
    sent: {},
    told: [['/n', 'warn']],
  },
  {
    what: 'no stream_options where it takes none',
    quirks: { streamOptions: false },
    body: { stream: true, stream_options: { include_usage: true } },
    sent: { stream: true },
    told: [['/stream_options/include_usage', 'note']],
  },
  {
    what: 'no stream_options where they are refused, and says nothing where usage is told anyway',
    quirks: { streamOptions: 'implied', lacks: { stream_options: 'refused' } },
    body: { stream: true, stream_options: { include_usage: true } },
    sent: { stream: true },
  },
  {
    what: 'the nearest effort',
    quirks: { efforts: ['none', 'low', 'high'] },
    body: { reasoning_effort: 'minimal' },
    sent: { reasoning_effort: 'low' },
    told: [['/reasoning_effort', 'note']],
  },
  {
    what: 'the lowest effort where it cannot be switched off, and says so',
    quirks: { efforts: ['low', 'high'] },
    body: { reasoning_effort: 'none' },
    sent: { reasoning_effort: 'low' },
    told: [['/reasoning_effort', 'warn']],
  },
  {
    what: 'reasoning switched off by its own switch',
    quirks: { thinkingSwitch: true },
    body: { reasoning_effort: 'none' },
    sent: { thinking: { type: 'disabled' } },
  },
  {
    what: 'JSON of any shape where there are no schemas',
    quirks: { jsonFormats: ['json_object'] },
    body: { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' } } } },
    sent: { response_format: { type: 'json_object' } },
    told: [['/response_format', 'warn']],
  },
  {
    what: 'a schema of any object where there are only schemas',
    quirks: { jsonFormats: ['json_schema'] },
    body: { response_format: { type: 'json_object' } },
    sent: {
      response_format: { type: 'json_schema', json_schema: { name: 'response', schema: { type: 'object' } } },
    },
    told: [['/response_format', 'note']],
  },
  {
    what: 'a chosen function as the only one there is',
    quirks: { toolChoices: 'words' },
    body: { tools: [tool('f'), tool('g')], tool_choice: named('g') },
    sent: { tools: [tool('g')], tool_choice: 'required' },
    told: [['/tool_choice', 'note']],
  },
  {
    what: 'a chosen function by its name where that is understood',
    quirks: { toolChoices: 'names' },
    body: { tools: [tool('f'), tool('g')], tool_choice: named('g') },
    sent: { tools: [tool('f'), tool('g')], tool_choice: named('g') },
  },
  {
    what: 'only the tools that are allowed',
    quirks: { toolChoices: 'names' },
    body: {
      tools: [tool('f'), tool('g'), tool('h')],
      tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named('f'), named('h')] } },
    },
    sent: { tools: [tool('f'), tool('h')], tool_choice: 'auto' },
    told: [['/tool_choice', 'note']],
  },
  {
    what: 'developer turns as the system',
    quirks: { developerRole: 'system' },
    body: { messages: [{ role: 'developer', content: 'be brief' }, user()] },
    sent: { messages: [{ role: 'system', content: 'be brief' }, user()] },
  },
  {
    what: 'names of nobody where they are refused',
    quirks: { lacks: { 'messages[user].name': 'refused' } },
    body: { messages: [{ ...user(), name: 'ada' }, said('yes', { name: 'bot' }), user()] },
    sent: { messages: [user(), said('yes', { name: 'bot' }), user()] },
    told: [['/messages/0/name', 'note']],
  },
  {
    what: 'reasoning in the field that takes it',
    quirks: { lacks: { 'messages[].reasoning_content': 'refused' }, reasoningField: 'reasoning' },
    body: { messages: [user(), said('yes', { reasoning_content: 'hm' }), user()] },
    sent: { messages: [user(), said('yes', { reasoning: 'hm' }), user()] },
  },
  {
    what: 'a refusal as what was said',
    quirks: { lacks: { 'messages[].refusal': 'refused' } },
    body: { messages: [user(), { role: 'assistant', content: null, refusal: 'I will not' }, user()] },
    sent: { messages: [user(), said('I will not'), user()] },
    told: [['/messages/1/refusal', 'note']],
  },
  {
    what: 'the turns of one role as one',
    quirks: { alternatingRoles: true },
    body: { messages: [user('a'), user('b'), said(), said('so'), user([picture]), user('d')] },
    sent: {
      messages: [user('a\n\nb'), said('yes\n\nso'), user([picture, { type: 'text', text: 'd' }])],
    },
    told: [
      ['/messages/1', 'note'],
      ['/messages/3', 'note'],
      ['/messages/5', 'note'],
    ],
  },
  {
    what: 'the system before all others',
    quirks: { alternatingRoles: true },
    body: { messages: [{ role: 'system', content: 's' }, user(), { role: 'system', content: 't' }, said(), user()] },
    sent: { messages: [{ role: 'system', content: 's' }, { role: 'system', content: 't' }, user(), said(), user()] },
    told: [['/messages/2', 'warn']],
  },
  {
    what: 'audio without an object around it',
    quirks: { bareAudio: true },
    body: { messages: [user([{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }])] },
    sent: { messages: [user([{ type: 'input_audio', input_audio: 'AAAA' }])] },
  },
]

describe.each([
  ['a client of chat sends', onTheWire],
  ['a translation sends', translated],
])('%s', (_, send) => {
  test.each(cases)('$what', ({ quirks, body, sent, told = [] }) => {
    const result = send({ model: 'm', messages: [user()], ...body }, { streamOptions: false, ...quirks })
    expect(result.sent).toEqual({ model: 'm', messages: [user()], ...sent })
    expect(result.losses.map(({ path, severity }) => [path, severity])).toEqual(told)
  })
})

describe('a field that has no effect', () => {
  const quirks: Quirks = { lacks: { tool_choice: 'ignored', n: 'ignored' }, streamOptions: false }
  const body: JsonObject = { model: 'm', messages: [user()], tools: [tool('f')], tool_choice: 'required', n: 1 }
  const told = [{ path: '/tool_choice', severity: 'warn', kind: 'unsupported' }]

  test('passes with the same bytes on the wire, and is reported', () => {
    const { asIs, losses } = onTheWire(body, quirks)
    expect(asIs).toBe(true)
    expect(losses).toMatchObject(told)
  })

  test('is withheld from a translation', () => {
    const { sent, losses } = translated(body, quirks)
    expect(sent).not.toHaveProperty('tool_choice')
    expect(losses).toMatchObject(told)
  })

  test.each([
    [
      'is reported in messages',
      { lacks: { 'messages[].reasoning_content': 'ignored' } },
      ['/messages/1/reasoning_content'],
    ],
    [
      'is not where another field says the same',
      { lacks: { 'messages[].reasoning_content': 'ignored' }, reasoningField: 'reasoning' },
      [],
    ],
  ] as const)('%s', (_, quirks, paths) => {
    const messages = [user(), said('yes', { reasoning: 'hm', reasoning_content: 'hm' }), user()]
    const { asIs, losses } = onTheWire({ model: 'm', messages }, quirks)
    expect(asIs).toBe(true)
    expect(losses.map(({ path }) => path)).toEqual(paths)
  })
})

describe('a body that needs nothing', () => {
  test.each([
    ['no quirks', {}],
    ['quirks of which nobody is certain', { maxTokensField: 'either', developerRole: 'either' }],
    ['quirks that are about other things', { lacks: { n: 'refused' }, shortCallIds: true, alternatingRoles: true }],
  ] as const)('passes with the same bytes: %s', (_, quirks) => {
    const messages = [{ role: 'developer', content: 'd' }, user()]
    expect(onTheWire({ model: 'm', messages, max_completion_tokens: 5 }, quirks)).toMatchObject({
      asIs: true,
      losses: [],
    })
  })

  test('is translated in older words where nobody is certain', () => {
    const messages = [{ role: 'developer', content: 'd' }, user()]
    const { sent } = translated(
      { model: 'm', messages, max_completion_tokens: 5 },
      { maxTokensField: 'either', developerRole: 'either' },
    )
    expect(sent).toMatchObject({ max_tokens: 5, messages: [{ role: 'system' }, { role: 'user' }] })
  })
})

describe('ids of calls in nine letters and digits', () => {
  const long = 'call_0fypS1hVXq2'
  const messages = [
    user(),
    { role: 'assistant', content: null, tool_calls: [call(long), call('Df1cqWOle')] },
    { role: 'tool', tool_call_id: long, content: '1' },
    { role: 'tool', tool_call_id: 'Df1cqWOle', content: '2' },
  ]
  const idsOf = (sent: JsonObject): (string | undefined)[] =>
    [...JSON.stringify(sent.messages).matchAll(/"(?:id|tool_call_id)":"([^"]*)"/g)].map(([, id]) => id)

  test.each([
    ['on the wire', onTheWire],
    ['in a translation', translated],
  ])('%s: they pair calls with results, and those that fit stay', (_, send) => {
    const ids = idsOf(send({ model: 'm', messages }, { shortCallIds: true }).sent)
    expect(ids).toEqual([expect.stringMatching(/^[a-zA-Z0-9]{9}$/), 'Df1cqWOle', ids[0], 'Df1cqWOle'])
    expect(ids[0]).not.toBe(ids[1])
  })

  test('are the same in every turn', () => {
    const once = onTheWire({ model: 'm', messages }, { shortCallIds: true })
    const again = onTheWire({ model: 'm', messages: [...messages, said(), user()] }, { shortCallIds: true })
    expect(idsOf(again.sent)).toEqual(idsOf(once.sent))
  })

  test('differ for a thousand calls', () => {
    const calls = Array.from({ length: 1000 }, (_, i) => call(`toolu_01A${i}`))
    const { sent } = onTheWire({ model: 'm', messages: [said('', { tool_calls: calls })] }, { shortCallIds: true })
    expect(new Set(idsOf(sent)).size).toBe(1000)
  })
})

test.each<readonly [wanted: Effort, words: readonly Effort[], nearest: Effort | undefined]>([
  ['medium', ['low', 'medium', 'high'], 'medium'],
  ['max', ['low', 'medium', 'high'], 'high'],
  ['minimal', ['none', 'low'], 'low'],
  ['medium', ['low', 'high'], 'high'],
  ['low', ['high', 'max'], 'high'],
  ['none', ['minimal', 'low'], 'minimal'],
  ['high', ['none'], undefined],
])('the effort nearest to %s among %j is %s', (wanted, words, nearest) => {
  expect(nearestEffort(wanted, words)).toBe(nearest)
})

test('losses of a translation name the places where the client wrote them', () => {
  const context = testContext({ quirks: { lacks: { n: 'refused' }, alternatingRoles: true } })
  chatCodec.encodeRequest(
    {
      model: 'm',
      stream: false,
      sampling: { choices: 3 },
      turns: [
        { role: 'user', parts: [{ type: 'text', text: 'a' }] },
        { role: 'user', parts: [{ type: 'text', text: 'b' }] },
      ],
      at: { turns: '/contents', 'sampling.choices': '/generationConfig/candidateCount' },
    },
    context,
  )
  expect(context.losses.map(({ path }) => path)).toEqual(['/generationConfig/candidateCount', '/contents'])
})

test('a stream for which nothing but the request was changed passes untouched', () => {
  const body = { model: 'm', messages: [user()], stream: true, n: 2 }
  const edit = chatCodec.wireEdit(body, { model: 'm', quirks: { streamOptions: 'implied', lacks: { n: 'refused' } } })
  expect(edit).toEqual({ set: {}, drop: ['n'], losses: [expect.objectContaining({ path: '/n' })] })
})
