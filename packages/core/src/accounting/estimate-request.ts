import type { Json, JsonObject } from '../base/json/types.ts'
import type { MediaPart, ModelRequest, Part, Tool, Turn } from '../formats/ir.ts'

/** What a request's input consists of, for an estimate: text that a tokenizer can count, and a number for the rest. */
export interface EstimateInput {
  readonly text: string
  /** Tokens of what is no text: the frame around turns and tools, images, sounds. */
  readonly fixed: number
}

/** The frame of one turn (its role and the marks around it), of one tool, and of the answer's beginning. */
const turnTokens = 4
const toolTokens = 8
const answerTokens = 3

/**
 * Tokens of one medium, whose size in pixels, seconds or pages is not known here: about the largest image that providers
 * charge, half a minute of sound, a quarter of a minute of film, two pages of a document.
 */
const mediaTokens: Readonly<Record<MediaPart['kind'], number>> = {
  image: 1600,
  audio: 1000,
  video: 4500,
  document: 3000,
}
const smallImageTokens = 85

/** Text without a blank that is longer than this is data (an image, a sealed value) and not read as words. */
const longestWord = 2000

/** Reasoning is counted as far as its text is there; seals and ids are not input. */
export function estimateInput({
  turns,
  tools,
  output,
}: Pick<ModelRequest, 'turns' | 'tools' | 'output'>): EstimateInput {
  const texts: string[] = []
  let fixed = answerTokens
  const addJson = (value: Json): void => {
    const { text, media } = withoutData(value)
    texts.push(text)
    fixed += media * mediaTokens.image
  }
  const addMedia = (part: MediaPart): void => {
    const words = wordsOf(part)
    if (words !== undefined) texts.push(words)
    else fixed += part.detail === 'low' && part.kind === 'image' ? smallImageTokens : mediaTokens[part.kind]
  }
  const addPart = (part: Part): void => {
    switch (part.type) {
      case 'text':
      case 'refusal':
      case 'reasoning':
        texts.push(part.text)
        break
      case 'tool-call':
        texts.push(part.name, part.input)
        break
      case 'tool-result':
        for (const inner of part.parts) addPart(inner)
        break
      case 'media':
        addMedia(part)
        break
      case 'native':
        addJson(part.value)
    }
  }
  const addTurn = (turn: Turn): void => {
    fixed += turnTokens
    if (turn.name !== undefined) texts.push(turn.name)
    for (const part of turn.parts) addPart(part)
  }
  for (const turn of turns) addTurn(turn)
  for (const tool of tools?.list ?? []) {
    fixed += toolTokens
    addJson(shownOf(tool))
  }
  if (output?.format?.type === 'json' && output.format.schema !== undefined) addJson(output.format.schema)
  return { text: texts.join('\n'), fixed }
}

/** The text of a document that is nothing but text; undefined for any other medium. */
function wordsOf({ source, mediaType }: MediaPart): string | undefined {
  if (source.type === 'text') return source.text
  if (source.type !== 'base64' || mediaType?.startsWith('text/') !== true) return undefined
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(source.data), (char) => char.charCodeAt(0)))
  } catch {
    return undefined
  }
}

/** What the model is told of a tool. */
function shownOf(tool: Tool): JsonObject {
  if (tool.type === 'native') return tool.value
  const { name, description } = tool
  const about: JsonObject = description === undefined ? { name } : { name, description }
  const form = tool.type === 'function' ? tool.schema : tool.grammar
  return form === undefined ? about : { ...about, parameters: form }
}

/** JSON as text, with what is data and no words taken out; `media` is how many such values there were. */
function withoutData(value: Json): { text: string; media: number } {
  let media = 0
  const text = JSON.stringify(value, (_key, inner: Json) => {
    if (typeof inner !== 'string' || inner.length <= longestWord || /\s/.test(inner)) return inner
    media++
    return ''
  })
  return { text, media }
}
