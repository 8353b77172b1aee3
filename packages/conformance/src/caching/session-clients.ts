import { isObject, type Json, type JsonObject, listOf, numberOf, objectOf, textOf } from '../base/json.ts'

/** Formats in which the sessions are driven: each sends its conversation again with every turn, as agents do. */
export type SessionFormat = 'chat' | 'messages' | 'responses' | 'gemini' | 'converse' | 'ollama'

/** A tool of a session. */
export interface SessionTool {
  readonly name: string
  readonly description: string
  readonly schema: JsonObject
}

/** What stays the same in all turns of a session. */
export interface SessionSettings {
  readonly model: string
  readonly system: string
  readonly tools: readonly SessionTool[]
}

/** A tool call in a response. */
interface Call {
  readonly id: string
  readonly name: string
}

/** An agent that speaks one format. It appends what it receives to its conversation. */
export interface SessionClient {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Returns the body of the first request. */
  begin(settings: SessionSettings, question: string): JsonObject
  /**
   * Returns the body of the next request: with the response, and the results of its tool calls or, if it has none, the next question.
   */
  proceed(body: JsonObject, response: JsonObject, result: (name: string) => string, question: string): JsonObject
  /** Returns the input tokens of a response, and those that were read from a cache. */
  usage(response: JsonObject): { readonly input: number; readonly read: number }
}

const at = (value: unknown, ...path: readonly (string | number)[]): Json | undefined => {
  let found = value as Json | undefined
  for (const key of path)
    found = Array.isArray(found) ? found[Number(key)] : isObject(found) ? found[String(key)] : undefined
  return found
}
const count = (value: unknown, ...path: readonly (string | number)[]): number => numberOf(at(value, ...path)) ?? 0
const objects = (value: unknown): JsonObject[] => listOf(value).map(objectOf)
const appended = (body: JsonObject, field: string, items: readonly Json[]): JsonObject => ({
  ...body,
  [field]: [...listOf(body[field]), ...items],
})

const chat: SessionClient = {
  path: '/v1/chat/completions',
  headers: {},
  begin: ({ model, system, tools }, question) => ({
    model,
    messages: [
      { role: 'system', content: system },
      { role: 'user', content: question },
    ],
    tools: tools.map(({ name, description, schema }) => ({
      type: 'function',
      function: { name, description, parameters: schema },
    })),
  }),
  proceed(body, response, result, question) {
    const message = objectOf(at(response, 'choices', 0, 'message'))
    const calls = objects(message.tool_calls)
    return appended(body, 'messages', [
      message,
      ...calls.map((call) => ({
        role: 'tool',
        tool_call_id: textOf(call.id),
        content: result(textOf(at(call, 'function', 'name'))),
      })),
      ...(calls.length === 0 ? [{ role: 'user', content: question }] : []),
    ])
  },
  usage: (response) => ({
    input: count(response, 'usage', 'prompt_tokens'),
    read: count(response, 'usage', 'prompt_tokens_details', 'cached_tokens'),
  }),
}

/** Sets the marks of Claude Code: the end of the instructions, and the end of the newest turn. */
function withMarks(body: JsonObject): JsonObject {
  const mark = { type: 'ephemeral' }
  const messages = objects(body.messages).map(({ content, ...rest }, index, all) => {
    const blocks = objects(content).map(({ cache_control: _, ...block }) => block)
    const last = blocks.at(-1)
    if (index === all.length - 1 && last !== undefined) blocks[blocks.length - 1] = { ...last, cache_control: mark }
    return { ...rest, content: blocks }
  })
  return { ...body, messages }
}

const messages = (marks: boolean): SessionClient => {
  const prepared = (body: JsonObject): JsonObject => (marks ? withMarks(body) : body)
  return {
    path: '/v1/messages',
    headers: { 'anthropic-version': '2023-06-01' },
    begin: ({ model, system, tools }, question) =>
      prepared({
        model,
        max_tokens: 4096,
        system: [{ type: 'text', text: system, ...(marks ? { cache_control: { type: 'ephemeral' } } : {}) }],
        messages: [{ role: 'user', content: [{ type: 'text', text: question }] }],
        tools: tools.map(({ name, description, schema }) => ({ name, description, input_schema: schema })),
      }),
    proceed(body, response, result, question) {
      const content = listOf(response.content)
      const calls = objects(content).filter(({ type }) => type === 'tool_use')
      const answers: JsonObject[] = calls.map((call) => ({
        type: 'tool_result',
        tool_use_id: textOf(call.id),
        content: result(textOf(call.name)),
      }))
      return prepared(
        appended(body, 'messages', [
          { role: 'assistant', content },
          { role: 'user', content: calls.length === 0 ? [{ type: 'text', text: question }] : answers },
        ]),
      )
    },
    usage({ usage }) {
      const read = count(usage, 'cache_read_input_tokens')
      return { input: count(usage, 'input_tokens') + read + count(usage, 'cache_creation_input_tokens'), read }
    },
  }
}

