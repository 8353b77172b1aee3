import type { Json, JsonObject } from '../base/json/json.ts'
import type { Format, UpstreamFormat } from '../base/names.ts'

/** Placeholder of a number in a body; see `withNumbers`. */
const place = (name: string): string => `#${name}#`

/** A JSON value with numbers in all kinds of positions. */
const anywhere = (name: string): JsonObject => ({
  id: place(`${name}.id`),
  list: [1, place(`${name}.list`), [place(`${name}.listed`)]],
  deep: { er: { id: place(`${name}.deep`) } },
})
const inText = (name: string): string => JSON.stringify(anywhere(name))

/** A JSON Schema with numbers in all its keywords. */
const schema = (name: string): JsonObject => ({
  type: 'object',
  properties: {
    a: { type: 'integer', minimum: place(`${name}.minimum`), maximum: place(`${name}.maximum`) },
    b: { type: 'integer', enum: [place(`${name}.enum`), 2] },
    c: { type: 'integer', const: place(`${name}.const`) },
    d: { type: 'number', default: place(`${name}.default`), multipleOf: place(`${name}.multipleOf`) },
    e: { type: 'array', items: { type: 'string', maxLength: place(`${name}.maxLength`) } },
    f: { anyOf: [{ type: 'integer', exclusiveMinimum: place(`${name}.exclusiveMinimum`) }, { type: 'null' }] },
    g: { type: 'object', properties: {}, 'x-limit': place(`${name}.extension`) },
    h: { type: 'integer', examples: [place(`${name}.examples`)] },
  },
  required: ['a'],
})
const openApi = (name: string): JsonObject => ({
  type: 'OBJECT',
  properties: {
    a: { type: 'INTEGER', minimum: place(`${name}.minimum`), maximum: place(`${name}.maximum`), nullable: true },
    b: { type: 'ARRAY', items: { type: 'STRING' }, maxItems: '9223372036854775807' },
    c: { type: 'INTEGER', example: place(`${name}.example`), default: place(`${name}.default`) },
  },
})

const tomorrow = (name: string): JsonObject => ({ tomorrow: anywhere(`${name}.tomorrow`) })

