import type { Json, JsonObject } from '../formats/format.ts'
import { formats } from '../formats/index.ts'
import { type Draft, firstDraft } from '../settings/draft.ts'
import { repeatRequest } from './captured-request.ts'

/** Settings and a prompt as they travel in a link or a file: never a token. */
export interface Shared {
  readonly draft: Draft
  readonly prompt: string
  /** The extra JSON has messages, which are sent in place of the prompt. Default: false. */
  readonly replacesPrompt?: boolean
}

type TextField = Exclude<keyof Draft, 'format' | 'stream' | 'offersTools'>

/** Longest value of a field. A link is much shorter; a file could be anything. */
const longestText = 200_000

/** Returns the settings that differ from the first ones, as JSON. */
export function sharedOf({ draft, prompt }: Shared): JsonObject {
  const { format, stream, offersTools, ...texts } = draft
  const shared: JsonObject = { v: 1, format: format.id }
  for (const [name, text] of Object.entries(texts)) if (text !== firstDraft[name as TextField]) shared[name] = text
  if (!stream) shared.stream = false
  if (offersTools) shared.offersTools = true
  if (prompt !== '') shared.prompt = prompt
  return shared
}

/**
 * Reads `sharedOf`, and the links of recent calls, which have a captured `request`. Anyone can write such a link or file: unknown fields and fields of another type are ignored. Undefined if it is
 * not of the Playground.
 */
export function readShared(value: Json | undefined): Shared | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value.v !== 1) return undefined
  const text = (name: string, otherwise: string): string => {
    const found = Object.hasOwn(value, name) ? value[name] : undefined
    return typeof found === 'string' && found.length <= longestText ? found : otherwise
  }
  const format = formats.find(({ id }) => id === value.format)
  if (format === undefined) return undefined
  const { request } = value
  if (typeof request === 'object' && request !== null && !Array.isArray(request))
    return repeatRequest(format, text('model', ''), value.stream !== false, request)
  return {
    draft: {
      format,
      model: text('model', ''),
      system: text('system', ''),
      temperature: text('temperature', ''),
      maxTokens: text('maxTokens', ''),
      topP: text('topP', ''),
      stop: text('stop', ''),
      seed: text('seed', ''),
      effort: text('effort', ''),
      schema: text('schema', ''),
      extra: text('extra', ''),
      stream: value.stream !== false,
      offersTools: value.offersTools === true,
      tools: text('tools', firstDraft.tools),
    },
    prompt: text('prompt', ''),
  }
}
