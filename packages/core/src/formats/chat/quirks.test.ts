import { describe, expect, test } from 'vitest'
import { type Json, type JsonObject, scanJson } from '../../base/json/json.ts'
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
const assistant = (content: Json = 'yes', more: JsonObject = {}): JsonObject => ({
  role: 'assistant',
  content,
  ...more,
})
const call = (id: string): JsonObject => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })
const tool = (name: string): JsonObject => ({ type: 'function', function: { name, parameters: { type: 'object' } } })
const named = (name: string): JsonObject => ({ type: 'function', function: { name } })

const picture: JsonObject = { type: 'image_url', image_url: { url: 'https://pictures.test/1' } }

await prepareWireEdit({ model: 'm', quirks: { streamOptions: false } })

/** Returns the body that the pass-through sends upstream and the losses that it reports. */
function onTheWire(body: JsonObject, quirks: Quirks) {
  const text = JSON.stringify(body)
  const request = {
    bytes: new TextEncoder().encode(text),
    text,
    members: scanJson(text, 100).members,
    value: structuredClone(body),
    fields: structuredClone(body),
  }
  const lane = passThroughLane(chatCodec, request, { model: 'm', quirks }, 1000, redactorOf(openai()))
  const sent = typeof lane.body === 'string' ? lane.body : new TextDecoder().decode(lane.body as Uint8Array)
  return { sent: JSON.parse(sent) as JsonObject, asIs: sent === text, losses: lane.report.losses }
}

/** Returns the body that the translation sends upstream and the losses that it reports. */
function translated(body: JsonObject, quirks: Quirks) {
  const context = testContext({ quirks })
  const request = chatCodec.decodeRequest(structuredClone(body), context)
  return { sent: chatCodec.encodeRequest(request, context), losses: context.losses }
}

interface Case {
  readonly title: string
  readonly quirks: Quirks
  /** Added to the model. The default `messages` hold one user message. */
  readonly body: JsonObject
  /** Expected upstream body, both passed through and translated. */
  readonly sent: JsonObject
  readonly losses?: readonly (readonly [path: string, severity: string])[]
}

