import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import type { SharedFormat } from '../../base/names.ts'
import type { Codec, UpstreamCodec } from '../codec.ts'
import { codecOf } from '../codecs.ts'
import { converseCodec } from '../converse/index.ts'
import { createReport } from '../loss-report.ts'
import type { ModelRule, Quirks } from '../target-traits.ts'
import { fitToModel } from './model-rules.ts'

const weather: JsonObject = { type: 'object', properties: { city: { type: 'string' } } }
const upstreams: Record<string, { codec: UpstreamCodec; model: string }> = {
  chat: { codec: codecOf('chat'), model: 'gpt-next' },
  messages: { codec: codecOf('messages'), model: 'claude-opus-5' },
  gemini: { codec: codecOf('gemini'), model: 'gemini-3.5-flash' },
  responses: { codec: codecOf('responses'), model: 'gpt-next' },
  converse: { codec: converseCodec, model: 'anthropic.claude-opus-5' },
}
const willing: Quirks = { laterChanges: ['effort', 'tools'] }

/** Translates a client's body for an upstream of another format. */
function translate(
  client: SharedFormat,
  body: JsonObject,
  upstream: string,
  quirks: Quirks = {},
  modelRule?: ModelRule,
) {
  const reader: Codec = codecOf(client)
  const { codec, model } = upstreams[upstream] as (typeof upstreams)[string]
  const report = createReport(body)
  let ids = 0
  const context = {
    report,
    newId: (prefix: string) => `${prefix}${++ids}`,
    now: () => 1,
    upstream: codec.format,
    target: { model, quirks, ...(modelRule === undefined ? {} : { modelRule }) },
  }
  const request = reader.decodeRequest(structuredClone(body), context)
  request.at = { ...reader.fieldPointers, ...request.at }
  return {
    body: JSON.parse(JSON.stringify(codec.encodeRequest(request, context))) as JsonObject,
    losses: report.losses.map(({ path, kind, severity }) => `${severity} ${kind} ${path}`),
  }
}

const user = (text: string): JsonObject => ({ role: 'user', content: text })
const messagesBody = (...messages: JsonObject[]): JsonObject => ({
  model: 'm',
  max_tokens: 9999,
  messages,
  output_config: { effort: 'high' },
  tools: [{ name: 'first', input_schema: weather }],
})
const responsesBody = (...input: JsonObject[]): JsonObject => ({
  model: 'm',
  input,
  reasoning: { effort: 'high' },
  tools: [{ type: 'function', name: 'first', parameters: weather, strict: false }],
})
const effortMessage: JsonObject = { role: 'system', output_config: { effort: 'low' } }
const effortItem: JsonObject = { type: 'configuration_update', reasoning: { effort: 'low' } }

const tool = (name: string): JsonObject => ({ name, input_schema: weather })
const functionTool = (name: string): JsonObject => ({ type: 'function', name, parameters: weather, strict: false })
const added = (definition: JsonObject): JsonObject => ({
  type: 'tool_addition',
  tool: { type: 'tool_definition', definition },
})
const referred = (type: 'tool_addition' | 'tool_removal', name: string): JsonObject => ({
  type,
  tool: { type: 'tool_reference', name },
})
const system = (...content: JsonObject[]): JsonObject => ({ role: 'system', content })
const additional = (...tools: JsonObject[]): JsonObject => ({ type: 'additional_tools', role: 'developer', tools })
const assistant: JsonObject = { role: 'assistant', content: 'b' }

/** Returns the names of the tools that a body of any format offers at its top level. */
const offered = ({ tools, toolConfig }: JsonObject): string[] =>
  [...JSON.stringify([tools, (toolConfig as JsonObject | undefined)?.tools]).matchAll(/"name":"(\w+)"/g)].map(
    ([, name]) => String(name),
  )
const effortOf: Record<string, (body: JsonObject) => unknown> = {
  chat: ({ reasoning_effort: effort }) => effort,
  messages: ({ output_config: config }) => (config as JsonObject).effort,
  responses: ({ reasoning }) => (reasoning as JsonObject).effort,
  gemini: ({ generationConfig: config }) => JSON.stringify(config).match(/"thinkingLevel":"(\w+)"/)?.[1],
  converse: ({ additionalModelRequestFields: more }) => JSON.stringify(more).match(/"effort":"(\w+)"/)?.[1],
}

const clients = [
  {
    client: 'messages' as const,
    body: messagesBody(user('a'), assistant, effortMessage, user('c'), system(added(tool('second')))),
    effortAt: '/messages/2/output_config/effort',
    toolsAt: '/messages/4/content/0',
  },
  {
    client: 'responses' as const,
    body: responsesBody(user('a'), assistant, effortItem, user('c'), additional(functionTool('second'))),
    effortAt: '/input/2',
    toolsAt: '/input/4',
  },
]
const withoutCounterpart = clients.flatMap((client) =>
  Object.keys(upstreams)
    .filter((upstream) => upstream !== client.client)
    .map((upstream) => ({ ...client, upstream })),
)