/** A request of each format with numbers in every value that the gateway does not read. */
export const requests: { readonly [F in Format]: JsonObject } = {
  chat: {
    model: 'm',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'Hello.', ...tomorrow('text') }], ...tomorrow('message') },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          {
            id: 'call_1',
            type: 'function',
            function: { name: 'find', arguments: inText('arguments'), ...tomorrow('function') },
            ...tomorrow('call'),
          },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: inText('result') },
    ],
    tools: [
      { type: 'function', function: { name: 'find', description: 'Finds.', parameters: schema('tool') } },
      { type: 'function', function: { name: 'strict', parameters: schema('strict'), strict: true } },
    ],
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: schema('output') } },
    ...tomorrow('body'),
  },
  messages: {
    model: 'm',
    max_tokens: 100,
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Hello.', ...tomorrow('text') }] },
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'toolu_1', name: 'find', input: anywhere('input'), ...tomorrow('use') },
          { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: anywhere('server') },
          { type: 'block_of_tomorrow', value: anywhere('block') },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_1', content: inText('result'), ...tomorrow('result') },
          { type: 'text', text: 'And then?' },
        ],
      },
    ],
    tools: [
      { name: 'find', description: 'Finds.', input_schema: schema('tool') },
      { name: 'strict', input_schema: schema('strict'), strict: true },
    ],
    output_config: { format: { type: 'json_schema', schema: schema('output') } },
    ...tomorrow('body'),
  },
  gemini: {
    contents: [
      { role: 'user', parts: [{ text: 'Hello.', ...tomorrow('text') }], ...tomorrow('content') },
      {
        role: 'model',
        parts: [
          { functionCall: { name: 'find', args: anywhere('args'), ...tomorrow('call') } },
          { partOfTomorrow: anywhere('native') },
        ],
      },
      { role: 'user', parts: [{ functionResponse: { name: 'find', response: anywhere('response') } }] },
    ],
    tools: [
      {
        functionDeclarations: [
          { name: 'find', description: 'Finds.', parametersJsonSchema: schema('tool') },
          { name: 'open', description: 'Opens.', parameters: openApi('openapi') },
        ],
      },
    ],
    generationConfig: {
      responseMimeType: 'application/json',
      responseJsonSchema: schema('output'),
      ...tomorrow('config'),
    },
    ...tomorrow('body'),
  },
  responses: {
    model: 'm',
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'Hello.', ...tomorrow('text') }] },
      { type: 'function_call', call_id: 'call_1', name: 'find', arguments: inText('arguments'), ...tomorrow('call') },
      { type: 'function_call_output', call_id: 'call_1', output: inText('result'), ...tomorrow('result') },
      { type: 'item_of_tomorrow', value: anywhere('native') },
    ],
    tools: [
      { type: 'function', name: 'find', description: 'Finds.', parameters: schema('tool') },
      { type: 'function', name: 'strict', parameters: schema('strict'), strict: true },
    ],
    text: { format: { type: 'json_schema', name: 'answer', schema: schema('output') } },
    ...tomorrow('body'),
  },
  ollama: {
    model: 'm',
    stream: false,
    messages: [
      { role: 'user', content: 'Hello.', ...tomorrow('message') },
      {
        role: 'assistant',
        content: '',
        tool_calls: [
          {
            id: 'call_1',
            function: { name: 'find', arguments: anywhere('arguments'), ...tomorrow('function') },
            ...tomorrow('call'),
          },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: inText('result'), ...tomorrow('result') },
    ],
    tools: [
      { type: 'function', function: { name: 'find', description: 'Finds.', parameters: schema('tool') } },
      { type: 'function', function: { name: 'strict', parameters: schema('strict'), strict: true } },
    ],
    format: schema('output'),
    options: { num_ctx: place('num_ctx'), ...tomorrow('options') },
  },
  converse: {
    messages: [
      { role: 'user', content: [{ text: 'Hello.' }], ...tomorrow('message') },
      {
        role: 'assistant',
        content: [
          { toolUse: { toolUseId: 'call_1', name: 'find', input: anywhere('input'), ...tomorrow('use') } },
          { blockOfTomorrow: anywhere('native') },
        ],
      },
      {
        role: 'user',
        content: [
          {
            toolResult: {
              toolUseId: 'call_1',
              content: [{ json: anywhere('json') }, { text: inText('result') }],
              ...tomorrow('result'),
            },
          },
        ],
      },
    ],
    toolConfig: {
      tools: [
        { toolSpec: { name: 'find', description: 'Finds.', inputSchema: { json: schema('tool') } } },
        { toolSpec: { name: 'strict', inputSchema: { json: schema('strict') }, strict: true } },
      ],
    },
    outputConfig: {
      textFormat: {
        type: 'json_schema',
        structure: { jsonSchema: { name: 'answer', schema: JSON.stringify(schema('output')) } },
      },
    },
    additionalModelRequestFields: tomorrow('additional'),
    ...tomorrow('body'),
  },
}