const cases: readonly Case[] = [
  {
    title: 'sends the token limit under its older name',
    quirks: { maxTokensField: 'max_tokens' },
    body: { max_completion_tokens: 9 },
    sent: { max_tokens: 9 },
  },
  {
    title: 'sends a seed under the name that the upstream knows',
    quirks: { fieldNames: { seed: 'random_seed' } },
    body: { seed: 7 },
    sent: { random_seed: 7 },
  },
  {
    title: 'drops fields that the upstream rejects and reports them',
    quirks: { lacks: { logit_bias: 'refused', n: 'refused', user: 'refused' } },
    body: { logit_bias: { 5: 1 }, n: 2, user: 'u', top_p: 0.5 },
    sent: { top_p: 0.5 },
    losses: [
      ['/logit_bias', 'warn'],
      ['/n', 'warn'],
      ['/user', 'note'],
    ],
  },
  {
    title: 'drops rejected fields that hold their default without a report',
    quirks: { lacks: { logit_bias: 'refused', n: 'refused', store: 'refused', parallel_tool_calls: 'refused' } },
    body: { logit_bias: {}, n: 1, store: false, parallel_tool_calls: true, tools: [tool('f')] },
    sent: { tools: [tool('f')] },
  },
  {
    title: 'sends a field of which only the default is accepted if it holds the default',
    quirks: { lacks: { n: 'limited' } },
    body: { n: 1 },
    sent: { n: 1 },
  },
  {
    title: 'drops a field of which only the default is accepted if it holds another value',
    quirks: { lacks: { n: 'limited' } },
    body: { n: 2 },
    sent: {},
    losses: [['/n', 'warn']],
  },
  {
    title: 'drops stream_options for an upstream that does not support them',
    quirks: { streamOptions: false },
    body: { stream: true, stream_options: { include_usage: true } },
    sent: { stream: true },
    losses: [['/stream_options/include_usage', 'note']],
  },
  {
    title: 'drops rejected stream_options without a report if the upstream sends usage anyway',
    quirks: { streamOptions: 'implied', lacks: { stream_options: 'refused' } },
    body: { stream: true, stream_options: { include_usage: true } },
    sent: { stream: true },
  },
  {
    title: 'sends the nearest supported effort',
    quirks: { efforts: ['none', 'low', 'high'] },
    body: { reasoning_effort: 'minimal' },
    sent: { reasoning_effort: 'low' },
    losses: [['/reasoning_effort', 'note']],
  },
  {
    title: 'sends the lowest effort with a warning if reasoning cannot be switched off',
    quirks: { efforts: ['low', 'high'] },
    body: { reasoning_effort: 'none' },
    sent: { reasoning_effort: 'low' },
    losses: [['/reasoning_effort', 'warn']],
  },
  {
    title: "switches reasoning off with the upstream's own switch",
    quirks: { thinkingSwitch: true },
    body: { reasoning_effort: 'none' },
    sent: { thinking: { type: 'disabled' } },
  },
  {
    title: 'requests JSON without a schema from an upstream without schemas',
    quirks: { jsonFormats: ['json_object'] },
    body: { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' } } } },
    sent: { response_format: { type: 'json_object' } },
    losses: [['/response_format', 'warn']],
  },
  {
    title: 'requests JSON by a schema of any object from an upstream that requires schemas',
    quirks: { jsonFormats: ['json_schema'] },
    body: { response_format: { type: 'json_object' } },
    sent: {
      response_format: { type: 'json_schema', json_schema: { name: 'response', schema: { type: 'object' } } },
    },
    losses: [['/response_format', 'note']],
  },
  {
    title: 'sends a chosen function as the only tool',
    quirks: { toolChoices: 'words' },
    body: { tools: [tool('f'), tool('g')], tool_choice: named('g') },
    sent: { tools: [tool('g')], tool_choice: 'required' },
    losses: [['/tool_choice', 'note']],
  },
  {
    title: 'sends a chosen function by its name to an upstream that supports names',
    quirks: { toolChoices: 'names' },
    body: { tools: [tool('f'), tool('g')], tool_choice: named('g') },
    sent: { tools: [tool('f'), tool('g')], tool_choice: named('g') },
  },
  {
    title: 'sends only the allowed tools',
    quirks: { toolChoices: 'names' },
    body: {
      tools: [tool('f'), tool('g'), tool('h')],
      tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named('f'), named('h')] } },
    },
    sent: { tools: [tool('f'), tool('h')], tool_choice: 'auto' },
    losses: [['/tool_choice', 'note']],
  },
  {
    title: 'sends developer turns as system turns',
    quirks: { developerRole: 'system' },
    body: { messages: [{ role: 'developer', content: 'be brief' }, user()] },
    sent: { messages: [{ role: 'system', content: 'be brief' }, user()] },
  },
  {
    title: 'drops the names of messages that the upstream rejects',
    quirks: { lacks: { 'messages[user].name': 'refused' } },
    body: { messages: [{ ...user(), name: 'ada' }, assistant('yes', { name: 'bot' }), user()] },
    sent: { messages: [user(), assistant('yes', { name: 'bot' }), user()] },
    losses: [['/messages/0/name', 'note']],
  },
  {
    title: 'sends reasoning in the field that the upstream accepts',
    quirks: { lacks: { 'messages[].reasoning_content': 'refused' }, reasoningField: 'reasoning' },
    body: { messages: [user(), assistant('yes', { reasoning_content: 'hm' }), user()] },
    sent: { messages: [user(), assistant('yes', { reasoning: 'hm' }), user()] },
  },
  {
    title: 'sends a refusal as the content of its message',
    quirks: { lacks: { 'messages[].refusal': 'refused' } },
    body: { messages: [user(), { role: 'assistant', content: null, refusal: 'I will not' }, user()] },
    sent: { messages: [user(), assistant('I will not'), user()] },
    losses: [['/messages/1/refusal', 'note']],
  },
  {
    title: 'merges adjacent turns of one role',
    quirks: { alternatingRoles: true },
    body: { messages: [user('a'), user('b'), assistant(), assistant('so'), user([picture]), user('d')] },
    sent: {
      messages: [user('a\n\nb'), assistant('yes\n\nso'), user([picture, { type: 'text', text: 'd' }])],
    },
    losses: [
      ['/messages/1', 'note'],
      ['/messages/3', 'note'],
      ['/messages/5', 'note'],
    ],
  },
  {
    title: 'moves system turns to the start',
    quirks: { alternatingRoles: true },
    body: {
      messages: [{ role: 'system', content: 's' }, user(), { role: 'system', content: 't' }, assistant(), user()],
    },
    sent: {
      messages: [{ role: 'system', content: 's' }, { role: 'system', content: 't' }, user(), assistant(), user()],
    },
    losses: [['/messages/2', 'warn']],
  },
  {
    title: 'sends audio without an object around it',
    quirks: { bareAudio: true },
    body: { messages: [user([{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }])] },
    sent: { messages: [user([{ type: 'input_audio', input_audio: 'AAAA' }])] },
  },
]