describe('an upstream that accepts no changes within a conversation', () => {
  it.each(withoutCounterpart)(
    'receives the final effort and tools for the whole request, with notes: $client → $upstream',
    ({ client, body, effortAt, toolsAt, upstream }) => {
      const { body: sent, losses } = translate(client, body, upstream)
      expect(effortOf[upstream]?.(sent)).toBe('low')
      expect(offered(sent)).toEqual(['first', 'second'])
      expect(JSON.stringify(sent)).not.toMatch(/configuration_update|additional_tools|tool_addition/)
      expect(losses).toContain(`note approximated ${effortAt}`)
      expect(losses).toContain(`note approximated ${toolsAt}`)
      expect(losses.filter((loss) => loss.startsWith('warn') || loss.startsWith('fatal'))).toEqual([])
    },
  )

  it.each(['chat', 'responses', 'gemini', 'converse'])('does not receive a tool that was removed: %s', (upstream) => {
    const body = messagesBody(user('a'), system(referred('tool_removal', 'first'), added(tool('second'))))
    const { body: sent, losses } = translate('messages', body, upstream)
    expect(offered(sent)).toEqual(['second'])
    expect(losses).toContain('note approximated /messages/1/content/0')
  })

  it('receives a tool that was removed and added again', () => {
    const changes = [referred('tool_removal', 'first'), referred('tool_addition', 'first')]
    const { body } = translate('messages', messagesBody(user('a'), system(...changes)), 'chat')
    expect(offered(body)).toEqual(['first'])
  })

  it('receives changes before the first message without a report', () => {
    const body = responsesBody(additional(functionTool('second')), effortItem, user('a'))
    const { body: sent, losses } = translate('responses', body, 'chat')
    expect(offered(sent)).toEqual(['first', 'second'])
    expect(sent.reasoning_effort).toBe('low')
    expect(losses).toEqual([])
  })

  it('receives the last response format', () => {
    const format = { type: 'json_schema', name: 'place', schema: weather, strict: false }
    const update = { type: 'configuration_update', text: { format } }
    const { body, losses } = translate('responses', responsesBody(user('a'), assistant, update, user('c')), 'chat')
    expect(body.response_format).toEqual({
      type: 'json_schema',
      json_schema: { name: 'place', schema: weather, strict: false },
    })
    expect(losses).toEqual(['note approximated /input/2'])
  })

  it('receives the text of a system message that also holds changes', () => {
    const message = {
      ...system({ type: 'text', text: 'Be brief.' }, added(tool('second'))),
      output_config: { effort: 'low' },
    }
    const { body } = translate('messages', messagesBody(user('a'), message), 'chat')
    expect(body.messages).toEqual(
      [user('a'), { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] }].map((one) =>
        Array.isArray(one.content) ? { ...one, content: 'Be brief.' } : one,
      ),
    )
  })

  it('receives the nearest effort that the model accepts', () => {
    const rule: ModelRule = { model: 'gpt-next', efforts: ['medium', 'high'] }
    const body = messagesBody(user('a'), assistant, effortMessage, user('c'))
    const report = createReport(body)
    const reader = codecOf('messages')
    const context = { report, newId: () => 'x', now: () => 1, upstream: 'chat' as const }
    const request = reader.decodeRequest(body, context)
    const fitted = fitToModel(request, rule, 'chat', report)
    expect(fitted.request.reasoning?.effort).toBe('medium')
  })
})

