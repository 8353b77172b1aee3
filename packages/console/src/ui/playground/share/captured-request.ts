import type { Format, Json, JsonObject } from '../formats/format.ts'
import { listOf, objectOf, textOf } from '../formats/read.ts'
import { type Draft, firstDraft } from '../settings/draft.ts'

/** The settings and the prompt that send a captured request again. */
export interface RepeatedRequest {
  readonly draft: Draft
  readonly prompt: string
  /** The messages are in the extra JSON, and are sent in place of the prompt: they are more than one text of the user. */
  readonly replacesPrompt: boolean
}

/** The parts of a request that the fields of the Playground can hold, and the members of the body that they come from. */
interface PlainRequest {
  readonly system: string
  readonly prompt: string
  readonly members: readonly string[]
}

/** How the fields of the Playground are read from a format's body. */
interface RequestReader {
  /** Paths of numbers and names. */
  readonly fields: { readonly [F in 'temperature' | 'maxTokens' | 'topP' | 'seed' | 'effort']?: string }
  /** Returns undefined if the request has more than a system prompt and one text of the user. */
  plain(body: JsonObject): PlainRequest | undefined
  /** The list of messages. */
  messages(body: JsonObject): Json | undefined
}

/**
 * Returns the settings that send a captured request again. What the fields of the Playground cannot hold becomes extra JSON, which is merged
 * into the request: nothing is lost.
 */
export function repeatRequest(format: Format, model: string, stream: boolean, body: JsonObject): RepeatedRequest {
  const { fields, plain, messages } = readers[format.id]
  const rest = structuredClone(body)
  delete rest.model
  delete rest.stream
  const found = Object.fromEntries(
    Object.entries(fields).map(([field, path]) => [field, String(takeScalar(rest, path) ?? '')]),
  )
  const simple = plain(rest)
  for (const member of simple?.members ?? []) delete rest[member]
  return {
    draft: {
      ...firstDraft,
      ...found,
      format,
      model,
      stream,
      system: simple?.system ?? '',
      extra: Object.keys(rest).length === 0 ? '' : JSON.stringify(rest, null, 2),
    },
    prompt: simple?.prompt ?? (lastText(messages(body)) || 'The messages are in the extra JSON.'),
    replacesPrompt: simple === undefined,
  }
}

/** Removes and returns a number or text at a path with dots. */
function takeScalar(body: JsonObject, path: string): number | string | undefined {
  const [name = '', ...below] = path.split('.')
  const value = Object.hasOwn(body, name) ? body[name] : undefined
  if (below.length > 0) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    const taken = takeScalar(value, below.join('.'))
    if (taken !== undefined && Object.keys(value).length === 0) delete body[name]
    return taken
  }
  if (typeof value !== 'number' && typeof value !== 'string') return undefined
  delete body[name]
  return value
}

/** Returns a content that is one text, without further members; undefined for anything else. */
function onlyText(content: Json | undefined, type?: string): string | undefined {
  if (typeof content === 'string') return content
  if (!Array.isArray(content) || content.length !== 1) return undefined
  const { text, type: own, ...others } = objectOf(content[0])
  return typeof text === 'string' && own === type && Object.keys(others).length === 0 ? text : undefined
}

/** Returns the text of a message with this role and no other members. */
function textBy(role: string, message: JsonObject | undefined, type: string): string | undefined {
  const { role: own, content, ...others } = message ?? {}
  return own === role && Object.keys(others).length === 0 ? onlyText(content, type) : undefined
}

const lastText = (messages: Json | undefined): string => {
  if (typeof messages === 'string') return messages
  const last = listOf(messages).findLast(({ role }) => role === 'user') ?? {}
  const parts = listOf(last.content ?? last.parts)
  return textOf(last.content) || parts.map(({ text }) => textOf(text)).join('')
}

const readers: { readonly [F in Format['id']]: RequestReader } = {
  chat: {
    fields: {
      temperature: 'temperature',
      maxTokens: 'max_completion_tokens',
      topP: 'top_p',
      seed: 'seed',
      effort: 'reasoning_effort',
    },
    plain({ messages }) {
      const all = listOf(messages)
      const system = all.length === 2 ? textBy('system', all[0], 'text') : ''
      const prompt = textBy('user', all.at(-1), 'text')
      return system === undefined || !prompt || all.length > 2 ? undefined : { system, prompt, members: ['messages'] }
    },
    messages: ({ messages }) => messages,
  },
  messages: {
    fields: { temperature: 'temperature', maxTokens: 'max_tokens', topP: 'top_p' },
    plain({ messages, system: instructions = '' }) {
      const all = listOf(messages)
      const system = onlyText(instructions, 'text')
      const prompt = textBy('user', all[0], 'text')
      return system === undefined || !prompt || all.length > 1
        ? undefined
        : { system, prompt, members: ['messages', 'system'] }
    },
    messages: ({ messages }) => messages,
  },
  gemini: {
    fields: {
      temperature: 'generationConfig.temperature',
      maxTokens: 'generationConfig.maxOutputTokens',
      topP: 'generationConfig.topP',
      seed: 'generationConfig.seed',
    },
    plain({ contents, systemInstruction }) {
      const all = listOf(contents)
      const { parts: instructions = '', role: _, ...others } = objectOf(systemInstruction)
      const { role, parts, ...further } = all[0] ?? {}
      const system = Object.keys(others).length === 0 ? onlyText(instructions) : undefined
      const prompt = (role === 'user' || role === undefined) && Object.keys(further).length === 0 ? onlyText(parts) : ''
      return system === undefined || !prompt || all.length > 1
        ? undefined
        : { system, prompt, members: ['contents', 'systemInstruction'] }
    },
    messages: ({ contents }) => contents,
  },
  responses: {
    fields: { temperature: 'temperature', maxTokens: 'max_output_tokens', topP: 'top_p' },
    plain({ input, instructions = '' }) {
      const all = typeof input === 'string' ? [{ role: 'user', content: input }] : listOf(input)
      const prompt = textBy('user', all[0], 'input_text')
      return typeof instructions !== 'string' || !prompt || all.length > 1
        ? undefined
        : { system: instructions, prompt, members: ['input', 'instructions'] }
    },
    messages: ({ input }) => input,
  },
}
