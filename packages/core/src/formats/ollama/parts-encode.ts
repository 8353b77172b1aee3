import type { JsonObject } from '../../base/json/json.ts'
import type { ExchangeContext } from '../codec.ts'
import type {
  Citation,
  MediaPart,
  NativePart,
  Nothing,
  Part,
  ReasoningPart,
  ToolCallPart,
  ToolResultPart,
} from '../ir.ts'
import { loss, ownExtra, reportCitation } from '../shared/report.ts'
import { inputObject, nativeToolName } from '../shared/tools.ts'

/** Reports fields of a part that clients do not get. */
export function reportHints({ cache, extra, at = '' }: Part, { report }: ExchangeContext): void {
  ownExtra(extra, 'ollama', at, report)
  if (cache !== undefined) report.add(loss(at, 'a cache hint cannot be part of a response', 'unsupported', 'note'))
}

export function reportCitations(citations: readonly Citation[], at: string, { report }: ExchangeContext): void {
  for (const { url, title, text, extra } of citations) {
    report.add(loss(at, `${noCitations}; left out: ${url ?? title ?? text ?? 'one without a source'}`))
    reportCitation(extra, 'ollama', at, noCitations, report)
  }
}

const noCitations = 'Ollama has no citations'

export function reportRefusal(at: string, { report }: ExchangeContext): void {
  report.add(loss(at, 'a refusal is plain text in Ollama', 'approximated', 'note'))
}

/** Reports what the text of a reasoning part does not tell. */
export function reportReasoning(
  { summary, redacted, seal, at = '' }: ReasoningPart,
  { report }: ExchangeContext,
): void {
  if (redacted) report.add(loss(at, 'withheld reasoning cannot be sent in Ollama', 'unsupported', 'note'))
  else if (seal !== undefined) reportLostSeal(at, report)
  if (summary) report.add(loss(at, 'a summary of reasoning is sent as the reasoning itself', 'approximated', 'note'))
}

/** Ollama's messages have no field for a signature that all clients send back. */
export function reportLostSeal(at: string, report: ExchangeContext['report']): void {
  report.add(loss(at, 'Ollama has no field for a signature', 'unsupported', 'note'))
}

/**
 * Encodes a call. Its arguments are an object.
 *
 * @param index place among the calls of the response
 */
export function encodeCall(part: ToolCallPart, index: number, context: ExchangeContext): JsonObject {
  const {
    type: _type,
    id,
    name,
    input: _input,
    custom: _custom,
    seal,
    cache: _cache,
    extra: _extra,
    at = '',
    ...rest
  } = part
  rest satisfies Nothing
  if (seal !== undefined) reportLostSeal(at, context.report)
  return {
    id: id || context.newId('call_'),
    function: { index, name, arguments: inputObject(part, context.report) },
  }
}

/** Returns an image in base64. Other media, and images elsewhere, are reported. */
export function encodeImage({ kind, source, at = '' }: MediaPart, context: ExchangeContext): string | undefined {
  if (kind === 'image' && source.type === 'base64') return source.data
  const what = kind === 'image' ? 'an image that is not sent as data' : `a part of the kind '${kind}'`
  context.report.add(loss(at, `${what} cannot be sent in Ollama`))
  return undefined
}

export function reportLeftOut(part: NativePart | ToolResultPart, { report }: ExchangeContext): void {
  const isIncidental = part.type === 'native' && part.incidental === true
  const what = part.type === 'native' ? `the block '${nativeToolName(part.value)}'` : 'the result of a tool'
  report.add(loss(part.at ?? '', `${what} has no counterpart in Ollama`, 'unsupported', isIncidental ? 'note' : 'warn'))
}
