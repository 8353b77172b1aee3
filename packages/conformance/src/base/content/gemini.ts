import { isObject, type Json, type JsonObject, listOf, numberOf, objectOf, parseJson, textOf } from '../json.ts'
import { eventData, type ResponseContent, type UsageTotals, withUsage } from './content.ts'

/** Gemini counts thoughts separately from candidates, and tool input separately from the prompt. */
function geminiUsage(value: Json | undefined): UsageTotals | undefined {
  const usage = objectOf(value)
  const prompt = numberOf(usage.promptTokenCount)
  if (prompt === undefined) return undefined
  const reasoning = numberOf(usage.thoughtsTokenCount)
  const cacheRead = numberOf(usage.cachedContentTokenCount)
  return {
    input: prompt + (numberOf(usage.toolUsePromptTokenCount) ?? 0),
    output: (numberOf(usage.candidatesTokenCount) ?? 0) + (reasoning ?? 0),
    ...(cacheRead === undefined ? {} : { cacheRead }),
    ...(reasoning === undefined ? {} : { reasoning }),
  }
}

/** Reads the model's parts, of all chunks of a stream in order. */
function partsOf(parts: readonly JsonObject[]): Omit<ResponseContent, 'usage' | 'refusal'> {
  const texts = (thought: boolean): string =>
    parts
      .filter((part) => (part.thought === true) === thought)
      .map((part) => textOf(part.text))
      .join('')
  return {
    text: texts(false),
    reasoning: texts(true),
    tools: callsOf(parts.map((part) => part.functionCall).filter(isObject)),
  }
}

/** Arguments may be streamed as pieces with a path: `$.city` or `$.list[0]`. */
function callsOf(pieces: readonly JsonObject[]): ResponseContent['tools'] {
  const calls: { name: string; input: JsonObject }[] = []
  let goesOn = false
  for (const piece of pieces) {
    if (!goesOn) calls.push({ name: textOf(piece.name), input: {} })
    const input = calls.at(-1)?.input ?? {}
    Object.assign(input, objectOf(piece.args))
    for (const bit of listOf(piece.partialArgs).map(objectOf)) addPiece(input, bit)
    goesOn = piece.willContinue === true
  }
  return calls
}

/** Returns the chunks of a response: events, or one JSON array for older clients. */
export const geminiChunks = (answer: string): unknown[] =>
  answer.trimStart().startsWith('[') ? listOf(parseJson(answer)) : eventData(answer).map(parseJson)

function addPiece(input: JsonObject, { jsonPath, stringValue, numberValue, boolValue }: JsonObject): void {
  const steps = (textOf(jsonPath).match(/[^$.[\]'"]+/g) ?? []).map((step) => (/^\d+$/.test(step) ? Number(step) : step))
  const last = steps.pop() ?? ''
  let node: Record<string | number, Json> = input
  for (const [at, step] of steps.entries()) {
    node[step] ??= typeof (steps[at + 1] ?? last) === 'number' ? [] : {}
    node = node[step] as Record<string | number, Json>
  }
  node[last] = stringValue === undefined ? (numberValue ?? boolValue ?? null) : textOf(node[last]) + textOf(stringValue)
}

const plainEndings = new Set(['STOP', 'MAX_TOKENS'])

/**
 * Reads chunks as one response; a whole body is a stream of one chunk. A response is complete with a finish or block
 * reason.
 */
export function readGemini(chunks: readonly unknown[], whole = false): ResponseContent | undefined {
  const parts: JsonObject[] = []
  let usage: UsageTotals | undefined
  let over = false
  let refusal = ''
  for (const chunk of chunks) {
    if (!isObject(chunk) || isObject(chunk.error)) return undefined
    usage = geminiUsage(chunk.usageMetadata) ?? usage
    const feedback = objectOf(chunk.promptFeedback)
    over ||= feedback.blockReason !== undefined
    refusal += textOf(feedback.blockReasonMessage)
    const candidate = listOf(chunk.candidates)
      .map(objectOf)
      .find(({ index }) => (index ?? 0) === 0)
    if (candidate === undefined) continue
    parts.push(...listOf(objectOf(candidate.content).parts).map(objectOf))
    over ||= candidate.finishReason !== undefined
    // With an ordinary finish reason, the message has no meaning (`Model generated function call(s).`).
    if (!plainEndings.has(textOf(candidate.finishReason))) refusal += textOf(candidate.finishMessage)
  }
  // A whole response without a finish reason is complete if it has parts.
  return over || (whole && parts.length > 0) ? withUsage({ ...partsOf(parts), refusal }, usage) : undefined
}