describe.each([
  ['the pass-through of a chat request', onTheWire],
  ['the translation of a chat request', translated],
])('%s', (_, send) => {
  test.each(cases)('$title', ({ quirks, body, sent, losses = [] }) => {
    const result = send({ model: 'm', messages: [user()], ...body }, { streamOptions: false, ...quirks })
    expect(result.sent).toEqual({ model: 'm', messages: [user()], ...sent })
    expect(result.losses.map(({ path, severity }) => [path, severity])).toEqual(losses)
  })
})

describe('a field without effect', () => {
  const quirks: Quirks = { lacks: { tool_choice: 'ignored', n: 'ignored' }, streamOptions: false }
  const body: JsonObject = { model: 'm', messages: [user()], tools: [tool('f')], tool_choice: 'required', n: 1 }
  const expectedLosses = [{ path: '/tool_choice', severity: 'warn', kind: 'unsupported' }]

  test('is passed through with the same bytes and reported', () => {
    const { asIs, losses } = onTheWire(body, quirks)
    expect(asIs).toBe(true)
    expect(losses).toMatchObject(expectedLosses)
  })

  test('is dropped from a translated request', () => {
    const { sent, losses } = translated(body, quirks)
    expect(sent).not.toHaveProperty('tool_choice')
    expect(losses).toMatchObject(expectedLosses)
  })

  test.each([
    [
      'is reported in a message',
      { lacks: { 'messages[].reasoning_content': 'ignored' } },
      ['/messages/1/reasoning_content'],
    ],
    [
      'is not reported if another field holds the same value',
      { lacks: { 'messages[].reasoning_content': 'ignored' }, reasoningField: 'reasoning' },
      [],
    ],
  ] as const)('%s', (_, quirks, paths) => {
    const messages = [user(), assistant('yes', { reasoning: 'hm', reasoning_content: 'hm' }), user()]
    const { asIs, losses } = onTheWire({ model: 'm', messages }, quirks)
    expect(asIs).toBe(true)
    expect(losses.map(({ path }) => path)).toEqual(paths)
  })
})

describe('a body that needs no change', () => {
  test.each([
    ['no quirks', {}],
    ['uncertain quirks', { maxTokensField: 'either', developerRole: 'either' }],
    ['quirks that concern other fields', { lacks: { n: 'refused' }, shortCallIds: true, alternatingRoles: true }],
  ] as const)('is passed through with the same bytes for an upstream with %s', (_, quirks) => {
    const messages = [{ role: 'developer', content: 'd' }, user()]
    expect(onTheWire({ model: 'm', messages, max_completion_tokens: 5 }, quirks)).toMatchObject({
      asIs: true,
      losses: [],
    })
  })

  test('is translated to the older names for an upstream with uncertain quirks', () => {
    const messages = [{ role: 'developer', content: 'd' }, user()]
    const { sent } = translated(
      { model: 'm', messages, max_completion_tokens: 5 },
      { maxTokensField: 'either', developerRole: 'either' },
    )
    expect(sent).toMatchObject({ max_tokens: 5, messages: [{ role: 'system' }, { role: 'user' }] })
  })
})

describe('call ids of nine letters and digits', () => {
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
    ['a pass-through', onTheWire],
    ['a translation', translated],
  ])('of %s pair calls with results and keep ids that already fit', (_, send) => {
    const ids = idsOf(send({ model: 'm', messages }, { shortCallIds: true }).sent)
    expect(ids).toEqual([expect.stringMatching(/^[a-zA-Z0-9]{9}$/), 'Df1cqWOle', ids[0], 'Df1cqWOle'])
    expect(ids[0]).not.toBe(ids[1])
  })

  test('stay the same in every turn', () => {
    const once = onTheWire({ model: 'm', messages }, { shortCallIds: true })
    const again = onTheWire({ model: 'm', messages: [...messages, assistant(), user()] }, { shortCallIds: true })
    expect(idsOf(again.sent)).toEqual(idsOf(once.sent))
  })

  test('are unique among a thousand calls', () => {
    const calls = Array.from({ length: 1000 }, (_, i) => call(`toolu_01A${i}`))
    const { sent } = onTheWire({ model: 'm', messages: [assistant('', { tool_calls: calls })] }, { shortCallIds: true })
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
])('maps the effort %s among %j to the nearest one, %s', (wanted, words, nearest) => {
  expect(nearestEffort(wanted, words)).toBe(nearest)
})

test("reports translation losses at the places in the client's body", () => {
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

test('passes a stream through untouched if only its request was edited', () => {
  const body = { model: 'm', messages: [user()], stream: true, n: 2 }
  const edit = chatCodec.wireEdit(body, { model: 'm', quirks: { streamOptions: 'implied', lacks: { n: 'refused' } } })
  expect(edit).toEqual({ set: {}, drop: ['n'], losses: [expect.objectContaining({ path: '/n' })] })
})
