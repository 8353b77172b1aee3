import type { ModelRequest, Part, TextPart, Turn } from '../formats/ir.ts'

/**
 * Stands for a part whose content is not needed. Its text is not empty, because encoders leave out empty texts, and checks of reasoning
 * identify blocks by their place. Shared, because a conversation has thousands of parts.
 */
const someText: TextPart = { type: 'text', text: '…' }
const someTexts: Part[] = [someText]

/**
 * Returns a request for the time of its streamed response: without the contents of its turns, which would stay in memory as long as the
 * stream runs. Codecs read settings, tools, names of tools, and the places and seals of reasoning from it; all of these are kept.
 */
export const requestOfResponse = (request: ModelRequest): ModelRequest => ({
  ...request,
  turns: request.turns.map(({ role, parts, changes }): Turn => {
    const turn: Turn = { role, parts: parts.every(isContent) ? repeated(parts.length) : parts.map(withoutContent) }
    if (changes !== undefined) turn.changes = changes
    return turn
  }),
})

const repeated = (length: number): Part[] => (length === 1 ? someTexts : Array.from({ length }, (): Part => someText))

const isContent = ({ type }: Part): boolean => type === 'text' || type === 'refusal' || type === 'media'

function withoutContent(part: Part): Part {
  switch (part.type) {
    case 'reasoning':
      return { ...part, text: part.text === '' ? '' : someText.text }
    case 'tool-call': {
      const { type, id, name, custom } = part
      return custom === true ? { type, id, name, input: someText.text, custom } : { type, id, name, input: '{}' }
    }
    case 'tool-result': {
      const { type, callId, name } = part
      return name === undefined ? { type, callId, parts: someTexts } : { type, callId, name, parts: someTexts }
    }
    case 'native': {
      const { type } = part.value
      return { type: 'native', format: part.format, value: type === undefined ? {} : { type } }
    }
    default:
      return someText
  }
}