describe('an upstream that accepts changes within a conversation', () => {
  it('receives items in place of system messages if it speaks responses', () => {
    const { body, losses } = translate('messages', clients[0]?.body ?? {}, 'responses', willing)
    expect(body.input).toEqual([
      { type: 'message', role: 'user', content: 'a' },
      { type: 'message', role: 'assistant', content: 'b' },
      { type: 'configuration_update', reasoning: { effort: 'low' } },
      { type: 'message', role: 'user', content: 'c' },
      { type: 'additional_tools', role: 'developer', tools: [functionTool('second')] },
    ])
    expect(body.reasoning).toEqual({ effort: 'high' })
    expect(offered(body)).toEqual(['first'])
    expect(losses).toEqual([])
  })

  it('receives system messages in place of items if it speaks messages', () => {
    const { body, losses } = translate('responses', clients[1]?.body ?? {}, 'messages', willing)
    expect(body.messages).toEqual([
      user('a'),
      { role: 'assistant', content: 'b' },
      { role: 'system', output_config: { effort: 'low' } },
      user('c'),
      system(added({ ...tool('second'), strict: false })),
    ])
    expect((body.output_config as JsonObject).effort).toBe('high')
    expect(offered(body)).toEqual(['first'])
    expect(losses).toEqual([])
  })

  it('receives a deferred tool where it is added, not at the start', () => {
    const body = messagesBody(user('a'), system(referred('tool_addition', 'second')))
    body.tools = [tool('first'), { ...tool('second'), defer_loading: true }]
    const { body: sent, losses } = translate('messages', body, 'responses', willing)
    expect(offered(sent)).toEqual(['first'])
    expect((sent.input as JsonObject[]).at(-1)).toEqual(additional(functionTool('second')))
    expect(losses).toEqual([])
  })

  it('receives the final tools if a tool is removed, because responses has no item for that', () => {
    const body = messagesBody(
      user('a'),
      system(added(tool('second'))),
      assistant,
      user('b'),
      system(referred('tool_removal', 'first')),
    )
    const { body: sent, losses } = translate('messages', body, 'responses', willing)
    expect(offered(sent)).toEqual(['second'])
    expect(losses).toEqual(['note approximated /messages/1/content/0', 'note approximated /messages/4/content/0'])
  })

  it('receives a change that follows an assistant turn after the next user turn if it speaks messages', () => {
    const body = responsesBody(user('a'), assistant, additional(functionTool('second')), user('c'))
    const { body: sent } = translate('responses', body, 'messages', willing)
    expect((sent.messages as JsonObject[]).map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'system'])
  })

  it('receives a final tool change as a system message, never as user text, if it speaks messages', () => {
    const body = responsesBody(user('a'), assistant, additional(functionTool('second')))
    const { body: sent } = translate('responses', body, 'messages', willing)
    expect((sent.messages as JsonObject[]).at(-1)).toEqual(system(added({ ...tool('second'), strict: false })))
  })

  it('receives the nearest effort for an unsupported one, with a report', () => {
    const off = { type: 'configuration_update', reasoning: { effort: 'none' } }
    const { body, losses } = translate(
      'responses',
      responsesBody(user('a'), assistant, off, user('c')),
      'messages',
      willing,
    )
    expect((body.messages as JsonObject[])[2]).toEqual({ role: 'system', output_config: { effort: 'low' } })
    expect(losses).toEqual(['warn approximated /input/2'])
  })

  it('receives effort changes for the whole request if its model does not accept them', () => {
    const rule: ModelRule = { model: 'gpt-next', laterChanges: ['tools'] }
    const { body } = translate('messages', clients[0]?.body ?? {}, 'responses', willing, rule)
    expect(body.reasoning).toEqual({ effort: 'low' })
    expect((body.input as JsonObject[]).at(-1)).toEqual(additional(functionTool('second')))
  })

  it('receives tools under accepted names in every change', () => {
    const name = 'a.b c'
    const body = responsesBody(user('a'), additional(functionTool(name)), user('c'))
    const { body: sent } = translate('responses', body, 'messages', willing)
    expect(JSON.stringify(sent)).toMatch(/"name":"a_b_c_[0-9a-f]{8}"/)
    expect(JSON.stringify(sent)).not.toContain(name)
  })
})

describe('a settings change that only its own format supports', () => {
  it.each([
    { client: 'messages' as const, key: 'messages', body: clients[0]?.body ?? {} },
    { client: 'responses' as const, key: 'input', body: clients[1]?.body ?? {} },
  ])('is sent unchanged to an upstream of $client', ({ client, key, body }) => {
    const { body: sent, losses } = translate(client, body, client)
    expect(sent[key]).toEqual((body[key] as JsonObject[]).map((one) => expect.objectContaining(one)))
    expect(losses).toEqual([])
  })

  it.each([
    {
      field: 'tools of MCP servers',
      block: { type: 'tool_addition', tool: { type: 'mcp_toolset_reference', server_name: 's' } },
    },
    { field: 'undefined tools', block: referred('tool_removal', 'unknown') },
  ])('is reported for other formats: $field', ({ block }) => {
    const { losses } = translate('messages', messagesBody(user('a'), system(block)), 'responses', willing)
    expect(losses).toEqual(['warn unsupported /messages/1/content/0'])
  })

  it('is reported for other formats: unknown fields of a change and cache hints', () => {
    const block = { ...added(tool('second')), cache_control: { type: 'ephemeral' }, news: 1 }
    const update = { ...effortItem, news: 1, reasoning: { effort: 'low', more: 2 } }
    expect(translate('messages', messagesBody(user('a'), system(block)), 'chat').losses).toEqual(
      expect.arrayContaining([
        'note unsupported /messages/1/content/0/cache_control',
        'warn unsupported /messages/1/content/0/news',
      ]),
    )
    expect(translate('responses', responsesBody(user('a'), update), 'gemini').losses).toEqual(
      expect.arrayContaining(['warn unsupported /input/1/news', 'warn unsupported /input/1/reasoning/more']),
    )
  })
})