const responses: SessionClient = {
  path: '/v1/responses',
  headers: {},
  begin: ({ model, system, tools }, question) => ({
    model,
    instructions: system,
    store: false,
    include: ['reasoning.encrypted_content'],
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: question }] }],
    tools: tools.map(({ name, description, schema }) => ({
      type: 'function',
      name,
      description,
      parameters: schema,
      strict: false,
    })),
  }),
  proceed(body, response, result, question) {
    const output = objects(response.output)
    const calls = output.filter(({ type }) => type === 'function_call')
    return appended(body, 'input', [
      ...output,
      ...calls.map((call) => ({
        type: 'function_call_output',
        call_id: textOf(call.call_id),
        output: result(textOf(call.name)),
      })),
      ...(calls.length === 0
        ? [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: question }] }]
        : []),
    ])
  },
  usage: (response) => ({
    input: count(response, 'usage', 'input_tokens'),
    read: count(response, 'usage', 'input_tokens_details', 'cached_tokens'),
  }),
}

const gemini: SessionClient = {
  path: '/v1beta/models/demo:generateContent',
  headers: {},
  begin: ({ system, tools }, question) => ({
    systemInstruction: { parts: [{ text: system }] },
    contents: [{ role: 'user', parts: [{ text: question }] }],
    tools: [
      {
        functionDeclarations: tools.map(({ name, description, schema }) => ({
          name,
          description,
          parametersJsonSchema: schema,
        })),
      },
    ],
  }),
  proceed(body, response, result, question) {
    const content = objectOf(at(response, 'candidates', 0, 'content'))
    const calls = objects(content.parts).flatMap((part): Call[] => {
      const call = objectOf(part.functionCall)
      return part.functionCall === undefined ? [] : [{ id: textOf(call.id), name: textOf(call.name) }]
    })
    const answers = calls.map(({ id, name }) => ({
      functionResponse: { ...(id === '' ? {} : { id }), name, response: { output: result(name) } },
    }))
    return appended(body, 'contents', [
      content,
      { role: 'user', parts: calls.length === 0 ? [{ text: question }] : answers },
    ])
  },
  usage: (response) => ({
    input: count(response, 'usageMetadata', 'promptTokenCount'),
    read: count(response, 'usageMetadata', 'cachedContentTokenCount'),
  }),
}

const converse: SessionClient = {
  path: '/model/demo/converse',
  headers: {},
  begin: ({ system, tools }, question) => ({
    system: [{ text: system }],
    messages: [{ role: 'user', content: [{ text: question }] }],
    toolConfig: {
      tools: tools.map(({ name, description, schema }) => ({
        toolSpec: { name, description, inputSchema: { json: schema } },
      })),
    },
  }),
  proceed(body, response, result, question) {
    const message = objectOf(at(response, 'output', 'message'))
    const calls = objects(message.content).flatMap((block): Call[] =>
      block.toolUse === undefined
        ? []
        : [{ id: textOf(at(block, 'toolUse', 'toolUseId')), name: textOf(at(block, 'toolUse', 'name')) }],
    )
    const answers = calls.map(({ id, name }) => ({
      toolResult: { toolUseId: id, content: [{ text: result(name) }], status: 'success' },
    }))
    return appended(body, 'messages', [
      message,
      { role: 'user', content: calls.length === 0 ? [{ text: question }] : answers },
    ])
  },
  usage({ usage }) {
    const read = count(usage, 'cacheReadInputTokens')
    return { input: count(usage, 'inputTokens') + read + count(usage, 'cacheWriteInputTokens'), read }
  },
}

const ollama: SessionClient = {
  path: '/api/chat',
  headers: {},
  begin: ({ model, system, tools }, question) => ({
    model,
    stream: false,
    messages: [
      { role: 'system', content: system },
      { role: 'user', content: question },
    ],
    tools: tools.map(({ name, description, schema }) => ({
      type: 'function',
      function: { name, description, parameters: schema },
    })),
  }),
  proceed(body, response, result, question) {
    const message = objectOf(response.message)
    const calls = objects(message.tool_calls)
    return appended(body, 'messages', [
      message,
      ...calls.map((call) => {
        const name = textOf(at(call, 'function', 'name'))
        return { role: 'tool', tool_name: name, content: result(name) }
      }),
      ...(calls.length === 0 ? [{ role: 'user', content: question }] : []),
    ])
  },
  // The format has no field for cached tokens.
  usage: (response) => ({ input: count(response, 'prompt_eval_count'), read: 0 }),
}

/** The agents by format. `messages` sets no cache marks; `markedMessages` does. */
export const sessionClients: Readonly<Record<SessionFormat, SessionClient>> = {
  chat,
  messages: messages(false),
  responses,
  gemini,
  converse,
  ollama,
}
export const markedMessages: SessionClient = messages(true)
