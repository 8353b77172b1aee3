import type { Json, JsonObject } from '../../base/json.ts'
import { isObject, parseJson } from '../../base/json.ts'
import { countTokens, tokenize } from '../../base/tokens.ts'
import type { WireError } from '../../wire/errors.ts'
import { type Piece, pieceOf } from '../../wire/piece.ts'
import type { AnswerChoice, Block } from '../answer.ts'
import type { RenderedAnswer, RenderInput } from '../dialect.ts'
import { geminiErrorBody } from './errors.ts'

const finishWords: Readonly<Record<string, string>> = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  // A tool call has the ordinary finish reason; only the parts show the difference.
  'tool-calls': 'STOP',
  'stop-sequence': 'STOP',
  refusal: 'SAFETY',
  'content-filter': 'SAFETY',
  pause: 'STOP',
}

/** A part of a candidate, with its `tokens` and whether it is a thought. */
interface Step {
  readonly part: JsonObject
  readonly tokens: number
  readonly thought: boolean
}

export function renderGemini(generated: RenderInput): RenderedAnswer {
  const { answer, route } = generated
  const tail = { modelVersion: answer.model.replace(/^models\//, ''), responseId: answer.id }
  const blocked = blockOf(answer.choices)
  const usage = (visible: number, thought: boolean): JsonObject => usageOf(generated, visible, thought)
  const everything = answer.usage.output - answer.usage.reasoning
  const whole = (): JsonObject =>
    blocked !== undefined
      ? { promptFeedback: blocked, usageMetadata: usage(0, false), ...tail }
      : {
          candidates: answer.choices.map((choice, index) => candidateOf(generated, choice, index)),
          usageMetadata: usage(everything, true),
          ...tail,
        }
  function* chunks(): Generator<[chunk: JsonObject, paced: boolean]> {
    if (blocked !== undefined) return yield [whole(), false]
    let visible = 0
    for (const [index, choice] of answer.choices.entries()) {
      const steps = [...stepsOf(choice, true)]
      for (const [place, step] of steps.entries()) {
        const last = place === steps.length - 1
        if (!step.thought) visible += step.tokens
        const candidate = {
          content: { parts: [step.part], role: 'model' },
          ...(last ? endingOf(choice) : {}),
          index,
          ...(last ? logprobsOf(generated, choice) : {}),
        }
        const counted = last && index === answer.choices.length - 1 ? everything : visible
        yield [{ candidates: [candidate], usageMetadata: usage(counted, !step.thought || last), ...tail }, !last]
      }
      if (steps.length > 0) continue
      const candidate = { content: { role: 'model' }, ...endingOf(choice), index }
      yield [{ candidates: [candidate], usageMetadata: usage(everything, true), ...tail }, false]
    }
  }
  return {
    body: whole,
    *events(): Generator<Piece> {
      let first = true
      for (const [chunk, paced] of chunks()) {
        yield route.array
          ? pieceOf(`${first ? '[' : ',\r\n'}${JSON.stringify(chunk, null, 2)}\n`, paced)
          : pieceOf(`data: ${spaced(chunk)}\r\n\r\n`, paced)
        first = false
      }
      if (route.array) yield pieceOf(']')
    },
    *failure(error: WireError, sent: number): Generator<Piece> {
      const text = `${JSON.stringify(geminiErrorBody(error), null, 2)}\n`
      yield pieceOf(route.array ? `${sent === 0 ? '[' : ',\r\n'}${text}]` : text)
    },
  }
}

/** Formats JSON as Google's events do: a space after each colon and none after a comma. */
const spaced = (value: Json): string => JSON.stringify(value, null, 1).replace(/\n */g, '')

/** Returns the block reason: a refusal before any text is a blocked prompt. */
function blockOf(choices: readonly AnswerChoice[]): JsonObject | undefined {
  const blocks = choices[0]?.blocks ?? []
  const refusal = blocks.find((block) => block.type === 'refusal')
  if (!refusal || blocks.some((block) => block.type === 'text' || block.type === 'tool-call')) return undefined
  return { blockReason: 'PROHIBITED_CONTENT', blockReasonMessage: refusal.text }
}

function candidateOf(generated: RenderInput, choice: AnswerChoice, index: number): JsonObject {
  const parts = [...stepsOf(choice, false)].map(({ part }) => part)
  return {
    content: { ...(parts.length > 0 ? { parts } : {}), role: 'model' },
    ...endingOf(choice),
    index,
    ...logprobsOf(generated, choice),
  }
}

function endingOf(choice: AnswerChoice): JsonObject {
  const calls = choice.blocks.filter((block) => block.type === 'tool-call')
  const broken = calls.find((call) => !isObject(parseJson(call.input)))
  if (broken) {
    return { finishReason: 'MALFORMED_FUNCTION_CALL', finishMessage: `Malformed function call: ${broken.input}` }
  }
  const refusal = choice.blocks.find((block) => block.type === 'refusal')
  const message = refusal?.text ?? (calls.length > 0 ? 'Model generated function call(s).' : undefined)
  return {
    finishReason: finishWords[choice.finish] ?? choice.finish,
    ...(message === undefined ? {} : { finishMessage: message }),
  }
}

/**
 * Yields the parts in order. The seal of the thoughts is on the first call or, without one, on the text: on the text part itself,
 * or in a stream on an empty one at the end.
 */
function* stepsOf(choice: AnswerChoice, streamed: boolean): Generator<Step> {
  const { blocks } = choice
  let seal = sealOf(blocks)
  const calls = blocks.some((block) => block.type === 'tool-call')
  const lastText = blocks.findLastIndex((block) => block.type === 'text')
  for (const [index, block] of blocks.entries()) {
    if (block.type === 'thinking' && block.text !== '') {
      for (const text of streamed ? tokenize(block.text) : [block.text]) {
        yield { part: { text, thought: true }, tokens: 0, thought: true }
      }
    } else if (block.type === 'text') {
      const sealed = seal !== undefined && !calls && !streamed && index === lastText
      for (const text of streamed ? tokenize(block.text) : [block.text]) {
        const part = sealed ? { text, thoughtSignature: seal ?? '' } : { text }
        yield { part, tokens: countTokens(text), thought: false }
      }
      if (sealed) seal = undefined
    } else if (block.type === 'tool-call') {
      const args = parseJson(block.input)
      if (!isObject(args)) continue
      const call = { name: block.name, args, ...(block.id === '' ? {} : { id: block.id }) }
      const part = { functionCall: call, ...(seal === undefined ? {} : { thoughtSignature: seal }) }
      seal = undefined
      yield { part, tokens: countTokens(block.name) + countTokens(block.input), thought: false }
    }
  }
  if (seal !== undefined) yield { part: { text: '', thoughtSignature: seal }, tokens: 0, thought: false }
}

function sealOf(blocks: readonly Block[]): string | undefined {
  for (const block of blocks) {
    if (block.type === 'thinking') return block.signature
    if (block.type === 'redacted') return block.data
  }
  return undefined
}

/** Returns the usage: thoughts are counted separately from candidates, and candidates only once there is text. */
function usageOf({ answer }: RenderInput, visible: number, thought: boolean): JsonObject {
  const { input, cacheRead, reasoning } = answer.usage
  const thoughts = thought ? reasoning : 0
  const text = (tokenCount: number): Json => [{ modality: 'TEXT', tokenCount }]
  return {
    promptTokenCount: input,
    ...(visible > 0 ? { candidatesTokenCount: visible } : {}),
    totalTokenCount: input + visible + thoughts,
    ...(cacheRead > 0 ? { cachedContentTokenCount: cacheRead } : {}),
    promptTokensDetails: text(input),
    ...(cacheRead > 0 ? { cacheTokensDetails: text(cacheRead) } : {}),
    ...(thoughts > 0 ? { thoughtsTokenCount: thoughts } : {}),
    serviceTier: 'standard',
  }
}

/** Returns plausible log probabilities: the same token always gets the same numbers. */
function logprobsOf({ prompt }: RenderInput, choice: AnswerChoice): JsonObject {
  if (prompt.logprobs === undefined) return {}
  const words = choice.blocks.flatMap((block) => (block.type === 'text' ? tokenize(block.text) : []))
  const entry = (token: string, rank: number): JsonObject => ({
    token,
    tokenId: token.length + rank,
    logProbability: -(0.01 + (token.length % 7) * 0.05 + rank * 1.25),
  })
  const others = [' maybe', ' well', ' so', ' then'].slice(0, Math.max(0, prompt.logprobs - 1))
  return {
    avgLogprobs: -0.1,
    logprobsResult: {
      ...(prompt.logprobs > 0
        ? { topCandidates: words.map((word) => ({ candidates: [word, ...others].map(entry) })) }
        : {}),
      chosenCandidates: words.map((word) => entry(word, 0)),
    },
  }
}