/** A request of each format with a number in every field that the gateway reads. */
export const readNumbers: { readonly [F in Format]: JsonObject } = {
  chat: {
    model: 'm',
    messages: [{ role: 'user', content: 'Hello.' }],
    temperature: 0.5,
    top_p: 0.5,
    n: 1,
    max_completion_tokens: 100,
    presence_penalty: 0.5,
    frequency_penalty: 0.5,
    seed: 7,
    logit_bias: { 11: 5 },
    logprobs: true,
    top_logprobs: 2,
  },
  messages: {
    model: 'm',
    max_tokens: 2000,
    messages: [{ role: 'user', content: 'Hello.' }],
    temperature: 0.5,
    top_p: 0.5,
    top_k: 5,
    thinking: { type: 'enabled', budget_tokens: 1024 },
  },
  gemini: {
    contents: [{ role: 'user', parts: [{ text: 'Hello.' }] }],
    generationConfig: {
      temperature: 0.5,
      topP: 0.5,
      topK: 5,
      candidateCount: 1,
      maxOutputTokens: 100,
      presencePenalty: 0.5,
      frequencyPenalty: 0.5,
      seed: 7,
      responseLogprobs: true,
      logprobs: 2,
      thinkingConfig: { thinkingBudget: 1024 },
    },
  },
  responses: {
    model: 'm',
    input: 'Hello.',
    temperature: 0.5,
    top_p: 0.5,
    max_output_tokens: 100,
    max_tool_calls: 3,
    top_logprobs: 2,
  },
  ollama: {
    model: 'm',
    stream: false,
    messages: [{ role: 'user', content: 'Hello.' }],
    options: {
      temperature: 0.5,
      top_p: 0.5,
      top_k: 5,
      seed: 7,
      num_predict: 100,
      presence_penalty: 0.5,
      frequency_penalty: 0.5,
    },
    logprobs: true,
    top_logprobs: 2,
  },
  converse: {
    messages: [{ role: 'user', content: [{ text: 'Hello.' }] }],
    inferenceConfig: { maxTokens: 2000, temperature: 0.5, topP: 0.5 },
    additionalModelRequestFields: { top_k: 5, thinking: { type: 'enabled', budget_tokens: 1024 } },
  },
}

const chatUsage = (name: string): JsonObject => ({
  prompt_tokens: 3,
  completion_tokens: 1,
  total_tokens: 4,
  ...tomorrow(name),
})

/** A response of each format with numbers in every value that the gateway does not read. */
export const answers: { readonly [F in UpstreamFormat]: JsonObject } = {
  chat: {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'Hello.',
          tool_calls: [
            {
              id: 'call_1',
              type: 'function',
              function: { name: 'find', arguments: inText('arguments'), ...tomorrow('function') },
              ...tomorrow('call'),
            },
          ],
          ...tomorrow('message'),
        },
        logprobs: { content: [{ token: 'a', logprob: place('logprob'), bytes: [97], top_logprobs: [] }] },
        finish_reason: 'tool_calls',
        ...tomorrow('choice'),
      },
    ],
    usage: chatUsage('usage'),
    ...tomorrow('body'),
  },
  messages: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [
      { type: 'text', text: 'Hello.', ...tomorrow('text') },
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: anywhere('server') },
      { type: 'block_of_tomorrow', value: anywhere('block') },
      { type: 'tool_use', id: 'toolu_1', name: 'find', input: anywhere('input'), ...tomorrow('use') },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 1, ...tomorrow('usage') },
    ...tomorrow('body'),
  },
  gemini: {
    candidates: [
      {
        content: {
          role: 'model',
          parts: [
            { text: 'Hello.', ...tomorrow('text') },
            { partOfTomorrow: anywhere('native') },
            { functionCall: { name: 'find', args: anywhere('args') } },
          ],
        },
        finishReason: 'STOP',
        index: 0,
        logprobsResult: {
          chosenCandidates: [{ token: 'Hello.', tokenId: 7, logProbability: place('logprob') }],
          topCandidates: [{ candidates: [{ token: 'Hello.', tokenId: 7, logProbability: place('toplogprob') }] }],
        },
        ...tomorrow('candidate'),
      },
    ],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1, totalTokenCount: 4, ...tomorrow('usage') },
    modelVersion: 'm',
    responseId: 'r',
    ...tomorrow('body'),
  },
  responses: {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    model: 'm',
    status: 'completed',
    output: [
      {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Hello.', annotations: [], ...tomorrow('text') }],
        ...tomorrow('message'),
      },
      { type: 'item_of_tomorrow', id: 'it_1', value: anywhere('native') },
      {
        type: 'function_call',
        id: 'fc_1',
        call_id: 'call_1',
        name: 'find',
        arguments: inText('arguments'),
        status: 'completed',
        ...tomorrow('call'),
      },
    ],
    usage: { input_tokens: 3, output_tokens: 1, total_tokens: 4, ...tomorrow('usage') },
    ...tomorrow('body'),
  },
  converse: {
    output: {
      message: {
        role: 'assistant',
        content: [
          { text: 'Hello.' },
          { blockOfTomorrow: anywhere('native') },
          { toolUse: { toolUseId: 'tooluse_1', name: 'find', input: anywhere('input') } },
        ],
      },
    },
    stopReason: 'tool_use',
    usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4, ...tomorrow('usage') },
    metrics: { latencyMs: 1 },
    ...tomorrow('body'),
  },
}

