import type { Answer, Json, Piece, ToolCall, Usage } from '../formats/format.ts'

/** A response folded from the pieces received so far. */
export interface Folded {
  readonly answer: Answer
  readonly usage: Usage | undefined
  readonly finish: string | undefined
  /** The first reported error: some formats report it twice. */
  readonly error: { readonly message: string; readonly body: Json } | undefined
}

const untold: Usage = { input: undefined, output: undefined }

export function foldPieces(pieces: readonly Piece[]): Folded {
  let text = ''
  let reasoning = ''
  const calls: (ToolCall & { readonly index: number })[] = []
  let usage: Usage | undefined
  let finish: string | undefined
  let error: Folded['error']
  const signatures: string[] = []
  for (const piece of pieces) {
    switch (piece.type) {
      case 'text':
        text += piece.text
        break
      case 'reasoning':
        reasoning += piece.text
        break
      case 'reasoning-signature':
        signatures.push(piece.signature)
        break
      case 'tool-call':
        addCall(calls, piece)
        break
      case 'usage':
        usage = { ...(usage ?? untold), ...toldOf(piece.usage) }
        break
      case 'finish':
        finish = piece.reason
        break
      case 'error':
        error ??= piece
        break
      default:
        piece satisfies never
    }
  }
  const toolCalls = calls.map(({ index, ...call }) => call)
  const reasoningSignature = signatures.length === 1 ? signatures[0] : undefined
  return { answer: { role: 'assistant', text, reasoning, reasoningSignature, toolCalls }, usage, finish, error }
}

/**
 * Adds a piece of a tool call. A piece with a name begins a call, unless the call at its index has that name already; other
 * pieces continue the call.
 */
function addCall(
  calls: (ToolCall & { readonly index: number })[],
  { index, id, name, input = '', signature }: Extract<Piece, { type: 'tool-call' }>,
): void {
  const at = calls.findLastIndex((call) => call.index === index)
  const known = calls[at]
  if (known === undefined || (name !== undefined && (id === undefined || id !== known.id)))
    calls.push({ index, id: id ?? '', name: name ?? '', input, ...(signature === undefined ? {} : { signature }) })
  else calls[at] = { ...known, input: known.input + input }
}

/** Returns the reported counts only. Streams report usage in parts, and a missing count does not erase an earlier one. */
const toldOf = (usage: Usage): Partial<Usage> =>
  Object.fromEntries(Object.entries(usage).filter(([, count]) => count !== undefined))