export interface StreamEvent {
  readonly event?: string
  readonly data: JsonObject
}

const chunk = (choice: JsonObject, more: JsonObject = {}): StreamEvent => ({
  data: {
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, finish_reason: null, ...choice }],
    ...more,
  },
})
const named = (data: JsonObject): StreamEvent => ({ event: String(data.type), data })
const candidate = (part: JsonObject, more: JsonObject = {}): StreamEvent => ({
  data: { candidates: [{ content: { role: 'model', parts: [part] }, index: 0, ...more }], modelVersion: 'm' },
})
const { content: _content, ...messagesFrame } = answers.messages
const responsesItems = answers.responses.output as JsonObject[]

/** The same responses as streams. */
export const streams: { readonly [F in UpstreamFormat]: readonly StreamEvent[] } = {
  chat: [
    chunk({ delta: { role: 'assistant', content: '' } }, tomorrow('body')),
    chunk({
      delta: { content: 'Hello.' },
      logprobs: { content: [{ token: 'a', logprob: place('logprob'), bytes: [97], top_logprobs: [] }] },
    }),
    chunk({
      delta: {
        tool_calls: [
          { index: 0, id: 'call_1', type: 'function', function: { name: 'find', arguments: inText('args') } },
        ],
      },
    }),
    chunk({ delta: {}, finish_reason: 'tool_calls', ...tomorrow('choice') }),
    {
      data: {
        id: 'c',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'm',
        choices: [],
        usage: chatUsage('usage'),
      },
    },
  ],
  messages: [
    named({ type: 'message_start', message: { ...messagesFrame, content: [], stop_reason: null } }),
    named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello.' } }),
    named({ type: 'content_block_stop', index: 0 }),
    named({
      type: 'content_block_start',
      index: 1,
      content_block: { type: 'tool_use', id: 'toolu_1', name: 'find', input: {} },
    }),
    named({
      type: 'content_block_delta',
      index: 1,
      delta: { type: 'input_json_delta', partial_json: inText('partial') },
    }),
    named({ type: 'content_block_stop', index: 1 }),
    // Some servers send a complete call in its start event.
    named({
      type: 'content_block_start',
      index: 2,
      content_block: { type: 'tool_use', id: 'toolu_2', name: 'find', input: anywhere('whole') },
    }),
    named({ type: 'content_block_stop', index: 2 }),
    named({
      type: 'content_block_start',
      index: 3,
      content_block: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
    }),
    named({
      type: 'content_block_delta',
      index: 3,
      delta: { type: 'input_json_delta', partial_json: inText('server') },
    }),
    named({ type: 'content_block_stop', index: 3 }),
    named({
      type: 'message_delta',
      delta: { stop_reason: 'tool_use', stop_sequence: null },
      usage: { output_tokens: 1 },
    }),
    named({ type: 'message_stop' }),
  ],
  gemini: [
    candidate({ text: 'Hello.' }),
    candidate({ functionCall: { name: 'find', args: anywhere('args') } }),
    candidate({ functionCall: { name: 'find', willContinue: true } }),
    candidate({
      functionCall: { partialArgs: [{ jsonPath: '$.a.b', numberValue: place('partial') }], willContinue: true },
    }),
    candidate({ functionCall: {} }),
    {
      data: {
        candidates: [{ content: { role: 'model', parts: [{ text: '' }] }, finishReason: 'STOP', index: 0 }],
        usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1, totalTokenCount: 4, ...tomorrow('usage') },
        ...tomorrow('body'),
      },
    },
  ],
  responses: [
    named({ type: 'response.created', response: { ...answers.responses, status: 'in_progress', output: [] } }),
    ...responsesItems.flatMap((item, index): StreamEvent[] => [
      named({ type: 'response.output_item.added', output_index: index, item: started(item) }),
      ...(item.type === 'function_call'
        ? [
            named({
              type: 'response.function_call_arguments.delta',
              output_index: index,
              item_id: item.id as Json,
              delta: item.arguments as Json,
            }),
          ]
        : []),
      ...(item.type === 'message'
        ? [
            named({
              type: 'response.output_text.delta',
              output_index: index,
              content_index: 0,
              item_id: item.id as Json,
              delta: 'Hello.',
            }),
          ]
        : []),
      named({ type: 'response.output_item.done', output_index: index, item }),
    ]),
    named({ type: 'response.completed', response: answers.responses }),
  ],
  converse: [
    { event: 'messageStart', data: { role: 'assistant' } },
    { event: 'contentBlockDelta', data: { contentBlockIndex: 0, delta: { text: 'Hello.' } } },
    { event: 'contentBlockStop', data: { contentBlockIndex: 0 } },
    {
      event: 'contentBlockStart',
      data: { contentBlockIndex: 1, start: { toolUse: { toolUseId: 'tooluse_1', name: 'find' } } },
    },
    {
      event: 'contentBlockDelta',
      data: { contentBlockIndex: 1, delta: { toolUse: { input: inText('input') } } },
    },
    { event: 'contentBlockStop', data: { contentBlockIndex: 1 } },
    { event: 'messageStop', data: { stopReason: 'tool_use' } },
    {
      event: 'metadata',
      data: { usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4 }, metrics: { latencyMs: 1 } },
    },
  ],
}

function started(item: JsonObject): JsonObject {
  if (item.type === 'message') return { ...item, status: 'in_progress', content: [] }
  return item.type === 'function_call' ? { ...item, status: 'in_progress', arguments: '' } : item
}

const places = /(\\*)"#([\w.]+)#\1"/g

/** Returns the JSON of a value with a distinct number for each placeholder, and the numbers by placeholder name. */
export function withNumbers(
  value: unknown,
  numberOf: (index: number) => string,
): { text: string; numbers: ReadonlyMap<string, string> } {
  const names = new Set([...JSON.stringify(value).matchAll(places)].map(([, , name]) => name as string))
  const numbers = new Map([...names].map((name, index) => [name, numberOf(index)]))
  return { text: fillIn(value, numbers), numbers }
}

export const fillIn = (value: unknown, numbers: ReadonlyMap<string, string>): string =>
  JSON.stringify(value).replaceAll(places, (_whole, _escapes, name: string) => numbers.get(name) as string)

/** Returns the pointers of all strings in a value that contain a text. */
export function pointersOf(value: Json, text: string, at = ''): string[] {
  if (typeof value === 'string') return value.includes(text) ? [at] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => pointersOf(inner as Json, text, `${at}/${key}`))
}

/** Returns the pointers of all numbers in a value. */
export function pointersIn(value: Json, at: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (typeof value === 'number') return [at]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => pointersIn(inner as Json, [...at, key]))
}

/** Returns a copy with another value at one pointer. */
export function put(value: Json, [step, ...rest]: readonly (string | number)[], other: string): Json {
  if (step === undefined) return other
  const copy = structuredClone(value) as JsonObject
  copy[step] = put(copy[step] as Json, rest, other)
  return copy
}

export const placeFor = place
